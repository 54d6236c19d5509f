// SPDX-License-Identifier: Apache-2.0
// index_at: the value of an integer expression at one value of one variable.
//
// Floor 1. Own design. Not here: ranges (interval.hpp), forms (affine.hpp).
#pragma once

#include <cstdint>
#include <optional>

#include "tensorsmith/ir/expr_pool.hpp"
#include "tensorsmith/support/floor_div.hpp"

namespace tensorsmith {

/// What other variables are while one has a value.
enum class OtherVars { unknown, zero };

/// Nothing if it depends on data, or on other variables where they are unknown. Casts are taken to
/// keep the value. Linear in the number of paths.
inline std::optional<std::int64_t> index_at(const ExprPool& pool, ExprId id, VarId var,
                                            std::int64_t value,
                                            OtherVars others = OtherVars::unknown) {
  if (const IntImm* imm = pool.as<IntImm>(id)) {
    return imm->value;
  }
  if (const VarRef* ref = pool.as<VarRef>(id)) {
    return ref->var == var             ? std::optional(value)
           : others == OtherVars::zero ? std::optional<std::int64_t>(0)
                                       : std::nullopt;
  }
  if (const Cast* cast = pool.as<Cast>(id)) {
    return index_at(pool, cast->a, var, value, others);
  }
  const Binary* node = pool.as<Binary>(id);
  const auto a = node != nullptr ? index_at(pool, node->a, var, value, others) : std::nullopt;
  const auto b = a ? index_at(pool, node->b, var, value, others) : std::nullopt;
  if (!b) {
    return std::nullopt;
  }
  switch (node->op) {
  case BinaryOp::add:
    return *a + *b;
  case BinaryOp::sub:
    return *a - *b;
  case BinaryOp::mul:
    return *a * *b;
  case BinaryOp::min:
    return *a < *b ? *a : *b;
  case BinaryOp::max:
    return *a < *b ? *b : *a;
  case BinaryOp::floordiv:
    return *b > 0 ? std::optional(floor_div(*a, *b)) : std::nullopt;
  case BinaryOp::floormod:
    return *b > 0 ? std::optional(floor_mod(*a, *b)) : std::nullopt;
  case BinaryOp::div:
    return *b > 0 ? std::optional(*a / *b) : std::nullopt;
  case BinaryOp::truncmod:
    return *b > 0 ? std::optional(*a % *b) : std::nullopt;
  default:
    return std::nullopt;
  }
}

}  // namespace tensorsmith
