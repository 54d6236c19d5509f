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
#include <optional>
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
  std::string network, target = "sim:a100", json, page, runs;
  TrainedFiles files;
  std::vector<std::string> workloads, methods;
  std::size_t num_tasks = 6;
  std::uint32_t num_seeds = 3, round_size = 10;
  std::int64_t trials = 100;
  double seconds = 0;
  int num_threads = 1;
};

/// So many tasks of the network, evenly along their time (weight and work).
std::vector<BenchTask> network_tasks(const Arguments& arguments, const Target& target) {
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
  std::vector<BenchTask> chosen;
  const std::size_t count = std::min(arguments.num_tasks, tasks.size());
  for (std::size_t i = 0; i < count; ++i) {
    const graph::RelayTask& task = *tasks[i * tasks.size() / count];
    const auto notation = te::write_notation(*te::with_unique_names(task.dag));
    if (!notation) {
      throw Error(notation.error());
    }
    chosen.push_back({*notation, task.weight});
  }
  return chosen;
}

std::vector<Method> chosen_methods(const Arguments& arguments) {
  const std::vector<Method> known = known_methods(arguments.files);
  std::vector<Method> methods;
  for (const std::string& text : arguments.methods) {
    const auto found = std::find_if(known.begin(), known.end(),
                                    [&](const Method& method) { return method.name == text; });
    methods.push_back(found != known.end() ? *found : method_of_text(text));
  }
  return methods.empty() ? known : methods;
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
  std::vector<BenchTask> tasks;
  for (const std::string& workload : arguments.workloads) {
    tasks.push_back({workload, 1});
  }
  if (!arguments.network.empty()) {
    const std::vector<BenchTask> more = network_tasks(arguments, *target);
    tasks.insert(tasks.end(), more.begin(), more.end());
  }
  if (tasks.empty()) {
    throw Error("name a --network or a --workload");
  }
  const std::vector<Method> methods = chosen_methods(arguments);
  SavedRuns saved(arguments.runs, arguments.target + ", " + std::to_string(arguments.trials) +
                                      " trials, " + std::to_string(arguments.seconds) +
                                      " s, rounds of " + std::to_string(arguments.round_size));
  std::vector<MethodRun> runs;
  for (std::size_t task = 0; task < tasks.size(); ++task) {
    const TuneTask tuned = named_task(tasks[task].workload, *target);
    for (std::uint32_t seed = 1; seed <= arguments.num_seeds; ++seed) {
      // In turn, so that what else the machine does meets all of them alike.
      for (std::size_t method = 0; method < methods.size(); ++method) {
        std::optional<MethodRun> known = saved.find(methods[method], tasks[task], seed);
        const bool is_new = !known;
        MethodRun run =
            known ? std::move(*known)
                  : run_method(methods[method], tuned, seed, {arguments.seconds, arguments.trials},
                               arguments.num_threads,
                               static_cast<std::int32_t>(arguments.round_size));
        if (target->is_simulated) {  // of virtual seconds, what trials that run do not take
          const VirtualCost cost = SimulatedDevice().cost;
          const double of_trial = cost.build_seconds + cost.load_seconds + cost.least_run_seconds;
          run.own_seconds = std::max(0.0, run.seconds - of_trial * static_cast<double>(run.trials));
        }
        run.method = method;
        run.task = task;
        std::fprintf(stderr, "task %zu of %zu, seed %u, %s: %.4g us, %lld trials, %.1f s own\n",
                     task + 1, tasks.size(), seed, methods[method].name.c_str(), run.best_ns / 1e3,
                     static_cast<long long>(run.trials), run.own_seconds);
        if (is_new) {
          saved.add(methods[method], tasks[task], run);
        }
        runs.push_back(std::move(run));
      }
    }
  }
  const std::vector<MethodSummary> summaries = summarize(methods, tasks, runs);
  std::printf("%s", methods_table(methods, summaries).c_str());
  nlohmann::ordered_json json = methods_json(methods, tasks, runs, summaries);
  json["target"] = arguments.target;
  json["virtual_seconds"] = target->is_simulated;
  write_or_throw(arguments.json, json.dump(1) + "\n");
  write_or_throw(arguments.page,
                 methods_page("Methods on " + arguments.target, methods, tasks, runs, summaries));
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
      "ansor, pruner, moa, pruner-offline, tenset, native, random or "
      "NAME=POLICY[:DRAFT]/SPACE/MODEL[/FILE]; the first is what the others are compared with");
  app.add_option("--weights", arguments.files.moa, "trained model that moa adapts");
  app.add_option("--offline", arguments.files.pam, "trained model of pruner-offline");
  app.add_option("--tenset", arguments.files.tenset, "trained model that tenset begins with");
  app.add_option("--runs", arguments.runs,
                 "file of runs: those that are in it are taken, others are added");
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
