// SPDX-License-Identifier: Apache-2.0
// Replay: a state from its history.
//
// Floor 3. Ansor reference, ch. 2.3 and 3.3. For every state s without inferred ranges,
// replay(s.restart(), s.steps()) has the text of s.
#pragma once

#include <utility>
#include <vector>

#include "tensorsmith/sched/apply.hpp"
#include "tensorsmith/support/shared.hpp"

namespace tensorsmith {

/// Applies all steps to `state`; the error carries the position of the step that failed.
template <class Extent>
Result<BasicState<Extent>, ScheduleError> replay(BasicState<Extent> state,
                                                 const std::vector<Step>& steps) {
  state.mutable_steps().reserve(state.steps().size() + steps.size());
  for (const Step& step : steps) {
    if (const StepCheck error = try_apply(state, step)) {
      return fail(*error);
    }
  }
  return state;
}

/// From the program as written. Derives every dag anew: in a loop, replay from one initial state.
inline Result<State, ScheduleError> replay(Shared<const ComputeDag> initial_dag,
                                           const std::vector<Step>& steps) {
  return replay(State::initial(std::move(initial_dag)), steps);
}

/// The state whose history differs in one step: everything is applied again.
template <class Extent>
Result<BasicState<Extent>, ScheduleError> replace_step(const BasicState<Extent>& state,
                                                       std::size_t index, Step step) {
  TENSORSMITH_ASSERT(index < state.steps().size(), "replace_step beyond the history");
  std::vector<Step> steps = state.steps();
  steps[index] = std::move(step);
  return replay(state.restart(), steps);
}

}  // namespace tensorsmith
