// SPDX-License-Identifier: Apache-2.0
// SA: strides of a stage's storage are congruent to `offset` modulo `factor`.
//
// Floor 3. Ansor reference, ch. 2.3; never made by its search. Legal: factor >= 1, offset >= 0. The
// state shows only the offset. Lowering for CPUs ignores the step (docs/steps/SA.md).
//   for i (0,16)  -->  C storage_offset: 4
//                      for i (0,16)
#pragma once

#include "tensorsmith/sched/apply/common.hpp"

namespace tensorsmith {

template <class Extent>
StepCheck apply_to(BasicState<Extent>& state, const StorageAlignStep& step) {
  if (StepCheck error = detail::check_iterator(state, step.stage, step.iterator)) {
    return error;
  }
  if (step.factor < 1 || step.offset < 0) {
    return ScheduleError{ScheduleErrorCode::storage_align_factor, step.stage, step.iterator,
                         step.factor < 1 ? step.factor : step.offset};
  }
  state.mutable_stage(static_cast<std::size_t>(step.stage)).storage_offset = step.offset;
  return {};
}

}  // namespace tensorsmith
