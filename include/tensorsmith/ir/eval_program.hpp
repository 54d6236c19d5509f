// SPDX-License-Identifier: Apache-2.0
// A LoopProgram as the interpreter runs it: flat register code per statement.
//
// Floor 1. Own design. Every instruction works on all lanes of the enclosing vectorized loop (one
// lane outside); affine indices become lists of terms. Plain data; made by eval_compile.hpp, run by
// eval.hpp.
#pragma once

#include <cstdint>
#include <optional>
#include <utility>
#include <vector>

#include "tensorsmith/ir/eval_error.hpp"
#include "tensorsmith/ir/value.hpp"

namespace tensorsmith {
namespace detail {

constexpr std::uint32_t no_register = UINT32_MAX;

enum class EvalOp : std::uint8_t {
  add_int,
  sub_int,
  mul_int,
  wrap,  // to `type`
  add_f32,
  sub_f32,
  mul_f32,
  binary,  // sub-operation in `sub`, operand type in `type`; `wraps`
  unary,
  call,
  cast,  // from `type` to `to`
  select,
  var,   // slot a
  lane,  // the lane's number
  load,  // access a
  lazy   // if a: code up to b gives c, else code up to d gives e; result in dst
};

struct EvalInstr {
  EvalOp op = EvalOp::wrap;
  std::uint8_t sub = 0;
  DType type = DType::i32;
  DType to = DType::i32;
  bool wraps = false;
  std::uint32_t dst = 0, a = 0, b = 0, c = 0, d = 0, e = 0;
};

/// slot * coefficient summed over terms [first, first + count), + constant + lane *
/// lane_coefficient; or the value of a register.
struct EvalIndex {
  std::uint32_t first = 0, count = 0;
  std::int64_t constant = 0, lane_coefficient = 0;
  std::uint32_t reg = no_register;
};
struct EvalTerm {
  std::uint32_t slot;
  std::int64_t coefficient;
};
struct EvalAccess {
  BufferId buffer;
  std::uint32_t first_index = 0;
  StmtId stmt;
};

struct EvalStmt {
  enum class Kind : std::uint8_t {
    sequence,
    loop,
    lanes,
    store,
    branch,
    alloc,
    threads,  // all threads of a block; `axes`
    barrier,
    nothing
  };
  Kind kind = Kind::nothing;
  StmtId origin;
  ForKind loop_kind = ForKind::serial;
  std::uint32_t code_begin = 0, code_end = 0;  // computes `value` (extent, condition, stored value)
  std::uint32_t value = no_register;
  std::uint32_t slot = 0;    // loop
  std::uint32_t access = 0;  // store
  std::uint32_t num_lanes = 0;
  bool has_barrier = false;  // here or inside
  BufferId buffer;
  std::vector<std::pair<std::uint32_t, std::int64_t>> axes;  // slot, extent; outermost first
  std::vector<std::uint32_t> children;
};

struct EvalProgram {
  const LoopProgram* source = nullptr;
  std::vector<EvalInstr> code;
  std::vector<EvalIndex> indices;
  std::vector<EvalTerm> terms;
  std::vector<EvalAccess> accesses;
  std::vector<EvalStmt> stmts;
  std::vector<std::int64_t>
      num_threads;  // by buffer: that have one of their own; 0 = shared by all
  std::vector<std::pair<std::uint32_t, Scalar>> constants;  // register, value
  std::uint32_t root = 0, num_registers = 0, num_slots = 0, max_lanes = 1;
  std::optional<EvalError> error;  // the first one found while compiling
};

}  // namespace detail
}  // namespace tensorsmith
