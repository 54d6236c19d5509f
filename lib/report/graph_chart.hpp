// SPDX-License-Identifier: Apache-2.0
// The kernels of a network from top to bottom, with what they read and their shares of the time, as
// inline SVG.
//
// Private to lib/report and tests. Own design: rows in the order of the calls, an arc for each
// result that is read further down. Not here: anything around the picture.
#pragma once

#include <string>

#include "tensorsmith/report/network_report.hpp"

namespace tensorsmith {

/// Of more kernels than that, only the first are drawn.
inline constexpr std::size_t most_drawn_kernels = 400;

/// Empty text for no kernels.
std::string graph_chart(const NetworkReport& report);

}  // namespace tensorsmith
