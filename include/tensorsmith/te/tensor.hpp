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

#include "tensorsmith/support/compiled.hpp"
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
  Expr at(const std::vector<Expr>& indices) const;

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
TENSORSMITH_INLINE std::vector<Expr> reduce(CombinerId combiner, std::vector<Expr> sources,
                                            const ReduceAxes& axes);

namespace detail {

/// The least (sign -1) or greatest (+1) value of a type, infinite for floats, as a literal.
TENSORSMITH_INLINE Expr extreme(DType type, int sign);

/// `propagates_nan`: min and max give NaN if an operand is NaN.
TENSORSMITH_INLINE Expr reduce_by(const std::string& where, BinaryOp op, Expr source,
                                  const ReduceAxes& axes, bool propagates_nan = false);

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

#ifndef TENSORSMITH_COMPILED
#include "tensorsmith/te/tensor_body.hpp"
#endif
