// SPDX-License-Identifier: Apache-2.0
// The best so far over time, as inline SVG.
//
// Private to lib/report and tests. Own design. Not here: anything around the picture.
#pragma once

#include <string>
#include <vector>

#include "tensorsmith/record/record.hpp"

namespace tensorsmith {

/// The last run in colour with a dot for each of its successful trials, earlier ones behind it.
/// `flop` 0: calls per second instead of GFLOP/s. Empty text if no trial succeeded.
std::string curve_chart(const std::vector<std::vector<Record>>& runs, double flop);

/// About `wanted` round numbers from 0 to at least `most`.
std::vector<double> axis_ticks(double most, int wanted);

}  // namespace tensorsmith
