// SPDX-License-Identifier: Apache-2.0
// The definitions of tensor.hpp.
//
// Floor 2. Included by te/tensor.hpp or compiled once (support/compiled.hpp).
#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "tensorsmith/te/tensor.hpp"

namespace tensorsmith::te {

TENSORSMITH_INLINE Expr Tensor::at(const std::vector<Expr>& indices) const {
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

TENSORSMITH_INLINE std::vector<Expr> reduce(CombinerId combiner, std::vector<Expr> sources,
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

TENSORSMITH_INLINE Expr extreme(DType type, int sign) {
  return is_float(type) ? Expr(sign * math::infinity)
                        : Expr(sign < 0 ? limits_of(type).low : limits_of(type).high);
}

TENSORSMITH_INLINE Expr reduce_by(const std::string& where, BinaryOp op, Expr source,
                                  const ReduceAxes& axes, bool propagates_nan) {
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
}  // namespace tensorsmith::te
