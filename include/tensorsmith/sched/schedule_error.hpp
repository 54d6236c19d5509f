// SPDX-License-Identifier: Apache-2.0
// ScheduleError: why a step is not legal on a state. An enum and ids: no text, no allocation.
//
// Floor 3. Own design: an illegal step is a normal answer in a search. Not here: its name and its
// sentence for people (sched/explain_error.hpp).
#pragma once

#include <cstdint>
#include <optional>

#include "tensorsmith/sched/schedule_error_code.hpp"
#include "tensorsmith/sched/state.hpp"
#include "tensorsmith/support/result.hpp"

namespace tensorsmith {

struct ScheduleError {
  ScheduleErrorCode code;
  std::int32_t stage = -1;
  std::int32_t iterator = -1;
  std::int64_t detail = 0;  ///< the offending number; what it counts depends on the code
  std::int32_t step = -1;   ///< position in the history, -1 outside of it
  bool operator==(const ScheduleError&) const = default;
};

/// The check of a step: nothing if it is legal.
using StepCheck = std::optional<ScheduleError>;

}  // namespace tensorsmith
