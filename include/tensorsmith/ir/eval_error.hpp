// SPDX-License-Identifier: Apache-2.0
// What can go wrong when a program is interpreted, and where.
//
// Floor 1. Own design. Shared by the interpreters of loop programs and of dags.
#pragma once

#include <cstdint>
#include <string>

#include "tensorsmith/ir/loop_program.hpp"

namespace tensorsmith {

enum class EvalErrorKind : std::uint8_t {
  out_of_bounds,        ///< `index` is outside [0, `limit`) of `dimension`; -1 = the flat address
  uninitialised_read,   ///< element `index` (flat) of `buffer` has no value yet
  division_by_zero,     ///< of integers
  unbound_variable,     ///< a variable is used outside its loop
  buffer_out_of_scope,  ///< an allocated buffer is used outside its Alloc
  extent_not_constant,  ///< of a vectorized loop, or different in its lanes
  wrong_argument,       ///< argument `index` has another type or shape than its buffer
  unwritten_output,     ///< element `index` of output `buffer` never got a value
  type_mismatch,        ///< a real is stored into an integer buffer or the reverse
  unsupported,          ///< Alloc or Barrier in a vectorized loop, te-only nodes
  race,                 ///< threads meet at element `index` of `buffer`, and one of them writes
  divergence            ///< a barrier that not all threads of a block reach together
};

struct EvalError {
  EvalErrorKind kind = EvalErrorKind::unsupported;
  StmtId stmt;
  BufferId buffer;
  std::int32_t dimension = -1;
  std::int64_t index = 0;
  std::int64_t limit = 0;
  bool operator==(const EvalError&) const = default;
};

constexpr std::string_view name_of(EvalErrorKind kind) {
  constexpr std::string_view names[] = {
      "out of bounds",        "read of an element without value",
      "division by zero",     "unbound variable",
      "buffer out of scope",  "extent not constant",
      "wrong argument",       "output element never written",
      "type mismatch",        "unsupported in this place",
      "race between threads", "barrier not reached by all threads"};
  return names[static_cast<std::size_t>(kind)];
}

/// One line for people: "out of bounds: A, dimension 1, index 9 of 8".
inline std::string explain(const EvalError& error, const LoopProgram& program) {
  std::string text(name_of(error.kind));
  if (error.buffer.valid() && error.buffer.value < program.buffers.size()) {
    text += ": " + program[error.buffer].name;
  }
  if (error.dimension >= 0) {
    text += ", dimension " + std::to_string(error.dimension);
  }
  text += ", index " + std::to_string(error.index);
  if (error.limit != 0) {
    text += " of " + std::to_string(error.limit);
  }
  if (error.stmt.valid()) {
    text += " (statement " + std::to_string(error.stmt.value) + ")";
  }
  return text;
}

}  // namespace tensorsmith
