// SPDX-License-Identifier: Apache-2.0
#include "tensorsmith/tune_tasks.hpp"

#include <algorithm>
#include <memory>
#include <utility>

#include "tune/left_behind.hpp"
#include "tune/session.hpp"

namespace tensorsmith {
namespace {

/// Of the time that is left when a task's search ends, for its final ranking.
constexpr double ranking_seconds = 0.3;

void check_tasks(const std::vector<WeightedTask>& tasks, const TuneOptions& options) {
  if (tasks.empty()) {
    throw Error("tune_tasks: there are no tasks");
  }
  if (is_instant(options)) {
    throw Error("tune_tasks: expected a budget of seconds or trials, got none of both");
  }
  const auto count = static_cast<std::int64_t>(tasks.size());
  if (options.budget.trials > 0 && options.budget.trials < count) {
    throw Error("tune_tasks: expected at least one trial per task, got " +
                std::to_string(options.budget.trials) + " for " + std::to_string(count) + " tasks");
  }
  for (const WeightedTask& task : tasks) {
    check_arguments(task.task, options);
    if (task.task.target != tasks.front().task.target) {
      throw Error("tune_tasks: expected one target for all tasks, got " +
                  tasks.front().task.target.name + " and " + task.task.target.name);
    }
    if (!(task.weight > 0) || task.weight > 1e12) {
      throw Error("tune_tasks: the weight of a task must be in 0..1e12 and not 0");
    }
  }
}

/// The options of one task: its share of the budget decides how large its rounds are.
TuneOptions share_of(const TuneOptions& all, std::size_t count) {
  TuneOptions options = all;
  options.budget.seconds /= static_cast<double>(count);
  const auto trials = all.budget.trials / static_cast<std::int64_t>(count);
  options.budget.trials = all.budget.trials > 0 ? std::max<std::int64_t>(1, trials) : 0;
  options.early_stopping = 0;  // the scheduler's
  std::size_t size = round_size_for(options, false);
  if (options.budget.trials > 0) {
    size = std::min(size, static_cast<std::size_t>(options.budget.trials));
  }
  options.round_size = static_cast<std::int32_t>(size);
  return options;
}

class TasksRun {
 public:
  TasksRun(const std::vector<WeightedTask>& tasks, const TasksOptions& options, double start)
      : tasks_(tasks), options_(options), share_(share_of(options.tune, tasks.size())),
        model_(options.tune.model == nullptr ? make_model(options.tune, tasks.front().task.target)
                                             : Shared<CostModel>()),
        scheduler_(scheduled(), schedule()) {
    for (std::size_t i = 0; i < tasks.size(); ++i) {
      sessions_.push_back(std::make_unique<TuneSession>(tasks[i].task, share_, model_.get(),
                                                        static_cast<std::uint32_t>(i)));
      DriverOptions& limits = sessions_.back()->limits();
      limits.ranking_seconds = std::min(ranking_seconds, 0.4 * share_.budget.seconds);
      if (options.tune.budget.seconds <= 0) {
        limits.ranking_seconds = ranking_seconds;
      }
      // The clock is common; what the final rankings of the others take is kept free.
      limits.budget.seconds =
          options.tune.budget.seconds > 0
              ? options.tune.budget.seconds -
                    static_cast<double>(tasks.size() - 1) * limits.ranking_seconds
              : 0;
      is_started_.push_back(false);
      limits.budget_use = [this] { return budget_use(); };
      runs_.push_back(sessions_.back()->run());
    }
    resources_ = std::make_unique<RunResources>(options.tune, tasks.front().task.target, start);
  }

  TasksResult run() {
    TasksResult result;
    while (const std::optional<std::size_t> next = is_over() ? std::nullopt : scheduler_.next()) {
      call(options_.before_round, *next);
      const std::int64_t trials = run_round(*next);
      if (trials == 0 && is_over()) {
        break;  // no time was left: that says nothing about the task
      }
      const double best_ns = sessions_[*next]->driver().best_ns();
      scheduler_.record(*next, best_ns > 0 ? best_ns * 1e-9 : TaskScheduler::no_time, trials);
      result.order.push_back(*next);
      call(options_.after_round, *next);
    }
    finish(result);
    return result;
  }

 private:
  std::vector<ScheduledTask> scheduled() const {
    std::vector<ScheduledTask> scheduled;
    for (const WeightedTask& task : tasks_) {
      const double flop = task.task.flop;
      scheduled.push_back({flop, task.weight, similarity_tag(*task.task.dag, flop)});
    }
    return scheduled;
  }
  TaskSchedulerOptions schedule() const {
    TaskSchedulerOptions schedule = options_.schedule;
    schedule.round_size = share_.round_size;
    schedule.seed = options_.tune.seed;
    if (options_.tune.early_stopping > 0) {
      schedule.early_stopping = options_.tune.early_stopping;
    }
    return schedule;
  }

  double now() const { return resources_->clock().now(); }
  bool is_cancelled() const { return options_.tune.is_cancelled && options_.tune.is_cancelled(); }
  bool is_over() const {
    const TuneBudget& budget = options_.tune.budget;
    return is_cancelled() || is_journal_broken_ ||
           (budget.trials > 0 && scheduler_.trials() >= budget.trials) ||
           (budget.seconds > 0 && now() >= sessions_.front()->limits().budget.seconds);
  }

  /// Up to the last trial, whichever task it was of. By its share alone: rounds stay whole, for
  /// tasks take turns in them.
  BudgetUse budget_use() const {
    const TuneBudget& budget = options_.tune.budget;
    BudgetUse use;
    use.trials = scheduler_.trials();
    if (budget.trials > 0) {
      use.share = static_cast<double>(use.trials) / static_cast<double>(budget.trials);
    }
    if (budget.seconds > 0) {
      use.share =
          std::max(use.share, last_trial_seconds_ / sessions_.front()->limits().budget.seconds);
    }
    return use;
  }

  /// Programs of the journal, and of the other tasks of this run so far.
  std::vector<SolvedProgram> solved() const {
    std::vector<SolvedProgram> all = resources_->solved(runs_);
    for (std::size_t i = 0; i < sessions_.size(); ++i) {
      if (is_started_[i]) {
        for (const Record& record : sessions_[i]->driver().fastest()) {
          all.push_back({record.workload_key, record.steps, record.min_ns});
        }
      }
    }
    return all;
  }

  void call(const Callback<void(const TasksProgress&)>& callback, std::size_t task) const {
    if (callback) {
      callback(TasksProgress{task, now(), scheduler_.trials(), scheduler_});
    }
  }

  /// The measurer measures that task from now on.
  void turn_to(std::size_t task) {
    if (current_ != task) {
      current_ = task;
      sessions_[task]->prepare(resources_->measurer());
    }
  }

  /// Returns the number of trials.
  std::int64_t run_round(std::size_t task) {
    TuneSession& session = *sessions_[task];
    if (!is_started_[task]) {
      session.add_reference_result(1 / static_cast<double>(sessions_.size()));
    }
    turn_to(task);
    if (!is_started_[task]) {
      is_started_[task] = true;
      session.start(*resources_, [this] { return solved(); });
    }
    const std::int64_t before = session.driver().summary().trials;
    if (const std::int64_t all = options_.tune.budget.trials; all > 0) {
      session.limits().budget.trials = before + all - scheduler_.trials();
    }
    (void)session.driver().run_round();
    const TuneSummary& summary = session.driver().summary();
    is_journal_broken_ = is_journal_broken_ || summary.is_journal_broken;
    last_trial_seconds_ = std::max(last_trial_seconds_, session.driver().last_trial_seconds());
    return summary.trials - before;
  }

  void finish(TasksResult& result) {
    result.is_cancelled = is_cancelled();
    for (std::size_t task = 0; task < sessions_.size(); ++task) {
      if (!is_started_[task]) {
        TuneResult none;
        none.task = tasks_[task].task;
        none.num_threads = options_.tune.num_threads;
        result.tasks.push_back(std::move(none));
        continue;
      }
      if (!result.is_cancelled) {
        turn_to(task);
      } else if (task != current_) {
        // The measurer has another task's operands, and nobody waits for all of them to change.
        sessions_[task]->limits().ranking_seconds = 0;
      }
      result.tasks.push_back(sessions_[task]->finish());
      const TuneSummary& summary = result.tasks.back().summary;
      result.trials += summary.trials;
      result.virtual_time += summary.virtual_time;
      result.weighted_ns += tasks_[task].weight * summary.best_ns;
      if (result.message.empty()) {
        result.message = summary.message;
      }
    }
    if (result.message.empty()) {
      result.message = resources_->journal_problem(result.is_cancelled);
    }
    result.seconds = now();
  }

  const std::vector<WeightedTask>& tasks_;
  const TasksOptions& options_;
  TuneOptions share_;
  Shared<CostModel> model_;
  TaskScheduler scheduler_;
  std::vector<std::unique_ptr<TuneSession>> sessions_;
  std::vector<bool> is_started_;
  std::vector<Record> runs_;  ///< what the records of each have in common
  double last_trial_seconds_ = 0;
  std::unique_ptr<RunResources> resources_;
  std::size_t current_ = SIZE_MAX;
  bool is_journal_broken_ = false;
};

}  // namespace

TasksResult tune_tasks(const std::vector<WeightedTask>& tasks, const TasksOptions& options) {
  const ExitGuard guard;
  const double start = steady_seconds();
  check_tasks(tasks, options.tune);
  return TasksRun(tasks, options, start).run();
}

}  // namespace tensorsmith
