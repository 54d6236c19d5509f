// SPDX-License-Identifier: Apache-2.0
// The rewrite rules of the simplifier, as tables.
//
// Floor 1. Own design. Each table is a function template over `apply`, called once per rule until
// one says true: the simplifier passes a rewriter, the tests a tester that draws operands, compares
// both sides and reports a rule that never fires. A rule holds whenever its left side has a value;
// its condition sees the constants (m.c(n)) and the ranges of the wild operands (m.range(n)). Not
// here: sums, quotients, comparisons and minima of index arithmetic in general, which are computed
// on linear forms (simplify.hpp).
#pragma once

#include "tensorsmith/ir/rule_pattern.hpp"

namespace tensorsmith::detail::rules {

constexpr Wild<0> x;
constexpr Wild<1> y;
constexpr Wild<2> z;
constexpr Wild<3> w;
constexpr Const<0> c0;
constexpr Const<1> c1;
constexpr Lit<0> zero;
constexpr Lit<1> one;
constexpr Flag<true> yes;
constexpr Flag<false> no;

template <class A, class B>
constexpr auto min_of(A a, B b) {
  return op<BinaryOp::min>(a, b);
}
template <class A, class B>
constexpr auto max_of(A a, B b) {
  return op<BinaryOp::max>(a, b);
}
template <class A, class B>
constexpr auto div_of(A a, B b) {
  return op<BinaryOp::floordiv>(a, b);
}
template <class A, class B>
constexpr auto mod_of(A a, B b) {
  return op<BinaryOp::floormod>(a, b);
}

/// Quotients and remainders of any integers.
template <class Apply>
bool integer_division_rules(Apply& apply) {
  const auto x_is_not_zero = [](const auto& m) { return !m.range(0).contains(0); };
  return apply(div_of(x, one), x) || apply(op<BinaryOp::div>(x, one), x) ||
         apply(mod_of(x, one), zero) || apply(op<BinaryOp::truncmod>(x, one), zero) ||
         apply(div_of(x, x), one, x_is_not_zero) || apply(mod_of(x, x), zero, x_is_not_zero) ||
         apply(op<BinaryOp::div>(x, x), one, x_is_not_zero) ||
         apply(op<BinaryOp::truncmod>(x, x), zero, x_is_not_zero) || apply(div_of(zero, x), zero) ||
         apply(mod_of(zero, x), zero);
}

/// Quotients and remainders of index arithmetic: nothing wraps.
template <class Apply>
bool index_division_rules(Apply& apply) {
  const auto both_positive = [](const auto& m) {  // and their product fits
    return Interval{1, INT32_MAX}.contains(m.c(0)) && Interval{1, INT32_MAX}.contains(m.c(1));
  };
  const auto c1_divides_c0 = [](const auto& m) {
    return m.c(0) > 0 && m.c(1) > 0 && m.c(0) % m.c(1) == 0;
  };
  const auto both_natural = [](const auto& m) { return m.range(0).min >= 0 && m.c(0) > 0; };
  return apply(div_of(div_of(x, c0), c1), div_of(x, c0 * c1), both_positive) ||
         apply(div_of(div_of(x, c0) + y, c1), div_of(x + y * c0, c0 * c1), both_positive) ||
         apply(mod_of(mod_of(x, c0), c1), mod_of(x, c1), c1_divides_c0) ||
         apply(div_of(mod_of(x, c0), c1), mod_of(div_of(x, c1), div_of(c0, c1)), c1_divides_c0) ||
         apply(op<BinaryOp::div>(x, c0), div_of(x, c0), both_natural) ||
         apply(op<BinaryOp::truncmod>(x, c0), mod_of(x, c0), both_natural);
}

/// Minima and maxima of any integers.
template <class Apply>
bool extremum_rules(Apply& apply) {
  const auto c1_is_at_most_c0 = [](const auto& m) { return m.c(1) <= m.c(0); };
  const auto c1_is_at_least_c0 = [](const auto& m) { return m.c(1) >= m.c(0); };
  return apply(min_of(min_of(x, y), x), min_of(x, y)) ||
         apply(min_of(min_of(x, y), y), min_of(x, y)) ||
         apply(max_of(max_of(x, y), x), max_of(x, y)) ||
         apply(max_of(max_of(x, y), y), max_of(x, y)) || apply(min_of(max_of(x, y), x), x) ||
         apply(min_of(max_of(x, y), y), y) || apply(max_of(min_of(x, y), x), x) ||
         apply(max_of(min_of(x, y), y), y) ||
         apply(min_of(min_of(x, c0), c1), min_of(x, min_of(c0, c1))) ||
         apply(max_of(max_of(x, c0), c1), max_of(x, max_of(c0, c1))) ||
         apply(min_of(max_of(x, c0), c1), c1, c1_is_at_most_c0) ||
         apply(max_of(min_of(x, c0), c1), c1, c1_is_at_least_c0) ||
         apply(min_of(min_of(x, c0), y), min_of(min_of(x, y), c0)) ||
         apply(max_of(max_of(x, c0), y), max_of(max_of(x, y), c0));
}

/// Of equal operands, any type: numbers only (a NaN is not equal to itself, but min and max of it
/// are).
template <class Apply>
bool equal_operand_rules(Apply& apply) {
  return apply(min_of(x, x), x) || apply(max_of(x, x), x);
}

/// Comparisons of any integers.
template <class Apply>
bool integer_comparison_rules(Apply& apply) {
  return apply(x < x, no) || apply(x >= x, yes) || apply(x == x, yes) || apply(x != x, no) ||
         apply(min_of(x, y) < x, y < x) || apply(min_of(x, y) >= x, y >= x) ||
         apply(max_of(x, y) >= x, yes) || apply(max_of(x, y) < x, no) ||
         apply(x >= min_of(x, y), yes) || apply(x < min_of(x, y), no);
}

/// Comparisons of integers and reals: only < and >= remain, for reals < and <= (NaN).
template <class Apply>
bool comparison_order_rules(Apply& apply) {
  return apply(x > y, y < x);
}
template <class Apply>
bool integer_comparison_order_rules(Apply& apply) {
  return apply(x <= y, y >= x);
}
template <class Apply>
bool real_comparison_order_rules(Apply& apply) {
  return apply(x >= y, y <= x);
}

/// Negated comparisons of integers.
template <class Apply>
bool negation_rules(Apply& apply) {
  return apply(!(x < y), x >= y) || apply(!(x >= y), x < y) || apply(!(x <= y), y < x) ||
         apply(!(x > y), y >= x);
}

/// Conditions. Wild operands are boolean.
template <class Apply>
bool logic_rules(Apply& apply) {
  return apply(x && yes, x) || apply(x && no, no) || apply(x || no, x) || apply(x || yes, yes) ||
         apply(x && x, x) || apply(x || x, x) || apply(!!x, x) || apply(x && !x, no) ||
         apply(x || !x, yes) || apply((x && y) && x, x && y) || apply((x && y) && y, x && y) ||
         apply((x || y) || x, x || y) || apply((x || y) || y, x || y) || apply(x && (x || y), x) ||
         apply(x && (y || x), x) || apply(x || (x && y), x) || apply(x || (y && x), x) ||
         apply(x == yes, x) || apply(x == no, !x) || apply(x != no, x) || apply(x != yes, !x) ||
         apply(x == x, yes) || apply(x != x, no);
}

/// Conditions over the same integers.
template <class Apply>
bool condition_rules(Apply& apply) {
  const auto c1_is_at_least_c0 = [](const auto& m) { return m.c(1) >= m.c(0); };
  const auto c1_is_at_most_c0 = [](const auto& m) { return m.c(1) <= m.c(0); };
  const auto differ = [](const auto& m) { return m.c(0) != m.c(1); };
  return apply(x < y && x >= y, no) || apply(x < y || x >= y, yes) || apply(x == y && x != y, no) ||
         apply(x == y || x != y, yes) || apply(!(x == y), x != y) || apply(!(x != y), x == y) ||
         apply(x < c0 && x < c1, x < min_of(c0, c1)) ||
         apply(x < c0 || x < c1, x < max_of(c0, c1)) ||
         apply(x >= c0 && x >= c1, x >= max_of(c0, c1)) ||
         apply(x >= c0 || x >= c1, x >= min_of(c0, c1)) ||
         apply(x < c0 && x >= c1, no, c1_is_at_least_c0) ||
         apply(x < c0 || x >= c1, yes, c1_is_at_most_c0) || apply(x == c0 && x == c1, no, differ) ||
         apply(x != c0 || x != c1, yes, differ);
}

/// Choices between values of any type; the condition is x.
template <class Apply>
bool choice_rules(Apply& apply) {
  return apply(choose(yes, y, z), y) || apply(choose(no, y, z), z) || apply(choose(x, y, y), y) ||
         apply(choose(!x, y, z), choose(x, z, y)) ||
         apply(choose(x, choose(x, y, z), w), choose(x, y, w)) ||
         apply(choose(x, y, choose(x, z, w)), choose(x, y, w)) ||
         apply(choose_lazily(yes, y, z), y) || apply(choose_lazily(no, y, z), z) ||
         apply(choose_lazily(x, y, y), y) ||
         apply(choose_lazily(!x, y, z), choose_lazily(x, z, y)) ||
         apply(choose_lazily(x, choose_lazily(x, y, z), w), choose_lazily(x, y, w)) ||
         apply(choose_lazily(x, y, choose_lazily(x, z, w)), choose_lazily(x, y, w));
}

/// Choices that are conditions.
template <class Apply>
bool boolean_choice_rules(Apply& apply) {
  return apply(choose(x, yes, no), x) || apply(choose(x, no, yes), !x) ||
         apply(choose(x, y, no), x && y) || apply(choose(x, yes, y), x || y);
}

/// Choices that are minima or maxima of integers.
template <class Apply>
bool integer_choice_rules(Apply& apply) {
  return apply(choose(x < y, x, y), min_of(x, y)) || apply(choose(x < y, y, x), max_of(x, y)) ||
         apply(choose(x >= y, x, y), max_of(x, y)) || apply(choose(x >= y, y, x), min_of(x, y));
}

/// Reals: what keeps every value, infinities, NaN and the sign of zero included.
template <class Apply>
bool real_rules(Apply& apply) {
  return apply(x * one, x) || apply(op<BinaryOp::div>(x, one), x) || apply(x - zero, x);
}

}  // namespace tensorsmith::detail::rules
