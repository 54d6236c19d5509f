// SPDX-License-Identifier: Apache-2.0
// Products and sums as expressions say them: the factors of a product, reductions that add.
//
// Floor 1. Own design.
#pragma once

#include <cstdint>

#include "tensorsmith/ir/expr_pool.hpp"

namespace tensorsmith {

/// Of products whose factors are taken in another order; those with more stay as they are.
inline constexpr std::size_t most_free_factors = 32;

/// Factors of a product, from left to right; itself where they are more than `most`: expressions
/// share what they have in common, so n products can have 2^n factors.
inline ExprList factors_of_product(const ExprPool& pool, ExprId id, std::size_t most) {
  ExprList factors{id};
  for (std::size_t at = 0; at < factors.size();) {
    const Binary* product = pool.as<Binary>(factors[at]);
    if (product == nullptr || product->op != BinaryOp::mul) {
      ++at;
      continue;
    }
    if (factors.size() == most) {
      return ExprList{id};
    }
    factors[at] = product->b;
    factors.insert(at, product->a);
  }
  return factors;
}

/// What combines two results without a third operand, as add, mul, min and max do; null if the
/// reduction does it in another way.
inline const Binary* combining_operation(const ExprPool& pool, const Combiner& combiner) {
  const Binary* node =
      combiner.results.size() == 1 ? pool.as<Binary>(combiner.results[0]) : nullptr;
  if (node == nullptr) {
    return nullptr;
  }
  const auto is_var = [&](ExprId id, VarId var) {
    const VarRef* ref = pool.as<VarRef>(id);
    return ref != nullptr && ref->var == var;
  };
  const VarId lhs = combiner.lhs[0], rhs = combiner.rhs[0];
  const bool takes_both = (is_var(node->a, lhs) && is_var(node->b, rhs)) ||
                          (is_var(node->a, rhs) && is_var(node->b, lhs));
  return takes_both ? node : nullptr;
}

/// Whether a reduction of one result begins with this number.
inline bool begins_with(const ExprPool& pool, const Combiner& combiner, std::int64_t value) {
  const IntImm* whole = pool.as<IntImm>(combiner.identity[0]);
  const FloatImm* real = pool.as<FloatImm>(combiner.identity[0]);
  return (whole != nullptr && whole->value == value) ||
         (real != nullptr && real->value == static_cast<double>(value));
}

/// Whether a reduction adds its terms, from zero on.
inline bool adds_terms(const ExprPool& pool, const Combiner& combiner) {
  const Binary* node = combining_operation(pool, combiner);
  return node != nullptr && node->op == BinaryOp::add && begins_with(pool, combiner, 0);
}

}  // namespace tensorsmith
