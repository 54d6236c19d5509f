// SPDX-License-Identifier: Apache-2.0
// The interpreter's code of expressions.
//
// Floor 1. Part of eval_compile.hpp.
#pragma once

#include "tensorsmith/ir/eval_compile.hpp"

namespace tensorsmith {
namespace detail {

inline EvalCompiler::Value EvalCompiler::binary(const Binary& n, DType type) {
  const Value a = expr(n.a);
  const Value b = expr(n.b);
  const DType operands = source_.pool.dtype(n.a);
  EvalInstr instr;
  instr.op = EvalOp::binary;
  instr.sub = static_cast<std::uint8_t>(n.op);
  instr.type = operands;
  instr.a = a.reg;
  instr.b = b.reg;
  const bool has_element = a.has_element || b.has_element;
  instr.wraps = has_element || !is_index_type(operands);
  const bool is_ring = n.op <= BinaryOp::mul;
  if (is_ring && operands != DType::f64 && is_float(operands)) {
    instr.op = static_cast<EvalOp>(static_cast<int>(EvalOp::add_f32) + static_cast<int>(n.op));
  } else if (is_ring && !is_float(operands)) {
    instr.op = static_cast<EvalOp>(static_cast<int>(EvalOp::add_int) + static_cast<int>(n.op));
    const Value wide = emit(instr, has_element);
    if (!instr.wraps || operands == DType::i64) {
      return wide;
    }
    instr = EvalInstr{};
    instr.op = EvalOp::wrap;
    instr.type = type;
    instr.a = wide.reg;
  }
  return emit(instr, has_element);
}

inline EvalCompiler::Value EvalCompiler::lazy(const Call& n) {
  const Value condition = expr(n.args[0]);
  const std::size_t at = out_.code.size();
  const std::uint32_t dst = emit({EvalOp::lazy}, true).reg;
  const std::size_t keep = known_.size();
  const Value if_true = expr(n.args[1]);
  forget(keep);
  const std::uint32_t middle = static_cast<std::uint32_t>(out_.code.size());
  const Value if_false = expr(n.args[2]);
  forget(keep);
  EvalInstr& instr = out_.code[at];
  instr.a = condition.reg;
  instr.b = middle;
  instr.c = if_true.reg;
  instr.d = static_cast<std::uint32_t>(out_.code.size());
  instr.e = if_false.reg;
  return {dst, if_true.has_element || if_false.has_element};
}

inline EvalCompiler::Value EvalCompiler::instructions(const ExprNode& node) {
  EvalInstr instr;
  instr.type = instr.to = node.dtype;
  if (const VarRef* n = std::get_if<VarRef>(&node.op)) {
    const LoopVar* loop_var = find(n->var);
    if (loop_var == nullptr) {
      report(EvalErrorKind::unbound_variable);
    } else {
      instr.op = loop_var->is_lane ? EvalOp::lane : EvalOp::var;
      instr.a = loop_var->slot;
    }
    return emit(instr, false);
  }
  if (const Binary* n = std::get_if<Binary>(&node.op)) {
    return binary(*n, node.dtype);
  }
  if (const Unary* n = std::get_if<Unary>(&node.op)) {
    const Value a = expr(n->a);
    instr.op = EvalOp::unary;
    instr.sub = static_cast<std::uint8_t>(n->op);
    instr.a = a.reg;
    instr.wraps = a.has_element || !is_index_type(node.dtype);
    return emit(instr, a.has_element);
  }
  if (const Cast* n = std::get_if<Cast>(&node.op)) {
    const Value a = expr(n->a);
    instr.op = EvalOp::cast;
    instr.type = source_.pool.dtype(n->a);
    instr.a = a.reg;
    return emit(instr, a.has_element);
  }
  if (const Select* n = std::get_if<Select>(&node.op)) {
    const Value a = expr(n->condition);
    const Value b = expr(n->if_true);
    const Value c = expr(n->if_false);
    instr.op = EvalOp::select;
    instr.a = a.reg;
    instr.b = b.reg;
    instr.c = c.reg;
    return emit(instr, b.has_element || c.has_element);
  }
  if (const Load* n = std::get_if<Load>(&node.op)) {
    instr.op = EvalOp::load;
    instr.a = access(n->buffer, n->indices);
    return emit(instr, true);
  }
  if (const Call* n = std::get_if<Call>(&node.op)) {
    if (n->op == CallOp::if_then_else) {
      return lazy(*n);
    }
    const Value a = expr(n->args[0]);
    const Value b = n->args.size() > 1 ? expr(n->args[1]) : a;
    instr.op = EvalOp::call;
    instr.sub = static_cast<std::uint8_t>(n->op);
    instr.a = a.reg;
    instr.b = b.reg;
    instr.wraps = a.has_element || b.has_element || !is_index_type(node.dtype);
    return emit(instr, a.has_element || b.has_element);
  }
  report(EvalErrorKind::unsupported);
  return emit(instr, false);
}

}  // namespace detail
}  // namespace tensorsmith
