// SPDX-License-Identifier: Apache-2.0
// TSL: how the values of a stage lie in memory.
//
// Floor 3. Own step, never in v0.6 records. Legal: the stage is computed, none of its tensors is an
// argument of the kernel; one block (0 = none) per dimension; the order names every outer piece
// (2*d) once and the inner piece (2*d+1) of every blocked dimension once; padding >= 0. A later
// layout step of the same stage replaces an earlier one.
//   A.local[i, k]  blocks [12, 0], order [0, 2, 1]  -->  stored as [i floordiv 12][k][i floormod
//   12]
// The loops do not change, so the state's text does not either; readers: sched/layouts.hpp.
#pragma once

#include "tensorsmith/sched/apply/common.hpp"

namespace tensorsmith {

template <class Extent>
StepCheck apply_to(BasicState<Extent>& state, const StorageLayoutStep& step) {
  if (StepCheck error = detail::check_compute(state, step.stage)) {
    return error;
  }
  const Operation& op = state.operation(static_cast<std::size_t>(step.stage));
  const auto fail_with = [&](ScheduleErrorCode why, std::int64_t detail) {
    return ScheduleError{why, step.stage, -1, detail};
  };
  if (detail::is_argument(state.dag(), op)) {
    return fail_with(ScheduleErrorCode::layout_of_argument, 0);
  }
  const std::size_t rank = op.axes.size();
  if (step.blocks.size() != rank) {
    return fail_with(ScheduleErrorCode::layout_rank, static_cast<std::int64_t>(rank));
  }
  std::size_t pieces = rank;
  for (std::int64_t block : step.blocks) {
    if (block < 0) {
      return fail_with(ScheduleErrorCode::layout_block_not_positive, block);
    }
    pieces += block > 0 ? 1 : 0;
  }
  SmallVector<std::int32_t, 16> seen;
  for (std::int32_t piece : step.order) {
    const bool exists = piece >= 0 && static_cast<std::size_t>(piece) < 2 * rank &&
                        (piece % 2 == 0 || step.blocks[static_cast<std::size_t>(piece / 2)] > 0);
    bool again = false;
    for (std::int32_t other : seen) {
      again = again || other == piece;
    }
    if (!exists || again) {
      return fail_with(ScheduleErrorCode::layout_order, piece);
    }
    seen.push_back(piece);
  }
  if (seen.size() != pieces) {
    return fail_with(ScheduleErrorCode::layout_order, static_cast<std::int64_t>(seen.size()));
  }
  if (step.pad_elements < 0) {
    return fail_with(ScheduleErrorCode::layout_padding, step.pad_elements);
  }
  return {};
}

}  // namespace tensorsmith
