// What the worker's sessions on a CPU and on a device do alike, apart from where their bytes lie.
//
// Private to lib/ and tools/. Own design.
#pragma once

#include <algorithm>
#include <span>
#include <string>

#include "measure/protocol.hpp"
#include "measure/verify.hpp"
#include "tensorsmith/measure/race.hpp"

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
