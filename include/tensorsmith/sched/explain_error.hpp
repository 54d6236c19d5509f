// SPDX-License-Identifier: Apache-2.0
// The name of a ScheduleError and its sentence for people.
//
// Floor 3. Own design. Apart from schedule_error.hpp because a search only counts errors.
#pragma once

#include <string>
#include <string_view>

#include "tensorsmith/sched/schedule_error.hpp"
#include "tensorsmith/sched/state.hpp"

namespace tensorsmith {

constexpr std::size_t num_schedule_errors = 0
#define TENSORSMITH_SCHEDULE_ERROR(name, text) +1
#include "tensorsmith/sched/schedule_errors.def"
    ;

constexpr std::string_view name_of(ScheduleErrorCode code) {
  constexpr std::string_view names[] = {
#define TENSORSMITH_SCHEDULE_ERROR(name, text) #name,
#include "tensorsmith/sched/schedule_errors.def"
  };
  return names[static_cast<std::size_t>(code)];
}

/// One sentence for people. `state` is the state the step was applied to.
template <class Extent>
std::string explain(const ScheduleError& error, const BasicState<Extent>& state) {
  constexpr std::string_view texts[] = {
#define TENSORSMITH_SCHEDULE_ERROR(name, text) text,
#include "tensorsmith/sched/schedule_errors.def"
  };
  const bool has_stage =
      error.stage >= 0 && static_cast<std::size_t>(error.stage) < state.num_stages();
  std::string out;
  if (error.step >= 0) {
    out += "step " + std::to_string(error.step) + ": ";
  }
  const std::string_view text = texts[static_cast<std::size_t>(error.code)];
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text[i] != '%' || i + 1 == text.size()) {
      out += text[i];
      continue;
    }
    const char what = text[++i];
    if (what == 'd') {
      out += std::to_string(error.detail);
    } else if (what == 's') {
      out += "stage " + std::to_string(error.stage);
      if (has_stage) {
        out += " (" + state.operation(static_cast<std::size_t>(error.stage)).name + ")";
      }
    } else if (what == 'i') {
      out += "iterator " + std::to_string(error.iterator);
      if (has_stage && error.iterator >= 0) {
        const auto& iterators = state.stage(static_cast<std::size_t>(error.stage)).iterators;
        if (static_cast<std::size_t>(error.iterator) < iterators.size()) {
          out += " (" + iterators[static_cast<std::size_t>(error.iterator)].name + ")";
        }
      }
    }
  }
  return out;
}

}  // namespace tensorsmith
