// SPDX-License-Identifier: Apache-2.0
// The simplifier's arithmetic on linear forms: sums, quotients, comparisons, minima.
//
// Floor 1. Own design; the second half of simplify.hpp, which includes it. Quotients by a positive
// constant c: with a = c*q + r, floordiv(a, c) = q + floordiv(r, c) and floormod(a, c) =
// floormod(r, c); with r = g*s + t, t in [0, g) and g dividing c, floordiv(r, c) = floordiv(s, c/g)
// and floormod(r, c) = g*floormod(s, c/g) + t.
#pragma once

#include <cstdint>
#include <utility>

#include "tensorsmith/ir/simplify.hpp"
#include "tensorsmith/support/factorize.hpp"

namespace tensorsmith::detail {

inline ExprId Simplifier::canonical_sum(ExprId id) {
  const DType type = pool_.dtype(id);
  Linear sum;
  collect_linear(pool_, id, 1, sum);
  const bool has_element = fact(id).has_element;
  if (!has_element && is_index_type(type)) {
    merge_quotients(sum);
  } else if (type != DType::i64) {
    sum.constant = wrap_integer(sum.constant, type);
    for (LinearTerm& term : sum.terms) {
      const DType as = type == DType::u8 ? DType::i8 : type;  // x - y rather than x + 255*y
      term.coefficient = wrap_integer(term.coefficient, as);
    }
    std::erase_if(sum.terms, [](const LinearTerm& t) { return t.coefficient == 0; });
  }
  const ExprId result = expr_of_linear(pool_, sum, type);
  // Element arithmetic wraps; without an element it would be taken for exact index arithmetic.
  if (has_element && is_index_type(type) && !fact(result).has_element && !sum.terms.empty()) {
    return id;
  }
  return result;
}

/// k*c*floordiv(x, c) + k*floormod(x, c) --> k*x.
inline void Simplifier::merge_quotients(Linear& sum) {
  for (std::size_t i = 0; i < sum.terms.size();) {
    const LinearTerm term = sum.terms[i++];
    const Binary* found = pool_.as<Binary>(term.atom);
    if (found == nullptr || found->op != BinaryOp::floormod) {
      continue;
    }
    const IntImm* divisor = pool_.as<IntImm>(found->b);
    if (divisor == nullptr || divisor->value == 0) {
      continue;
    }
    const std::int64_t wanted = wrapping_mul(term.coefficient, divisor->value);
    const ExprId x = found->a;
    const ExprId quotient = (*this)(pool_.floordiv(x, pool_.as<Binary>(term.atom)->b));
    if (pool_.as<Binary>(quotient) == nullptr || sum.coefficient_of(quotient) != wanted) {
      continue;
    }
    sum.add_term(quotient, wrapping_sub(0, wanted));
    sum.add_term(term.atom, wrapping_sub(0, term.coefficient));
    collect_linear(pool_, x, term.coefficient, sum);
    i = 0;
  }
}

inline ExprId Simplifier::extremum(ExprId id, const Binary& n) {
  Interval difference = interval(n.a) - interval(n.b);
  if (is_index(id)) {
    Linear sum;
    collect_linear(pool_, n.a, 1, sum);
    collect_linear(pool_, n.b, -1, sum);
    merge_quotients(sum);
    difference = interval(sum);
  }
  const bool is_min = n.op == BinaryOp::min;
  if (difference.max <= 0 && difference.max != Interval::lowest) {
    return is_min ? n.a : n.b;
  }
  return difference.min >= 0 ? (is_min ? n.b : n.a) : id;
}

inline ExprId Simplifier::comparison(ExprId id, const Binary& n) {
  Rewriter rewriter{*this, id};
  const BinaryOp op = n.op;
  if (!is_index(n.a) || !is_index(n.b)) {
    if (const ExprId swapped = ordered(id, n); swapped != id) {
      return swapped;
    }
    rules::integer_comparison_rules(rewriter) || rules::comparison_order_rules(rewriter) ||
        rules::integer_comparison_order_rules(rewriter);
    return rewriter.subject;
  }
  if (rules::integer_comparison_rules(rewriter)) {
    return rewriter.subject;
  }
  const DType type = pool_.dtype(n.a);
  const bool is_equality = op == BinaryOp::eq || op == BinaryOp::ne;
  // All orders become sum < 0: a > b is b - a < 0, a <= b is a - b - 1 < 0.
  const bool swap = op == BinaryOp::gt || op == BinaryOp::ge;
  Linear sum;
  collect_linear(pool_, swap ? n.b : n.a, 1, sum);
  collect_linear(pool_, swap ? n.a : n.b, -1, sum);
  if (op == BinaryOp::ge || op == BinaryOp::le) {
    sum.constant = wrapping_sub(sum.constant, 1);
  }
  merge_quotients(sum);
  const Interval decided = compare(is_equality ? op : BinaryOp::lt, interval(sum), Interval{0, 0});
  if (decided.is_point()) {
    return flag(decided.min != 0);
  }
  std::int64_t divisor = 0;
  for (const LinearTerm& term : sum.terms) {
    divisor = gcd(divisor, term.coefficient);
  }
  const bool flip = sum.terms[0].coefficient < 0;
  if (flip) {
    sum.negate();
  }
  for (LinearTerm& term : sum.terms) {
    term.coefficient /= divisor;
  }
  const std::int64_t bound = wrapping_sub(0, std::exchange(sum.constant, 0));
  const ExprId left = expr_of_linear(pool_, sum, type);
  const auto imm = [&](std::int64_t value) { return pool_.int_imm(value, type); };
  if (is_equality) {
    return bound % divisor != 0 ? flag(op == BinaryOp::ne)
                                : pool_.binary(op, left, imm(bound / divisor));
  }
  // left * divisor < bound, or left * divisor > bound if flipped.
  return flip ? pool_.ge(left, imm(floor_div(bound, divisor) + 1))
              : pool_.lt(left, imm(-floor_div(-bound, divisor)));
}

inline ExprId Simplifier::division(ExprId id, const Binary& n) {
  const IntImm* imm = pool_.as<IntImm>(n.b);
  const bool is_quotient = n.op == BinaryOp::floordiv;
  if (imm == nullptr || imm->value <= 0 || (!is_quotient && n.op != BinaryOp::floormod)) {
    return id;
  }
  const std::int64_t c = imm->value;
  const DType type = pool_.dtype(id);
  Linear all, quotient, rest;
  collect_linear(pool_, n.a, 1, all);
  for (const LinearTerm& term : all.terms) {
    // Coefficients that are no multiples are reduced only if that keeps them positive.
    const bool divide = term.coefficient % c == 0 || term.coefficient > c;
    const std::int64_t whole = divide ? floor_div(term.coefficient, c) : 0;
    quotient.add_term(term.atom, whole);
    rest.add_term(term.atom, term.coefficient - whole * c);
  }
  quotient.constant = floor_div(all.constant, c);
  rest.constant = floor_mod(all.constant, c);
  const Interval range = interval(rest);
  if (range.is_bounded() && floor_div(range.min, c) == floor_div(range.max, c)) {
    const std::int64_t whole = floor_div(range.min, c);
    quotient.constant += whole;
    rest.constant -= whole * c;
    return expr_of_linear(pool_, is_quotient ? quotient : rest, type);
  }
  for (const LinearTerm& candidate : rest.terms) {
    const std::int64_t g = gcd(candidate.coefficient, c);
    if (g == 1) {
      continue;
    }
    Linear multiple, small;
    for (const LinearTerm& term : rest.terms) {
      if (term.coefficient % g == 0) {
        multiple.add_term(term.atom, term.coefficient / g);
      } else {
        small.add_term(term.atom, term.coefficient);
      }
    }
    multiple.constant = floor_div(rest.constant, g);
    small.constant = floor_mod(rest.constant, g);
    if (!interval(small).within(0, g - 1)) {
      continue;
    }
    const ExprId inner =
        pool_.binary(n.op, expr_of_linear(pool_, multiple, type), pool_.int_imm(c / g, type));
    if (is_quotient) {
      quotient.add_term(inner, 1);
      return expr_of_linear(pool_, quotient, type);
    }
    small.add_term(inner, g);
    return expr_of_linear(pool_, small, type);
  }
  if (quotient.terms.empty() && quotient.constant == 0) {
    return id;
  }
  const ExprId inner = pool_.binary(n.op, expr_of_linear(pool_, rest, type), n.b);
  if (!is_quotient) {
    return inner;
  }
  quotient.add_term(inner, 1);
  return expr_of_linear(pool_, quotient, type);
}

}  // namespace tensorsmith::detail
