// SPDX-License-Identifier: Apache-2.0
// Three small tasks under one budget, measured by a clock that knows the candidate only.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include <unistd.h>

#include "tensorsmith/measure/simulated.hpp"
#include "tensorsmith/tune_tasks.hpp"
#include "unit/sketch/sketch_fixtures.hpp"

namespace tensorsmith::test {

inline std::vector<WeightedTask> small_tasks() {
  std::vector<WeightedTask> tasks;
  for (std::int64_t size : {16, 24, 32}) {
    TuneTask task;
    task.dag = matmul_dag(size, size, size);
    task.target = Target::x86_64_v2();
    task.workload = "matmul " + std::to_string(size);
    task.flop = 2.0 * static_cast<double>(size * size * size);
    tasks.push_back({task, 1});
  }
  return tasks;
}

/// Any time that depends on the candidate alone.
inline double time_by_id(const CompiledCandidate& candidate) {
  return 1e4 + static_cast<double>(candidate.id % 1000);
}
inline SimulatedMeasurer simulated() { return SimulatedMeasurer(time_by_id); }

/// A path for a journal; the file goes away with the object.
struct TasksJournal {
  TasksJournal()
      : path((std::filesystem::temp_directory_path() /
              ("tensorsmith-tasks-" + std::to_string(::getpid()) + ".jsonl"))
                 .string()) {
    std::filesystem::remove(path);
  }
  ~TasksJournal() { std::filesystem::remove(path); }
  std::string path;
};

inline TasksOptions options_with(Measurer& measurer, std::int64_t trials) {
  TasksOptions options;
  options.tune.budget = {0, trials};
  options.tune.measurer = &measurer;
  options.tune.verifies = false;
  options.tune.cost_model = "random";
  options.tune.round_size = 2;
  // What is searched says nothing here, and the sanitizers take a second per thousand programs.
  options.tune.policy_params = {{"evolutionary_search_population", "16"},
                                {"evolutionary_search_num_iters", "1"},
                                {"sample_init_min_population", "8"}};
  options.tune.polish = 0;  // they have tests of their own
  options.tune.prior = 0;
  return options;
}

/// What tune_tasks says against it; empty: nothing.
inline std::string refusal(const std::vector<WeightedTask>& tasks, const TasksOptions& options) {
  try {
    (void)tune_tasks(tasks, options);
  } catch (const Error& error) {
    return error.what();
  }
  return "";
}

}  // namespace tensorsmith::test
