// SPDX-License-Identifier: Apache-2.0
// The definition of eval_dag_tensors: a walk over the expressions.
//
// Floor 2. Included by te/eval_dag.hpp or compiled once (support/compiled.hpp).
#pragma once

#include <cstdint>
#include <optional>
#include <utility>
#include <vector>

#include "tensorsmith/ir/rewrite.hpp"
#include "tensorsmith/support/algorithm.hpp"
#include "tensorsmith/te/eval_dag.hpp"

namespace tensorsmith {

namespace detail {

class DagEvaluator {
 public:
  DagEvaluator(const ComputeDag& dag, const EvalDagOptions& options)
      : dag_(dag), pool_(dag.pool()), wide_(options.wide), vars_(pool_.num_vars()),
        known_(pool_.num_exprs()), has_element_(pool_.num_exprs()) {
    tensors_.resize(dag.tensors().size());
  }

  bool set(TensorId id, const HostArray& array) {
    const TensorInfo& info = dag_.tensor(id);
    if (array.dtype != info.dtype || !equal_items(array.shape, info.shape)) {
      return failed({EvalErrorKind::wrong_argument, {}, BufferId{id.value}, -1, 0, 0});
    }
    tensors_[id.value] = array;
    return true;
  }

  bool run() {
    for (const Operation& op : dag_.operations()) {
      for (TensorId id : op.outputs) {
        if (!op.is_placeholder()) {
          const TensorInfo& info = dag_.tensor(id);
          tensors_[id.value] = HostArray(info.dtype, {info.shape.begin(), info.shape.end()});
        } else if (tensors_[id.value].data.empty()) {
          return failed({EvalErrorKind::wrong_argument, {}, BufferId{id.value}, -1, 0, 0});
        }
      }
      std::int64_t position = 0;
      if (!op.is_placeholder() && !over(op.axes, 0, [&] { return point(op, position++); })) {
        return false;
      }
    }
    return true;
  }

  HostArray& tensor(TensorId id) { return tensors_[id.value]; }
  std::vector<HostArray>& tensors() { return tensors_; }
  const EvalError& error() const { return error_; }

 private:
  /// An element with what decides how integers wrap: whether an element is in it.
  struct Value {
    Scalar scalar;
    bool is_element;
  };

  bool failed(const EvalError& error) {
    error_ = error;
    is_good_ = false;
    return false;
  }
  DType arithmetic_type(DType type) const { return wide_ && is_float(type) ? DType::f64 : type; }

  /// Runs f at every point of axes[first...], the first axis outermost.
  template <class F>
  bool over(const std::vector<Axis>& axes, std::size_t first, const F& f) {
    if (first == axes.size()) {
      return f();
    }
    for (std::int64_t i = 0; i < axes[first].extent; ++i) {
      set(axes[first].var, {scalar_of(i), false});
      if (!over(axes, first + 1, f)) {
        return false;
      }
    }
    return true;
  }

  bool point(const Operation& op, std::int64_t position) {
    ++moment_;
    std::vector<Scalar> reduced;
    for (std::size_t k = 0; k < op.bodies.size() && is_good_; ++k) {
      Scalar result;
      if (const Reduce* reduce = pool_.as<Reduce>(op.bodies[k])) {
        if (reduced.empty()) {  // all bodies share combiner, axes and sources
          reduced = reduction(op, *reduce);
        }
        if (!is_good_) {
          return false;
        }
        result = reduced[reduce->value_index];
      } else {
        result = value(op.bodies[k]).scalar;
      }
      tensors_[op.outputs[k].value].set(position, result);
    }
    return is_good_;
  }

  std::vector<Scalar> reduction(const Operation& op, const Reduce& reduce) {
    const Combiner& combiner = pool_.combiner(reduce.combiner);
    std::vector<Scalar> total;
    for (ExprId identity : combiner.identity) {
      total.push_back(value(identity).scalar);
    }
    std::vector<Scalar> sources(total.size());
    over(op.reduce_axes, 0, [&] {
      for (std::size_t k = 0; k < total.size(); ++k) {
        sources[k] = value(reduce.sources[k]).scalar;
      }
      for (std::size_t k = 0; k < total.size(); ++k) {
        set(combiner.rhs[k], {sources[k], true});
        set(combiner.lhs[k], {total[k], true});
      }
      for (std::size_t k = 0; k < total.size(); ++k) {
        total[k] = value(combiner.results[k]).scalar;
      }
      return is_good_;
    });
    return total;
  }

  void set(VarId var, const Value& value) {
    vars_[var.value] = value;
    ++moment_;
  }

  /// An expression may stand in many places of a body; it has one value as long as no variable
  /// changes.
  Value value(ExprId id) {
    Known& known = known_[id.value];
    if (known.moment != moment_) {
      const Value found = compute(id);
      known = {moment_, found};
    }
    return known.value;
  }

  Value compute(ExprId id) {
    const ExprNode& node = pool_[id];
    return std::visit(
        Overloaded{
            [&](const IntImm& n) {
              return Value{scalar_of(n.value), false};
            },
            [&](const FloatImm& n) {
              return Value{scalar_of_real(round_arithmetic(n.value, node.dtype)), false};
            },
            [&](const VarRef& n) { return vars_[n.var.value]; },
            [&](const Unary& n) {
              const Value a = value(n.a);
              return Value{apply_unary(n.op, node.dtype, a.scalar, wraps(node.dtype, a)),
                           a.is_element};
            },
            [&](const Binary& n) { return binary(n); },
            [&](const Select& n) {
              const Value condition = value(n.condition);
              const Value a = value(n.if_true), b = value(n.if_false);
              return Value{(condition.scalar.integer != 0 ? a : b).scalar,
                           a.is_element || b.is_element};
            },
            [&](const Cast& n) {
              const Value a = value(n.a);
              return Value{cast_scalar(a.scalar, pool_.dtype(n.a), node.dtype), a.is_element};
            },
            [&](const Call& n) { return call(n, node.dtype); },
            [&](const TensorRead& n) { return read(n); },
            [&](const Load&) { return unsupported(); },
            [&](const Reduce&) { return unsupported(); }},
        node.op);
  }
  bool wraps(DType type, const Value& a) const { return a.is_element || !is_index_type(type); }
  Value unsupported() {
    failed({EvalErrorKind::unsupported, {}, {}, -1, 0, 0});
    return {scalar_of(0), false};
  }

  Value binary(const Binary& n) {
    const Value a = value(n.a), b = value(n.b);
    const DType type = arithmetic_type(pool_.dtype(n.a));
    const bool is_element = a.is_element || b.is_element;
    const auto result =
        apply_binary(n.op, type, a.scalar, b.scalar, is_element || !is_index_type(type));
    if (!result && is_good_) {
      failed({EvalErrorKind::division_by_zero, {}, {}, -1, 0, 0});
    }
    return {result.value_or(scalar_of(0)), is_element};
  }

  Value call(const Call& n, DType type) {
    const Value a = value(n.args[0]);
    if (n.op == CallOp::if_then_else) {
      const Value arm = value(n.args[a.scalar.integer != 0 ? 1 : 2]);
      return {arm.scalar, arm.is_element || has_element(n.args[1]) || has_element(n.args[2])};
    }
    const Value b = n.args.size() > 1 ? value(n.args[1]) : a;
    const bool is_element = a.is_element || b.is_element;
    return {apply_call(n.op, arithmetic_type(type), a.scalar, b.scalar,
                       is_element || !is_index_type(type)),
            is_element};
  }
  bool has_element(ExprId id) {
    std::optional<bool>& found = has_element_[id.value];
    if (!found) {
      bool has = pool_.as<TensorRead>(id) != nullptr;
      for_each_child(pool_[id], [&](ExprId child) { has = has || has_element(child); });
      found = has;
    }
    return *found;
  }

  Value read(const TensorRead& n) {
    const HostArray& array = tensors_[n.tensor.value];
    std::int64_t at = 0;
    for (std::size_t d = 0; d < n.indices.size(); ++d) {
      const std::int64_t i = value(n.indices[d]).scalar.integer;
      const std::int64_t extent = array.shape[d];
      if (i < 0 || i >= extent) {
        if (is_good_) {
          failed({EvalErrorKind::out_of_bounds,
                  {},
                  BufferId{n.tensor.value},
                  static_cast<std::int32_t>(d),
                  i,
                  extent});
        }
        return {scalar_of(0), true};
      }
      at = at * extent + i;
    }
    return {array.get(at), true};
  }

  const ComputeDag& dag_;
  const ExprPool& pool_;
  bool wide_;
  struct Known {
    std::uint64_t moment = 0;
    Value value;
  };
  std::vector<Value> vars_;                       // by VarId
  std::vector<Known> known_;                      // by ExprId: what it was at which moment
  std::uint64_t moment_ = 1;                      // another one with every point and variable
  std::vector<std::optional<bool>> has_element_;  // by ExprId, once it was asked
  std::vector<HostArray> tensors_;
  EvalError error_;
  bool is_good_ = true;
};

}  // namespace detail

TENSORSMITH_INLINE Result<std::vector<HostArray>, EvalError>
eval_dag_tensors(const ComputeDag& dag, const std::vector<HostArray>& inputs,
                 const EvalDagOptions& options) {
  detail::DagEvaluator evaluator(dag, options);
  std::size_t next = 0;
  for (TensorId id : dag.arguments()) {
    if (!dag.operation(dag.tensor(id).operation).is_placeholder()) {
      continue;
    }
    if (next == inputs.size() || !evaluator.set(id, inputs[next++])) {
      return fail(EvalError{EvalErrorKind::wrong_argument, {}, BufferId{id.value}, -1, 0, 0});
    }
  }
  if (!evaluator.run()) {
    return fail(evaluator.error());
  }
  return std::move(evaluator.tensors());
}

}  // namespace tensorsmith
