// SPDX-License-Identifier: Apache-2.0
// Node: one operation of an expression that features and printed ranges are computed from.
//
// Floor 1. Own design. Smaller than the nodes of ir/expr.hpp, because a search reads the features
// of a hundred thousand programs, and with the meaning that the Ansor reference gives them:
// integers of 32 and 64 bits do not wrap. Not here: where nodes live (pool.hpp).
#pragma once

#include <cstdint>

#include "tensorsmith/ir/dtype.hpp"

namespace tensorsmith::algebra {

using Ref = std::int32_t;  ///< a node of a Pool; equal expressions have equal refs
constexpr Ref no_ref = -1;

enum class Op : std::uint8_t {
  integer,
  real,
  var,
  add,
  sub,
  mul,
  div,       ///< floats; of integers it truncates
  truncmod,  ///< integers
  floordiv,
  floormod,
  min,
  max,
  eq,
  ne,
  lt,
  le,
  gt,
  ge,
  and_,
  or_,
  not_,
  cast,
  select,        ///< condition, if true, if false
  if_then_else,  ///< the same, but only one is evaluated
  call,
  load
};

constexpr bool is_binary(Op op) { return op >= Op::add && op <= Op::or_; }
constexpr bool is_comparison(Op op) { return op >= Op::eq && op <= Op::ge; }
/// Operands are in a, b, c; of calls and loads in the pool.
constexpr bool has_list(Op op) { return op >= Op::call; }

struct Node {
  Op op = Op::integer;
  DType dtype = DType::i32;
  std::uint16_t num_operands = 0;
  Ref a = no_ref, b = no_ref, c = no_ref;  ///< a: the first of a list
  std::int64_t value = 0;  ///< integer, bits of a real, number of a var, function, or tensor
};

/// Integers that indices are computed with.
constexpr bool is_index(DType type) { return type == DType::i32 || type == DType::i64; }

}  // namespace tensorsmith::algebra
