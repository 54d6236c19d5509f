// What can be done with the best schedule: call it, export it, explain it.
#include <utility>

#include "tensorsmith/codegen/cpp_source.hpp"
#include "tensorsmith/ir/print.hpp"
#include "tensorsmith/lower/lower.hpp"
#include "tensorsmith/sched/print_state.hpp"
#include "tensorsmith/tune.hpp"
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

LoopProgram lower_or_throw(const State& state, const Target& target) {
  Result<LoopProgram, LowerError> program = lower(state, target);
  if (!program) {
    throw Error("the schedule cannot be lowered: " + explain(program.error()));
  }
  return std::move(program).value();
}

}  // namespace

Kernel TuneResult::kernel() const {
  require_best(*this, "kernel");
  return Kernel(signature, object, num_threads);
}

State TuneResult::state() const {
  require_best(*this, "state");
  return replay_steps(task.dag, steps);
}

std::string TuneResult::source() const {
  require_best(*this, "source");
  CppSourceOptions options;
  options.comment = task.workload;
  return emit_cpp_source(lower_or_throw(state(), task.target), options).source;
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
  return text + "\nschedule:\n" + state_text(best) + "\nloops:\n" +
         to_text(lower_or_throw(best, task.target));
}

}  // namespace tensorsmith
