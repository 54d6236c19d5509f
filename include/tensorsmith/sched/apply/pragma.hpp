// PR: a remark for lowering; the one for CPUs acts on none of them (docs/steps/PR.md).
//
// Floor 3. Ansor reference, ch. 2.3. "auto_unroll_max_step$N": small loops below may be unrolled up
// to N statements. "debug_skip_region": the stage leaves the attach map.
//   for i (0,16)  -->  C auto_unroll: 64
//                      for i (0,16)
#pragma once

#include <cstdint>
#include <string_view>

#include "tensorsmith/sched/apply/common.hpp"

namespace tensorsmith {

template <class Extent>
StepCheck apply_to(BasicState<Extent>& state, const PragmaStep& step) {
  if (StepCheck error = detail::check_iterator(state, step.stage, step.iterator)) {
    return error;
  }
  constexpr std::string_view unroll = "auto_unroll_max_step";
  const std::string_view text = step.pragma;
  const auto stage = static_cast<std::size_t>(step.stage);
  if (text == "debug_skip_region") {
    state.mutable_attach_map().erase(step.stage);
    return {};
  }
  if (text.substr(0, unroll.size()) != unroll) {
    return ScheduleError{ScheduleErrorCode::pragma_unknown, step.stage, step.iterator};
  }
  const std::string_view rest = text.substr(unroll.size());
  bool is_number = rest.size() > 1 && rest[0] == '$';
  std::int64_t value = 0;
  for (std::size_t i = 1; is_number && i < rest.size(); ++i) {
    value = value * 10 + (rest[i] - '0');
    is_number = rest[i] >= '0' && rest[i] <= '9' && value <= INT32_MAX;
  }
  if (!is_number) {
    return ScheduleError{ScheduleErrorCode::pragma_value, step.stage, step.iterator};
  }
  state.mutable_stage(stage).auto_unroll_max_step = static_cast<std::int32_t>(value);
  return {};
}

}  // namespace tensorsmith
