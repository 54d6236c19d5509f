// SPDX-License-Identifier: Apache-2.0
// Backward interval arithmetic: what the operands of an operation may be, given its result.
//
// Floor 6. Own design (HC4-revise: Benhamou et al. 1999). Conservative: no operand that can give a
// result inside the interval is cut off. Not here: which operations there are (tape.hpp).
#pragma once

#include <cstdint>

#include "tensorsmith/ir/interval.hpp"
#include "tensorsmith/support/algorithm.hpp"

namespace tensorsmith::detail {

constexpr bool overlap(const Interval& a, const Interval& b) {
  return a.min <= b.max && b.min <= a.max;
}
constexpr Interval hull(const Interval& a, const Interval& b) {
  return {smaller_of(a.min, b.min), larger_of(a.max, b.max)};
}
/// Makes `a` what both have in common; false if that is nothing.
constexpr bool meet(Interval& a, const Interval& b) {
  a = {larger_of(a.min, b.min), smaller_of(a.max, b.max)};
  return a.min <= a.max;
}
/// Cuts zero off where it is an end; false if nothing else was there.
constexpr bool without_zero(Interval& a) {
  a.min += a.min == 0 ? 1 : 0;
  a.max -= a.max == 0 ? 1 : 0;
  return a.min <= a.max;
}
constexpr Interval absolute_of(const Interval& a) {
  const Interval negative = Interval{0, 0} - a;
  return {larger_of<std::int64_t>(larger_of(a.min, negative.min), 0),
          larger_of(a.max, negative.max)};
}

constexpr std::int64_t saturated(Wide value) {
  return value < INT64_MIN   ? INT64_MIN
         : value > INT64_MAX ? INT64_MAX
                             : static_cast<std::int64_t>(value);
}
/// Like apply_binary of integers in 64 bits, but it stays at the ends of the range, and division by
/// zero has a value.
constexpr std::int64_t saturated(BinaryOp op, std::int64_t a, std::int64_t b) {
  std::int64_t result = 0;
  switch (op) {
  case BinaryOp::add:
    return __builtin_add_overflow(a, b, &result) ? saturated(Wide{a} + b) : result;
  case BinaryOp::sub:
    return __builtin_sub_overflow(a, b, &result) ? saturated(Wide{a} - b) : result;
  case BinaryOp::mul:
    return __builtin_mul_overflow(a, b, &result) ? saturated(Wide{a} * b) : result;
  case BinaryOp::div:
    return b == 0 ? 0 : b == -1 ? saturated(-Wide{a}) : a / b;
  case BinaryOp::truncmod:
    return b == 0 ? a : b == -1 ? 0 : a % b;
  case BinaryOp::floordiv:
    return b == 0 ? 0 : b == -1 ? saturated(-Wide{a}) : floor_div(a, b);
  case BinaryOp::floormod:
    return b == 0 ? a : b == -1 ? 0 : floor_mod(a, b);
  case BinaryOp::min:
    return smaller_of(a, b);
  case BinaryOp::max:
    return larger_of(a, b);
  case BinaryOp::eq:
    return a == b ? 1 : 0;
  case BinaryOp::ne:
    return a != b ? 1 : 0;
  case BinaryOp::lt:
    return a < b ? 1 : 0;
  case BinaryOp::le:
    return a <= b ? 1 : 0;
  case BinaryOp::gt:
    return a > b ? 1 : 0;
  case BinaryOp::ge:
    return a >= b ? 1 : 0;
  case BinaryOp::and_:
    return a != 0 && b != 0 ? 1 : 0;
  case BinaryOp::or_:
    return a != 0 || b != 0 ? 1 : 0;
  }
  return 0;
}

/// Of `saturated`: interval_of, but for results at the ends and divisors that may be zero.
constexpr Interval total_interval(BinaryOp op, const Interval& a, const Interval& b) {
  const bool divides = op == BinaryOp::div || op == BinaryOp::floordiv ||
                       op == BinaryOp::truncmod || op == BinaryOp::floormod;
  if (divides && b.contains(0)) {
    return {};
  }
  if (op == BinaryOp::or_ && (!a.contains(0) || !b.contains(0))) {
    return {1, 1};
  }
  return interval_of(op, a, b);
}

constexpr std::int64_t above(std::int64_t value) {  // the least number that is greater
  return value == Interval::highest ? value : value + 1;
}
constexpr std::int64_t below(std::int64_t value) {
  return value == Interval::lowest ? value : value - 1;
}

/// a <= b.
constexpr bool narrow_le(Interval& a, Interval& b) {
  return meet(a, {Interval::lowest, b.max}) && meet(b, {a.min, Interval::highest});
}
/// a < b.
constexpr bool narrow_lt(Interval& a, Interval& b) {
  return meet(a, {Interval::lowest, below(b.max)}) && meet(b, {above(a.min), Interval::highest});
}
constexpr bool narrow_ne(Interval& a, Interval& b) {
  if (b.is_point()) {
    a.min = a.min == b.min ? above(a.min) : a.min;
    a.max = a.max == b.min ? below(a.max) : a.max;
  }
  if (a.is_point()) {
    b.min = b.min == a.min ? above(b.min) : b.min;
    b.max = b.max == a.min ? below(b.max) : b.max;
  }
  return a.min <= a.max && b.min <= b.max;
}

/// One factor of a product of numbers that are not negative.
constexpr bool narrow_factor(Interval& a, const Interval& b, const Interval& product) {
  if (a.min < 0 || b.min < 0 || product.max < 0) {
    return product.max >= 0 || a.min < 0 || b.min < 0;
  }
  if (b.min > 0 && product.max != Interval::highest &&
      !meet(a, {Interval::lowest, product.max / b.min})) {
    return false;
  }
  if (product.min > 0) {
    const std::int64_t least =
        b.max == Interval::highest || b.max == 0 ? 1 : (product.min - 1) / b.max + 1;
    return b.max != 0 && meet(a, {least, Interval::highest});
  }
  return true;
}

constexpr bool narrow_comparison(BinaryOp op, Interval& a, Interval& b) {
  switch (op) {
  case BinaryOp::eq:
    return meet(a, b) && meet(b, a);
  case BinaryOp::ne:
    return narrow_ne(a, b);
  case BinaryOp::lt:
    return narrow_lt(a, b);
  case BinaryOp::le:
    return narrow_le(a, b);
  case BinaryOp::gt:
    return narrow_lt(b, a);
  default:
    return narrow_le(b, a);
  }
}
constexpr BinaryOp opposite_of(BinaryOp op) {
  switch (op) {
  case BinaryOp::eq:
    return BinaryOp::ne;
  case BinaryOp::ne:
    return BinaryOp::eq;
  case BinaryOp::lt:
    return BinaryOp::ge;
  case BinaryOp::le:
    return BinaryOp::gt;
  case BinaryOp::gt:
    return BinaryOp::le;
  default:
    return BinaryOp::lt;
  }
}

/// False if no operands inside give a result inside. The results of and, or and comparisons are 0
/// or 1.
constexpr bool narrow_binary(BinaryOp op, const Interval& result, Interval& a, Interval& b) {
  const bool is_true = !result.contains(0), is_false = result.is_point() && result.min == 0;
  const Interval zero{0, 0};
  const auto is_zero = [](const Interval& x) { return x.is_point() && x.min == 0; };
  switch (op) {
  case BinaryOp::and_:
    if (is_true) {
      return without_zero(a) && without_zero(b);
    }
    if (is_false && !a.contains(0)) {
      return meet(b, zero);
    }
    return !is_false || b.contains(0) || meet(a, zero);
  case BinaryOp::or_:
    if (is_false) {
      return meet(a, zero) && meet(b, zero);
    }
    if (is_true && is_zero(a)) {
      return without_zero(b);
    }
    return !is_true || !is_zero(b) || without_zero(a);
  case BinaryOp::add:
    return meet(a, result - b) && meet(b, result - a);
  case BinaryOp::sub:
    return meet(a, result + b) && meet(b, a - result);
  case BinaryOp::mul:
    return narrow_factor(a, b, result) && narrow_factor(b, a, result);
  case BinaryOp::floordiv:
    if (a.min < 0 || b.min <= 0 || result.max < 0) {
      return true;
    }
    // result * b <= a < (result + 1) * b
    return meet(
        a,
        {(Interval{larger_of<std::int64_t>(result.min, 0), Interval::highest} *
          Interval{b.min, b.min})
             .min,
         result.max == Interval::highest || b.max == Interval::highest
             ? Interval::highest
             : below(
                   (Interval{above(result.max), above(result.max)} * Interval{b.max, b.max}).max)});
  case BinaryOp::min:
    return meet(a, {result.min, Interval::highest}) && meet(b, {result.min, Interval::highest});
  case BinaryOp::max:
    return meet(a, {Interval::lowest, result.max}) && meet(b, {Interval::lowest, result.max});
  default:
    break;
  }
  if (!is_comparison(op)) {
    return true;
  }
  return is_true    ? narrow_comparison(op, a, b)
         : is_false ? narrow_comparison(opposite_of(op), a, b)
                    : true;
}

}  // namespace tensorsmith::detail
