// SPDX-License-Identifier: Apache-2.0
// StageReads: what the body of a stage reads, and its float operations, without simplification.
//
// Floor 5. Own design. Through stages that are inlined. Indices are sums, quotients and rests of
// axes; a body with any other one, or one that simplifying might leave fewer operations of, is not
// known: who asks then looks at the simplified expression (stage_nests.hpp).
#pragma once

#include <cstdint>
#include <optional>
#include <utility>
#include <variant>
#include <vector>

#include "tensorsmith/feature/loop_forms.hpp"
#include "tensorsmith/sched/state.hpp"
#include "tensorsmith/support/algorithm.hpp"

namespace tensorsmith::detail {

struct StageRead {
  TensorId tensor;
  std::vector<LoopForm> indices;  ///< sums
};

class StageReads {
 public:
  /// `axes`: of the stage, spatial ones first.
  StageReads(const State& state, std::size_t stage, const std::vector<LoopForm>& axes)
      : state_(state), dag_(state.dag()), op_(dag_.operation(stage)) {
    for (std::size_t a = 0; a < axes.size(); ++a) {
      own_.emplace_back(
          (a < op_.axes.size() ? op_.axes[a] : op_.reduce_axes[a - op_.axes.size()]).var, axes[a]);
    }
  }

  struct Value {
    std::vector<StageRead> reads;      ///< in the order in which they are written
    std::vector<TensorId> of_results;  ///< other results of the stage, at the same place
    double float_ops = 0;              ///< additions, products and quotients
  };

  /// Of output `k`; nothing if it is not known.
  std::optional<Value> of(std::size_t k) {
    value_ = {};
    is_known_ = true;
    const Reduce* reduce = dag_.pool().as<Reduce>(op_.bodies[k]);
    if (reduce == nullptr) {
      value_.float_ops = visit(op_.bodies[k], own_).ops;
    } else {
      const Combiner& combiner = dag_.pool().combiner(reduce->combiner);
      value_.float_ops = combine(combiner.results[reduce->value_index], *reduce, k).ops;
    }
    return is_known_ ? std::optional(std::move(value_)) : std::nullopt;
  }

 private:
  using Axes = std::vector<std::pair<VarId, LoopForm>>;
  struct Counted {
    double ops = 0;
    bool reads = false;
    bool is_one = false;  ///< beside which a product is no operation
  };

  Counted unknown() {
    is_known_ = false;
    return {};
  }

  Counted combine(ExprId id, const Reduce& reduce, std::size_t k) {
    const Combiner& combiner = dag_.pool().combiner(reduce.combiner);
    if (const VarRef* ref = dag_.pool().as<VarRef>(id)) {
      for (std::size_t i = 0; i < reduce.sources.size(); ++i) {
        if (ref->var == combiner.lhs[i]) {
          const TensorId result = op_.outputs[i];
          if (i != k && !has_item(value_.of_results, result)) {
            value_.of_results.push_back(result);
          }
          return {0, true};
        }
        if (ref->var == combiner.rhs[i]) {
          return visit(reduce.sources[i], own_);
        }
      }
      return unknown();
    }
    return count(id, own_, [&](ExprId part) { return combine(part, reduce, k); });
  }
  Counted visit(ExprId id, const Axes& axes) {
    if (const TensorRead* read = dag_.pool().as<TensorRead>(id)) {
      return visit_read(*read, axes);
    }
    return count(id, axes, [&](ExprId part) { return visit(part, axes); });
  }
  Counted visit_read(const TensorRead& read, const Axes& axes) {
    StageRead made{read.tensor, {}};
    for (const ExprId index : read.indices) {
      const std::optional<LoopForm> form = form_of(index, axes);
      if (!form) {
        return unknown();
      }
      made.indices.push_back(form->sum());
    }
    const TensorInfo& tensor = dag_.tensor(read.tensor);
    const auto& stage = state_.stage(tensor.operation);
    if (stage.is_placeholder || stage.compute_at != ComputeAt::inlined) {
      value_.reads.push_back(std::move(made));
      return {0, true};
    }
    const Operation& op = dag_.operation(tensor.operation);
    if (op.attrs.const_matrix) {
      return {0, false, true};
    }
    Axes inner;
    for (std::size_t a = 0; a < op.axes.size(); ++a) {
      inner.emplace_back(op.axes[a].var, std::move(made.indices[a]));
    }
    return visit(op.bodies[tensor.output_index], inner);
  }

  /// Of an expression whose parts `of` counts.
  template <class Of>
  Counted count(ExprId id, const Axes& axes, const Of& of) {
    const ExprNode& node = dag_.pool()[id];
    if (std::holds_alternative<IntImm>(node.op) || std::holds_alternative<FloatImm>(node.op) ||
        std::holds_alternative<VarRef>(node.op)) {
      return {};
    }
    if (const Cast* cast = std::get_if<Cast>(&node.op)) {
      return of(cast->a);
    }
    if (const Binary* binary = std::get_if<Binary>(&node.op)) {
      return count_binary(*binary, of);
    }
    if (const Select* select = std::get_if<Select>(&node.op)) {
      return choose(select->condition, axes, of(select->condition), of(select->if_true),
                    of(select->if_false));
    }
    if (const Call* call = std::get_if<Call>(&node.op)) {
      if (call->op == CallOp::if_then_else) {
        return choose(call->args[0], axes, of(call->args[0]), of(call->args[1]), of(call->args[2]));
      }
      Counted all;
      for (const ExprId argument : call->args) {
        const Counted one = of(argument);
        all = {all.ops + one.ops, all.reads || one.reads};
      }
      return all;
    }
    return unknown();
  }
  template <class Of>
  Counted count_binary(const Binary& binary, const Of& of) {
    const Counted a = of(binary.a), b = of(binary.b);
    Counted both{a.ops + b.ops, a.reads || b.reads};
    const bool is_counted = binary.op == BinaryOp::add || binary.op == BinaryOp::sub ||
                            binary.op == BinaryOp::mul || binary.op == BinaryOp::div ||
                            binary.op == BinaryOp::floordiv || binary.op == BinaryOp::floormod ||
                            binary.op == BinaryOp::truncmod;
    if (is_counted && is_float(dag_.pool()[binary.a].dtype)) {
      if (binary.op == BinaryOp::mul && (a.is_one || b.is_one)) {
        both.is_one = a.is_one && b.is_one;
        return both;
      }
      if (!(a.reads || stays(binary, binary.a)) || !(b.reads || stays(binary, binary.b)) ||
          !both.reads) {
        return unknown();
      }
      both.ops += 1;
    }
    return both;
  }
  /// An operand that is a number, and none that makes the operation one fewer.
  bool stays(const Binary& binary, ExprId operand) const {
    const FloatImm* imm = dag_.pool().as<FloatImm>(operand);
    const bool is_sum = binary.op == BinaryOp::add || binary.op == BinaryOp::sub;
    return imm != nullptr && imm->value != 0 && (is_sum || imm->value != 1);
  }
  /// Where ranges tell which of them is chosen, the other one is not computed.
  Counted choose(ExprId condition, const Axes& axes, const Counted& asked, const Counted& yes,
                 const Counted& no) {
    const bool has_ops = yes.ops > 0 || no.ops > 0;
    if (asked.ops > 0 || !(yes.reads || no.reads) || (yes.ops > 0 && no.ops > 0) ||
        (has_ops && !is_open(condition, axes))) {
      return unknown();
    }
    return {yes.ops + no.ops, true};
  }
  /// Whether it holds in some iterations and not in others: of equations, each with a rest of its
  /// own.
  bool is_open(ExprId condition, const Axes& axes) const {
    const Binary* binary = dag_.pool().as<Binary>(condition);
    if (binary == nullptr || (binary->op != BinaryOp::and_ && binary->op != BinaryOp::eq)) {
      return false;
    }
    if (binary->op == BinaryOp::and_) {
      return is_open(binary->a, axes) && is_open(binary->b, axes);
    }
    const std::optional<LoopForm> a = form_of(binary->a, axes), b = form_of(binary->b, axes);
    return a && b && b->is_number() && a->takes(b->added());
  }

  std::optional<LoopForm> form_of(ExprId id, const Axes& axes) const {
    const ExprNode& node = dag_.pool()[id];
    if (const IntImm* imm = std::get_if<IntImm>(&node.op)) {
      return LoopForm(imm->value);
    }
    if (const VarRef* ref = std::get_if<VarRef>(&node.op)) {
      const auto* known = find_item(axes, [&](const auto& one) { return one.first == ref->var; });
      return known == nullptr ? std::nullopt : std::optional(known->second);
    }
    if (const Cast* cast = std::get_if<Cast>(&node.op)) {
      return form_of(cast->a, axes);
    }
    const Binary* binary = std::get_if<Binary>(&node.op);
    if (binary == nullptr) {
      return std::nullopt;
    }
    const std::optional<LoopForm> a = form_of(binary->a, axes);
    const std::optional<LoopForm> b = a ? form_of(binary->b, axes) : std::nullopt;
    if (!b) {
      return std::nullopt;
    }
    const auto sum = [](const LoopForm& x, std::int64_t times, const LoopForm& y,
                        std::int64_t also) {
      LoopForm made;
      made.add(x, times);
      made.add(y, also);
      return made;
    };
    const std::int64_t number = b->added();
    switch (binary->op) {
    case BinaryOp::add:
      return sum(*a, 1, *b, 1);
    case BinaryOp::sub:
      return sum(*a, 1, *b, -1);
    case BinaryOp::mul:
      if (a->is_number()) {
        return sum(*b, a->added(), LoopForm(), 0);
      }
      return b->is_number() ? std::optional(sum(*a, number, LoopForm(), 0)) : std::nullopt;
    case BinaryOp::floordiv:
      return b->is_number() && number > 0 ? std::optional(a->sum().quotient(number)) : std::nullopt;
    case BinaryOp::floormod:
      return b->is_number() && number > 0 ? std::optional(a->sum().rest(number)) : std::nullopt;
    default:
      return std::nullopt;
    }
  }

  const State& state_;
  const ComputeDag& dag_;
  const Operation& op_;
  Axes own_;
  Value value_;
  bool is_known_ = true;
};

}  // namespace tensorsmith::detail
