// SPDX-License-Identifier: Apache-2.0
// Lists of numbers of golden files, and how far others are from them.
//
// Test support.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <vector>

#include "support/catch.hpp"
#include "support/golden_data.hpp"

namespace tensorsmith::test {

using Numbers = std::vector<double>;

/// Numbers of a list of any depth, one after another; text ("nan") counts as not a number.
inline void append_numbers(const Json& json, Numbers& numbers) {
  if (json.is_array()) {
    for (const Json& item : json) {
      append_numbers(item, numbers);
    }
  } else {
    numbers.push_back(json.is_number() ? json.get<double>() : std::nan(""));
  }
}
inline Numbers numbers_of(const Json& json) {
  Numbers numbers;
  append_numbers(json, numbers);
  return numbers;
}

/// The largest difference, in units of the tolerance: absolute below 1, relative above.
template <class Values>
double worst_of(const Values& actual, const Numbers& expected) {
  REQUIRE(static_cast<std::size_t>(actual.size()) == expected.size());
  double worst = 0;
  for (std::size_t i = 0; i < expected.size(); ++i) {
    const double scale = std::max(1.0, std::abs(expected[i]));
    const auto index = static_cast<std::ptrdiff_t>(i);
    worst = std::max(worst, std::abs(*(actual.begin() + index) - expected[i]) / scale);
  }
  return worst;
}

}  // namespace tensorsmith::test
