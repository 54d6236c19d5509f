// SPDX-License-Identifier: Apache-2.0
// What can be done with the best schedule: call it, export it, explain it.
#include <utility>

#include "tensorsmith/ir/print.hpp"
#include "tensorsmith/kernel_artifact.hpp"
#include "tensorsmith/lower/prepack.hpp"
#include "tensorsmith/sched/print_state.hpp"
#include "tensorsmith/te/workload_key.hpp"
#include "tensorsmith/tune.hpp"
#include "tensorsmith/tune/backend.hpp"
#include "tensorsmith/tune/replay.hpp"
#include "tensorsmith/version.hpp"
#include "tune/session.hpp"

namespace tensorsmith {
namespace {

void require_best(const TuneResult& result, const char* what) {
  if (!result.has_best()) {
    const std::string& failure = result.summary.first_failure;
    const std::string& why = failure.empty() ? result.summary.message : failure;
    throw Error(std::string("TuneResult::") + what + ": no candidate succeeded" +
                (why.empty() ? std::string() : ": " + why));
  }
}

void require_callable(const TuneResult& result, const std::string& what) {
  require_best(result, what.c_str());
  const std::string problem = make_backend(result.task.target)->call_problem();
  if (!problem.empty()) {
    throw Error("TuneResult::" + what + ": " + problem);
  }
}

KernelPrograms lower_or_throw(const State& state, const Target& target) {
  Result<KernelPrograms, LowerError> programs = lower_kernel(state, target);
  if (!programs) {
    throw Error("the schedule cannot be lowered: " + explain(programs.error()));
  }
  return std::move(programs).value();
}

}  // namespace

Kernel TuneResult::kernel() const {
  require_callable(*this, "kernel");
  return Kernel(signature, object, num_threads);
}

KernelArtifact TuneResult::artifact() const {
  require_callable(*this, "artifact");
  KernelArtifact artifact;
  artifact.signature = signature;
  artifact.object = object;
  artifact.num_threads = num_threads;
  artifact.workload_key = te::workload_key(*task.dag);
  artifact.workload = name_of(task);
  artifact.target = task.target.name;
  artifact.cpu = task.target.llvm_cpu;
  artifact.features = task.target.llvm_features;
  artifact.version = version_string;
  artifact.best_ns = summary.best_ns;
  return artifact;
}

State TuneResult::state() const {
  require_best(*this, "state");
  return replay_steps(task.dag, steps);
}

std::string TuneResult::source(const std::string& name) const {
  require_best(*this, "source");
  return make_backend(task.target)
      ->source(lower_or_throw(state(), task.target).main, num_threads, name,
               name_of(task) + ", " + task.target.name);
}

std::string TuneResult::prepack_source(const std::string& name) const {
  require_best(*this, "prepack_source");
  const KernelPrograms programs = lower_or_throw(state(), task.target);
  return programs.prepack
             ? make_backend(task.target)
                   ->source(*programs.prepack, num_threads, name + "_prepack",
                            task.workload + ": packs the constants of " + name + "(), once")
             : std::string();
}

std::string TuneResult::explain() const {
  require_best(*this, "explain");
  const State best = state();
  std::string text = "workload: " + task.workload + "\n";
  text += "median: " + std::to_string(summary.best_ns) + " ns, " + std::to_string(summary.gflops) +
          " GFLOP/s\n";
  text += "trials: " + std::to_string(summary.trials) + "\n";
  for (std::size_t i = 0; i < num_measure_statuses; ++i) {
    if (summary.statuses[i] > 0) {
      text += "  " + std::string(name_of(static_cast<MeasureStatus>(i))) + ": " +
              std::to_string(summary.statuses[i]) + "\n";
    }
  }
  if (const std::string model = make_backend(task.target)->model_text(best); !model.empty()) {
    text += "\n" + model;
  }
  const KernelPrograms programs = lower_or_throw(best, task.target);
  text += "\nschedule:\n" + state_text(best) + "\nloops:\n" + to_text(programs.main);
  return programs.prepack ? text + "\nonce, before:\n" + to_text(*programs.prepack) : text;
}

}  // namespace tensorsmith
