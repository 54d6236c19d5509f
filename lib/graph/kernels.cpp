// SPDX-License-Identifier: Apache-2.0
// Where a network's kernels come from: no schedule, the analytic model, or a search.
// requires: llvm json
#include <algorithm>

#include "tensorsmith/cost/draft_model.hpp"
#include "tensorsmith/graph/executor.hpp"
#include "tensorsmith/sched/state.hpp"
#include "tensorsmith/tune/measure_once.hpp"
#include "tensorsmith/tune/methods.hpp"
#include "tensorsmith/tune/replay.hpp"

namespace tensorsmith::graph {

namespace {

TuneTask task_of(const NetworkTask& task) {
  TuneTask made;
  made.dag = task.dag;
  made.target = host_target();
  made.workload = task.text;
  made.flop = task.flop;
  return made;
}

TuneResult plain_schedule(const NetworkTask& task, std::int32_t num_threads) {
  return compile_once(task_of(task), State::initial(task.dag), num_threads);
}

TuneResult instant_schedule(const NetworkTask& task, const TuneOptions& options) {
  TuneResult result = tune(task_of(task), options);
  return result.has_best() ? result : plain_schedule(task, options.num_threads);
}

TuneOptions without_budget(TuneOptions options) {
  options.budget = {0, 0};
  return options;
}

/// The best of the records; an instant one, or none at all, if there is none.
TuneResult schedule_of(const NetworkTask& task, const JournalContents& records,
                       const TuneOptions& options, bool is_plain, bool& is_found) {
  std::vector<std::string> skipped;
  const auto best =
      best_replayed(records, task.dag, task.text, host_target().name, options.num_threads, skipped);
  is_found = best.has_value();
  return best       ? compile_once(task_of(task), best->state, options.num_threads)
         : is_plain ? plain_schedule(task, options.num_threads)
                    : instant_schedule(task, options);
}

}  // namespace

std::vector<KernelArtifact> plain_kernels(const Partition& partition, std::int32_t num_threads) {
  std::vector<KernelArtifact> kernels;
  for (const NetworkTask& task : partition.tasks) {
    kernels.push_back(plain_schedule(task, num_threads).artifact());
  }
  return kernels;
}

std::vector<KernelArtifact> instant_kernels(const Partition& partition, TuneOptions tune,
                                            const Callback<void(InstantProgress)>& progress) {
  tune = without_budget(std::move(tune));
  std::vector<KernelArtifact> kernels;
  for (const NetworkTask& task : partition.tasks) {
    kernels.push_back(instant_schedule(task, tune).artifact());
    if (progress) {
      progress({kernels.size(), partition.tasks.size()});
    }
  }
  return kernels;
}

std::vector<TuneResult> recorded_schedules(const Partition& partition,
                                           const JournalContents& records, const TuneOptions& tune,
                                           bool is_plain, std::size_t& num_found) {
  std::vector<TuneResult> schedules;
  num_found = 0;
  for (const NetworkTask& task : partition.tasks) {
    bool is_found = false;
    schedules.push_back(schedule_of(task, records, without_budget(tune), is_plain, is_found));
    num_found += is_found ? 1U : 0U;
  }
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

TaskCost estimated_cost(TuneOptions tune) {
  tune = without_budget(std::move(tune));
  return [tune](const NetworkTask& network_task) {
    const TuneTask task = task_of(network_task);
    const Search search = make_search(task, tune);
    const std::vector<Proposal> first = search.policy->propose(1);
    const State state = first.empty() ? State::initial(task.dag) : first[0].state;
    return nominal_ns(draft_cycles(state, task.target, tune.num_threads), task.target);
  };
}

TunedKernels tuned_kernels(const Partition& partition, const TasksOptions& options) {
  std::vector<WeightedTask> tasks;
  for (const NetworkTask& task : partition.tasks) {
    tasks.push_back({task_of(task), task.weight});
  }
  TunedKernels made;
  made.result = tune_tasks(tasks, options);
  const TuneOptions instant = without_budget(options.tune);
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
