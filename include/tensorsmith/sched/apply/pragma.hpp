// SPDX-License-Identifier: Apache-2.0
// PR: a remark for lowering (docs/steps/PR.md).
//
// Floor 3. Ansor reference, ch. 2.3, for the two kinds of its own; a hint of any other kind becomes
// one of the stage's (hint_list.hpp). Legal: a known kind, with values that are legal for it.
//   for i (0,16)  -->  C auto_unroll: 64
//                      for i (0,16)
#pragma once

#include "tensorsmith/sched/apply/common.hpp"

namespace tensorsmith {

template <class Extent>
StepCheck apply_to(BasicState<Extent>& state, const PragmaStep& step) {
  if (StepCheck error = detail::check_iterator(state, step.stage, step.iterator)) {
    return error;
  }
  const HintKind* kind = find_hint_kind(step.hint.name());
  if (kind == nullptr || !kind->is_legal(step.hint)) {
    return ScheduleError{kind == nullptr ? ScheduleErrorCode::pragma_unknown : kind->error,
                         step.stage, step.iterator};
  }
  const auto stage = static_cast<std::size_t>(step.stage);
  if (step.hint.is<hints::SkipRegion>()) {
    state.mutable_attach_map().erase(step.stage);
  } else if (const auto unroll = step.hint.as<hints::AutoUnroll>()) {
    state.mutable_stage_in_bounds(stage).auto_unroll_max_step = unroll->limit;
  } else {
    state.mutable_stage_in_bounds(stage).hints.set(*kind, step.hint);
  }
  return {};
}

}  // namespace tensorsmith
