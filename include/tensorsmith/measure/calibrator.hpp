// calibrate_peak: what one core of this machine reaches right now on f32 multiply-adds.
//
// Floor 6; defined in lib/measure. Own design: independent accumulators in the widest vectors
// present, timed for a few milliseconds. Clocks drift with the load of shared hosts, so take a
// reading next to every result.
#pragma once

#include <cstdint>

#include "tensorsmith/measure/measure_result.hpp"

namespace tensorsmith {

/// Runs on the calling thread for about `budget_ns`; the best of several short blocks.
Calibration calibrate_peak(std::int64_t budget_ns = 3'000'000);

}  // namespace tensorsmith
