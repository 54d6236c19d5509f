// SPDX-License-Identifier: Apache-2.0
// Which reductions may be computed as several partial results.
//
// Floor 4. Own design. Not here: where that is done (emit_lanes.hpp), what a draft makes of it
// (cost/draft_nest.hpp).
#pragma once

#include <cstdint>

#include "tensorsmith/ir/products.hpp"

namespace tensorsmith::detail {

/// x < y or x is NaN ? x : y, or with >: the extremum that gives NaN if an operand is NaN, as
/// te::minimum and te::maximum make it.
inline bool is_propagating_extremum(const ExprPool& pool, const Combiner& combiner) {
  const Select* choice = pool.as<Select>(combiner.results[0]);
  const Binary* either = choice != nullptr ? pool.as<Binary>(choice->condition) : nullptr;
  if (either == nullptr || either->op != BinaryOp::or_) {
    return false;
  }
  const ExprId x = choice->if_true, y = choice->if_false;
  const Binary* before = pool.as<Binary>(either->a);
  const Binary* is_nan = pool.as<Binary>(either->b);
  const auto is_of = [](const Binary* node, ExprId a, ExprId b) {
    return node != nullptr && node->a == a && node->b == b;
  };
  const VarRef* of_x = pool.as<VarRef>(x);
  const VarRef* of_y = pool.as<VarRef>(y);
  const VarId lhs = combiner.lhs[0], rhs = combiner.rhs[0];
  return of_x != nullptr && of_y != nullptr && is_of(before, x, y) && is_of(is_nan, x, x) &&
         ((of_x->var == lhs && of_y->var == rhs) || (of_x->var == rhs && of_y->var == lhs)) &&
         (before->op == BinaryOp::lt || before->op == BinaryOp::gt) && is_nan->op == BinaryOp::ne;
}

/// Whether partial results of the combiner may be combined in any order, each begun anew.
inline bool has_partial_results(const ExprPool& pool, const Combiner& combiner) {
  if (combiner.results.size() != 1) {
    return false;
  }
  const Binary* node = combining_operation(pool, combiner);
  if (node == nullptr) {
    return is_propagating_extremum(pool, combiner);
  }
  return node->op == BinaryOp::min || node->op == BinaryOp::max || adds_terms(pool, combiner) ||
         (node->op == BinaryOp::mul && begins_with(pool, combiner, 1));
}

}  // namespace tensorsmith::detail
