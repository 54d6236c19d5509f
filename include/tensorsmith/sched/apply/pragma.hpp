// PR: a remark for lowering.
//
// Floor 3. Ansor reference, ch. 2.3. "auto_unroll_max_step$N": small loops below may be unrolled up
// to N statements. "debug_skip_region": the stage leaves the attach map.
//   for i (0,16)  -->  C auto_unroll: 64
//                      for i (0,16)
#pragma once

#include <charconv>
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
  std::int32_t value = -1;
  const bool has_value = rest.size() > 1 && rest[0] == '$';
  const char* end = text.data() + text.size();
  const std::from_chars_result parsed =
      has_value ? std::from_chars(rest.data() + 1, end, value)
                : std::from_chars_result{end, std::errc::invalid_argument};
  if (parsed.ec != std::errc() || parsed.ptr != end || value < 0) {
    return ScheduleError{ScheduleErrorCode::pragma_value, step.stage, step.iterator};
  }
  state.mutable_stage(stage).auto_unroll_max_step = value;
  return {};
}

}  // namespace tensorsmith
