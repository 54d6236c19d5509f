// SPDX-License-Identifier: Apache-2.0
// tensorsmith tune --tasks FILE: many workloads under one budget.
#pragma once

#include <string>

#include "command.hpp"
#include "tensorsmith/tune_tasks.hpp"

namespace tensorsmith::cli {

struct TaskFileArguments {
  std::string file;  ///< one workload and, if it is not 1, its weight per line
  TaskStrategy strategy = TaskStrategy::gradient;
  std::int64_t task_early_stopping = 0;  ///< trials of one task without a better one; 0: no limit
  WorkloadOptions common;
  TuneOptions tune;  ///< its budget is of all tasks together
  bool is_quiet = false;
};

/// Throws Error that names the line for what is no task.
int tune_task_file(const TaskFileArguments& arguments);

}  // namespace tensorsmith::cli
