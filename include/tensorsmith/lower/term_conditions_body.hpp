// SPDX-License-Identifier: Apache-2.0
// The definitions of term_conditions.hpp.
//
// Floor 4. Included by lower/term_conditions.hpp or compiled once (support/compiled.hpp).
#pragma once

#include <cstdint>
#include <utility>
#include <vector>

#include "tensorsmith/ir/division.hpp"
#include "tensorsmith/ir/rewrite.hpp"
#include "tensorsmith/lower/term_conditions.hpp"

namespace tensorsmith {

namespace detail {

class TermConditionFinder {
 public:
  TermConditionFinder(const State& state, std::size_t stage)
      : state_(state), pool_(state.dag().pool()), op_(state.operation(stage)) {}

  std::vector<TermCondition> run() {
    const Reduce* reduce = op_.bodies.size() == 1 ? pool_.as<Reduce>(op_.bodies[0]) : nullptr;
    if (reduce == nullptr) {
      return {};
    }
    const Combiner& combiner = pool_.combiner(reduce->combiner);
    identity_ = combiner.identity[0];
    const Binary* sum = pool_.as<Binary>(combiner.results[0]);
    is_sum_ = sum != nullptr && sum->op == BinaryOp::add && pool_.as<VarRef>(sum->a) != nullptr &&
              pool_.as<VarRef>(sum->b) != nullptr;
    Frame frame{&op_, {}};
    const std::size_t num_axes = op_.axes.size() + op_.reduce_axes.size();
    for (std::size_t a = 0; a < num_axes; ++a) {
      Form form{std::vector<std::int64_t>(num_axes, 0), 0, {}, true};
      form.coefficients[a] = 1;
      frame.axes.push_back(std::move(form));
    }
    value(frame, reduce->sources[0]);
    if (!found_.empty()) {
      count_reads(reduce->sources[0]);
    }
    std::vector<TermCondition> result;
    for (auto& [operation, condition] : found_) {
      // Read twice, it would have two meanings.
      if (operation == nullptr || count_items(reads_, [&, op = operation](const Operation* other) {
                                    return op == other;
                                  }) == 1) {
        result.push_back(std::move(condition));
      }
    }
    return result;
  }

 private:
  struct Form {
    std::vector<std::int64_t> coefficients;
    std::int64_t constant = 0;
    std::vector<TermQuotient> quotients;
    bool is_known = false;

    void add(const Form& other, std::int64_t scale) {
      is_known = is_known && other.is_known;
      for (TermQuotient quotient : other.quotients) {
        quotient.scale *= scale;
        quotients.push_back(std::move(quotient));
      }
      for (std::size_t a = 0; a < coefficients.size() && a < other.coefficients.size(); ++a) {
        coefficients[a] += scale * other.coefficients[a];
      }
      constant += scale * other.constant;
    }
  };
  /// An operation and its spatial (at the stage itself: all) axes in terms of the stage's.
  struct Frame {
    const Operation* op;
    std::vector<Form> axes;
  };

  bool is_zero(ExprId id) const {
    const IntImm* integer = pool_.as<IntImm>(id);
    const FloatImm* real = pool_.as<FloatImm>(id);
    return (integer != nullptr && integer->value == 0) || (real != nullptr && real->value == 0);
  }
  bool is_neutral(ExprId id) const { return is_sum_ ? is_zero(id) : id == identity_; }

  /// A value that makes the whole term neutral if it is neutral.
  void value(const Frame& frame, ExprId id) {
    if (const Binary* product = pool_.as<Binary>(id);
        product != nullptr && product->op == BinaryOp::mul && is_sum_) {
      value(frame, product->a);
      value(frame, product->b);
    } else if (const Cast* cast = pool_.as<Cast>(id); cast != nullptr && is_sum_) {
      value(frame, cast->a);
    } else if (const Select* select = pool_.as<Select>(id)) {
      choice(frame, select->condition, select->if_true, select->if_false);
    } else if (const Call* call = pool_.as<Call>(id);
               call != nullptr && call->op == CallOp::if_then_else) {
      choice(frame, call->args[0], call->args[1], call->args[2]);
    } else if (const TensorRead* read = pool_.as<TensorRead>(id)) {
      const TensorInfo& info = state_.dag().tensor(read->tensor);
      const Operation& op = state_.operation(info.operation);
      if (op.is_placeholder() || state_.stage(info.operation).compute_at != ComputeAt::inlined) {
        return;
      }
      Frame inner{&op, {}};
      for (ExprId index : read->indices) {
        inner.axes.push_back(linear(frame, index));
      }
      value(inner, op.bodies[info.output_index]);
    }
  }
  void choice(const Frame& frame, ExprId condition, ExprId if_true, ExprId if_false) {
    if (is_neutral(if_false)) {
      conjunction(frame, condition);
      value(frame, if_true);
    }
  }
  void conjunction(const Frame& frame, ExprId id) {
    const Binary* node = pool_.as<Binary>(id);
    if (node == nullptr) {
      return;
    }
    if (node->op == BinaryOp::and_) {
      conjunction(frame, node->a);
      conjunction(frame, node->b);
      return;
    }
    if (node->op == BinaryOp::eq) {
      congruence(frame, id);
      return;
    }
    const bool is_less = node->op == BinaryOp::lt || node->op == BinaryOp::le;
    const bool is_greater = node->op == BinaryOp::gt || node->op == BinaryOp::ge;
    if ((!is_less && !is_greater) || !is_integer(pool_.dtype(node->a))) {
      return;
    }
    Form form = linear(frame, is_less ? node->b : node->a);
    form.add(linear(frame, is_less ? node->a : node->b), -1);
    form.constant -= node->op == BinaryOp::lt || node->op == BinaryOp::gt ? 1 : 0;
    if (form.is_known) {
      add_found(frame, id, std::move(form), 0);
    }
  }
  /// x floormod m == c --> x - c is a multiple of m.
  void congruence(const Frame& frame, ExprId id) {
    const Binary* equal = pool_.as<Binary>(id);
    const auto rest = division(pool_, BinaryOp::floormod, equal->a);
    const IntImm* wanted = pool_.as<IntImm>(equal->b);
    if (!rest || wanted == nullptr || wanted->value < 0 || wanted->value >= rest->divisor) {
      return;
    }
    Form form = linear(frame, rest->dividend);
    form.constant -= wanted->value;
    if (form.is_known && form.quotients.empty()) {
      add_found(frame, id, std::move(form), rest->divisor);
    }
  }
  void add_found(const Frame& frame, ExprId id, Form form, std::int64_t modulus) {
    found_.emplace_back(frame.op == &op_ ? nullptr : frame.op,
                        TermCondition{id, std::move(form.coefficients), form.constant,
                                      std::move(form.quotients), modulus});
  }

  Form linear(const Frame& frame, ExprId id) const {
    Form form{std::vector<std::int64_t>(op_.axes.size() + op_.reduce_axes.size(), 0), 0, {}, true};
    if (const IntImm* imm = pool_.as<IntImm>(id)) {
      form.constant = imm->value;
      return form;
    }
    if (const VarRef* ref = pool_.as<VarRef>(id)) {
      for (std::size_t a = 0; a < frame.axes.size(); ++a) {
        const std::size_t num_spatial = frame.op->axes.size();
        const Axis& axis =
            a < num_spatial ? frame.op->axes[a] : frame.op->reduce_axes[a - num_spatial];
        if (axis.var == ref->var) {
          return frame.axes[a];
        }
      }
    }
    if (const Binary* node = pool_.as<Binary>(id)) {
      if (node->op == BinaryOp::add || node->op == BinaryOp::sub) {
        form.add(linear(frame, node->a), 1);
        form.add(linear(frame, node->b), node->op == BinaryOp::add ? 1 : -1);
        return form;
      }
      if (node->op == BinaryOp::mul) {
        const IntImm* left = pool_.as<IntImm>(node->a);
        const IntImm* right = pool_.as<IntImm>(node->b);
        if (left != nullptr || right != nullptr) {
          form.add(linear(frame, left != nullptr ? node->b : node->a),
                   left != nullptr ? left->value : right->value);
          return form;
        }
      }
      if (const auto quotient = division(pool_, BinaryOp::floordiv, id)) {
        Form whole = linear(frame, quotient->dividend);
        if (whole.quotients.empty()) {
          form.is_known = whole.is_known;
          form.quotients.push_back(
              {std::move(whole.coefficients), whole.constant, quotient->divisor, 1});
          return form;
        }
      }
    }
    form.is_known = false;
    return form;
  }

  /// Every read of an inlined operation, also by inlined ones.
  void count_reads(ExprId id) {
    if (const TensorRead* read = pool_.as<TensorRead>(id)) {
      const TensorInfo& info = state_.dag().tensor(read->tensor);
      const Operation& op = state_.operation(info.operation);
      if (!op.is_placeholder() && state_.stage(info.operation).compute_at == ComputeAt::inlined) {
        reads_.push_back(&op);
        count_reads(op.bodies[info.output_index]);
      }
    }
    for_each_child(pool_[id], [&](ExprId child) { count_reads(child); });
  }

  const State& state_;
  const ExprPool& pool_;
  const Operation& op_;
  ExprId identity_;
  bool is_sum_ = false;
  std::vector<std::pair<const Operation*, TermCondition>> found_;  // null: the stage's own
  std::vector<const Operation*> reads_;
};

}  // namespace detail

TENSORSMITH_INLINE std::vector<TermCondition> term_conditions(const State& state,
                                                              std::size_t stage) {
  return detail::TermConditionFinder(state, stage).run();
}

}  // namespace tensorsmith
