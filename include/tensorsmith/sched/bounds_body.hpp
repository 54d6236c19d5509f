// SPDX-License-Identifier: Apache-2.0
// The definition of try_infer_bounds.
//
// Floor 3. Included by sched/bounds.hpp or compiled once (support/compiled.hpp).
#pragma once

#include <cstdint>
#include <vector>

#include "tensorsmith/sched/bounds.hpp"
#include "tensorsmith/sched/bounds/expression_extents.hpp"
#include "tensorsmith/sched/bounds/inference.hpp"

namespace tensorsmith {

namespace detail {

/// Of the stages that have some.
inline void write_extents(State& state, const std::vector<std::vector<std::int64_t>>& extents) {
  for (std::size_t s = 0; s < extents.size(); ++s) {
    const auto& known = state.stage(s).iterators;
    if (extents[s].size() != known.size()) {
      continue;
    }
    for (std::size_t i = 0; i < known.size(); ++i) {
      if (extents[s][i] > 0 && state.stage(s).iterators[i].extent != extents[s][i]) {
        state.mutable_stage(s).iterators[i].extent = extents[s][i];
      }
    }
  }
}

}  // namespace detail

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
  if (inference.needs_expressions()) {
    detail::write_extents(state, bounds::ExpressionExtents(state).run());
  }
  state.set_has_bounds();
  return {};
}

}  // namespace tensorsmith
