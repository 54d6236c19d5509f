// SPDX-License-Identifier: Apache-2.0
// TileEmitter: tensor intrinsics in tile registers.
//
// Private to lib/cpu (tile_emit.cpp). Own design. Not here: those in vectors (tensor_emit.cpp).
#pragma once

#include <initializer_list>
#include <optional>
#include <string_view>
#include <vector>

#include "memory_emitter.hpp"
#include "tensorsmith/ir/tensor_match.hpp"

namespace tensorsmith::llvm_codegen {

class FunctionEmitter;

class TileEmitter : PartEmitter {
 public:
  TileEmitter(FunctionState& state, FunctionEmitter& function, ValueEmitter& values,
              MemoryEmitter& memory)
      : PartEmitter(state), function_(function), values_(values), memory_(memory) {}

  /// A loop outside of vectorized ones; false: nothing for tiles.
  bool emit_run(const For& loop);
  /// What an allocation of accumulators is for.
  bool emit_body(const Alloc& alloc);
  /// A call that leaves the tiles in another state.
  void add_outside_call(LLVMValueRef call) { outside_calls_.push_back(call); }
  /// At the end of the function, what tiles need if it has used any.
  void configure();

 private:
  /// Elements of a buffer in rows: in row n they are at first + n * stride and evenly spaced.
  struct Rows {
    BufferId buffer;
    LinearForm first;
    std::int64_t stride = 0;
  };
  /// A loop that tiles compute, and where its operands lie.
  struct Step {
    const TensorIntrinsic* intrinsic = nullptr;
    std::int64_t num_rows = 0, num_columns = 0;  ///< of accumulators, in tiles
    Rows accumulators, a, b;
  };

  void emit_in_tiles(const For& loop, const Step& run);
  void emit_step(const For& group);
  void emit_start(StmtId start, const Step& run);
  std::optional<Step> run_of(const For& loop);
  std::optional<Step> step_of(const For& group);
  std::optional<Rows> copy_of(StmtId nest, const Step& run, bool is_start);
  bool is_start_of_run(StmtId start, const Step& run);
  std::optional<Rows> rows_of(BufferId buffer, const ExprList& indices, VarId row,
                              std::int64_t count, VarId lane, std::int64_t group);
  const For* group_of(StmtId id, std::vector<VarId>& loops) const;
  void each_accumulator(const Step& run, const Rows& rows, std::string_view function);
  void call(std::string_view function, std::initializer_list<LLVMValueRef> arguments);
  LLVMValueRef address(const Rows& rows, std::int64_t offset);

  FunctionEmitter& function_;
  ValueEmitter& values_;
  MemoryEmitter& memory_;
  const Step* run_ = nullptr;              // whose accumulators are in tiles
  const TensorIntrinsic* user_ = nullptr;  // tiles are used in this function
  std::vector<LLVMValueRef> outside_calls_;
};

}  // namespace tensorsmith::llvm_codegen
