// SPDX-License-Identifier: Apache-2.0
// flat_index: the place of an element in its buffer as a sum of integer expressions.
//
// Floor 1. Own design. A quotient and a remainder of one value by one constant that are added up as
// the value itself were never apart: loops that run over two dimensions at once count through
// memory without a jump.
//     buffer[8, 56], index (v floordiv 56, v floormod 56): 56 * (v floordiv 56) + v floormod 56 = v
// Not here: ranges (affine.hpp), code.
#pragma once

#include <cstdint>
#include <optional>

#include "tensorsmith/ir/division.hpp"
#include "tensorsmith/ir/expr_pool.hpp"
#include "tensorsmith/support/algorithm.hpp"
#include "tensorsmith/support/small_vector.hpp"

namespace tensorsmith {

/// `coefficient` times the value of `index`.
struct FlatTerm {
  ExprId index;
  std::int64_t coefficient;
};
using FlatIndex = SmallVector<FlatTerm, 8>;

namespace detail {

inline bool has_remainder(const ExprPool& pool, ExprId id) {
  const Binary* node = pool.as<Binary>(id);
  if (node == nullptr) {
    return false;
  }
  switch (node->op) {
  case BinaryOp::floormod:
    return true;
  case BinaryOp::add:
  case BinaryOp::sub:
  case BinaryOp::mul:
    return has_remainder(pool, node->a) || has_remainder(pool, node->b);
  default:
    return false;
  }
}

/// Adds coefficient * id, sums and products by constants taken apart.
inline void add_flat(const ExprPool& pool, ExprId id, std::int64_t coefficient, FlatIndex& sum) {
  if (const Binary* node = pool.as<Binary>(id)) {
    if (node->op == BinaryOp::add || node->op == BinaryOp::sub) {
      add_flat(pool, node->a, coefficient, sum);
      add_flat(pool, node->b, node->op == BinaryOp::add ? coefficient : -coefficient, sum);
      return;
    }
    const IntImm* const left = pool.as<IntImm>(node->a);
    const IntImm* const right = pool.as<IntImm>(node->b);
    if (node->op == BinaryOp::mul && (left != nullptr || right != nullptr)) {
      add_flat(pool, right != nullptr ? node->a : node->b,
               coefficient * (right != nullptr ? right->value : left->value), sum);
      return;
    }
  }
  sum.push_back({id, coefficient});
}

/// The quotient that, times `divisor`, makes the remainder whole; sum.size() if there is none. A
/// quotient of a quotient may be written as one.
inline std::size_t quotient_of(const ExprPool& pool, const FlatIndex& sum, const Division& part,
                               std::int64_t coefficient) {
  const std::optional<Division> inner = division(pool, BinaryOp::floordiv, part.dividend);
  for (std::size_t i = 0; i < sum.size(); ++i) {
    const std::optional<Division> other = division(pool, BinaryOp::floordiv, sum[i].index);
    const bool is_whole =
        other && ((other->dividend == part.dividend && other->divisor == part.divisor) ||
                  (inner && other->dividend == inner->dividend &&
                   other->divisor == inner->divisor * part.divisor));
    if (is_whole && sum[i].coefficient == coefficient * part.divisor) {
      return i;
    }
  }
  return sum.size();
}

}  // namespace detail

/// The sum of indices[d] * strides[d]; both have one entry per dimension.
inline FlatIndex flat_index(const ExprPool& pool, const ExprList& indices,
                            const SmallVector<std::int64_t, 6>& strides) {
  FlatIndex sum;
  bool has_remainder = false;
  for (ExprId index : indices) {
    has_remainder = has_remainder || detail::has_remainder(pool, index);
  }
  for (std::size_t d = 0; d < indices.size(); ++d) {
    if (has_remainder) {
      detail::add_flat(pool, indices[d], strides[d], sum);
    } else {
      sum.push_back({indices[d], strides[d]});
    }
  }
  for (std::size_t i = 0; has_remainder && i < sum.size();) {
    const auto part = detail::division(pool, BinaryOp::floormod, sum[i].index);
    const std::int64_t coefficient = sum[i].coefficient;
    const std::size_t quotient =
        part ? detail::quotient_of(pool, sum, *part, coefficient) : sum.size();
    if (quotient == sum.size()) {
      ++i;
      continue;
    }
    sum.erase(larger_of(i, quotient));
    sum.erase(smaller_of(i, quotient));
    detail::add_flat(pool, part->dividend, coefficient, sum);
    i = 0;
  }
  return sum;
}

}  // namespace tensorsmith
