// The definition of try_infer_bounds.
//
// Floor 3. Included by sched/bounds.hpp or compiled once (support/compiled.hpp).
#pragma once

#include "tensorsmith/sched/bounds.hpp"
#include "tensorsmith/sched/bounds/inference.hpp"

namespace tensorsmith {

TENSORSMITH_INLINE StepCheck try_infer_bounds(State& state) {
  if (!state.is_concrete()) {
    return ScheduleError{ScheduleErrorCode::bounds_not_concrete};
  }
  if (state.has_bounds()) {
    return {};
  }
  bounds::Inference inference(state);
  if (StepCheck error = inference.run()) {
    return error;
  }
  inference.write(state);
  state.set_has_bounds();
  return {};
}

}  // namespace tensorsmith
