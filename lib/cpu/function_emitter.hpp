// SPDX-License-Identifier: Apache-2.0
// FunctionEmitter: translates the statements of one LLVM function.
//
// Private to lib/cpu. Own design: loops are rotated, unrolled loops are expanded, vectorized loops
// are cut into chunks of native vectors. Its parts: stmt_emit.cpp (control flow), outline_emit.cpp
// (functions of their own), vector_emit.cpp (vectorized loops), transpose_emit.cpp (transposing
// copies), tensor_emit.cpp (tensor intrinsics in vectors). Values, memory and tiles have emitters
// of their own (function_state.hpp). KernelEmitter owns what all functions of a kernel share.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <vector>

#include "in_place.hpp"
#include "memory_emitter.hpp"
#include "tensorsmith/ir/tensor_match.hpp"
#include "tile_emitter.hpp"
#include "transposition.hpp"
#include "value_emitter.hpp"

namespace tensorsmith::llvm_codegen {

/// Which bytes of the workspace a function hands out. Stack discipline; `peak` is what it needs.
struct WorkspaceArea {
  std::int64_t used = 0;
  std::int64_t peak = 0;
};

class FunctionEmitter : PartEmitter {
 public:
  using Body = std::function<void()>;

  /// `state` must outlive it.
  FunctionEmitter(FunctionState& state, LLVMValueRef workspace, WorkspaceArea& area,
                  LLVMValueRef runtime)
      : PartEmitter(state), values_(state, memory_), memory_(state, values_),
        tiles_(state, *this, values_, memory_), workspace_(workspace), area_(area),
        runtime_(runtime) {}

  void bind_buffer(BufferId buffer, LLVMValueRef pointer);
  void bind_constant(VarId var, std::int64_t value) { state_.bind_constant(var, value); }
  void bind_scalar(VarId var, LLVMValueRef value);
  void emit(StmtId stmt);
  /// The whole program; if it is long, some of its outermost loops in functions of their own.
  void emit_in_parts(StmtId body);
  /// for var in [begin, end): a thread's share of a parallel loop.
  void emit_share(const For& loop, LLVMValueRef begin, LLVMValueRef end);
  /// The whole program, whose pointers say whether it works in place.
  void emit_in_place(StmtId body, const InPlace& in_place);
  void finish();  ///< returns from the function

  // For TileEmitter.
  void emit_loop(const For& loop);
  void emit_branch(LLVMValueRef condition, const Body& then_body, const Body& else_body);
  /// With the strip's iterations as lanes.
  void in_lanes(const Strip& strip, const Body& body);
  bool is_in_lanes() const { return chunk_.lanes != 1 || in_vectorized_ || group_ != nullptr; }

 private:
  struct StackSlot {
    std::int64_t bytes = 0;  ///< 0: not on the stack
    LLVMValueRef pointer = nullptr;
  };
  using LoopBody = std::function<void(std::uint32_t term)>;  ///< of the loop's variable
  using StripBody = std::function<void(const Strip& strip)>;

  // stmt_emit.cpp
  bool is_short_run(const For& loop, std::int64_t extent) const;
  std::optional<std::int64_t> num_plain_updates(StmtId id) const;
  void emit_unrolled(const For& loop, std::int64_t extent);
  void emit_serial(LLVMValueRef begin, LLVMValueRef end, bool is_nonempty, const StmtFacts& facts,
                   const LoopBody& body);
  RegisterFile open_registers(LLVMBasicBlockRef preheader, const StmtFacts& facts);
  void close_registers(const RegisterFile& carried, LLVMBasicBlockRef latch);
  void emit_if(const If& branch);
  void emit_store(const Store& store);
  void write(const Store& store);
  StackSlot allocate(const Buffer& buffer);
  void emit_alloc(const Alloc& alloc);
  void fetch_ahead(const Store& store);  ///< in_place.cpp
  void merge_registers(const RegisterFile& then_state, LLVMBasicBlockRef then_end,
                       const RegisterFile& else_state, LLVMBasicBlockRef else_end);
  std::int64_t constant_extent(const For& loop);
  void bind_term(VarId var, std::uint32_t term, std::int64_t coefficient = 1);

  // outline_emit.cpp
  /// What a function made of some statements needs of this one, and its values here.
  struct Captured;
  Captured capture(const StmtFacts& facts, const std::vector<BufferId>& buffers);
  void emit_parallel(const For& loop);
  void emit_outermost(StmtId id, const For& loop);
  /// False: it cannot be a function.
  bool emit_as_function(StmtId nest);

  // vector_emit.cpp
  void emit_vectorized(const For& loop);
  /// `extent` iterations in strips of `lanes`; strips are loop iterations if there are more than
  /// `max_unrolled` of them. The rest is masked or in strips of fewer lanes.
  void for_each_strip(const For& loop, std::int64_t extent, int lanes, std::int64_t max_unrolled,
                      const StripBody& body);
  int native_lanes(const StmtFacts& facts) const;
  void emit_counted(const For& loop, std::int64_t extent);
  bool can_vectorize(StmtId stmt, VarId lane);
  bool uses_registers(const StmtFacts& facts) const;
  bool masks_rest(const StmtFacts& facts, std::int64_t rest) const;

  // tensor_emit.cpp
  void emit_tensor(const For& loop);
  void write_group(const Store& store);
  bool write_dot(const Store& store);
  LLVMValueRef dot_operand(const TensorFactor& factor, DType type);
  LLVMValueRef dot_groups(const Load& load, DType type);

  // transpose_emit.cpp
  /// for var in [begin, end), whose body is emitted as it stands.
  void emit_range(const For& loop, LLVMValueRef begin, LLVMValueRef end, bool is_nonempty = false);
  void check_unbound(const For& loop) const;
  std::optional<Transposition> transposition_of(const For& loop) const;
  void emit_transposed(const For& loop, const Transposition& plan);
  void emit_transposed_range(const For& loop, const Transposition& plan, LLVMValueRef begin,
                             LLVMValueRef end);
  void emit_blocks(const For& loop, const Transposition& plan, const Strip& u);
  int line_lanes(const For& loop) const;  ///< iterations of `loop` between two of its lanes' loop
  int block_columns(const For& loop) const;  ///< of them in a block
  void emit_outer_rows(const For& loop, const Transposition& plan, int num_rows);
  void emit_joint(const Transposition& plan, const Strip& u, const Strip& v);
  void emit_interleaved(const Transposition& plan, const Strip& u, const Strip& v);
  void emit_block(const Transposition& plan, const Strip& u, const Strip& v);
  std::vector<Value> transposed(const std::vector<Value>& rows, int lanes, int columns);
  void bind_in(const Strip& strip, int position);  ///< its variable = first + position

  ValueEmitter values_;
  MemoryEmitter memory_;
  TileEmitter tiles_;
  LLVMValueRef workspace_;  ///< null if there is none
  WorkspaceArea& area_;
  LLVMValueRef runtime_;  ///< null inside of parallel bodies and in serial kernels
  bool in_vectorized_ = false;
  bool is_outermost_ = false;  // loops met now may become functions (emit_in_parts)
  bool fetches_ahead_ = false;
  const For* group_ = nullptr;  // the loop around that a tensor intrinsic computes
  std::vector<StackSlot> free_slots_;
  std::int64_t stack_bytes_ = 0;
  std::uint32_t next_base_id_ = 1;
};

}  // namespace tensorsmith::llvm_codegen
