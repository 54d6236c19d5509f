// SPDX-License-Identifier: Apache-2.0
// ValueEmitter: values of expressions (expr_emit.cpp), linear forms of indices (index_emit.cpp).
//
// Private to lib/cpu. Own design: what does not depend on the lane is computed once, as a scalar.
#pragma once

#include <functional>
#include <map>
#include <utility>
#include <vector>

#include "function_state.hpp"

namespace tensorsmith::llvm_codegen {

class MemoryEmitter;

class ValueEmitter : PartEmitter {
 public:
  /// `memory` loads what expressions read; it may be made later.
  ValueEmitter(FunctionState& state, MemoryEmitter& memory) : PartEmitter(state), memory_(memory) {}

  Value eval(ExprId expr);
  Value eval_as(ExprId expr, int lanes) { return splat(eval(expr), lanes); }
  LLVMValueRef eval_condition(ExprId expr);  ///< i1, or a vector of them
  Value splat(Value value, int lanes);

  LinearForm form(ExprId index);
  LinearForm flat_form(BufferId buffer, const ExprList& indices);

 private:
  // expr_emit.cpp
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
  std::pair<Value, Value> same_lanes(Value a, Value b);
  LLVMValueRef compare(BinaryOp op, DType type, LLVMValueRef a, LLVMValueRef b);
  Value lazy_by_mask(const Call& node, LLVMValueRef condition);
  Value joined(LLVMValueRef condition, DType type, const std::function<Value()>& if_true,
               const std::function<Value()>& if_false);
  bool loads_lane_by_lane(ExprId expr) const;

  // index_emit.cpp
  LinearForm opaque(ExprId index);
  LinearForm divided(const Binary& node, ExprId id);
  LLVMValueRef compare_once(const Binary& node);
  LLVMValueRef index_value(ExprId index);            ///< i64
  LLVMValueRef index_node(ExprId index, int level);  ///< i64; i1 for booleans
  LLVMValueRef index_operand(ExprId index, int level);
  bool depends_on_lane(ExprId expr) const {
    return chunk_.lanes > 1 && (facts_.uses(expr, chunk_.var) ||
                                (chunk_.inner > 1 && facts_.uses(expr, chunk_.inner_var)));
  }

  MemoryEmitter& memory_;
  std::map<std::pair<LLVMValueRef, int>, LLVMValueRef> splats_;  // of splat_block_
  LLVMBasicBlockRef splat_block_ = nullptr;
  std::map<std::vector<std::int64_t>, std::uint32_t> opaque_terms_;
};

}  // namespace tensorsmith::llvm_codegen
