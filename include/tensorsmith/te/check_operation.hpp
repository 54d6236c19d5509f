// SPDX-License-Identifier: Apache-2.0
// check_operation: what an operation of a program must obey.
//
// Floor 2. Ansor reference, ch. 1.1. Not here: what people may write (te/program.hpp).
#pragma once

#include <cstdint>
#include <vector>

#include "tensorsmith/support/compiled.hpp"
#include "tensorsmith/te/compute_dag.hpp"

namespace tensorsmith::te {

namespace detail {

inline bool has_var(const std::vector<Axis>& axes, VarId var) {
  for (const Axis& axis : axes) {
    if (axis.var == var) {
      return true;
    }
  }
  return false;
}

/// Whether a path from `body` down is longer than `most`; no recursion.
TENSORSMITH_INLINE bool is_deeper_than(const ExprPool& pool, ExprId body, std::uint32_t most);

}  // namespace detail

/// Throws Error unless the operation obeys ch. 1.1: positive extents, unique iterator names, bodies
/// that match its outputs, reductions at the root only and alike in all bodies, reads of full rank.
TENSORSMITH_INLINE void
check_operation(const ExprPool& pool, const std::vector<TensorInfo>& tensors, const Operation& op);

}  // namespace tensorsmith::te

#ifndef TENSORSMITH_COMPILED
#include "tensorsmith/te/check_operation_body.hpp"
#endif
