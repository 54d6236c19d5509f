// SPDX-License-Identifier: Apache-2.0
// tune_tasks: several computations under one budget. The facade beside tune().
//
// Floor 9; compiled in lib/tune. The Ansor reference's task scheduler (search/task_scheduler.hpp)
// chooses round by round which task gets the next trials, or (TaskStrategy::fastest) the tasks are
// ways to compute the same and those that are far behind get none; tasks share a cost model, a
// journal and worker processes. Not here: where the tasks of a network come from.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "tensorsmith/search/task_scheduler.hpp"
#include "tensorsmith/support/callback.hpp"
#include "tensorsmith/tune.hpp"

namespace tensorsmith {

struct WeightedTask {
  TuneTask task;
  double weight = 1;  ///< how often it is called, > 0
};

/// Before or after a round.
struct TasksProgress {
  std::size_t task = 0;  ///< whose round it is
  double seconds = 0;
  std::int64_t trials = 0;  ///< of all tasks
  const TaskScheduler& scheduler;
};

struct TasksOptions {
  /// As for one task. The budget is that of all together; at least one trial per task.
  TuneOptions tune;
  /// Its round size and seed are taken from `tune`.
  TaskSchedulerOptions schedule;
  Callback<void(const TasksProgress&)> before_round;
  Callback<void(const TasksProgress&)> after_round;
};

struct TasksResult {
  std::vector<TuneResult> tasks;   ///< as they were given; without a best where there was no time
  std::vector<std::size_t> order;  ///< whose round it was
  std::int64_t trials = 0;
  double seconds = 0;
  VirtualSeconds virtual_time;  ///< of all tasks, see TuneSummary
  /// Sum of the best times, weighted; of those tasks that have one.
  double weighted_ns = 0;
  bool is_cancelled = false;
  std::string message;  ///< one sentence if something went wrong along the way

  /// Of the tasks with a best, the one with the least time; null: none has.
  const TuneResult* fastest() const {
    const TuneResult* found = nullptr;
    for (const TuneResult& result : tasks) {
      const bool is_better = result.has_best() &&
                             (found == nullptr || result.summary.best_ns < found->summary.best_ns);
      found = is_better ? &result : found;
    }
    return found;
  }
  bool has_all() const {
    return all_items(tasks, [](const TuneResult& result) { return result.has_best(); });
  }
};

/// Throws Error on wrong arguments and on a file or worker that cannot be used.
TasksResult tune_tasks(const std::vector<WeightedTask>& tasks, const TasksOptions& options = {});

}  // namespace tensorsmith
