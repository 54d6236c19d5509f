// SPDX-License-Identifier: Apache-2.0
// ScheduleErrorCode: what can be wrong with a step.
//
// Floor 3. Own design. Apart from schedule_error.hpp because kinds of hints name one.
#pragma once

#include <cstdint>

namespace tensorsmith {

enum class ScheduleErrorCode : std::uint8_t {
#define TENSORSMITH_SCHEDULE_ERROR(name, text) name,
#include "tensorsmith/sched/schedule_errors.def"
};

}  // namespace tensorsmith
