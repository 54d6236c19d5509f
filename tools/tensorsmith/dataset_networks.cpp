// SPDX-License-Identifier: Apache-2.0
#include "dataset_networks.hpp"

#include <filesystem>

#include "network.hpp"
#include "tensorsmith/graph/relay.hpp"
#include "tensorsmith/te/notation.hpp"
#include "tensorsmith/te/unique_names.hpp"
#include "tensorsmith/tune/task_file.hpp"

namespace tensorsmith::cli {
namespace {

constexpr std::int64_t most_list_bytes = std::int64_t{16} << 20;
constexpr std::int64_t most_description_bytes = std::int64_t{256} << 20;

NetworkTasks relay_tasks(const std::string& file, const Target& target) {
  auto net = graph::read_relay_description(read_input(file, most_description_bytes));
  if (!net) {
    throw Error(in_quotes(file) + ": " + net.error());
  }
  const auto parts = graph::partition_relay(
      *net, target.kind == TargetKind::cuda ? graph::RelayTarget::cuda : graph::RelayTarget::cpu);
  if (!parts) {
    throw Error(in_quotes(file) + ": " + parts.error());
  }
  NetworkTasks tasks;
  for (const graph::RelayTask& task : parts->tasks) {
    if (!task.dag) {
      warn("no program here for the functions " + task.operators + " of " + file);
      continue;
    }
    const auto text = te::write_notation(*te::with_unique_names(task.dag));
    if (!text) {
      throw Error(text.error());
    }
    tasks.emplace_back(*text, task.weight);
  }
  return tasks;
}

NetworkTasks graph_tasks(const std::string& network) {
  NetworkArguments arguments;
  arguments.network = network;
  const Loaded loaded = load(arguments);
  NetworkTasks tasks;
  for (const graph::NetworkTask& task : loaded.parts.tasks) {
    tasks.emplace_back(task.text, task.weight);
  }
  return tasks;
}

}  // namespace

NetworkTasks network_tasks(const std::string& network, const Target& target) {
  const bool is_description = network.ends_with(".json") || network.ends_with(".json.gz");
  NetworkTasks tasks = is_description ? relay_tasks(network, target) : graph_tasks(network);
  if (tasks.empty()) {
    throw Error(in_quotes(network) + " has no task that can be tuned");
  }
  return tasks;
}

NetworkTasks listed_tasks(const std::string& file, const Target& target) {
  NetworkTasks tasks;
  for (const WeightedTask& task : tasks_of_text(read_input(file, most_list_bytes), file, target)) {
    tasks.emplace_back(task.task.workload, task.weight);
  }
  return tasks;
}

std::string network_name(const std::string& network) {
  std::string name = std::filesystem::path(network).filename().string();
  for (const char* ending : {".gz", ".json", ".onnx", ".txt"}) {
    if (name.ends_with(ending)) {
      name.erase(name.size() - std::string_view(ending).size());
    }
  }
  return name;
}

}  // namespace tensorsmith::cli
