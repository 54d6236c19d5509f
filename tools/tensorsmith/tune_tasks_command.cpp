// SPDX-License-Identifier: Apache-2.0
#include "tune_tasks_command.hpp"

#include <fmt/format.h>

#include "interrupt.hpp"
#include "progress.hpp"
#include "tensorsmith/tune/task_file.hpp"

namespace tensorsmith::cli {
namespace {

constexpr std::int64_t most_task_file_bytes = std::int64_t{16} << 20;

/// Whether the tasks are ways to compute the same.
bool is_choice(const TaskFileArguments& arguments) {
  return arguments.strategy == TaskStrategy::fastest;
}

Json result_json(const TaskFileArguments& arguments, const std::vector<WeightedTask>& tasks,
                 const TasksResult& result) {
  Json json;
  json["target"] = arguments.common.target;
  json["threads"] = arguments.common.num_threads;
  json["space"] = arguments.tune.space;
  json["policy"] = arguments.tune.policy;
  json["strategy"] = std::string(name_in(task_strategy_names, arguments.strategy));
  json["seed"] = arguments.tune.seed;
  json["seconds"] = result.seconds;
  if (result.virtual_time > VirtualSeconds()) {
    json["virtual_seconds"] = result.virtual_time.count();
  }
  json["trials"] = result.trials;
  json["cancelled"] = result.is_cancelled;
  json["journal"] = arguments.tune.database;
  json["weighted_ns"] = result.has_all() ? Json(result.weighted_ns) : Json(nullptr);
  if (is_choice(arguments)) {
    const TuneResult* fastest = result.fastest();
    json["fastest"] = fastest == nullptr ? Json(nullptr) : Json(fastest->task.workload);
  }
  json["order"] = result.order;
  json["tasks"] = Json::array();
  for (std::size_t i = 0; i < tasks.size(); ++i) {
    const TuneResult& task = result.tasks[i];
    const TuneSummary& summary = task.summary;
    json["tasks"].push_back(
        {{"workload", tasks[i].task.workload},
         {"weight", tasks[i].weight},
         {"rounds", summary.rounds},
         {"trials", summary.trials},
         {"best_ns", task.has_best() ? Json(summary.best_ns) : Json(nullptr)},
         {"gflops", task.has_best() ? Json(summary.gflops) : Json(nullptr)},
         {"rank_correlation",
          summary.num_ranked_pairs > 0 ? Json(summary.rank_correlation) : Json(nullptr)},
         {"guards", guards_json<Json>(summary.guards)},
         {"verified", summary.is_verified}});
  }
  if (!result.message.empty()) {
    json["message"] = result.message;
  }
  return json;
}

void print_result(const TaskFileArguments& arguments, const std::vector<WeightedTask>& tasks,
                  const TasksResult& result) {
  for (std::size_t i = 0; i < tasks.size(); ++i) {
    const TuneResult& task = result.tasks[i];
    const TuneSummary& summary = task.summary;
    fmt::print("{}: ", tasks[i].task.workload);
    if (!task.has_best()) {
      fmt::print("nothing found, {} trials\n", summary.trials);
      continue;
    }
    fmt::print("{}, {:.1f} GFLOP/s, {}, weight {}, {} trials in {} rounds\n",
               duration_text(summary.best_ns), summary.gflops,
               summary.is_verified                 ? "verified"
               : tasks[i].task.target.is_simulated ? "simulated, nothing was run"
                                                   : "not verified",
               tasks[i].weight, summary.trials, summary.rounds);
  }
  const TuneResult* fastest = is_choice(arguments) ? result.fastest() : nullptr;
  const std::string whole =
      fastest != nullptr
          ? fmt::format("fastest: {}, {}", fastest->task.workload,
                        duration_text(fastest->summary.best_ns))
          : fmt::format("{}: {}", result.has_all() ? "all, weighted" : "those found, weighted",
                        duration_text(result.weighted_ns));
  fmt::print("{}, {} trials in {:.1f} s\njournal: {}\n", whole, result.trials, result.seconds,
             arguments.tune.database);
}

}  // namespace

int tune_task_file(const TaskFileArguments& arguments) {
  TasksOptions options;
  options.tune = arguments.tune;
  options.schedule.strategy = arguments.strategy;
  options.schedule.task_early_stopping = arguments.task_early_stopping;
  const std::vector<WeightedTask> tasks =
      tasks_of_text(read_input(arguments.file, most_task_file_bytes), arguments.file,
                    parse_runnable_target(arguments.common.target));
  warn_of_threads(tasks.front().task.target, options.tune.num_threads);
  watch_interrupts();
  options.tune.is_cancelled = is_interrupted;
  ProgressPrinter printer(arguments.is_quiet, tasks.front().task.target.is_simulated);
  std::size_t current = tasks.size();
  options.before_round = [&](const TasksProgress& progress) {
    if (!arguments.is_quiet && progress.task != current) {
      printer.finish();
      fmt::print(stderr, "[{:6.1f} s] task {} of {}: {}\n", progress.seconds, progress.task + 1,
                 tasks.size(), tasks[progress.task].task.workload);
    }
    current = progress.task;
  };
  options.tune.on_progress = [&printer](const TuneProgress& progress) {
    work_has_begun();
    printer(progress);
  };
  const TasksResult result = tune_tasks(tasks, options);
  printer.finish();
  if (arguments.common.is_json) {
    print_json(result_json(arguments, tasks, result));
  } else {
    print_result(arguments, tasks, result);
  }
  if (!result.message.empty()) {
    warn(result.message);
  }
  if (result.is_cancelled && result.trials > 0) {
    warn(stopped_early(result.trials));
  }
  bool is_journal_broken = false;
  for (std::size_t i = 0; i < tasks.size(); ++i) {
    const TuneSummary& summary = result.tasks[i].summary;
    is_journal_broken = is_journal_broken || summary.is_journal_broken;
    if (!result.tasks[i].has_best() && !summary.first_failure.empty()) {
      warn(tasks[i].task.workload + ": the first failure was " + summary.first_failure);
    }
  }
  if (result.has_all() || (is_choice(arguments) && result.fastest() != nullptr)) {
    return is_journal_broken ? exit_failed : exit_ok;
  }
  return result.is_cancelled ? exit_of_interrupt() : exit_failed;
}

}  // namespace tensorsmith::cli
