// SPDX-License-Identifier: Apache-2.0
// infer_bounds: the range of every iterator, from how much of each stage its readers need.
//
// Floor 3. Ansor reference, ch. 2.5. Stages are taken from the outputs to the inputs; the region of
// a stage is the hull of what its readers touch while the loops at and outside its attach point
// stand still. Reads inside if_then_else and select count whether they are taken or not. Extents
// are numbers: where the reference would leave an extent that varies from iteration to iteration,
// the largest is given, and where it is not known at all, the whole dimension. Minima of attached
// stages are not given: the text says 0. Not here: the ranges as expressions, as the reference
// prints them (feature/range_text.hpp).
#pragma once

#include <utility>

#include "tensorsmith/sched/schedule_error.hpp"
#include "tensorsmith/sched/state.hpp"
#include "tensorsmith/support/compiled.hpp"
#include "tensorsmith/support/result.hpp"

namespace tensorsmith {

/// Gives `state` the range of every iterator of every stage that is not inlined; leaves it as it is
/// and says why if there is none.
TENSORSMITH_INLINE StepCheck try_infer_bounds(State& state);

/// The state with these ranges, or why there is none.
inline Result<State, ScheduleError> infer_bounds(State state) {
  if (const StepCheck error = try_infer_bounds(state)) {
    return fail(*error);
  }
  return state;
}

}  // namespace tensorsmith

#ifndef TENSORSMITH_COMPILED
#include "tensorsmith/sched/bounds_body.hpp"
#endif
