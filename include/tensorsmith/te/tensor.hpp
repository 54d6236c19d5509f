// SPDX-License-Identifier: Apache-2.0
// Handles of a te::Program: tensors, reduction axes, and the reductions sum, prod, min, max,
// reduce.
//
// Floor 2. Own design. Not here: creating them (te/program.hpp).
#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "tensorsmith/te/expr_builder.hpp"

namespace tensorsmith::te {

using Shape = std::vector<std::int64_t>;

/// A reduction axis [0, extent); usable as an index.
class ReduceAxis : public Expr {
 public:
  ReduceAxis(detail::ProgramData* program, VarId var)
      : Expr(program, program->pool.var(var)), var_(var) {}
  VarId var() const { return var_; }

 private:
  VarId var_;
};
using ReduceAxes = std::vector<ReduceAxis>;

/// A tensor of a program. A(i, j) reads one element.
class Tensor {
 public:
  Tensor(detail::ProgramData* program, TensorId id) : program_(program), id_(id) {}

  template <class... Indices>
  Expr operator()(Indices&&... indices) const {
    return at(std::vector<Expr>{Expr(std::forward<Indices>(indices))...});
  }
  Expr at(const std::vector<Expr>& indices) const {
    const std::string where = "tensor \"" + name() + "\"";
    if (indices.size() != rank()) {
      detail::misuse(where, std::to_string(rank()) + " indices", std::to_string(indices.size()));
    }
    ExprList ids;
    for (const Expr& index : indices) {
      const Expr typed = index.typed(program_, DType::i32, where);
      if (!is_integer(typed.dtype())) {
        detail::misuse(where, "integer indices", detail::text(typed.dtype()));
      }
      ids.push_back(typed.id());
    }
    return Expr(program_, program_->pool.read(id_, dtype(), std::move(ids)));
  }

  TensorId id() const { return id_; }
  detail::ProgramData* program() const { return program_; }
  const TensorInfo& info() const { return program_->tensors[id_.value]; }
  const std::string& name() const { return info().name; }
  DType dtype() const { return info().dtype; }
  std::size_t rank() const { return info().shape.size(); }
  std::int64_t extent(std::size_t dimension) const { return info().shape[dimension]; }
  Shape shape() const { return Shape(info().shape.begin(), info().shape.end()); }

 private:
  detail::ProgramData* program_;
  TensorId id_;
};

/// Reduction with a combiner of Program::combiner; one result per source. Only as the body itself.
inline std::vector<Expr> reduce(CombinerId combiner, std::vector<Expr> sources,
                                const ReduceAxes& axes) {
  if (axes.empty()) {
    detail::misuse("reduce", "at least one reduction axis", "none");
  }
  detail::ProgramData* program = axes[0].program();
  Reduce node;
  node.combiner = combiner;
  const Combiner& rules = program->pool.combiner(combiner);
  if (rules.lhs.size() != sources.size()) {
    detail::misuse("reduce", std::to_string(rules.lhs.size()) + " sources",
                   std::to_string(sources.size()));
  }
  for (std::size_t i = 0; i < sources.size(); ++i) {
    const DType type = program->pool.var_dtype(program->pool.combiner(combiner).lhs[i]);
    const Expr source = sources[i].typed(program, type, "reduce");
    if (source.dtype() != type) {
      detail::misuse("reduce", "source " + std::to_string(i) + " of type " + detail::text(type),
                     detail::text(source.dtype()));
    }
    node.sources.push_back(source.id());
  }
  for (const ReduceAxis& axis : axes) {
    if (axis.program() != program) {
      detail::misuse("reduce", "axes of one te::Program", "axes of two programs");
    }
    node.axes.push_back(axis.var());
  }
  std::vector<Expr> results;
  for (std::uint32_t i = 0; i < sources.size(); ++i) {
    node.value_index = i;
    results.emplace_back(program, program->pool.reduce(node));
  }
  return results;
}

namespace detail {

/// The least (sign -1) or greatest (+1) value of a type, infinite for floats, as a literal.
inline Expr extreme(DType type, int sign) {
  return is_float(type) ? Expr(sign * math::infinity)
                        : Expr(sign < 0 ? limits_of(type).low : limits_of(type).high);
}

/// `propagates_nan`: min and max give NaN if an operand is NaN.
inline Expr reduce_by(const std::string& where, BinaryOp op, Expr source, const ReduceAxes& axes,
                      bool propagates_nan = false) {
  if (axes.empty()) {
    misuse(where, "at least one reduction axis", "none");
  }
  ProgramData* program = axes[0].program();
  source = source.typed(program, DType::f32, where);
  const DType type = source.dtype();
  if (type == DType::boolean) {
    misuse(where, "numbers (use te::cast)", "bool");
  }
  propagates_nan = propagates_nan && is_float(type);
  for (const auto& entry : program->combiners) {
    if (entry.op == op && entry.dtype == type && entry.propagates_nan == propagates_nan) {
      return reduce(entry.id, {source}, axes)[0];
    }
  }
  ExprPool& pool = program->pool;
  const Expr identity = op == BinaryOp::add   ? Expr(0)
                        : op == BinaryOp::mul ? Expr(1)
                                              : extreme(type, op == BinaryOp::max ? -1 : 1);
  Combiner made;
  made.lhs.push_back(pool.new_var("x", type));
  made.rhs.push_back(pool.new_var("y", type));
  const Expr x(program, pool.var(made.lhs[0])), y(program, pool.var(made.rhs[0]));
  made.results.push_back(propagates_nan ? propagating_extremum(op, x, y).id()
                                        : pool.binary(op, x.id(), y.id()));
  made.identity.push_back(identity.typed(program, type, where).id());
  const CombinerId id = pool.add_combiner(std::move(made));
  program->combiners.push_back({op, type, propagates_nan, id});
  return reduce(id, {source}, axes)[0];
}

}  // namespace detail

inline Expr sum(Expr source, const ReduceAxes& axes) {
  return detail::reduce_by("sum", BinaryOp::add, source, axes);
}
inline Expr prod(Expr source, const ReduceAxes& axes) {
  return detail::reduce_by("prod", BinaryOp::mul, source, axes);
}
/// The least of all that are no NaN; what an integer type holds at most, or infinity, of nothing.
inline Expr min(Expr source, const ReduceAxes& axes) {
  return detail::reduce_by("min", BinaryOp::min, source, axes);
}
/// The greatest of all that are no NaN; the least integer of the type, or -infinity, of nothing.
inline Expr max(Expr source, const ReduceAxes& axes) {
  return detail::reduce_by("max", BinaryOp::max, source, axes);
}
/// As min and max; NaN if there is one.
inline Expr minimum(Expr source, const ReduceAxes& axes) {
  return detail::reduce_by("minimum", BinaryOp::min, source, axes, true);
}
inline Expr maximum(Expr source, const ReduceAxes& axes) {
  return detail::reduce_by("maximum", BinaryOp::max, source, axes, true);
}

}  // namespace tensorsmith::te
