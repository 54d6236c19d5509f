// SPDX-License-Identifier: Apache-2.0
// MeasureStatus: how a measurement ended, its name, and the Ansor reference's code for it.
//
// Floor 6. Own design; codes from the Ansor reference, ch. 3.4 (`error_no`). Failures are data:
// every value is stored in records and learnt from. Not here: times (measure_result.hpp).
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>

namespace tensorsmith {

enum class MeasureStatus : std::uint8_t {
  ok,
  instantiation_error,  // replaying or lowering the schedule failed
  compile_error,        // code generation failed
  build_timeout,        // code generation took too long
  load_error,           // the object code cannot be linked, or its entry is missing
  run_timeout,          // a call ran past its deadline; the worker was killed
  crashed,              // a signal, with its name in the message
  out_of_bounds,        // a guard band changed, or an access next to a buffer faulted
  wrong_result,         // an output element is outside its tolerance, or was never written
  nan_result,           // an output element is NaN where the reference is not
  device_error,         // of a GPU, and it sticks: its context is gone, the worker was replaced
  out_of_memory,        // the device has no room for the candidate's buffers
  worker_lost,          // the worker died for a reason that is not the candidate's
  cancelled,            // the caller stopped, or ran out of time, before this one was finished
  unknown_error,
};

namespace detail {
struct MeasureStatusFacts {
  std::string_view name;
  std::int32_t ansor_error_no;
};
inline constexpr std::array<MeasureStatusFacts, 15> measure_status_facts{{
    {"ok", 0},
    {"instantiation_error", 1},
    {"compile_error", 2},
    {"build_timeout", 6},
    {"load_error", 3},
    {"run_timeout", 7},
    {"crashed", 4},
    {"out_of_bounds", 4},
    {"wrong_result", 5},
    {"nan_result", 5},
    {"device_error", 4},
    {"out_of_memory", 4},
    {"worker_lost", 4},
    {"cancelled", 8},
    {"unknown_error", 8},
}};
}  // namespace detail

inline constexpr std::size_t num_measure_statuses = detail::measure_status_facts.size();

constexpr std::string_view name_of(MeasureStatus status) {
  return detail::measure_status_facts[static_cast<std::size_t>(status)].name;
}

constexpr std::optional<MeasureStatus> measure_status_from_name(std::string_view name) {
  for (std::size_t i = 0; i < num_measure_statuses; ++i) {
    if (detail::measure_status_facts[i].name == name) {
      return static_cast<MeasureStatus>(i);
    }
  }
  return std::nullopt;
}

/// `error_no` of a v0.6 log line. Several of our values share one code.
constexpr std::int32_t ansor_error_no(MeasureStatus status) {
  return detail::measure_status_facts[static_cast<std::size_t>(status)].ansor_error_no;
}

/// The most general of our values with that code; unknown_error for a code outside 0..8.
constexpr MeasureStatus measure_status_from_ansor(std::int32_t error_no) {
  switch (error_no) {
  case 0:
    return MeasureStatus::ok;
  case 1:
    return MeasureStatus::instantiation_error;
  case 2:
    return MeasureStatus::compile_error;
  case 3:
    return MeasureStatus::load_error;
  case 4:
    return MeasureStatus::crashed;
  case 5:
    return MeasureStatus::wrong_result;
  case 6:
    return MeasureStatus::build_timeout;
  case 7:
    return MeasureStatus::run_timeout;
  default:
    return MeasureStatus::unknown_error;
  }
}

/// True if the failure tells something about the candidate, false if only about the machine.
constexpr bool is_candidate_fault(MeasureStatus status) {
  return status != MeasureStatus::ok && status != MeasureStatus::worker_lost &&
         status != MeasureStatus::cancelled && status != MeasureStatus::unknown_error;
}

}  // namespace tensorsmith
