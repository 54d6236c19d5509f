// SPDX-License-Identifier: Apache-2.0
// division: the dividend and the constant divisor of a quotient or remainder.
//
// Floor 1. Own design. Not here: what becomes of the dividend (affine.hpp, flat_index.hpp).
#pragma once

#include <cstdint>
#include <optional>

#include "tensorsmith/ir/expr_pool.hpp"

namespace tensorsmith::detail {

/// The quotient or remainder by a positive constant that `id` is.
struct Division {
  ExprId dividend;
  std::int64_t divisor;
};
inline std::optional<Division> division(const ExprPool& pool, BinaryOp op, ExprId id) {
  const Binary* node = pool.as<Binary>(id);
  const IntImm* divisor = node != nullptr && node->op == op ? pool.as<IntImm>(node->b) : nullptr;
  return divisor != nullptr && divisor->value > 0 ? std::optional(Division{node->a, divisor->value})
                                                  : std::nullopt;
}

}  // namespace tensorsmith::detail
