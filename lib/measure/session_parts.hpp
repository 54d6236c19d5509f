// SPDX-License-Identifier: Apache-2.0
// What the worker's sessions on a CPU and on a device do alike, apart from where their bytes lie.
//
// Private to lib/ and tools/. Own design.
#pragma once

#include <algorithm>
#include <span>
#include <string>

#include "measure/protocol.hpp"
#include "tensorsmith/measure/race.hpp"
#include "tensorsmith/measure/verify.hpp"

namespace tensorsmith {

inline MeasureTask task_of(const PrepareRequest& request) {
  MeasureTask task;
  task.input_seed = request.input_seed;
  task.num_threads = request.num_threads;
  for (const ArgumentMessage& message : request.arguments) {
    task.arguments.push_back(message.argument);
  }
  return task;
}

/// One sentence if an argument's data are not what its shape says, or lie outside of the
/// `file_bytes` that came with the request.
inline std::string data_problem(const ArgumentMessage& message, std::uint64_t file_bytes) {
  const KernelArgument& argument = message.argument;
  const auto expected = static_cast<std::size_t>(argument.is_output ? argument.reference_bytes()
                                                                    : argument.num_bytes());
  const bool fits = message.data_bytes == 0 ||
                    (message.data_bytes == expected && message.data_offset <= file_bytes &&
                     message.data_bytes <= file_bytes - message.data_offset);
  return fits ? "" : "the data of argument '" + argument.name + "' has the wrong size";
}

/// Compares the outputs of arguments (spec, reference, rms) with their references, as far as there
/// are some; `read` (argument, span) gives the bytes of one, or false and its own reason in
/// `result`. False: what is wrong is in `result`.
template <class Arguments, class Read>
bool verify_outputs(const Arguments& arguments, const Read& read, MeasureResult& result) {
  result.is_verified = true;
  for (const auto& argument : arguments) {
    if (!argument.spec.is_output) {
      continue;
    }
    if (argument.reference.empty() && argument.spec.num_elements > 0) {
      result.is_verified = false;
      continue;
    }
    std::span<const std::byte> output;
    if (!read(argument, output)) {
      return false;
    }
    const Verdict verdict = verify_output(argument.spec, argument.reference, argument.rms, output);
    if (verdict.status != MeasureStatus::ok) {
      result.status = verdict.status;
      result.message = verdict.message;
      result.is_verified = false;
      return false;
    }
  }
  return true;
}

/// One sentence if the data of an output's hard references are not what they say, or lie outside of
/// the `file_bytes` that came with the request.
inline std::string hard_problem(const ArgumentMessage& message, std::uint64_t file_bytes) {
  const KernelArgument& argument = message.argument;
  for (const HardMessage& hard : message.hard) {
    const bool has_rows = argument.is_output && hard.rows.fits(argument.num_elements);
    const auto count =
        static_cast<std::uint64_t>(has_rows ? hard.rows.elements_of(argument.num_elements) : 0);
    const auto width = static_cast<std::uint64_t>(bytes_of(argument.reference_dtype));
    const bool has_bounds = hard.bound_bytes > 0 || is_float(argument.dtype);  // or exact integers
    if (!has_rows || hard.value_bytes != count * width ||
        hard.bound_bytes != (has_bounds ? count * sizeof(double) : 0) ||
        hard.data_offset > file_bytes ||
        hard.value_bytes + hard.bound_bytes > file_bytes - hard.data_offset) {
      return "the hard references of argument '" + argument.name + "' have the wrong size";
    }
  }
  return {};
}

/// Draws that the outputs have references of.
template <class Arguments>
std::size_t count_hard_draws(const Arguments& arguments) {
  std::size_t count = 0;
  for (const auto& argument : arguments) {
    count = std::max(count, argument.hard.size());
  }
  return count;
}

/// Which draw that is.
template <class Arguments>
HardDraw hard_draw_of(const Arguments& arguments, std::size_t number) {
  HardDraw draw = HardDraw::finite;
  for (const auto& argument : arguments) {
    draw = number < argument.hard.size() ? argument.hard[number].draw : draw;
  }
  return draw;
}

/// As verify_outputs, of the hard draw `number`; `data`: the prepare request's memory.
template <class Arguments, class Read>
bool verify_hard_outputs(const Arguments& arguments, std::size_t number,
                         std::span<const std::byte> data, const Read& read, MeasureResult& result) {
  for (const auto& argument : arguments) {
    if (number >= argument.hard.size()) {
      continue;
    }
    const HardMessage& hard = argument.hard[number];
    std::span<const std::byte> output;
    if (!read(argument, output)) {
      return false;
    }
    const Verdict verdict = verify_hard_output(
        argument.spec, hard.rows, data.subspan(hard.data_offset, hard.value_bytes),
        data.subspan(hard.data_offset + hard.value_bytes, hard.bound_bytes), output);
    if (verdict.status != MeasureStatus::ok) {
      result.status = verdict.status;
      result.message = std::string("with hard inputs (") +
                       (hard.draw == HardDraw::finite ? "finite" : "infinities and NaN") +
                       "): " + verdict.message;
      return false;
    }
  }
  return true;
}

/// After the last round: the statistics of a ranked candidate's samples, none if it failed.
inline void finish_ranked(MeasureResult& result) {
  if (result.is_ok() && !result.samples_ns.empty()) {
    result.stage = RaceStage::full;
    result.median_ns = median_of(result.samples_ns);
    result.min_ns = *std::min_element(result.samples_ns.begin(), result.samples_ns.end());
  } else {
    result.samples_ns.clear();
  }
}

}  // namespace tensorsmith
