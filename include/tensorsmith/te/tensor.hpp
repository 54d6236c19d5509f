// Handles of a te::Program: tensors, reduction axes, and the reductions sum, prod, min, max,
// reduce.
//
// Floor 2. Own design. Not here: creating them (te/program.hpp).
#pragma once

#include <cfloat>
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

/// The smallest (sign -1) or largest (+1) finite value of a type, as a literal.
inline Expr extreme(DType type, int sign) {
  switch (type) {
  case DType::f64:
    return Expr(sign * DBL_MAX);
  case DType::f32:
    return Expr(sign * static_cast<double>(FLT_MAX));
  case DType::f16:
    return Expr(sign * 65504.0);
  case DType::bf16:
    return Expr(sign * 3.38953138925153547590470800371487866880e38);
  default:
    return Expr(sign < 0 ? limits_of(type).low : limits_of(type).high);
  }
}

inline Expr reduce_by(const std::string& where, BinaryOp op, Expr source, const ReduceAxes& axes) {
  if (axes.empty()) {
    misuse(where, "at least one reduction axis", "none");
  }
  ProgramData* program = axes[0].program();
  source = source.typed(program, DType::f32, where);
  const DType type = source.dtype();
  if (type == DType::boolean) {
    misuse(where, "numbers (use te::cast)", "bool");
  }
  for (const auto& entry : program->combiners) {
    if (entry.op == op && entry.dtype == type) {
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
  made.results.push_back(pool.binary(op, pool.var(made.lhs[0]), pool.var(made.rhs[0])));
  made.identity.push_back(identity.typed(program, type, where).id());
  const CombinerId id = pool.add_combiner(std::move(made));
  program->combiners.push_back({op, type, id});
  return reduce(id, {source}, axes)[0];
}

}  // namespace detail

inline Expr sum(Expr source, const ReduceAxes& axes) {
  return detail::reduce_by("sum", BinaryOp::add, source, axes);
}
inline Expr prod(Expr source, const ReduceAxes& axes) {
  return detail::reduce_by("prod", BinaryOp::mul, source, axes);
}
/// Identity: the largest finite value of the type, as in the Ansor reference.
inline Expr min(Expr source, const ReduceAxes& axes) {
  return detail::reduce_by("min", BinaryOp::min, source, axes);
}
/// Identity: the smallest finite value of the type, as in the Ansor reference.
inline Expr max(Expr source, const ReduceAxes& axes) {
  return detail::reduce_by("max", BinaryOp::max, source, axes);
}

}  // namespace tensorsmith::te
