// SPDX-License-Identifier: Apache-2.0
// The best so far over time, as inline SVG.
//
// Private to lib/report and tests. Own design. Not here: anything around the picture.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "tensorsmith/record/record.hpp"

namespace tensorsmith {

/// The last run in colour with a dot for each of its successful trials, earlier ones behind it.
/// `flop` 0: calls per second instead of GFLOP/s. Empty text if no trial succeeded.
std::string curve_chart(const std::vector<std::vector<Record>>& runs, double flop);

/// Something over seconds, in steps: flat until the next point. Empty text for no points, or none
/// above 0.
std::string step_chart(const std::vector<std::pair<double, double>>& points,
                       const std::string& x_label, const std::string& y_label);

/// About `wanted` round numbers from 0 to at least `most`.
std::vector<double> axis_ticks(double most, int wanted);

}  // namespace tensorsmith
