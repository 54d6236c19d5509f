// SPDX-License-Identifier: Apache-2.0
// largest_value: the greatest value of an expression whose variables run over numbers.
//
// Floor 1. Own design. By trying all values where they are few, which sees that x * 4 % 12 is at
// most 8; else by bounds, which do not.
#pragma once

#include <cstdint>
#include <optional>
#include <utility>
#include <vector>

#include "tensorsmith/ir/algebra/bounds.hpp"

namespace tensorsmith::algebra {

/// Nothing for another operation than arithmetic, for a division by zero and past 64 bits.
inline std::optional<std::int64_t> value_of(Op op, std::int64_t a, std::int64_t b) {
  std::int64_t value = 0;
  switch (op) {
  case Op::add:
    return __builtin_add_overflow(a, b, &value) ? std::nullopt : std::optional(value);
  case Op::sub:
    return __builtin_sub_overflow(a, b, &value) ? std::nullopt : std::optional(value);
  case Op::mul:
    return __builtin_mul_overflow(a, b, &value) ? std::nullopt : std::optional(value);
  case Op::floordiv:
  case Op::floormod:
    if (b == 0 || b == -1) {
      return b == 0 ? std::nullopt : value_of(Op::sub, 0, op == Op::floordiv ? a : 0);
    }
    return op == Op::floordiv ? floor_div(a, b) : floor_mod(a, b);
  case Op::min:
    return smaller_of(a, b);
  case Op::max:
    return larger_of(a, b);
  default:
    return std::nullopt;
  }
}

/// Integer arithmetic of values of variables; nothing if another operation or a division by zero is
/// met.
template <class ValueOf>
std::optional<std::int64_t> value_at(const Pool& pool, Ref ref, const ValueOf& value_of_var) {
  const Node& node = pool[ref];
  if (node.op == Op::integer) {
    return node.value;
  }
  if (node.op == Op::var) {
    return value_of_var(node.value);
  }
  if (!is_binary(node.op)) {
    return std::nullopt;
  }
  const auto a = value_at(pool, node.a, value_of_var), b = value_at(pool, node.b, value_of_var);
  return a && b ? value_of(node.op, *a, *b) : std::nullopt;
}

/// Variables with how many values they have, from 0.
using VarCounts = std::vector<std::pair<std::int32_t, std::int64_t>>;

inline bool uses_var(const Pool& pool, Ref ref, std::int32_t var) {
  const Node& node = pool[ref];
  if (node.op == Op::var) {
    return node.value == var;
  }
  for (std::size_t i = 0; i < node.num_operands; ++i) {
    if (uses_var(pool, pool.operand(node, i), var)) {
      return true;
    }
  }
  return false;
}

/// `unlimited` if there is no end.
inline std::int64_t largest_value(const Pool& pool, Ref ref, const VarCounts& all) {
  constexpr std::int64_t most_points = 1 << 14;
  Remembered<Bound> known;
  Bounds bounds(pool, known);
  VarCounts used;
  std::int64_t num_points = 1;
  for (const auto& [var, count] : all) {
    bounds.bind(var, Bound{0, count - 1});
    if (count > 1 && uses_var(pool, ref, var)) {
      used.emplace_back(var, count);
      num_points = num_points > most_points ? num_points : num_points * count;
    }
  }
  const std::int64_t bound = bounds(ref).max;
  if (num_points > most_points) {
    return bound;
  }
  std::vector<std::int64_t> value(used.size(), 0);
  std::optional<std::int64_t> largest;
  for (std::int64_t point = 0; point < num_points; ++point) {
    const auto at = value_at(pool, ref, [&](std::int64_t var) {
      for (std::size_t i = 0; i < used.size(); ++i) {
        if (used[i].first == var) {
          return std::optional(value[i]);
        }
      }
      return std::optional<std::int64_t>(0);
    });
    if (!at) {
      return bound;
    }
    largest = largest ? larger_of(*largest, *at) : *at;
    for (std::size_t i = 0; i < used.size() && ++value[i] == used[i].second; ++i) {
      value[i] = 0;
    }
  }
  return *largest;
}

}  // namespace tensorsmith::algebra
