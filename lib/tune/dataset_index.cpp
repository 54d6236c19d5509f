// SPDX-License-Identifier: Apache-2.0
// requires: json
// The index of a dataset as JSON, its splits.
#include <algorithm>
#include <cmath>
#include <filesystem>

#include <nlohmann/json.hpp>

#include "tensorsmith/support/error.hpp"
#include "tensorsmith/support/file.hpp"
#include "tensorsmith/support/hash.hpp"
#include "tensorsmith/support/quote.hpp"
#include "tensorsmith/support/rng.hpp"
#include "tensorsmith/tune/dataset.hpp"

namespace tensorsmith {
namespace {

using Json = nlohmann::ordered_json;

constexpr const char* index_format = "tensorsmith-dataset-1";
constexpr std::int64_t most_index_bytes = std::int64_t{64} << 20;

bool is_inside(const std::string& path) {
  const std::filesystem::path relative(path);
  return !path.empty() && relative.is_relative() &&
         std::none_of(relative.begin(), relative.end(),
                      [](const std::filesystem::path& part) { return part == ".."; });
}

DatasetFile file_of(const Json& json) {
  DatasetFile file;
  file.workload = json.at("workload").get<std::string>();
  file.path = json.at("file").get<std::string>();
  file.first = json.value("first", std::size_t{0});
  file.end = json.value("end", DatasetFile::all);
  if (!is_inside(file.path)) {
    throw Error("the file " + in_quotes(file.path) + " is not in the folder of the dataset");
  }
  if (file.first > file.end) {
    throw Error("records " + std::to_string(file.first) + " to " + std::to_string(file.end) +
                " of " + in_quotes(file.path));
  }
  return file;
}

DatasetNetwork network_of(const Json& json, std::size_t num_files) {
  DatasetNetwork network;
  network.name = json.at("name").get<std::string>();
  for (const Json& task : json.at("tasks")) {
    const auto file = task.at(0).get<std::size_t>();
    const auto weight = task.at(1).get<double>();
    if (file >= num_files || !(weight > 0) || !std::isfinite(weight)) {
      throw Error("the network " + in_quotes(network.name) +
                  " has a task without a file, or without a weight above 0");
    }
    network.tasks.emplace_back(file, weight);
  }
  return network;
}

/// A name for the file of a task: readable, unlike others.
std::string file_name(const DatasetIndex& index, const std::string& workload) {
  std::string name;
  for (const char c : workload) {
    const bool is_plain =
        (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9');
    name += is_plain ? c : '-';
    if (name.size() == 40) {
      break;
    }
  }
  return std::to_string(index.files.size()) + "-" + name + ".jsonl";
}

}  // namespace

std::string dataset_index_text(const DatasetIndex& index) {
  Json json{{"format", index_format}, {"target", index.target}, {"threads", index.num_threads}};
  json["files"] = Json::array();
  for (const DatasetFile& file : index.files) {
    Json one{{"file", file.path}, {"workload", file.workload}};
    if (file.first > 0) {
      one["first"] = file.first;
    }
    if (file.end != DatasetFile::all) {
      one["end"] = file.end;
    }
    json["files"].push_back(std::move(one));
  }
  json["networks"] = Json::array();
  for (const DatasetNetwork& network : index.networks) {
    Json tasks = Json::array();
    for (const auto& [file, weight] : network.tasks) {
      tasks.push_back({file, weight});
    }
    json["networks"].push_back({{"name", network.name}, {"tasks", std::move(tasks)}});
  }
  return json.dump(1) + "\n";
}

Result<DatasetIndex, std::string> dataset_index_from_text(std::string_view text) {
  try {
    const Json json = Json::parse(text);
    if (!json.is_object() || json.value("format", "") != index_format) {
      return fail(std::string("is no index of a dataset (\"format\": \"") + index_format + "\")");
    }
    DatasetIndex index;
    index.target = json.at("target").get<std::string>();
    index.num_threads = json.value("threads", 1);
    for (const Json& file : json.at("files")) {
      index.files.push_back(file_of(file));
    }
    for (const Json& network : json.value("networks", Json::array())) {
      index.networks.push_back(network_of(network, index.files.size()));
    }
    if (index.num_threads < 1) {
      throw Error("the number of threads is less than 1");
    }
    return index;
  } catch (const Json::exception& error) {
    return fail(std::string("is a damaged index of a dataset: ") + error.what());
  } catch (const Error& error) {
    return fail(std::string("is a damaged index of a dataset: ") + error.what());
  }
}

DatasetIndex read_dataset_index(const std::string& path) {
  const std::string file = std::filesystem::is_directory(path)
                               ? (std::filesystem::path(path) / "index.json").string()
                               : path;
  const Result<std::string, FileError> text = read_file(file, {most_index_bytes, true});
  if (!text) {
    throw Error(text.error().message);
  }
  Result<DatasetIndex, std::string> index = dataset_index_from_text(*text);
  if (!index) {
    throw Error(in_quotes(file) + " " + index.error());
  }
  return std::move(index).value();
}

std::string dataset_folder(const std::string& path) {
  if (std::filesystem::is_directory(path)) {
    return path;
  }
  const std::string folder = std::filesystem::path(path).parent_path().string();
  return folder.empty() ? "." : folder;
}

void add_network(DatasetIndex& index, const std::string& name,
                 const std::vector<std::pair<std::string, double>>& workloads_and_weights) {
  DatasetNetwork network{name, {}};
  for (const auto& [workload, weight] : workloads_and_weights) {
    std::size_t at = 0;
    while (at < index.files.size() && index.files[at].workload != workload) {
      ++at;
    }
    if (at == index.files.size()) {
      index.files.push_back({workload, file_name(index, workload)});
    }
    network.tasks.emplace_back(at, weight);
  }
  const auto same = std::find_if(index.networks.begin(), index.networks.end(),
                                 [&](const DatasetNetwork& one) { return one.name == name; });
  if (same == index.networks.end()) {
    index.networks.push_back(std::move(network));
  } else {
    *same = std::move(network);
  }
}

DatasetSplit split_within_tasks(const DatasetIndex& index, const std::vector<std::size_t>& counts,
                                double train_share) {
  DatasetSplit split{index, index};
  for (std::size_t i = 0; i < index.files.size(); ++i) {
    const DatasetFile& file = index.files[i];
    const std::size_t size = file.num_records(counts.at(i));
    const auto num_train =
        static_cast<std::size_t>(std::floor(train_share * static_cast<double>(size) + 1e-9));
    const std::size_t middle = std::min(file.first, counts[i]) + size - num_train;
    split.test.files[i].end = middle;
    split.train.files[i].first = middle;
    split.train.files[i].end = std::min(file.end, counts[i]);
  }
  return split;
}

DatasetSplit split_by_task(const DatasetIndex& index, const std::vector<std::size_t>& counts,
                           double train_share, std::uint64_t seed) {
  std::vector<std::size_t> order(index.files.size());
  std::size_t all = 0;
  for (std::size_t i = 0; i < order.size(); ++i) {
    order[i] = i;
    all += index.files[i].num_records(counts.at(i));
  }
  CounterRng rng(seed, 0x73706c69U, 0, 0);
  rng.shuffle(order);
  const double quota = train_share * static_cast<double>(all);
  std::vector<bool> trains(order.size(), false);
  double taken = 0;
  for (std::size_t i = 0; i + 1 < order.size() && taken < quota; ++i) {
    trains[order[i]] = true;
    taken += static_cast<double>(index.files[order[i]].num_records(counts[order[i]]));
  }
  DatasetSplit split{index, index};
  // A task that is not in a part has no records in it: files keep their numbers.
  for (std::size_t i = 0; i < order.size(); ++i) {
    DatasetFile& none = trains[i] ? split.test.files[i] : split.train.files[i];
    none.end = none.first;
  }
  return split;
}

}  // namespace tensorsmith
