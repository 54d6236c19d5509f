// SPDX-License-Identifier: Apache-2.0
// The arithmetic intensity curve (feature group 3).
//
// Floor 5. Ansor reference, ch. 6.6, in both definitions. The walk is clamped to the last point,
// where the reference's runs off its array.
#pragma once

#include <array>
#include <cstdint>
#include <vector>

#include "tensorsmith/support/math.hpp"

namespace tensorsmith {

constexpr std::size_t intensity_points = 10;

enum class IntensityForm : std::uint8_t {
  linear,       ///< of release 0.10 and later: operations per byte, over operations
  logarithmic,  ///< until release 0.9: log2 of operations per log2 of bytes, over log2; no slog
};

/// `ops` and `bytes`: of the loops from innermost to outermost. All zero without loops or
/// operations.
inline std::array<double, intensity_points>
intensity_curve(std::vector<double> ops, std::vector<double> bytes,
                IntensityForm form = IntensityForm::linear) {
  std::array<double, intensity_points> curve{};
  if (ops.empty() || ops.back() <= 0) {
    return curve;
  }
  if (form == IntensityForm::logarithmic) {
    for (std::size_t i = 0; i < ops.size(); ++i) {
      ops[i] = math::log2(ops[i]);
      bytes[i] = bytes[i] > 2 ? math::log2(bytes[i]) : 1;  // one byte would divide by 0
    }
  }
  std::size_t at = 0;
  for (std::size_t i = 0; i < intensity_points; ++i) {
    const double x = ops.back() * static_cast<double>(i + 1) / intensity_points;
    while (at + 1 < ops.size() && ops[at] < x - 1e-4) {
      ++at;
    }
    const auto y = [&](std::size_t p) { return ops[p] / bytes[p]; };
    if (at == 0) {
      curve[i] = y(0);
    } else {
      const double slope = (y(at) - y(at - 1)) / (ops[at] - ops[at - 1]);
      curve[i] = y(at - 1) + slope * (x - ops[at - 1]);
    }
  }
  return curve;
}

}  // namespace tensorsmith
