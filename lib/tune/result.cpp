// What can be done with the best schedule: call it, export it, explain it.
#include <utility>

#include "tensorsmith/ir/print.hpp"
#include "tensorsmith/lower/prepack.hpp"
#include "tensorsmith/sched/print_state.hpp"
#include "tensorsmith/tune.hpp"
#include "tensorsmith/tune/backend.hpp"
#include "tensorsmith/tune/replay.hpp"

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

KernelPrograms lower_or_throw(const State& state, const Target& target) {
  Result<KernelPrograms, LowerError> programs = lower_kernel(state, target);
  if (!programs) {
    throw Error("the schedule cannot be lowered: " + explain(programs.error()));
  }
  return std::move(programs).value();
}

}  // namespace

Kernel TuneResult::kernel() const {
  require_best(*this, "kernel");
  if (const std::string problem = make_backend(task.target)->call_problem(); !problem.empty()) {
    throw Error("TuneResult::kernel: " + problem);
  }
  return Kernel(signature, object, num_threads);
}

State TuneResult::state() const {
  require_best(*this, "state");
  return replay_steps(task.dag, steps);
}

std::string TuneResult::source() const {
  require_best(*this, "source");
  return make_backend(task.target)
      ->source(lower_or_throw(state(), task.target).main, "kernel",
               task.workload + ", " + task.target.name);
}

std::string TuneResult::prepack_source() const {
  require_best(*this, "prepack_source");
  const KernelPrograms programs = lower_or_throw(state(), task.target);
  return programs.prepack ? make_backend(task.target)
                                ->source(*programs.prepack, "kernel_prepack",
                                         task.workload + ": packs the constants of kernel(), once")
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
