// SPDX-License-Identifier: Apache-2.0
// Where a network's kernels come from: no schedule, the analytic model, or a search.
// requires: llvm json
#include <algorithm>
#include <atomic>
#include <mutex>
#include <vector>

#include "support/run_on_threads.hpp"
#include "tensorsmith/cost/draft_model.hpp"
#include "tensorsmith/cost/draft_rates.hpp"
#include "tensorsmith/graph/executor.hpp"
#include "tensorsmith/sched/state.hpp"
#include "tensorsmith/tune/calibration.hpp"
#include "tensorsmith/tune/measure_once.hpp"
#include "tensorsmith/tune/methods.hpp"
#include "tensorsmith/tune/replay.hpp"
#include "tune/search.hpp"
#include "tune/session.hpp"

namespace tensorsmith::graph {

namespace {

TuneTask task_of(const NetworkTask& task) {
  TuneTask made;
  made.dag = task.dag;
  made.target = with_kept_rates(host_target());
  made.workload = task.text;
  made.flop = task.flop;
  return made;
}

TuneResult plain_schedule(const NetworkTask& task, std::int32_t num_threads) {
  return compile_once(task_of(task), State::initial(task.dag), num_threads);
}

TuneOptions without_budget(TuneOptions options) {
  options.budget = {0, 0};
  return options;
}

/// Schedules without a budget, by several threads: as many measurers as threads ask at a time, so
/// that tasks share their worker processes.
class InstantSchedules {
 public:
  explicit InstantSchedules(TuneOptions options) : options_(without_budget(std::move(options))) {}

  const TuneOptions& options() const { return options_; }

  TuneResult operator()(const NetworkTask& task) {
    TuneOptions options = options_;
    Owned<Measurer> measurer;
    if (options.measurer == nullptr) {
      measurer = take();
      options.measurer = measurer.get();
    }
    TuneResult result = tune(task_of(task), options);
    if (measurer) {
      const std::lock_guard lock(mutex_);
      free_.push_back(std::move(measurer));
    }
    return result.has_best() ? result : plain_schedule(task, options.num_threads);
  }

 private:
  Owned<Measurer> take() {
    {
      const std::lock_guard lock(mutex_);
      if (!free_.empty()) {
        Owned<Measurer> measurer = std::move(free_.back());
        free_.pop_back();
        return measurer;
      }
    }
    return measurer_for(options_, host_target());
  }

  TuneOptions options_;
  std::mutex mutex_;
  std::vector<Owned<Measurer>> free_;
};

/// The best of the records; an instant one, or none at all, if there is none.
TuneResult schedule_of(const NetworkTask& task, const JournalContents& records,
                       InstantSchedules& instant, bool is_plain, bool& is_found) {
  std::vector<std::string> skipped;
  const std::int32_t num_threads = instant.options().num_threads;
  const auto best =
      best_replayed(records, task.dag, task.text, host_target().name, num_threads, skipped);
  is_found = best.has_value();
  return best       ? compile_once(task_of(task), best->state, num_threads)
         : is_plain ? plain_schedule(task, num_threads)
                    : instant(task);
}

}  // namespace

std::vector<KernelArtifact> plain_kernels(const Partition& partition, std::int32_t num_threads) {
  std::vector<KernelArtifact> kernels(partition.tasks.size());
  run_on_threads(kernels.size(), [&](std::size_t i) {
    kernels[i] = plain_schedule(partition.tasks[i], num_threads).artifact();
  });
  return kernels;
}

std::vector<KernelArtifact> instant_kernels(const Partition& partition, TuneOptions tune,
                                            const Callback<void(InstantProgress)>& progress) {
  InstantSchedules instant(std::move(tune));
  std::vector<KernelArtifact> kernels(partition.tasks.size());
  std::mutex mutex;
  std::size_t num_done = 0;
  run_on_threads(kernels.size(), [&](std::size_t i) {
    kernels[i] = instant(partition.tasks[i]).artifact();
    if (progress) {
      const std::lock_guard lock(mutex);
      progress({++num_done, kernels.size()});
    }
  });
  return kernels;
}

std::vector<TuneResult> recorded_schedules(const Partition& partition,
                                           const JournalContents& records, const TuneOptions& tune,
                                           bool is_plain, std::size_t& num_found) {
  std::vector<TuneResult> schedules(partition.tasks.size());
  InstantSchedules instant(tune);
  std::atomic<std::size_t> count{0};
  run_on_threads(schedules.size(), [&](std::size_t i) {
    bool is_found = false;
    schedules[i] = schedule_of(partition.tasks[i], records, instant, is_plain, is_found);
    count += is_found ? 1U : 0U;
  });
  num_found = count;
  return schedules;
}

std::vector<KernelArtifact> recorded_kernels(const Partition& partition,
                                             const JournalContents& records,
                                             const TuneOptions& tune, bool is_plain,
                                             std::size_t& num_found) {
  std::vector<KernelArtifact> kernels;
  for (const TuneResult& schedule :
       recorded_schedules(partition, records, tune, is_plain, num_found)) {
    kernels.push_back(schedule.artifact());
  }
  return kernels;
}

TaskCosts estimated_costs(TuneOptions tune, bool is_rough) {
  tune = without_budget(std::move(tune));
  return [tune, is_rough](std::span<const NetworkTask> tasks) {
    std::vector<double> costs(tasks.size());
    run_on_threads(tasks.size(), [&](std::size_t i) {
      const TuneTask task = task_of(tasks[i]);
      SearchFacts facts;
      facts.is_estimate = is_rough;
      const Search search = make_search(task, tune, 0, facts);
      const std::vector<Proposal> first = search.policy->propose(1);
      const State state = first.empty() ? State::initial(task.dag) : first[0].state;
      costs[i] = nominal_ns(draft_cycles(state, task.target, tune.num_threads), task.target);
    });
    return costs;
  };
}

TunedKernels tuned_kernels(const Partition& partition, const TasksOptions& options) {
  std::vector<WeightedTask> tasks;
  for (const NetworkTask& task : partition.tasks) {
    tasks.push_back({task_of(task), task.weight});
  }
  TunedKernels made;
  made.result = tune_tasks(tasks, options);
  InstantSchedules instant(options.tune);
  JournalContents records;
  if (!made.result.has_all() && !options.tune.database.empty()) {
    if (auto read = read_journal(options.tune.database); read) {
      records = std::move(*read);
    }
  }
  for (std::size_t i = 0; i < partition.tasks.size(); ++i) {
    const NetworkTask& task = partition.tasks[i];
    const TuneResult& result = made.result.tasks[i];
    bool is_found = false;
    made.kernels.push_back(result.has_best()
                               ? result.artifact()
                               : schedule_of(task, records, instant, false, is_found).artifact());
  }
  return made;
}

}  // namespace tensorsmith::graph
