// SPDX-License-Identifier: Apache-2.0
// requires: mlp json cli11
// bench_methods: methods of search on the same tasks, with equal trials.
//
//   bench_methods --network tests/data/golden/networks/resnet50_nhwc.json.gz --tasks 6
//                 --trials 200 --seeds 3 --json methods.json --page methods.html
// On simulated boards seconds are virtual: the search's own, and the stated cost of every trial.
#include <algorithm>
#include <cstdio>
#include <exception>
#include <string>
#include <vector>

#include <CLI/CLI.hpp>

#include "bench/support/arguments.hpp"
#include "runs.hpp"
#include "tensorsmith/graph/relay.hpp"
#include "tensorsmith/support/error.hpp"
#include "tensorsmith/support/file.hpp"
#include "tensorsmith/te/notation.hpp"
#include "tensorsmith/te/unique_names.hpp"
#include "tensorsmith/tune/defaults.hpp"

namespace tensorsmith::bench {
namespace {

struct Arguments {
  std::string network, target = "sim:a100", weights, json, page;
  std::vector<std::string> workloads, methods;
  std::size_t num_tasks = 6;
  std::uint32_t num_seeds = 3, round_size = 10;
  std::int64_t trials = 100;
  double seconds = 0;
  int num_threads = 1;
};

/// So many tasks of the network, evenly along their time (weight and work).
std::vector<std::string> network_workloads(const Arguments& arguments, const Target& target) {
  const Result<std::string, FileError> text = read_file(arguments.network);
  if (!text) {
    throw Error(text.error().message);
  }
  const auto net = graph::read_relay_description(*text);
  const auto parts =
      net ? graph::partition_relay(*net, target.kind == TargetKind::cuda ? graph::RelayTarget::cuda
                                                                         : graph::RelayTarget::cpu)
          : fail(net.error());
  if (!parts) {
    throw Error(arguments.network + ": " + parts.error());
  }
  std::vector<const graph::RelayTask*> tasks;
  for (const graph::RelayTask& task : parts->tasks) {
    if (task.dag && task.flop > 0) {
      tasks.push_back(&task);
    }
  }
  std::stable_sort(tasks.begin(), tasks.end(), [](const auto* a, const auto* b) {
    return a->weight * a->flop > b->weight * b->flop;
  });
  std::vector<std::string> workloads;
  const std::size_t count = std::min(arguments.num_tasks, tasks.size());
  for (std::size_t i = 0; i < count; ++i) {
    const auto notation =
        te::write_notation(*te::with_unique_names(tasks[i * tasks.size() / count]->dag));
    if (!notation) {
      throw Error(notation.error());
    }
    workloads.push_back(*notation);
  }
  return workloads;
}

std::vector<Method> chosen_methods(const Arguments& arguments) {
  std::vector<Method> methods;
  const std::vector<Method> known = known_methods(arguments.weights);
  for (const std::string& text : arguments.methods) {
    const auto found = std::find_if(known.begin(), known.end(),
                                    [&](const Method& method) { return method.name == text; });
    methods.push_back(found != known.end() ? *found : method_of_text(text));
  }
  for (const Method& method : arguments.methods.empty() ? known : std::vector<Method>()) {
    if (method.name != "moa" || !arguments.weights.empty()) {
      methods.push_back(method);
    }
  }
  return methods;
}

void write_or_throw(const std::string& path, const std::string& text) {
  if (path.empty()) {
    return;
  }
  if (const auto written = write_file(path, text); !written) {
    throw Error(written.error().message);
  }
}

int run(const Arguments& arguments) {
  const auto target = named_runnable_target(arguments.target);
  if (!target) {
    throw Error(target.error());
  }
  std::vector<std::string> workloads = arguments.workloads;
  if (!arguments.network.empty()) {
    const std::vector<std::string> more = network_workloads(arguments, *target);
    workloads.insert(workloads.end(), more.begin(), more.end());
  }
  if (workloads.empty()) {
    throw Error("name a --network or a --workload");
  }
  const std::vector<Method> methods = chosen_methods(arguments);
  std::vector<MethodRun> runs;
  for (std::size_t task = 0; task < workloads.size(); ++task) {
    const TuneTask tuned = named_task(workloads[task], *target);
    for (std::uint32_t seed = 1; seed <= arguments.num_seeds; ++seed) {
      // In turn, so that what else the machine does meets all of them alike.
      for (std::size_t method = 0; method < methods.size(); ++method) {
        MethodRun run =
            run_method(methods[method], tuned, seed, {arguments.seconds, arguments.trials},
                       arguments.num_threads, static_cast<std::int32_t>(arguments.round_size));
        run.method = method;
        run.task = task;
        std::fprintf(stderr, "task %zu of %zu, seed %u, %s: %.4g us, %lld trials, %.1f s own\n",
                     task + 1, workloads.size(), seed, methods[method].name.c_str(),
                     run.best_ns / 1e3, static_cast<long long>(run.trials), run.own_seconds);
        runs.push_back(std::move(run));
      }
    }
  }
  const std::vector<MethodSummary> summaries = summarize(methods, workloads.size(), runs);
  std::printf("%s", methods_table(methods, summaries).c_str());
  nlohmann::ordered_json json = methods_json(methods, workloads, runs, summaries);
  json["target"] = arguments.target;
  json["virtual_seconds"] = target->is_simulated;
  write_or_throw(arguments.json, json.dump(1) + "\n");
  write_or_throw(arguments.page, methods_page("Methods on " + arguments.target, methods, workloads,
                                              runs, summaries));
  return 0;
}

}  // namespace
}  // namespace tensorsmith::bench

int main(int argc, char** argv) {
  CLI::App app{"Methods of search on the same tasks"};
  tensorsmith::bench::Arguments arguments;
  app.add_option("--network", arguments.network, "description of a network of the reference");
  app.add_option("--tasks", arguments.num_tasks, "so many of it, evenly by work");
  app.add_option("--workload", arguments.workloads, "a task; may be repeated");
  app.add_option(
      "--method", arguments.methods,
      "ansor, pruner, moa, native, random or NAME=POLICY/SPACE/MODEL[/FILE]; the first is "
      "what the others are compared with");
  app.add_option("--weights", arguments.weights, "trained model that moa adapts");
  app.add_option("--target", arguments.target, "of all");
  app.add_option("--trials", arguments.trials, "of every run");
  app.add_option("--seconds", arguments.seconds, "real ones, of every run; 0: no limit");
  app.add_option("--seeds", arguments.num_seeds, "runs of every task");
  app.add_option("--round", arguments.round_size,
                 "trials between two updates of a model; 0: each "
                 "method's own");
  app.add_option("--threads", arguments.num_threads, "of kernels");
  app.add_option("--json", arguments.json, "file for all curves");
  app.add_option("--page", arguments.page, "file for a page with plots");
  if (const auto code = tensorsmith::bench::parse_arguments(app, argc, argv, "bench_methods")) {
    return *code;
  }
  try {
    return tensorsmith::bench::run(arguments);
  } catch (const std::exception& error) {
    std::fprintf(stderr, "bench_methods: %s\n", error.what());
    return 2;
  }
}
