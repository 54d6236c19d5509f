// SPDX-License-Identifier: Apache-2.0
// Interval analysis of integer and boolean expressions.
//
// Floor 1. Own design. Every result is conservative: no value that evaluation without error can
// give lies outside. Index arithmetic is exact; element arithmetic that may wrap gives the range of
// its type. Not here: relations between expressions (simplify.hpp compares by differences).
#pragma once

#include <cstdint>
#include <vector>

#include "tensorsmith/ir/rewrite.hpp"
#include "tensorsmith/ir/value.hpp"

namespace tensorsmith {

/// Inclusive; the extreme values of int64 mean "unbounded".
struct Interval {
  static constexpr std::int64_t lowest = INT64_MIN;
  static constexpr std::int64_t highest = INT64_MAX;

  std::int64_t min = lowest;
  std::int64_t max = highest;

  constexpr bool is_point() const { return min == max && min != lowest && max != highest; }
  constexpr bool is_bounded() const { return min != lowest && max != highest; }
  constexpr bool contains(std::int64_t value) const { return min <= value && value <= max; }
  constexpr bool within(std::int64_t low, std::int64_t high) const {
    return low <= min && max <= high;
  }
  friend constexpr bool operator==(const Interval&, const Interval&) = default;
};

/// Known ranges of variables, [min, max] inclusive. A variable without one may have any value.
class VarRanges {
 public:
  void set(VarId var, std::int64_t min, std::int64_t max) {
    if (var.value >= ranges_.size()) {
      ranges_.resize(var.value + 1);
    }
    ranges_[var.value] = {min, max};
  }
  Interval operator[](VarId var) const {
    return var.value < ranges_.size() ? ranges_[var.value] : Interval{};
  }

 private:
  std::vector<Interval> ranges_;
};

namespace detail {

__extension__ typedef __int128 Wide;

/// Unbounded ends stay unbounded; what leaves 63 bits becomes unbounded.
constexpr std::int64_t narrow_low(Wide value) {
  return value < Interval::lowest ? Interval::lowest : static_cast<std::int64_t>(value);
}
constexpr Interval narrow(Wide low, Wide high) {
  if (low > Interval::highest || high < Interval::lowest) {
    return {};
  }
  return {narrow_low(low),
          high > Interval::highest ? Interval::highest : static_cast<std::int64_t>(high)};
}
constexpr Wide unbounded = Wide{1} << 100;
constexpr Wide widen(std::int64_t value) {
  return value == Interval::lowest    ? -unbounded
         : value == Interval::highest ? unbounded
                                      : Wide{value};
}
constexpr Wide wide_times(Wide a, Wide b) {
  if (a == 0 || b == 0) {
    return 0;
  }
  const bool is_huge = a >= unbounded || a <= -unbounded || b >= unbounded || b <= -unbounded;
  return is_huge ? ((a > 0) == (b > 0) ? unbounded : -unbounded) : a * b;
}

template <class F>
constexpr Interval over_corners(const Interval& a, const Interval& b, const F& f) {
  const Wide values[4] = {f(widen(a.min), widen(b.min)), f(widen(a.min), widen(b.max)),
                          f(widen(a.max), widen(b.min)), f(widen(a.max), widen(b.max))};
  Wide low = values[0], high = values[0];
  for (Wide v : values) {
    low = v < low ? v : low;
    high = v > high ? v : high;
  }
  return narrow(low, high);
}

}  // namespace detail

constexpr Interval operator+(const Interval& a, const Interval& b) {
  using namespace detail;
  return narrow(widen(a.min) + widen(b.min), widen(a.max) + widen(b.max));
}
constexpr Interval operator-(const Interval& a, const Interval& b) {
  using namespace detail;
  return narrow(widen(a.min) - widen(b.max), widen(a.max) - widen(b.min));
}
constexpr Interval operator*(const Interval& a, const Interval& b) {
  return detail::over_corners(a, b, detail::wide_times);
}

/// All values that an element of an integer type (or boolean) can have.
constexpr Interval range_of_type(DType type) {
  const IntegerLimits limits = limits_of(type);
  return {limits.low, limits.high};
}

namespace detail {

constexpr Interval divide(const Interval& a, const Interval& b, bool towards_zero) {
  if (b.contains(0)) {
    return {};
  }
  return over_corners(a, b, [towards_zero](Wide x, Wide y) {
    Wide q = x / y;
    if (!towards_zero && x % y != 0 && (x < 0) != (y < 0)) {
      --q;
    }
    return x >= unbounded || x <= -unbounded ? ((x > 0) == (y > 0) ? unbounded : -unbounded) : q;
  });
}

constexpr Interval floor_modulo(const Interval& a, const Interval& b) {
  if (b.contains(0)) {
    return {};
  }
  if (b.is_point() && a.is_bounded() && floor_div(a.min, b.min) == floor_div(a.max, b.min)) {
    return {floor_mod(a.min, b.min), floor_mod(a.max, b.min)};
  }
  if (b.min > 0) {
    const std::int64_t top = b.max == Interval::highest ? b.max : b.max - 1;
    return {0, a.min >= 0 && a.max < top ? a.max : top};
  }
  return {b.min == Interval::lowest ? b.min : b.min + 1, 0};
}

constexpr Interval trunc_modulo(const Interval& a, const Interval& b) {
  if (b.contains(0)) {
    return {};
  }
  const Interval size = b.min > 0 ? b : Interval{0, 0} - b;
  const std::int64_t top = size.max == Interval::highest ? size.max : size.max - 1;
  const Interval both{top == Interval::highest ? Interval::lowest : -top, top};
  return {a.min >= 0 ? 0 : (a.min > both.min ? a.min : both.min),
          a.max <= 0 ? 0 : (a.max < both.max ? a.max : both.max)};
}

/// Of a comparison: {0, 0}, {1, 1} or {0, 1}.
constexpr Interval compare(BinaryOp op, const Interval& a, const Interval& b) {
  const auto decided = [](bool always, bool never) {
    return Interval{always ? 1 : 0, never ? 0 : 1};
  };
  const bool apart = a.max < b.min || b.max < a.min;
  const bool same = a.is_point() && a == b;
  switch (op) {
  case BinaryOp::eq:
    return decided(same, apart);
  case BinaryOp::ne:
    return decided(apart, same);
  case BinaryOp::lt:
    return decided(a.max < b.min, a.min >= b.max && b.max != Interval::highest);
  case BinaryOp::le:
    return decided(a.max <= b.min && a.max != Interval::highest, a.min > b.max);
  case BinaryOp::gt:
    return decided(a.min > b.max, a.max <= b.min && a.max != Interval::highest);
  case BinaryOp::ge:
    return decided(a.min >= b.max && b.max != Interval::highest, a.max < b.min);
  default:
    return {0, 1};
  }
}

}  // namespace detail

/// Of op on operands of the given ranges, in 64 bits (nothing wraps).
constexpr Interval interval_of(BinaryOp op, const Interval& a, const Interval& b) {
  switch (op) {
  case BinaryOp::add:
    return a + b;
  case BinaryOp::sub:
    return a - b;
  case BinaryOp::mul:
    return a * b;
  case BinaryOp::div:
    return detail::divide(a, b, true);
  case BinaryOp::truncmod:
    return detail::trunc_modulo(a, b);
  case BinaryOp::floordiv:
    return detail::divide(a, b, false);
  case BinaryOp::floormod:
    return detail::floor_modulo(a, b);
  case BinaryOp::min:
    return {a.min < b.min ? a.min : b.min, a.max < b.max ? a.max : b.max};
  case BinaryOp::max:
    return {a.min > b.min ? a.min : b.min, a.max > b.max ? a.max : b.max};
  case BinaryOp::and_: {
    const bool always = !a.contains(0) && !b.contains(0);
    return {always ? 1 : 0, (a.is_point() && a.min == 0) || (b.is_point() && b.min == 0) ? 0 : 1};
  }
  case BinaryOp::or_: {
    const bool never = a.is_point() && a.min == 0 && b.is_point() && b.min == 0;
    return {!a.contains(0) || !b.contains(0) ? 1 : 0, never ? 0 : 1};
  }
  default:
    return detail::compare(op, a, b);
  }
}

/// Interval of one expression and whether it is element arithmetic.
struct IntervalFact {
  Interval interval;
  bool has_element = false;
};

/// Children come from `of(child)`, so that callers may remember them.
template <class OfChild>
IntervalFact interval_fact(const ExprPool& pool, ExprId id, const VarRanges& ranges,
                           const OfChild& of) {
  const ExprNode& node = pool[id];
  bool has_element = std::holds_alternative<Load>(node.op) ||
                     std::holds_alternative<TensorRead>(node.op) ||
                     std::holds_alternative<Reduce>(node.op);
  if (has_element) {
    return {range_of_type(node.dtype), true};
  }
  IntervalFact facts[3];
  std::size_t count = 0;
  for_each_child(node, [&](ExprId child) {
    facts[count] = of(child);
    has_element = has_element || facts[count].has_element;
    ++count;
  });
  const Interval a = facts[0].interval, b = facts[1].interval, c = facts[2].interval;
  const auto joined = [&](const Interval& condition, const Interval& x, const Interval& y) {
    if (condition.is_point()) {
      return condition.min != 0 ? x : y;
    }
    return Interval{x.min < y.min ? x.min : y.min, x.max > y.max ? x.max : y.max};
  };
  const Interval type = range_of_type(node.dtype);
  Interval result = type;
  const bool operands_are_real = count > 0 && [&] {
    bool any = false;
    for_each_child(node, [&](ExprId child) { any = any || is_float(pool.dtype(child)); });
    return any;
  }();
  if (is_float(node.dtype)) {
    result = Interval{};
  } else if (const IntImm* imm = std::get_if<IntImm>(&node.op)) {
    return {{imm->value, imm->value}, false};
  } else if (const VarRef* ref = std::get_if<VarRef>(&node.op)) {
    const Interval known = ranges[ref->var];
    const bool is_unknown = known == Interval{};
    return {is_unknown && !is_index_type(node.dtype) ? type : known, false};
  } else if (std::holds_alternative<Cast>(node.op)) {
    result = operands_are_real || !a.within(type.min, type.max) ? type : a;
    if (node.dtype == DType::boolean && !operands_are_real) {
      result = !a.contains(0)               ? Interval{1, 1}
               : a.is_point() && a.min == 0 ? Interval{0, 0}
                                            : Interval{0, 1};
    }
    return {result, has_element};
  } else if (std::holds_alternative<Select>(node.op)) {
    result = joined(a, b, c);
  } else if (const Call* call = std::get_if<Call>(&node.op)) {
    if (call->op == CallOp::if_then_else) {
      result = joined(a, b, c);
    } else if (call->op == CallOp::abs && !operands_are_real) {
      const Interval negative = Interval{0, 0} - a;
      result = {a.min > 0 ? a.min : (negative.min > 0 ? negative.min : 0),
                a.max > negative.max ? a.max : negative.max};
    }
  } else if (operands_are_real) {
    result = type;
  } else if (const Unary* unary = std::get_if<Unary>(&node.op)) {
    result = unary->op == UnaryOp::neg ? Interval{0, 0} - a
             : !a.contains(0)          ? Interval{0, 0}
             : a.is_point()            ? Interval{1, 1}
                                       : Interval{0, 1};
  } else if (const Binary* binary = std::get_if<Binary>(&node.op)) {
    result = interval_of(binary->op, a, b);
  }
  const bool may_wrap = has_element || !is_index_type(node.dtype);
  if (may_wrap && !is_float(node.dtype) && !result.within(type.min, type.max)) {
    result = type;
  }
  return {result, has_element};
}

inline IntervalFact interval_fact(const ExprPool& pool, ExprId id, const VarRanges& ranges) {
  return interval_fact(pool, id, ranges,
                       [&](ExprId child) { return interval_fact(pool, child, ranges); });
}

/// Of a whole expression. Linear in the number of paths.
inline Interval interval_of(const ExprPool& pool, ExprId id, const VarRanges& ranges) {
  return interval_fact(pool, id, ranges).interval;
}

}  // namespace tensorsmith
