// SPDX-License-Identifier: Apache-2.0
// RE: another order of all iterators of a stage.
//
// Floor 3. Ansor reference, ch. 2.3: new[p] = old[after[p]]. Legal: `after` names each iterator
// once. As in the reference the attach map stays: what was attached at position p is attached at
// position p.
//   for i (0,4)                     for j (0,8)
//     for j (0,8)   after [1, 0] -->  for i (0,4)
#pragma once

#include "tensorsmith/sched/apply/common.hpp"

namespace tensorsmith {

template <class Extent>
StepCheck apply_to(BasicState<Extent>& state, const ReorderStep& step) {
  if (StepCheck error = detail::check_compute(state, step.stage)) {
    return error;
  }
  const auto id = static_cast<std::size_t>(step.stage);
  const std::size_t count = state.stage(id).iterators.size();
  if (step.after.size() != count) {
    return ScheduleError{ScheduleErrorCode::reorder_wrong_count, step.stage, -1,
                         static_cast<std::int64_t>(step.after.size())};
  }
  for (std::size_t i = 0; i < count; ++i) {
    if (StepCheck error = detail::check_iterator(state, step.stage, step.after[i])) {
      return error;
    }
    for (std::size_t k = 0; k < i; ++k) {
      if (step.after[k] == step.after[i]) {
        return ScheduleError{ScheduleErrorCode::reorder_not_permutation, step.stage, -1,
                             step.after[i]};
      }
    }
  }
  auto& iterators = state.mutable_stage(id).iterators;
  std::vector<BasicIterator<Extent>> after;
  after.reserve(count);
  for (std::int32_t from : step.after) {
    after.push_back(std::move(iterators[static_cast<std::size_t>(from)]));
  }
  iterators = std::move(after);
  return {};
}

}  // namespace tensorsmith
