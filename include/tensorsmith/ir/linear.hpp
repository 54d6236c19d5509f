// SPDX-License-Identifier: Apache-2.0
// Linear forms of integer expressions of any type: sum of coefficient * atom + constant, modulo
// 2^64.
//
// Floor 1. Own design. The simplifier's canonical sums; equal forms become equal expressions.
// Unlike affine.hpp it looks into nothing but sums, differences and constant factors, and works for
// element types that wrap. Not here: ranges.
#pragma once

#include <cstdint>
#include <vector>

#include "tensorsmith/ir/expr_pool.hpp"
#include "tensorsmith/ir/value.hpp"
#include "tensorsmith/support/sort.hpp"

namespace tensorsmith::detail {

struct LinearTerm {
  ExprId atom;
  std::int64_t coefficient;
};

struct Linear {
  std::vector<LinearTerm> terms;  // ascending atoms, no zero coefficients
  std::int64_t constant = 0;

  void add_term(ExprId atom, std::int64_t coefficient) {
    auto at = terms.begin();
    while (at != terms.end() && at->atom < atom) {
      ++at;
    }
    if (at == terms.end() || at->atom != atom) {
      if (coefficient != 0) {
        terms.insert(at, {atom, coefficient});
      }
      return;
    }
    at->coefficient = wrapping_add(at->coefficient, coefficient);
    if (at->coefficient == 0) {
      terms.erase(at);
    }
  }
  void negate() {
    for (LinearTerm& term : terms) {
      term.coefficient = wrapping_sub(0, term.coefficient);
    }
    constant = wrapping_sub(0, constant);
  }
  std::int64_t coefficient_of(ExprId atom) const {
    for (const LinearTerm& term : terms) {
      if (term.atom == atom) {
        return term.coefficient;
      }
    }
    return 0;
  }
};

/// Factors of a product without its constants, which multiply `scale`.
inline void collect_factors(const ExprPool& pool, ExprId id, std::int64_t& scale,
                            std::vector<ExprId>& factors) {
  if (const IntImm* imm = pool.as<IntImm>(id)) {
    scale = wrapping_mul(scale, imm->value);
    return;
  }
  const Binary* n = pool.as<Binary>(id);
  if (n != nullptr && n->op == BinaryOp::mul) {
    collect_factors(pool, n->a, scale, factors);
    collect_factors(pool, n->b, scale, factors);
    return;
  }
  factors.push_back(id);
}

/// sum += coefficient * id.
inline void collect_linear(ExprPool& pool, ExprId id, std::int64_t coefficient, Linear& sum) {
  if (const IntImm* imm = pool.as<IntImm>(id)) {
    sum.constant = wrapping_add(sum.constant, wrapping_mul(coefficient, imm->value));
    return;
  }
  if (const Unary* n = pool.as<Unary>(id); n != nullptr && n->op == UnaryOp::neg) {
    collect_linear(pool, n->a, wrapping_sub(0, coefficient), sum);
    return;
  }
  if (const Binary* found = pool.as<Binary>(id)) {
    const Binary n = *found;
    if (n.op == BinaryOp::add || n.op == BinaryOp::sub) {
      collect_linear(pool, n.a, coefficient, sum);
      collect_linear(pool, n.b, n.op == BinaryOp::add ? coefficient : wrapping_sub(0, coefficient),
                     sum);
      return;
    }
    if (n.op == BinaryOp::mul) {
      std::vector<ExprId> factors;
      collect_factors(pool, id, coefficient, factors);
      sort_items(factors);
      if (factors.empty()) {
        sum.constant = wrapping_add(sum.constant, coefficient);
      } else if (factors.size() == 1) {
        collect_linear(pool, factors[0], coefficient, sum);
      } else {
        ExprId product = factors[0];
        for (std::size_t i = 1; i < factors.size(); ++i) {
          product = pool.mul(product, factors[i]);
        }
        sum.add_term(product, coefficient);
      }
      return;
    }
  }
  sum.add_term(id, coefficient);
}

/// The canonical expression: ascending atoms, subtraction for negative coefficients but the first,
/// the constant last.
inline ExprId expr_of_linear(ExprPool& pool, const Linear& sum, DType type) {
  const auto imm = [&](std::int64_t value) {
    return pool.int_imm(is_index_type(type) ? value : wrap_integer(value, type), type);
  };
  ExprId result;
  for (const LinearTerm& term : sum.terms) {
    const bool subtract = term.coefficient < 0 && result.valid();
    const std::int64_t scale = subtract ? wrapping_sub(0, term.coefficient) : term.coefficient;
    const ExprId part = scale == 1 ? term.atom : pool.mul(term.atom, imm(scale));
    result = !result.valid() ? part : subtract ? pool.sub(result, part) : pool.add(result, part);
  }
  if (!result.valid()) {
    return imm(sum.constant);
  }
  if (sum.constant == 0) {
    return result;
  }
  return sum.constant > 0 ? pool.add(result, imm(sum.constant))
                          : pool.sub(result, imm(wrapping_sub(0, sum.constant)));
}

}  // namespace tensorsmith::detail
