#include "tune/replay_steps.hpp"

#include <string>
#include <utility>

#include "tensorsmith/sched/apply.hpp"
#include "tensorsmith/sched/bounds.hpp"
#include "tensorsmith/sched/explain_error.hpp"
#include "tensorsmith/support/error.hpp"

namespace tensorsmith {

State replay_steps(const Shared<const ComputeDag>& dag, const std::vector<Step>& steps) {
  State state = State::initial(dag);
  for (std::size_t i = 0; i < steps.size(); ++i) {
    Result<State, ScheduleError> next = apply_step(state, steps[i]);
    if (!next) {
      throw Error("step " + std::to_string(i) + " does not apply: " + explain(next.error(), state));
    }
    state = std::move(next).value();
  }
  Result<State, ScheduleError> bounded = infer_bounds(state);
  if (!bounded) {
    throw Error("the schedule has no bounds: " + explain(bounded.error(), state));
  }
  return std::move(bounded).value();
}

}  // namespace tensorsmith
