// SPDX-License-Identifier: Apache-2.0
// background_copy: whether a marked store is one that a GPU's hardware can do by itself.
//
// Floor 1. Own design. Code generation prints it (cp.async), the latency model counts on it.
//     S[i] =async A[j];   S[i] =async if_then_else(j < n, A[j], 0)
// Not here: how many bytes lie together.
#pragma once

#include <optional>

#include "tensorsmith/ir/loop_program.hpp"
#include "tensorsmith/support/math.hpp"

namespace tensorsmith {

struct BackgroundCopy {
  const Load* load = nullptr;
  ExprId condition;  ///< zero is stored where it does not hold; invalid: it always holds
};

/// An element of global memory of the same type, or zero.
inline std::optional<BackgroundCopy> background_copy(const LoopProgram& program,
                                                     const Store& store) {
  if (!store.is_async) {
    return std::nullopt;
  }
  const ExprPool& pool = program.pool;
  BackgroundCopy copy;
  const Call* call = pool.as<Call>(store.value);
  const bool is_choice = call != nullptr && call->op == CallOp::if_then_else;
  if (is_choice) {
    const IntImm* integer = pool.as<IntImm>(call->args[2]);
    const FloatImm* real = pool.as<FloatImm>(call->args[2]);
    const bool is_zero = (integer != nullptr && integer->value == 0) ||
                         (real != nullptr && real->value == 0.0 && !math::is_negative(real->value));
    if (!is_zero) {
      return std::nullopt;
    }
    copy.condition = call->args[0];
  }
  copy.load = pool.as<Load>(is_choice ? call->args[1] : store.value);
  if (copy.load == nullptr || program[copy.load->buffer].scope != Scope::global ||
      program[copy.load->buffer].dtype != program[store.buffer].dtype) {
    return std::nullopt;
  }
  return copy;
}

}  // namespace tensorsmith
