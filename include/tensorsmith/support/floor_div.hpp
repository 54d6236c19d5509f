// SPDX-License-Identifier: Apache-2.0
// Integer division that rounds towards minus infinity, and arithmetic modulo 2^64.
//
// Floor 0. The semantics of floordiv and floormod in ir/expr.hpp.
#pragma once

#include <cstdint>

namespace tensorsmith {

/// b != 0. INT64_MIN / -1 wraps.
constexpr std::int64_t floor_div(std::int64_t a, std::int64_t b) {
  if (b == -1) {
    return static_cast<std::int64_t>(0U - static_cast<std::uint64_t>(a));
  }
  const std::int64_t q = a / b;
  return a % b != 0 && (a % b < 0) != (b < 0) ? q - 1 : q;
}

/// Has the sign of b; b != 0.
constexpr std::int64_t floor_mod(std::int64_t a, std::int64_t b) {
  if (b == -1) {
    return 0;
  }
  const std::int64_t r = a % b;
  return r != 0 && (r < 0) != (b < 0) ? r + b : r;
}

/// Modulo 2^64.
constexpr std::int64_t wrapping_add(std::int64_t a, std::int64_t b) {
  return static_cast<std::int64_t>(static_cast<std::uint64_t>(a) + static_cast<std::uint64_t>(b));
}
constexpr std::int64_t wrapping_sub(std::int64_t a, std::int64_t b) {
  return static_cast<std::int64_t>(static_cast<std::uint64_t>(a) - static_cast<std::uint64_t>(b));
}
constexpr std::int64_t wrapping_mul(std::int64_t a, std::int64_t b) {
  return static_cast<std::int64_t>(static_cast<std::uint64_t>(a) * static_cast<std::uint64_t>(b));
}

}  // namespace tensorsmith
