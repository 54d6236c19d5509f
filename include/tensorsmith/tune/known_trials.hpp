// SPDX-License-Identifier: Apache-2.0
// KnownTrials: trials of an earlier run, by the candidate.
//
// Floor 10. Own design. Not here: reading them from a journal (lib/tune/earlier_run.hpp).
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>  // an order that does not depend on the run

#include "tensorsmith/measure/measure_result.hpp"

namespace tensorsmith {

/// A trial of the earlier run.
struct KnownTrial {
  MeasureResult result;
  double seconds = 0;      ///< when it was recorded
  std::size_t record = 0;  ///< its place among the records of that run
};

/// By hash_steps.
using KnownTrials = std::map<std::uint64_t, KnownTrial>;

}  // namespace tensorsmith
