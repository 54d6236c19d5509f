// SPDX-License-Identifier: Apache-2.0
// Structural comparison of two dags, whose pools number expressions differently.
//
// Floor 2. Own design. Names of the variables of combiners do not matter, all others do, unless it
// is asked for the form alone.
#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "tensorsmith/support/hash_map.hpp"
#include "tensorsmith/te/compute_dag.hpp"

namespace tensorsmith::te {

/// Whether names of tensors, operations and iterators count when dags are compared.
enum class Names : std::uint8_t { count, do_not_count };

}  // namespace tensorsmith::te

namespace tensorsmith::te::detail {

/// Compares expressions of two pools. Variables are alike if they were declared to be.
class SameExpression {
 public:
  SameExpression(const ExprPool& a, const ExprPool& b) : a_(a), b_(b) {}
  SameExpression(const ComputeDag& a, const ComputeDag& b, Names names)
      : a_(a.pool()), b_(b.pool()), dag_a_(&a), dag_b_(&b), names_(names) {}

  void declare(VarId x, VarId y) { vars_.emplace_back(x, y); }

  bool operator()(ExprId x, ExprId y) {
    if (const std::uint32_t* known = known_.find(x.value); known != nullptr && *known == y.value) {
      return true;
    }
    const bool same = compare(a_[x], b_[y]);
    if (same) {
      known_.set(x.value, y.value);
    }
    return same;
  }

  bool combiners(CombinerId x, CombinerId y) {
    const Combiner &a = a_.combiner(x), &b = b_.combiner(y);
    if (a.lhs.size() != b.lhs.size()) {
      return false;
    }
    SameExpression inner(a_, b_);
    for (std::size_t i = 0; i < a.lhs.size(); ++i) {
      if (a_.var_dtype(a.lhs[i]) != b_.var_dtype(b.lhs[i])) {
        return false;
      }
      inner.declare(a.lhs[i], b.lhs[i]);
      inner.declare(a.rhs[i], b.rhs[i]);
    }
    return inner.lists(a.results, b.results) && inner.lists(a.identity, b.identity);
  }

 private:
  bool vars(VarId x, VarId y) const {
    for (const auto& [left, right] : vars_) {
      if (left == x) {
        return right == y;
      }
    }
    return false;
  }
  bool lists(const ExprList& x, const ExprList& y) {
    bool same = x.size() == y.size();
    for (std::size_t i = 0; same && i < x.size(); ++i) {
      same = (*this)(x[i], y[i]);
    }
    return same;
  }
  bool tensors(TensorId x, TensorId y) const {
    if (dag_a_ == nullptr) {
      return false;
    }
    const TensorInfo &a = dag_a_->tensor(x), &b = dag_b_->tensor(y);
    return (names_ == Names::do_not_count || a.name == b.name) && a.operation == b.operation &&
           a.output_index == b.output_index;
  }
  bool compare(const ExprNode& x, const ExprNode& y) {
    if (x.dtype != y.dtype || x.op.index() != y.op.index()) {
      return false;
    }
    return std::visit(
        Overloaded{[&](const VarRef& n) { return vars(n.var, std::get<VarRef>(y.op).var); },
                   [&](const Unary& n) {
                     const Unary& m = std::get<Unary>(y.op);
                     return n.op == m.op && (*this)(n.a, m.a);
                   },
                   [&](const Binary& n) {
                     const Binary& m = std::get<Binary>(y.op);
                     return n.op == m.op && (*this)(n.a, m.a) && (*this)(n.b, m.b);
                   },
                   [&](const Select& n) {
                     const Select& m = std::get<Select>(y.op);
                     return (*this)(n.condition, m.condition) && (*this)(n.if_true, m.if_true) &&
                            (*this)(n.if_false, m.if_false);
                   },
                   [&](const Cast& n) { return (*this)(n.a, std::get<Cast>(y.op).a); },
                   [&](const Call& n) {
                     const Call& m = std::get<Call>(y.op);
                     return n.op == m.op && lists(n.args, m.args);
                   },
                   [&](const TensorRead& n) {
                     const TensorRead& m = std::get<TensorRead>(y.op);
                     return tensors(n.tensor, m.tensor) && lists(n.indices, m.indices);
                   },
                   [&](const Reduce& n) {
                     const Reduce& m = std::get<Reduce>(y.op);
                     bool same = n.value_index == m.value_index && n.axes.size() == m.axes.size() &&
                                 lists(n.sources, m.sources) && combiners(n.combiner, m.combiner);
                     for (std::size_t i = 0; same && i < n.axes.size(); ++i) {
                       same = vars(n.axes[i], m.axes[i]);
                     }
                     return same;
                   },
                   [&](const IntImm& n) { return n == std::get<IntImm>(y.op); },
                   [&](const FloatImm& n) { return n == std::get<FloatImm>(y.op); },
                   [&](const Load&) { return false; }},
        x.op);
  }

  const ExprPool& a_;
  const ExprPool& b_;
  const ComputeDag* dag_a_ = nullptr;
  const ComputeDag* dag_b_ = nullptr;
  Names names_ = Names::count;
  std::vector<std::pair<VarId, VarId>> vars_;
  HashMap<std::uint32_t, std::uint32_t> known_;
};

/// The attributes with places instead of names: of an operation that computes the tensor, of an
/// iterator. What is no name of either stays.
inline OperationAttrs attrs_without_names(const ComputeDag& dag, const Operation& operation) {
  OperationAttrs attrs = operation.attrs;
  for (std::string& name : attrs.layout_free_placeholders) {
    for (std::size_t stage = 0; stage < dag.operations().size(); ++stage) {
      if (dag.operation(stage).name == name) {
        name = std::to_string(stage);
        break;
      }
    }
  }
  for (std::vector<std::string>* list : {&attrs.simplify_const_tensor_indices,
                                         &attrs.always_unroll_inner, &attrs.no_split_at_inner}) {
    for (std::string& name : *list) {
      std::size_t place = 0;
      bool is_found = false;
      for (const std::vector<Axis>* axes : {&operation.axes, &operation.reduce_axes}) {
        for (const Axis& axis : *axes) {
          is_found = is_found || dag.pool().var_name(axis.var) == name;
          place += is_found ? 0U : 1U;
        }
      }
      name = is_found ? std::to_string(place) : name;
    }
  }
  return attrs;
}

inline bool same_operation(const ComputeDag& a, const ComputeDag& b, std::size_t stage,
                           Names names = Names::count) {
  const bool counts = names == Names::count;
  const Operation &x = a.operation(stage), &y = b.operation(stage);
  if (x.kind != y.kind || (counts && x.name != y.name) || x.tag != y.tag ||
      !(counts ? x.attrs == y.attrs : attrs_without_names(a, x) == attrs_without_names(b, y)) ||
      x.axes.size() != y.axes.size() || x.reduce_axes.size() != y.reduce_axes.size() ||
      x.bodies.size() != y.bodies.size() || x.outputs.size() != y.outputs.size()) {
    return false;
  }
  for (std::size_t i = 0; i < x.outputs.size(); ++i) {
    const TensorInfo &s = a.tensor(x.outputs[i]), &t = b.tensor(y.outputs[i]);
    if ((counts && s.name != t.name) || s.dtype != t.dtype || !(s.shape == t.shape)) {
      return false;
    }
  }
  SameExpression same(a, b, names);
  const auto declare = [&](const std::vector<Axis>& from, const std::vector<Axis>& to) {
    bool alike = true;
    for (std::size_t i = 0; i < from.size(); ++i) {
      same.declare(from[i].var, to[i].var);
      alike = alike && from[i].extent == to[i].extent &&
              (!counts || a.pool().var_name(from[i].var) == b.pool().var_name(to[i].var));
    }
    return alike;
  };
  bool alike = declare(x.axes, y.axes) && declare(x.reduce_axes, y.reduce_axes);
  for (std::size_t i = 0; alike && i < x.bodies.size(); ++i) {
    alike = same(x.bodies[i], y.bodies[i]);
  }
  return alike;
}

}  // namespace tensorsmith::te::detail
