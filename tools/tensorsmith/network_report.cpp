// SPDX-License-Identifier: Apache-2.0
// tensorsmith network report: the network, its kernels and its journal as one HTML page.
#include <algorithm>
#include <filesystem>
#include <map>

#include <fmt/format.h>

#include "command.hpp"
#include "network_callable.hpp"
#include "tensorsmith/graph/executor.hpp"
#include "tensorsmith/report/network_report.hpp"
#include "tensorsmith/support/file.hpp"
#include "tensorsmith/tune/journal_report.hpp"

namespace tensorsmith::cli {
namespace {

constexpr double seconds_of_calls = 3;
constexpr int most_calls = 30;

std::vector<std::string> named(const graph::Graph& net, const std::vector<graph::ValueId>& ids) {
  std::vector<std::string> texts;
  for (const graph::ValueId id : ids) {
    const graph::Value& value = net.value(id);
    texts.push_back(value.name + ": " + std::string(name_of(value.dtype)) + " " +
                    graph::shape_text(value.shape));
  }
  return texts;
}

/// Time of calls; how many of them.
int time_calls(Callable& made, NetworkReport& report) {
  std::vector<double> times;
  made.network->call(made.operands);
  for (const double begin = now_seconds();
       times.empty() ||
       (static_cast<int>(times.size()) < most_calls && now_seconds() - begin < seconds_of_calls);) {
    times.push_back(timed_call(*made.network, made.operands));
  }
  const graph::Spread spread = graph::spread_of(times);
  report.median_ns = spread.median;
  report.p10_ns = spread.p10;
  report.p90_ns = spread.p90;
  return static_cast<int>(times.size());
}

void add_kernels(Callable& made, int repeats, NetworkReport& report) {
  const graph::Partition& parts = made.loaded.parts;
  std::map<std::uint32_t, std::size_t> writer;  // by storage
  for (const graph::GroupProfile& each : made.network->profile(made.operands, repeats)) {
    const graph::Group& group = parts.groups[each.group];
    NetworkReportKernel kernel;
    kernel.operators = parts.tasks[group.task].title;
    kernel.node = graph::describe_node(made.loaded.net, group.nodes.back());
    kernel.task = group.task;
    kernel.median_ns = each.median_ns;
    kernel.p10_ns = each.p10_ns;
    kernel.p90_ns = each.p90_ns;
    for (const graph::ValueId id : group.program.inputs) {
      const auto found = writer.find(parts.storage[id.value].value);
      if (found != writer.end() && std::find(kernel.reads.begin(), kernel.reads.end(),
                                             found->second) == kernel.reads.end()) {
        kernel.reads.push_back(found->second);
      }
    }
    for (const graph::ValueId id : group.program.outputs) {
      kernel.shape = graph::shape_text(made.loaded.net.value(id).shape);
      writer[parts.storage[id.value].value] = report.kernels.size();
    }
    report.kernels.push_back(std::move(kernel));
  }
}

void add_tasks(const Callable& made, NetworkReport& report) {
  std::vector<WeightedName> names;
  for (const graph::NetworkTask& task : made.loaded.parts.tasks) {
    NetworkReportTask row;
    row.operators = task.title;
    row.text = task.text;
    row.weight = task.weight;
    row.flop = task.flop;
    for (const Record& record : made.records.records) {
      if (record.workload != task.text || record.target != report.target ||
          record.num_threads != report.num_threads) {
        continue;
      }
      ++row.trials;
      row.failed += record.is_ok() ? 0 : 1;
      if (record.is_ok() && (row.best_ns <= 0 || record.min_ns < row.best_ns)) {
        row.best_ns = record.min_ns;
      }
      report.cpu = record.cpu;
      add_machines({&record, 1}, report.machines);
    }
    row.is_recorded = row.best_ns > 0;
    names.push_back({task.text, task.weight});
    report.tasks.push_back(std::move(row));
  }
  report.curve = network_curve(made.records.records, names, report.target, report.num_threads);
}

}  // namespace

int report_network(const NetworkArguments& arguments) {
  const std::string journal = journal_of(arguments);
  refuse_input_as_output(arguments.output, {arguments.network, journal});
  if (const std::string problem = write_problem(arguments.output); !problem.empty()) {
    throw Error(problem);
  }
  Callable made = callable(arguments);
  NetworkReport report;
  report.network = arguments.network;
  report.journal = made.records.records.empty() ? std::string() : journal;
  report.target = host_target().name;
  report.num_threads = arguments.num_threads;
  report.inputs = named(made.loaded.net, made.loaded.net.inputs);
  report.outputs = named(made.loaded.net, made.loaded.net.outputs);
  report.arena_bytes = made.network->arena_bytes();
  report.packed_bytes = made.network->packed_bytes();
  for (const graph::Value& value : made.loaded.net.values) {
    report.constant_bytes +=
        value.is_constant ? static_cast<std::int64_t>(value.constant.bytes.size()) : 0;
  }
  const int repeats = time_calls(made, report);
  add_kernels(made, repeats, report);
  add_tasks(made, report);
  write_output(arguments.output, html_report(report));
  const std::string path = std::filesystem::absolute(arguments.output).lexically_normal().string();
  if (arguments.is_json) {
    print_json({{"network", arguments.network},
                {"report", path},
                {"journal", journal},
                {"median_ns", report.median_ns},
                {"kernels", report.kernels.size()},
                {"tasks", report.tasks.size()},
                {"recorded", made.num_recorded}});
  } else {
    fmt::print("report: {}\n", path);
  }
  return exit_ok;
}

}  // namespace tensorsmith::cli
