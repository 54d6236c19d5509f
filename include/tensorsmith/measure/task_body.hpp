// SPDX-License-Identifier: Apache-2.0
// The definitions of task.hpp.
//
// Floor 6. Included by measure/task.hpp or compiled once (support/compiled.hpp).
#pragma once

#include <cstdint>
#include <string>

#include "tensorsmith/measure/task.hpp"

namespace tensorsmith {

TENSORSMITH_INLINE std::string check_task(const MeasureTask& task) {
  if (task.num_threads < 1 || task.num_threads > 1024) {
    return "number of threads must be in 1..1024, is " + std::to_string(task.num_threads);
  }
  if (task.arguments.empty()) {
    return "the task has no arguments";
  }
  for (const KernelArgument& argument : task.arguments) {
    const std::string who = "argument '" + argument.name + "': ";
    const std::int64_t most = INT64_MAX / 64;
    if (argument.num_elements < 0 || argument.num_elements > most) {
      return who + "number of elements is " + std::to_string(argument.num_elements);
    }
    const std::size_t num_bytes = static_cast<std::size_t>(argument.num_bytes());
    if (argument.is_output) {
      if (argument.reference_dtype != argument.dtype &&
          !(is_float(argument.dtype) && argument.reference_dtype == DType::f64)) {
        return who + "the reference must be of the output's type or f64";
      }
      if (argument.has_bounds && !is_float(argument.dtype)) {
        return who + "only floats have bounds of their errors";
      }
      if (!argument.reference_rows.fits(argument.num_elements)) {
        return who + "the rows of its reference are none of its rows";
      }
      const auto expected = static_cast<std::size_t>(argument.reference_bytes());
      if (!argument.reference.empty() && argument.reference.size() != expected) {
        return who + "reference has " + std::to_string(argument.reference.size()) +
               " bytes, expected " + std::to_string(expected);
      }
      for (const HardReference& hard : argument.hard) {
        if (!hard.rows.fits(argument.num_elements)) {
          return who + "the rows of a reference of hard inputs are none of its rows";
        }
      }
    } else {
      if (!argument.fill.bytes.empty() && argument.fill.bytes.size() != num_bytes) {
        return who + "input data has " + std::to_string(argument.fill.bytes.size()) +
               " bytes, expected " + std::to_string(num_bytes);
      }
      if (!(argument.fill.low <= argument.fill.high)) {
        return who + "empty fill range";
      }
    }
  }
  return {};
}

}  // namespace tensorsmith
