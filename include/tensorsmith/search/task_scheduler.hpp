// SPDX-License-Identifier: Apache-2.0
// TaskScheduler: which of several tasks gets the next round of a common budget.
//
// Floor 7. Ansor reference, ch. 9 (OSDI 2020 sec. 6): every task once, then the task from which one
// more round promises most, or one after the other. Plain bookkeeping: it neither searches nor
// measures, and knows no time. Differences: a task without any valid program after its first round
// is given up (the reference's later releases do so too), and of equal promises one of the living
// tasks is drawn. Not here: running the rounds (tune.hpp, tune_tasks).
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "tensorsmith/support/algorithm.hpp"
#include "tensorsmith/support/callback.hpp"
#include "tensorsmith/support/math.hpp"
#include "tensorsmith/support/rng.hpp"
#include "tensorsmith/support/value_names.hpp"
#include "tensorsmith/te/compute_dag.hpp"

namespace tensorsmith {

enum class TaskStrategy : std::uint8_t {
  gradient,
  round_robin,
  /// The tasks are ways to compute the same, of which only the fastest will be used: in turn among
  /// those whose best time is near the least (own design).
  fastest
};
inline constexpr std::array<ValueName<TaskStrategy>, 3> task_strategy_names = {
    {{TaskStrategy::gradient, "gradient"},
     {TaskStrategy::round_robin, "round-robin"},
     {TaskStrategy::fastest, "fastest"}}};

struct TaskSchedulerOptions {
  TaskStrategy strategy = TaskStrategy::gradient;
  double near = 1.25;  ///< `fastest`: slower ones than this times the least get no more rounds
  double alpha = 0.2;  ///< weight of the past against the expected gain
  double beta = 2;     ///< how much slower than a similar task is still similar
  std::int32_t backward_window = 3;
  std::int64_t round_size = 64;  ///< trials of a round, for the limit below
  /// Trials without any improvement of the objective that end everything; 0: no limit.
  std::int64_t early_stopping = 0;
  /// Trials of one task without improvement that end it; 0: no limit.
  std::int64_t task_early_stopping = 0;
  /// Of the best times in seconds, one per task; empty: their sum, weighted, or the least with
  /// `fastest`. Must not fall when a time grows.
  Callback<double(std::span<const double>)> objective;
  std::uint64_t seed = 1;  ///< of the draw among equal promises
};

/// What is known about a task before it is tuned.
struct ScheduledTask {
  double flop = 0;
  double weight = 1;  ///< e.g. how often a network calls it
  std::string tag;    ///< tasks with equal tags that are not empty are expected to be similar
};

/// Tag of a workload: the tags of its operations and the order of magnitude of its work. Empty if
/// no operation has one.
inline std::string similarity_tag(const ComputeDag& dag, double flop) {
  std::string tag;
  for (const Operation& operation : dag.operations()) {
    const std::string& part = operation.attrs.task_scheduler_tag;
    tag += part.empty() ? part : part + "_";
  }
  constexpr double log2_of_1_618 = 0.6942119;
  const double magnitude = math::log2(flop + 1) / log2_of_1_618;
  return tag.empty() ? tag : tag + std::to_string(static_cast<std::int64_t>(magnitude));
}

class TaskScheduler {
 public:
  static constexpr double no_time = 1e10;  ///< seconds of a task without a valid program

  TaskScheduler(std::vector<ScheduledTask> tasks, TaskSchedulerOptions options)
      : tasks_(std::move(tasks)), options_(std::move(options)), best_(tasks_.size(), no_time),
        progress_(tasks_.size()), rng_(options_.seed) {}

  std::size_t num_tasks() const { return tasks_.size(); }
  double best_seconds(std::size_t task) const { return best_[task]; }
  std::int64_t rounds(std::size_t task) const { return progress_[task].rounds; }
  std::int64_t trials(std::size_t task) const { return progress_[task].trials; }
  std::int64_t trials() const { return trials_; }
  bool is_dead(std::size_t task) const { return progress_[task].is_dead; }
  double objective() const { return objective_of(best_); }

  /// The task of the next round; nothing when all are dead or nothing has improved for too long.
  std::optional<std::size_t> next() {
    for (std::size_t task = 0; task < num_tasks(); ++task) {
      if (progress_[task].rounds == 0 && !is_dead(task)) {
        return task;  // every task once, in order
      }
    }
    if (has_stalled_) {
      return std::nullopt;
    }
    switch (options_.strategy) {
    case TaskStrategy::round_robin:
      return next_in_turn(no_time);
    case TaskStrategy::fastest:
      return next_in_turn(options_.near * least_seconds());
    default:
      return steepest();
    }
  }

  /// A round of `task` has measured `num_trials` programs; the best time of the task so far is
  /// `best_seconds` (no_time or more: none).
  void record(std::size_t task, double best_seconds, std::int64_t num_trials) {
    Progress& progress = progress_[task];
    last_ = task;
    ++progress.rounds;
    progress.trials += num_trials;
    trials_ += num_trials;
    if (best_seconds < best_[task]) {
      best_[task] = best_seconds;
      progress.best_round = progress.rounds;
    }
    progress.history.push_back(best_[task]);
    const std::int64_t stale = (progress.rounds - progress.best_round) * options_.round_size;
    progress.is_dead = progress.is_dead || num_trials == 0 || best_[task] >= no_time ||
                       (options_.task_early_stopping > 0 && stale > options_.task_early_stopping);
    leave_group(task);
    note_objective();
  }

  /// How much the objective should change with one more round of `task`: negative, or 0.
  double gradient(std::size_t task) const {
    const Progress& progress = progress_[task];
    if (progress.is_dead) {
      return 0;
    }
    constexpr double step = 1e-4;
    std::vector<double> moved = best_;
    moved[task] -= step;
    const double chain = (objective() - objective_of(moved)) / step;

    const auto rounds = static_cast<double>(progress.rounds);
    double backward = 0;
    const std::int64_t now = progress.rounds - 1, then = now - options_.backward_window;
    if (then >= 0 && now < static_cast<std::int64_t>(progress.history.size())) {
      backward = (progress.history[static_cast<std::size_t>(now)] -
                  progress.history[static_cast<std::size_t>(then)]) /
                 options_.backward_window;
    }
    const double time = best_[task];
    const double by_history = time - time / rounds;
    const std::vector<std::size_t> group = group_of(task);
    double by_group = options_.beta * 1e30;
    if (group.size() > 1) {
      by_group = options_.beta * tasks_[task].flop / best_flops(group);
    }
    const double forward = smaller_of(by_history, by_group) - time;
    return chain * (options_.alpha * backward + (1 - options_.alpha) * forward);
  }

 private:
  struct Progress {
    std::int64_t rounds = 0, trials = 0, best_round = 0;
    bool is_dead = false;
    bool is_alone = false;        ///< it has proved unlike its group
    std::vector<double> history;  ///< best seconds after each round
  };

  double objective_of(std::span<const double> seconds) const {
    if (options_.objective) {
      return options_.objective(seconds);
    }
    if (options_.strategy == TaskStrategy::fastest) {
      return least_of(seconds);
    }
    double sum = 0;
    for (std::size_t i = 0; i < seconds.size(); ++i) {
      // Beside 1e10 of a task without a program the others would be lost.
      sum += is_hopeless(i) ? 0 : tasks_[i].weight * seconds[i];
    }
    return sum;
  }

  bool is_hopeless(std::size_t task) const { return is_dead(task) && best_[task] >= no_time; }

  static double least_of(std::span<const double> seconds) {
    double least = no_time;
    for (const double time : seconds) {
      least = smaller_of(least, time);
    }
    return least;
  }
  double least_seconds() const { return least_of(best_); }

  /// Among those that take no longer than `most_seconds`.
  std::optional<std::size_t> next_in_turn(double most_seconds) const {
    for (std::size_t offset = 1; offset <= num_tasks(); ++offset) {
      const std::size_t task = (last_ + offset) % num_tasks();
      if (!is_dead(task) && best_[task] <= most_seconds) {
        return task;
      }
    }
    return std::nullopt;
  }

  std::optional<std::size_t> steepest() {
    std::vector<std::size_t> best;
    double least = 0;
    for (std::size_t task = 0; task < num_tasks(); ++task) {
      if (is_dead(task)) {
        continue;
      }
      const double promise = gradient(task);
      if (best.empty() || promise < least) {
        best.clear();
        least = promise;
      }
      if (promise == least) {
        best.push_back(task);
      }
    }
    if (best.empty()) {
      return std::nullopt;
    }
    // The first of several; all alike: any.
    const bool all_alike = best.size() == count_items(progress_, [](const Progress& progress) {
                             return !progress.is_dead;
                           });
    return all_alike && best.size() > 1
               ? best[rng_.next_below(static_cast<std::uint32_t>(best.size()))]
               : best.front();
  }

  std::vector<std::size_t> group_of(std::size_t task) const {
    std::vector<std::size_t> group;
    for (std::size_t i = 0; i < num_tasks() && !tasks_[task].tag.empty(); ++i) {
      if (tasks_[i].tag == tasks_[task].tag && !progress_[i].is_alone &&
          !progress_[task].is_alone) {
        group.push_back(i);
      }
    }
    return group;
  }
  double best_flops(const std::vector<std::size_t>& group) const {
    double best = 0;
    for (std::size_t i : group) {
      best = larger_of(best, tasks_[i].flop / best_[i]);
    }
    return best;
  }

  /// A task that had many more rounds than the others of its group and is still much slower per
  /// operation is not like them.
  void leave_group(std::size_t task) {
    const std::vector<std::size_t> group = group_of(task);
    std::int64_t most_rounds = 0;
    for (std::size_t i : group) {
      most_rounds = i != task ? larger_of(most_rounds, progress_[i].rounds) : most_rounds;
    }
    progress_[task].is_alone =
        progress_[task].is_alone ||
        (group.size() > 1 && tasks_[task].flop / best_[task] < best_flops(group) / options_.beta &&
         progress_[task].rounds > 5 + most_rounds);
  }

  void note_objective() {
    const double value = objective();
    const bool is_warm = all_items(progress_, [](const Progress& p) { return p.rounds > 0; });
    if (value < best_objective_ || !is_warm || trials_of_best_ < 0) {
      best_objective_ = value;
      trials_of_best_ = trials_;
    } else if (options_.early_stopping > 0) {
      has_stalled_ = trials_ - trials_of_best_ >= options_.early_stopping;
    }
  }

  std::vector<ScheduledTask> tasks_;
  TaskSchedulerOptions options_;
  std::vector<double> best_;  ///< seconds
  std::vector<Progress> progress_;
  CounterRng rng_;
  std::size_t last_ = 0;
  std::int64_t trials_ = 0;
  double best_objective_ = 0;
  std::int64_t trials_of_best_ = -1;
  bool has_stalled_ = false;
};

}  // namespace tensorsmith
