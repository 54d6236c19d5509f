// SPDX-License-Identifier: Apache-2.0
// SymbolicReads: what the body of a stage reads, where its axes are formulas over loops.
//
// Floor 6.5. Through stages that are inlined. An index is made of whole numbers, axes and
// arithmetic; any other makes a program one that symbols cannot follow.
#pragma once

#include <utility>
#include <variant>
#include <vector>

#include "tensorsmith/felix/formula_numbers.hpp"
#include "tensorsmith/ir/rewrite.hpp"
#include "tensorsmith/sched/state.hpp"

namespace tensorsmith::felix {

struct SymbolicRead {
  TensorId tensor;
  std::vector<FormulaId> indices;
};

class SymbolicReads {
 public:
  SymbolicReads(FormulaPool& pool, const State& state)
      : pool_(pool), n_(pool), state_(state), dag_(state.dag()) {}

  /// Of the body of an operation, its axes being these; through stages that are inlined.
  /// False if an index is none that formulas can be.
  bool collect(std::size_t s, const std::vector<FormulaId>& axes,
               std::vector<SymbolicRead>& reads) {
    const Operation& op = dag_.operation(s);
    for (const ExprId body : op.bodies) {
      visit_nodes(dag_.pool(), body, [&](ExprId id) {
        const TensorRead* read = dag_.pool().as<TensorRead>(id);
        if (read == nullptr || !is_known_) {
          return;
        }
        SymbolicRead made{read->tensor, {}};
        for (const ExprId index : read->indices) {
          made.indices.push_back(index_of(index, op, axes));
        }
        const std::size_t source = dag_.tensor(read->tensor).operation;
        if (state_.stage(source).compute_at == ComputeAt::inlined &&
            !state_.stage(source).is_placeholder) {
          collect(source, made.indices, reads);
        } else {
          reads.push_back(std::move(made));
        }
      });
    }
    return is_known_;
  }

 private:
  FormulaId index_of(ExprId id, const Operation& op, const std::vector<FormulaId>& axes) {
    const ExprNode& node = dag_.pool()[id];
    if (const IntImm* imm = std::get_if<IntImm>(&node.op)) {
      return whole(imm->value);
    }
    if (const VarRef* ref = std::get_if<VarRef>(&node.op)) {
      for (std::size_t a = 0; a < axes.size(); ++a) {
        const Axis& axis = a < op.axes.size() ? op.axes[a] : op.reduce_axes[a - op.axes.size()];
        if (axis.var == ref->var) {
          return axes[a];
        }
      }
    }
    if (const Binary* binary = std::get_if<Binary>(&node.op)) {
      constexpr std::pair<BinaryOp, Op> known[] = {
          {BinaryOp::add, Op::add},      {BinaryOp::sub, Op::sub},
          {BinaryOp::mul, Op::mul},      {BinaryOp::floordiv, Op::floordiv},
          {BinaryOp::floormod, Op::mod}, {BinaryOp::min, Op::min},
          {BinaryOp::max, Op::max}};
      for (const auto& [theirs, ours] : known) {
        if (binary->op == theirs) {
          const FormulaId a = index_of(binary->a, op, axes), b = index_of(binary->b, op, axes);
          return fold(pool_, ours, a, b);
        }
      }
    }
    is_known_ = false;
    return n_.number(0);
  }
  FormulaId whole(std::int64_t value) const { return n_.number(static_cast<double>(value)); }

  FormulaPool& pool_;
  FormulaNumbers n_;
  const State& state_;
  const ComputeDag& dag_;
  bool is_known_ = true;
};

}  // namespace tensorsmith::felix
