// What can be done with the best schedule: call it, export it, explain it.
#include <utility>

#include "tensorsmith/codegen/cpp_source.hpp"
#include "tensorsmith/ir/print.hpp"
#include "tensorsmith/kernel_artifact.hpp"
#include "tensorsmith/lower/prepack.hpp"
#include "tensorsmith/sched/print_state.hpp"
#include "tensorsmith/te/workload_key.hpp"
#include "tensorsmith/tune.hpp"
#include "tensorsmith/version.hpp"
#include "tune/gpu.hpp"
#include "tune/replay_steps.hpp"

namespace tensorsmith {
namespace {

void require_best(const TuneResult& result, const char* what) {
  if (!result.has_best()) {
    throw Error(std::string("TuneResult::") + what + ": no candidate succeeded" +
                (result.summary.first_failure.empty() ? std::string()
                                                      : ": " + result.summary.first_failure));
  }
}

void require_callable(const TuneResult& result, const std::string& what) {
  require_best(result, what.c_str());
  const Target& target = result.task.target;
  if (target.is_simulated) {
    throw Error("TuneResult::" + what + ": " + target.name +
                " is simulated, so there is no code to call; source() gives its text");
  }
  if (target.kind == TargetKind::cuda) {
    throw Error("TuneResult::" + what + ": " + target.name +
                " is a GPU, and a Kernel is called on the CPU; source() gives its text, with the "
                "launches in a comment on top");
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
  artifact.workload = task.workload.empty() ? artifact.workload_key : task.workload;
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
  if (task.target.kind == TargetKind::cuda) {
    return cuda_text(lower_or_throw(state(), task.target).main, task.target, name,
                     task.workload + ", " + task.target.name);
  }
  CppSourceOptions options = cpp_source_options(task.target, num_threads);
  options.function_name = name;
  options.comment = task.workload;
  return emit_cpp_source(lower_or_throw(state(), task.target).main, options).source;
}

std::string TuneResult::prepack_source(const std::string& name) const {
  require_best(*this, "prepack_source");
  const KernelPrograms programs = lower_or_throw(state(), task.target);
  CppSourceOptions options = cpp_source_options(task.target, num_threads);
  options.function_name = name + "_prepack";
  options.comment = task.workload + ": packs the constants of " + name + "(), once";
  return programs.prepack ? emit_cpp_source(*programs.prepack, options).source : std::string();
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
  if (task.target.is_simulated) {
    const Result<GpuLatency, MeasureFault> latency = latency_on_board(best, task.target);
    text += latency ? "\n" + latency_text(*latency) : std::string();
  }
  const KernelPrograms programs = lower_or_throw(best, task.target);
  text += "\nschedule:\n" + state_text(best) + "\nloops:\n" + to_text(programs.main);
  return programs.prepack ? text + "\nonce, before:\n" + to_text(*programs.prepack) : text;
}

}  // namespace tensorsmith
