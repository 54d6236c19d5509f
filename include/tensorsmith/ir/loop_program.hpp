// SPDX-License-Identifier: Apache-2.0
// LoopProgram: loops over buffers, what lowering produces and code generation consumes.
//
// Floor 1. Own design. Extents and indices are expressions over loop variables; loops are half-open
// from 0. A program owns a scratch ExprPool whose ids continue after the workload's pool.
// Not here: how to make one (lower/), what it means (eval.hpp), what is legal (verify.hpp).
#pragma once

#include <cstdint>
#include <string>
#include <variant>
#include <vector>

#include "tensorsmith/ir/expr_pool.hpp"
#include "tensorsmith/support/shared.hpp"

namespace tensorsmith {

using StmtId = Id<struct StmtTag>;

/// Where a buffer lives. `warp` is a register of each thread of a block that the others of its warp
/// read (ir/lane_access.hpp); `local` is private to a thread (stack or per-thread workspace on
/// CPUs); `register_` is indexed by constants only (after unrolling) and becomes SSA values.
enum class Scope : std::uint8_t { global, shared, warp, local, register_ };

/// Whether every block has its own, in which its threads meet.
constexpr bool is_of_block(Scope scope) { return scope == Scope::shared || scope == Scope::warp; }

struct Buffer {
  std::string name;
  DType dtype = DType::f32;
  SmallVector<std::int64_t, 6> shape;
  /// Elements between neighbours of each dimension; row-major of `shape` unless a layout step
  /// padded it. Same length as shape.
  SmallVector<std::int64_t, 6> strides;
  Scope scope = Scope::global;
  std::int32_t alignment = 64;  ///< bytes
  std::int32_t argument = -1;   ///< position among the kernel's arguments, -1 = allocated inside
  bool is_streamed = false;     ///< aligned vectors are written past the caches; a hint
  /// Of shared memory, in lines of 128 bytes: piece p of 16 bytes of line l lies where piece
  /// p ^ (l % 8) would, so that neither a line nor the same piece of eight lines meets in a bank.
  /// Indices do not show it. Begins at a multiple of 1024 bytes.
  bool is_swizzled = false;

  std::int64_t num_elements() const {  ///< including padding; 1 for rank 0
    std::int64_t last = 0;
    for (std::size_t d = 0; d < shape.size(); ++d) {
      last += (shape[d] - 1) * strides[d];
    }
    return last + 1;
  }
  std::int64_t num_bytes() const { return num_elements() * bytes_of(dtype); }
};

enum class ForKind : std::uint8_t {
  serial,
  parallel,    ///< iterations are independent; run by the kernel's runtime
  unrolled,    ///< constant extent; expanded by code generation
  vectorized,  ///< constant extent; innermost; its iterations are the lanes
  vthread,
  block_x,
  block_y,
  block_z,
  thread_x,
  thread_y,
  thread_z
};

constexpr bool is_block_loop(ForKind kind) {
  return kind >= ForKind::block_x && kind <= ForKind::block_z;
}
constexpr bool is_thread_loop(ForKind kind) {
  return kind >= ForKind::thread_x && kind <= ForKind::thread_z;
}

struct TensorIntrinsic;

struct For {
  VarId var;
  ExprId extent;  ///< constant for unrolled, vectorized and GPU loops; may use outer variables else
  ForKind kind;
  StmtId body;
  /// Code generation may compute this loop and all inside of it by this instruction
  /// (ir/tensor_intrinsic.hpp); a hint, the loops say what is computed.
  const TensorIntrinsic* intrinsic = nullptr;
  /// Around such a loop: sets of registers for its operands, loaded that many steps less one ahead.
  std::int32_t load_sets = 1;
  /// What is left of a loop over whole tiles: it runs once or not at all.
  bool is_tail = false;
};
struct Store {
  BufferId buffer;
  ExprList indices;
  ExprId value;
  /// May be done in the background until the barrier that waits for it; nobody reads it before.
  bool is_async = false;
};
struct If {
  ExprId condition;
  StmtId then_body;
  StmtId else_body;  ///< may be invalid
};
struct Seq {
  std::vector<StmtId> items;
};
/// The buffer exists inside `body` only, with undefined contents at first.
struct Alloc {
  BufferId buffer;
  StmtId body;
};
struct Barrier {
  /// shared: all threads of the block wait. warp: those of a warp, for what they do with buffers of
  /// that scope.
  Scope scope;
  /// Background stores of so many last stretches between barriers may be unfinished behind it.
  std::int32_t pending = 0;
};
/// A hint; no effect on values. The address may be out of range.
struct Prefetch {
  BufferId buffer;
  ExprList indices;
  std::int32_t level;  ///< 1 = into L1, 2 = L2, 3 = L3
};

using Stmt = std::variant<Seq, For, Store, If, Alloc, Barrier, Prefetch>;

struct LoopProgram {
  /// The workload's pool, kept alive (null if `pool` stands alone).
  Shared<const ExprPool> base_pool;
  ExprPool pool;
  std::vector<Buffer> buffers;
  std::vector<Stmt> stmts;
  StmtId body;
  std::vector<BufferId> arguments;  ///< in the order of the dag's tensors

  explicit LoopProgram(Shared<const ExprPool> base = nullptr)
      : base_pool(std::move(base)), pool(base_pool.get()) {}

  StmtId add(Stmt stmt) {
    stmts.push_back(std::move(stmt));
    return StmtId{static_cast<std::uint32_t>(stmts.size()) - 1};
  }
  BufferId add(Buffer buffer) {
    if (buffer.strides.empty()) {
      buffer.strides.resize(buffer.shape.size(), 1);
      for (std::size_t d = buffer.shape.size(); d-- > 1;) {
        buffer.strides[d - 1] = buffer.strides[d] * buffer.shape[d];
      }
    }
    buffers.push_back(std::move(buffer));
    return BufferId{static_cast<std::uint32_t>(buffers.size()) - 1};
  }
  const Stmt& operator[](StmtId id) const { return stmts[id.value]; }
  const Buffer& operator[](BufferId id) const { return buffers[id.value]; }
  Buffer& operator[](BufferId id) { return buffers[id.value]; }
  template <class Node>
  const Node* as(StmtId id) const {
    return std::get_if<Node>(&stmts[id.value]);
  }
};

}  // namespace tensorsmith
