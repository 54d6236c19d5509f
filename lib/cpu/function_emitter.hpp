// SPDX-License-Identifier: Apache-2.0
// FunctionEmitter: translates the statements of one LLVM function.
//
// Private to lib/cpu. Own design: SSA is built directly (register_ buffers become values, carried
// by phis; no alloca + mem2reg), loops are rotated, unrolled loops are expanded, vectorized loops
// are cut into chunks of native vectors. Its parts: stmt_emit.cpp (control flow), outline_emit.cpp
// (functions of their own), vector_emit.cpp (vectorized loops), transpose_emit.cpp (transposing
// copies), access_emit.cpp (loads and stores), index_emit.cpp (linear forms), expr_emit.cpp
// (values), tensor_emit.cpp and tile_emit.cpp (tensor intrinsics). KernelEmitter owns what all
// functions of a kernel share.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <tuple>
#include <unordered_map>
#include <vector>

#include "address_builder.hpp"
#include "in_place.hpp"
#include "ir_builder.hpp"
#include "program_facts.hpp"
#include "register_file.hpp"
#include "tensorsmith/ir/loop_program.hpp"
#include "tensorsmith/ir/tensor_match.hpp"
#include "transposition.hpp"

namespace tensorsmith::llvm_codegen {

class KernelEmitter;

/// Which bytes of the workspace a function hands out. Stack discipline; `peak` is what it needs.
struct WorkspaceArea {
  std::int64_t used = 0;
  std::int64_t peak = 0;
};

class FunctionEmitter {
 public:
  FunctionEmitter(KernelEmitter& kernel, LLVMValueRef function, LLVMValueRef workspace,
                  WorkspaceArea& area, LLVMValueRef runtime);

  void bind_buffer(BufferId buffer, LLVMValueRef pointer);
  void bind_constant(VarId var, std::int64_t value);
  void bind_scalar(VarId var, LLVMValueRef value);
  void emit(StmtId stmt);
  /// The whole program; if it is long, some of its outermost loops in functions of their own.
  void emit_in_parts(StmtId body);
  /// for var in [begin, end): the body of a parallel loop, or a loop whose extent is no number.
  void emit_range(const For& loop, LLVMValueRef begin, LLVMValueRef end, bool is_nonempty = false);
  /// The whole program, whose pointers say whether it works in place.
  void emit_in_place(StmtId body, const InPlace& in_place);
  void finish();  ///< returns from the function

 private:
  struct Binding {
    enum class Kind : std::uint8_t { none, scalar, lane } kind = Kind::none;
    LinearForm value;  ///< of a scalar; without lanes
  };
  struct BufferState {
    LLVMValueRef pointer = nullptr;
    std::uint32_t base_id = 0;
    bool is_alive = false;
    LLVMValueRef is_on_line = nullptr;  ///< whether it begins at a 64-byte line; made when asked
  };
  /// Consecutive iterations of a loop that are translated together.
  struct Strip {
    VarId var;
    LinearForm first;  ///< the loop variable in the first one
    int lanes = 1;     ///< a power of two
    int count = 1;     ///< active lanes; < lanes in a masked tail
  };
  /// The strip of a vectorized loop that is being translated. lanes == 1: none, or a scalar strip.
  struct Chunk : Strip {
    LLVMValueRef mask = nullptr;  ///< varying part of the condition; null = all lanes
  };
  struct StackSlot {
    std::int64_t bytes = 0;  ///< 0: not on the stack
    LLVMValueRef pointer = nullptr;
  };
  struct CachedLoad {
    BufferId buffer;
    Value value;
    std::int64_t loaded = 0, used = 0;  ///< the last time each, counted in loads
  };
  using LoadKey = std::tuple<LLVMValueRef, std::int64_t, std::int64_t, int, int, DType>;
  using LoadCache = std::map<LoadKey, CachedLoad>;
  /// Elements of a buffer in rows: in row n they are at first + n * stride and evenly spaced.
  struct Rows {
    BufferId buffer;
    LinearForm first;
    std::int64_t stride = 0;
  };
  /// A loop that tiles compute, and where its operands lie.
  struct TileStep {
    const TensorIntrinsic* intrinsic = nullptr;
    std::int64_t num_rows = 0, num_columns = 0;  ///< of accumulators, in tiles
    Rows accumulators, a, b;
  };
  using Memo = std::unordered_map<std::uint32_t, Value>;
  using Body = std::function<void()>;
  using LoopBody = std::function<void(std::uint32_t term)>;  ///< of the loop's variable
  using StripBody = std::function<void(const Strip& strip)>;

  // stmt_emit.cpp
  void emit_loop(const For& loop);
  bool is_short_run(const For& loop, std::int64_t extent) const;
  std::optional<std::int64_t> num_plain_updates(StmtId id) const;
  void emit_unrolled(const For& loop, std::int64_t extent);
  void emit_serial(LLVMValueRef begin, LLVMValueRef end, bool is_nonempty, const StmtFacts& facts,
                   const LoopBody& body);
  RegisterFile open_registers(LLVMBasicBlockRef preheader, const StmtFacts& facts);
  void close_registers(const RegisterFile& carried, LLVMBasicBlockRef latch);
  void emit_if(const If& branch);
  void emit_branch(LLVMValueRef condition, const Body& then_body, const Body& else_body);
  void emit_store(const Store& store);
  void write(const Store& store);
  StackSlot allocate(const Buffer& buffer);
  void emit_alloc(const Alloc& alloc);
  void fetch_ahead(const Store& store);  ///< in_place.cpp
  void merge_registers(const RegisterFile& then_state, LLVMBasicBlockRef then_end,
                       const RegisterFile& else_state, LLVMBasicBlockRef else_end);
  LLVMBasicBlockRef new_block() { return LLVMAppendBasicBlockInContext(m_.context, function_, ""); }
  void forget_loads(const StmtFacts& facts);
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
  /// `max_unrolled` of them. The rest is masked (AVX-512) or in strips of fewer lanes.
  void for_each_strip(const For& loop, std::int64_t extent, int lanes, std::int64_t max_unrolled,
                      const StripBody& body);
  int native_lanes(const StmtFacts& facts) const;
  /// With the strip's iterations as lanes.
  void in_lanes(const Strip& strip, const Body& body);
  void emit_counted(const For& loop, std::int64_t extent);
  bool can_vectorize(StmtId stmt, VarId lane);
  bool uses_registers(const StmtFacts& facts) const;
  void for_each_lane(const std::function<void(int lane)>& compute);  ///< active ones, scalar mode

  // tensor_emit.cpp
  void emit_tensor(const For& loop);
  void write_group(const Store& store);
  bool write_dot(const Store& store);
  LLVMValueRef dot_operand(const TensorFactor& factor, DType type);
  LLVMValueRef dot_groups(const Load& load, DType type);

  // tile_emit.cpp
  bool emit_tile_run(const For& loop);
  bool emit_tile_body(const Alloc& alloc);
  void emit_in_tiles(const For& loop, const TileStep& run);
  void emit_tile_step(const For& group);
  void emit_tile_start(StmtId start, const TileStep& run);
  std::optional<TileStep> tile_run(const For& loop);
  std::optional<TileStep> tile_step(const For& group);
  std::optional<Rows> tile_copy(StmtId nest, const TileStep& run, bool is_start);
  bool is_tile_start(StmtId start, const TileStep& run);
  std::optional<Rows> rows_of(BufferId buffer, const ExprList& indices, VarId row,
                              std::int64_t count, VarId lane, std::int64_t group);
  const For* tile_group(StmtId id, std::vector<VarId>& loops) const;
  void each_accumulator(const TileStep& run, const Rows& rows, std::string_view function);
  void call_tile(std::string_view function, std::initializer_list<LLVMValueRef> arguments);
  LLVMValueRef tile_address(const Rows& rows, std::int64_t offset);
  void configure_tiles();

  // transpose_emit.cpp
  void emit_transposed(const For& loop, const Transposition& plan);
  void emit_block(const Transposition& plan, const Strip& u, const Strip& v);
  std::vector<Value> transposed(const std::vector<Value>& rows, int lanes, int columns);
  void bind_in(const Strip& strip, int position);  ///< its variable = first + position

  // access_emit.cpp
  Value load(const Load& node);
  Value load_register(const Load& node, const LinearForm& form);
  Value load_memory(const Load& node, const LinearForm& form);
  LLVMValueRef load_scalar(LLVMValueRef pointer, DType type, LLVMValueRef guard);
  /// What was loaded before, if it is worth a register; null: it is to be loaded (again).
  const Value* known_load(const LoadKey& key);
  void keep_load(const LoadKey& key, BufferId buffer, Value value);
  void forget_loads(BufferId buffer);
  void store_memory(const Store& store, const LinearForm& form, Value value);
  void store_register(const Store& store, const LinearForm& form, Value value);
  void store_scalar(LLVMValueRef pointer, LLVMValueRef value, unsigned alignment,
                    LLVMValueRef guard);
  bool is_raw_copy(const Store& store) const;
  void emit_prefetch(const Prefetch& prefetch);
  void fetch(LLVMValueRef pointer, int level);
  LLVMValueRef pointer_to(BufferId buffer, const LinearForm& form);
  LLVMValueRef load_strided(const Load& node, const LinearForm& form);
  unsigned alignment_of(BufferId buffer, const LinearForm& form) const;
  /// The same if the buffer begins at a multiple of `base`.
  unsigned alignment_from(std::int64_t base, BufferId buffer, const LinearForm& form) const;
  void store_past_caches(BufferId buffer, LLVMValueRef pointer, LLVMValueRef value, unsigned bytes,
                         const LinearForm& form);
  /// What lanes may touch memory: the chunk's tail and mask together; null = all of them.
  LLVMValueRef memory_mask();
  const BufferState& alive(BufferId buffer) const;

  // index_emit.cpp
  LinearForm form(ExprId index);
  LinearForm flat_form(BufferId buffer, const ExprList& indices);
  LinearForm opaque(ExprId index);
  LinearForm divided(const Binary& node, ExprId id);
  LLVMValueRef index_value(ExprId index);            ///< i64
  LLVMValueRef index_node(ExprId index, int level);  ///< i64; i1 for booleans
  LLVMValueRef index_operand(ExprId index, int level);
  bool depends_on_lane(ExprId expr) const {
    return chunk_.lanes > 1 && facts_.uses(expr, chunk_.var);
  }

  // expr_emit.cpp
  Value eval(ExprId expr);
  Value eval_as(ExprId expr, int lanes) { return splat(eval(expr), lanes); }
  LLVMValueRef eval_condition(ExprId expr);  ///< i1, or a vector of them
  Value compute(ExprId expr);
  Value binary(const Binary& node, DType type);
  LLVMValueRef integer_binary(BinaryOp op, DType type, LLVMValueRef a, LLVMValueRef b);
  LLVMValueRef real_binary(BinaryOp op, LLVMValueRef a, LLVMValueRef b);
  LLVMValueRef real_min_max(const Binary& node, LLVMValueRef a, LLVMValueRef b);
  Value fused(const Binary& node, DType type);
  Value gated_by_erf(const Binary& node, DType type);
  Value call(const Call& node, DType type);
  LLVMValueRef float_call(CallOp op, DType type, LLVMValueRef x, LLVMValueRef y);
  Value lazy(const Call& node, DType type);
  Value select(LLVMValueRef condition, Value a, Value b);
  Value splat(Value value, int lanes);
  std::pair<Value, Value> same_lanes(Value a, Value b);
  LLVMValueRef compare(BinaryOp op, DType type, LLVMValueRef a, LLVMValueRef b);

  KernelEmitter& kernel_;
  const LoopProgram& program_;
  const ProgramFacts& facts_;
  ModuleContext& m_;
  LLVMValueRef function_;
  LLVMValueRef workspace_;  ///< null if there is none
  WorkspaceArea& area_;
  LLVMValueRef runtime_;  ///< null inside of parallel bodies and in serial kernels
  IrBuilder b_;
  AddressBuilder addresses_;
  std::vector<Binding> bindings_;     // by VarId
  std::vector<BufferState> buffers_;  // by BufferId
  RegisterFile registers_;
  Chunk chunk_;
  bool in_vectorized_ = false;
  bool is_outermost_ = false;  // loops met now may become functions (emit_in_parts)
  bool fetches_ahead_ = false;
  bool is_raw_copy_ = false;       // loads of f16 and bf16 give the bits that will be stored
  bool is_dry_run_ = false;        // forms are wanted for their shape only
  LLVMValueRef guard_ = nullptr;   // scalar mode under a mask: is this lane active?
  const For* group_ = nullptr;     // the loop around that a tensor intrinsic computes
  const TileStep* run_ = nullptr;  // whose accumulators are in tiles
  const TensorIntrinsic* tile_user_ = nullptr;  // tiles are used in this function
  std::vector<LLVMValueRef> outside_calls_;     // they leave the tiles unconfigured
  Memo memo_;
  LoadCache loads_;
  std::int64_t num_loads_ = 0, fence_ = -1;  // fence_: num_loads_ at the last fence
  bool has_streamed_ = false;                // something was written past the caches
  std::map<std::pair<LLVMValueRef, int>, LLVMValueRef> splats_;  // of splat_block_
  LLVMBasicBlockRef splat_block_ = nullptr;
  std::map<std::vector<std::int64_t>, std::uint32_t> opaque_terms_;
  std::vector<StackSlot> free_slots_;
  std::int64_t stack_bytes_ = 0;
  std::uint32_t next_base_id_ = 1;
};

}  // namespace tensorsmith::llvm_codegen
