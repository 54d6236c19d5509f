// SPDX-License-Identifier: Apache-2.0
// Divisors and ordered factorizations of loop extents.
//
// Floor 0. Ansor reference, ch. 5.1 (FillTileSize): l0 among the divisors of the extent, l1 among
// the divisors of extent / l0, ...; only those whose last length is at most `max_innermost` count.
#pragma once

#include <cstdint>
#include <vector>

namespace tensorsmith {

/// Divisors of n >= 1 in ascending order. O(sqrt n).
inline std::vector<std::int64_t> divisors(std::int64_t n) {
  std::vector<std::int64_t> low;
  std::vector<std::int64_t> high;
  for (std::int64_t d = 1; d * d <= n; ++d) {
    if (n % d == 0) {
      low.push_back(d);
      if (d != n / d) {
        high.push_back(n / d);
      }
    }
  }
  low.insert(low.end(), high.rbegin(), high.rend());
  return low;
}

/// All (l0 ... l_{num_lengths-1}) with product dividing `extent` and last length <= max_innermost,
/// in the reference's enumeration order (lexicographic in ascending divisors).
inline std::vector<std::vector<std::int64_t>> factorizations(std::int64_t extent, int num_lengths,
                                                             std::int64_t max_innermost) {
  std::vector<std::vector<std::int64_t>> all;
  std::vector<std::int64_t> current;
  const auto walk = [&](const auto& self, std::int64_t remaining, int left) -> void {
    if (left == 0) {
      if (current.empty() || current.back() <= max_innermost) {
        all.push_back(current);
      }
      return;
    }
    for (std::int64_t d : divisors(remaining)) {
      current.push_back(d);
      self(self, remaining / d, left - 1);
      current.pop_back();
    }
  };
  walk(walk, extent, num_lengths);
  return all;
}

/// Of the absolute values; gcd(0, n) is |n|.
constexpr std::int64_t gcd(std::int64_t a, std::int64_t b) {
  const auto absolute = [](std::int64_t n) {
    return n < 0 ? 0 - static_cast<std::uint64_t>(n) : static_cast<std::uint64_t>(n);
  };
  std::uint64_t left = absolute(a), right = absolute(b);
  while (right != 0) {
    const std::uint64_t rest = left % right;
    left = right;
    right = rest;
  }
  return static_cast<std::int64_t>(left);
}

constexpr std::int64_t ceil_div(std::int64_t a, std::int64_t b) { return (a + b - 1) / b; }

}  // namespace tensorsmith
