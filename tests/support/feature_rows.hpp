// SPDX-License-Identifier: Apache-2.0
// Comparison of feature rows by column name; the order of rows and of equal buffers is open.
//
// Test support.
#pragma once

#include <algorithm>
#include <cmath>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "tensorsmith/feature/extract.hpp"

namespace tensorsmith::test {

inline bool agrees(float actual, double expected) {
  return std::abs(actual - expected) <= 1e-5 * std::max(1.0, std::abs(expected));
}

/// Columns of `row` that differ from `expected` by more than one part in 1e5, "" if none. Buffers
/// may stand in another order: the reference leaves the order of equals open.
inline std::string difference(std::span<const float, feature_length> row,
                              std::vector<double> expected) {
  constexpr auto width = static_cast<std::size_t>(BufferColumn::count);
  const auto block = [](std::size_t b) { return column(b, BufferColumn{}); };
  for (std::size_t b = 0; b < feature_num_buffers; ++b) {
    for (std::size_t other = b; other < feature_num_buffers; ++other) {
      bool same = true;
      for (std::size_t c = 0; c < width; ++c) {
        same = same && agrees(row[block(b) + c], expected[block(other) + c]);
      }
      if (same) {
        const auto from = expected.begin() + static_cast<std::ptrdiff_t>(block(other));
        std::swap_ranges(from, from + width,
                         expected.begin() + static_cast<std::ptrdiff_t>(block(b)));
        break;
      }
    }
  }
  std::string text;
  for (std::size_t c = 0; c < feature_length; ++c) {
    if (!agrees(row[c], expected[c])) {
      text += feature_name(c) + " " + std::to_string(row[c]) + " instead of " +
              std::to_string(expected[c]) + "; ";
    }
  }
  return text;
}

}  // namespace tensorsmith::test
