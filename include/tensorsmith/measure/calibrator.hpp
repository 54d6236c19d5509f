// SPDX-License-Identifier: Apache-2.0
// calibrate_peak: what one core of this machine reaches right now on f32 multiply-adds.
//
// Floor 6; defined in lib/measure. Own design: independent accumulators in the widest vectors
// present, timed for a few milliseconds. Clocks drift with the load of shared hosts, so take a
// reading next to every result.
#pragma once

#include <cstdint>

#include "tensorsmith/measure/measure_result.hpp"

namespace tensorsmith {

/// Runs on the calling thread for about `budget_ns`; the best of several short blocks. With the
/// instructions that code for vectors of `most_vector_bits` has: of 128 or fewer, that is products
/// and sums that are not fused. 0: the widest of this machine.
Calibration calibrate_peak(std::int64_t budget_ns = 3'000'000, std::int32_t most_vector_bits = 0);

}  // namespace tensorsmith
