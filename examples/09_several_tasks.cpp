// SPDX-License-Identifier: Apache-2.0
// Lesson 9: several computations under one budget.
//
// After one round each, the round goes where it promises to save most time overall, weights
// included: a network that calls a layer ten times cares ten times as much about it.
// requires: llvm json
#include <cstdio>
#include <cstdlib>

#include "tensorsmith/ops/workload.hpp"
#include "tensorsmith/tune_tasks.hpp"

namespace ts = tensorsmith;

static void require(bool condition, const char* what) {
  if (!condition) {
    std::fprintf(stderr, "failed: %s\n", what);
    std::exit(1);
  }
}

static ts::WeightedTask task(const char* text, double weight) {
  const auto workload = ts::ops::parse_workload(text);
  require(workload.has_value(), text);
  return {{workload->dag, ts::host_target(), workload->name, workload->nominal_flop}, weight};
}

int main() {
  const std::vector<ts::WeightedTask> tasks = {task("gemm:64x64x64:f32", 10),
                                               task("gemm:96x48x80:f32,bias,relu", 1),
                                               task("softmax:64x128", 2)};
  ts::TasksOptions options;
  options.tune.budget = {0, 36};  // seconds (0: no limit) and trials, of all tasks together
  options.after_round = [&](const ts::TasksProgress& now) {
    std::printf("%3lld trials, round of %s: best %.1f us\n", static_cast<long long>(now.trials),
                tasks[now.task].task.workload.c_str(), 1e6 * now.scheduler.best_seconds(now.task));
  };
  const ts::TasksResult result = ts::tune_tasks(tasks, options);
  require(result.has_all(), "every task has a kernel");
  require(result.trials == 36, "the budget is spent, and no more");
  for (const ts::TuneResult& each : result.tasks) {
    require(each.summary.is_verified, "every kernel is right");
    std::printf("%-32s %8.1f us after %lld trials\n", each.task.workload.c_str(),
                each.summary.best_ns / 1e3, static_cast<long long>(each.summary.trials));
  }
  std::printf("all, weighted: %.1f us\n", result.weighted_ns / 1e3);
}
