// SPDX-License-Identifier: Apache-2.0
// Choices between two formulas, of which only one may touch memory.
#include <algorithm>
#include <functional>

#include "memory_emitter.hpp"
#include "tensorsmith/ir/rewrite.hpp"
#include "value_emitter.hpp"

namespace tensorsmith::llvm_codegen {

// if_then_else: the arm that is not taken must not touch memory.
Value ValueEmitter::lazy(const Call& node, DType type) {
  const LLVMValueRef condition = eval_condition(node.args[0]);
  const int known = constant_bool(condition);
  if (known >= 0) {
    return eval(node.args[known == 1 ? 1 : 2]);
  }
  if (facts_.is_speculatable(node.args[1]) && facts_.is_speculatable(node.args[2])) {
    const Value a = eval(node.args[1]);
    return select(condition, a, eval(node.args[2]));
  }
  if (lanes_of(condition) == 1) {
    return joined(
        condition, type, [&] { return eval(node.args[1]); }, [&] { return eval(node.args[2]); });
  }
  const bool may_agree = facts_.is_index(node.args[0]) && chunk_.mask == nullptr &&
                         chunk_.inner == 1 && chunk_.count == chunk_.lanes &&
                         (loads_lane_by_lane(node.args[1]) || loads_lane_by_lane(node.args[2]));
  if (!may_agree) {
    return lazy_by_mask(node, condition);
  }
  // Lanes differ in a few vectors at a boundary; in all others nothing is masked.
  const LLVMValueRef none = b_.not_(b_.any_lane(condition));
  const LLVMValueRef all = b_.not_(b_.any_lane(b_.not_(condition)));
  return joined(
      all, type, [&] { return eval(node.args[1]); },
      [&] {
        return joined(
            none, type, [&] { return eval(node.args[2]); },
            [&] { return lazy_by_mask(node, condition); });
      });
}

Value ValueEmitter::lazy_by_mask(const Call& node, LLVMValueRef condition) {
  const Memo memo = memo_;
  const LoadCache loads = loads_;
  const LLVMValueRef outer = chunk_.mask;
  const auto under = [&](LLVMValueRef bits, ExprId arm) {
    chunk_.mask = outer == nullptr ? bits : b_.and_(outer, bits);
    const Value value = eval(arm);
    chunk_.mask = outer;
    memo_ = memo;
    loads_ = loads;
    return value;
  };
  const Value a = under(condition, node.args[1]);
  return select(condition, a, under(b_.not_(condition), node.args[2]));
}

// What one of two blocks computes. Nothing that is known in them is known behind them.
Value ValueEmitter::joined(LLVMValueRef condition, DType type,
                           const std::function<Value()>& if_true,
                           const std::function<Value()>& if_false) {
  const Memo memo = memo_;
  const LoadCache loads = loads_;
  const LLVMBasicBlockRef from = b_.block();
  LLVMBasicBlockRef begins[2], ends[2];
  Value values[2];
  for (int arm = 0; arm < 2; ++arm) {
    begins[arm] = state_.new_block();
    b_.at_end(begins[arm]);
    values[arm] = arm == 0 ? if_true() : if_false();
    ends[arm] = b_.block();
    memo_ = memo;
    loads_ = loads;
  }
  b_.at_end(from);
  LLVMBuildCondBr(b_.ref, condition, begins[0], begins[1]);
  const int lanes = std::max(values[0].lanes, values[1].lanes);
  const LLVMBasicBlockRef join = state_.new_block();
  LLVMValueRef incoming[2];
  for (int arm = 0; arm < 2; ++arm) {
    b_.at_end(ends[arm]);
    incoming[arm] = splat(values[arm], lanes).ref;
    LLVMBuildBr(b_.ref, join);
  }
  b_.at_end(join);
  const LLVMValueRef phi = LLVMBuildPhi(b_.ref, LLVMTypeOf(incoming[0]), "");
  LLVMAddIncoming(phi, incoming, ends, 2);
  return {phi, type, lanes};
}

// Whether a mask would have it loaded one lane after the other.
bool ValueEmitter::loads_lane_by_lane(ExprId expr) const {
  return any_node(program_.pool, expr, [&](ExprId id) {
    const Load* load = program_.pool.as<Load>(id);
    if (load == nullptr || program_[load->buffer].scope == Scope::register_) {
      return false;
    }
    const auto stride = facts_.stride(load->buffer, load->indices, chunk_.var);
    return !stride || *stride > 1 || *stride < 0;
  });
}

}  // namespace tensorsmith::llvm_codegen
