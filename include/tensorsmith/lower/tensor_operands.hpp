// SPDX-License-Identifier: Apache-2.0
// tensor_operands: whether an operation is a sum of products that an intrinsic computes.
//
// Floor 4. Own design. Not here: which loops it covers (emit_tensor.hpp).
#pragma once

#include <optional>
#include <utility>

#include "tensorsmith/ir/rewrite.hpp"
#include "tensorsmith/ir/tensor_intrinsic.hpp"
#include "tensorsmith/te/compute_dag.hpp"

namespace tensorsmith {

struct TensorOperands {
  const TensorRead* a = nullptr;
  const TensorRead* b = nullptr;
  bool is_a_first = true;  ///< in the product
};

namespace detail {

inline bool reads_along(const ExprPool& pool, const TensorRead& read, VarId var) {
  bool found = false;
  for (ExprId index : read.indices) {
    found = found || uses_var(pool, index, var);
  }
  return found;
}

/// Whether the values are those of a tensor inside of a region, and zero outside.
inline bool is_zero_padding(const ExprPool& pool, const Operation& op) {
  const auto arms = [&](ExprId id) -> std::pair<ExprId, ExprId> {
    const Call* call = pool.as<Call>(id);
    const Select* select = pool.as<Select>(id);
    return call != nullptr && call->op == CallOp::if_then_else
               ? std::pair(call->args[1], call->args[2])
           : select != nullptr ? std::pair(select->if_true, select->if_false)
                               : std::pair(ExprId{}, ExprId{});
  };
  const auto [inside, outside] = op.bodies.size() == 1 && op.reduce_axes.empty()
                                     ? arms(op.bodies[0])
                                     : std::pair(ExprId{}, ExprId{});
  if (!inside.valid()) {
    return false;
  }
  const IntImm* integer = pool.as<IntImm>(outside);
  const FloatImm* real = pool.as<FloatImm>(outside);
  const bool is_zero =
      integer != nullptr ? integer->value == 0 : real != nullptr && real->value == 0;
  return is_zero && pool.as<TensorRead>(inside) != nullptr;
}

/// Whether the intrinsic can take what an inlined operation computes: padding whose terms are left
/// out. With an offset it cannot, for the sums that are taken off know of no terms left out.
inline bool takes_inlined(const ExprPool& pool, const Operation& op,
                          const TensorIntrinsic& intrinsic) {
  return intrinsic.a_offset == 0 && is_zero_padding(pool, op);
}

}  // namespace detail

namespace detail {

/// Of the operands in either order the first that `fits`; nothing if it is something else.
template <class Fits>
std::optional<TensorOperands> operands_that_fit(const ExprPool& pool, const Operation& op,
                                                const TensorIntrinsic& intrinsic,
                                                const Fits& fits) {
  const Reduce* reduce =
      op.bodies.size() == 1 && op.outputs.size() == 1 ? pool.as<Reduce>(op.bodies[0]) : nullptr;
  if (reduce == nullptr || reduce->sources.size() != 1) {
    return std::nullopt;
  }
  const Combiner& combiner = pool.combiner(reduce->combiner);
  const Binary* sum = pool.as<Binary>(combiner.results[0]);
  const Binary* product = pool.as<Binary>(reduce->sources[0]);
  if (sum == nullptr || sum->op != BinaryOp::add || product == nullptr ||
      product->op != BinaryOp::mul || pool.dtype(op.bodies[0]) != intrinsic.accumulator) {
    return std::nullopt;
  }
  const auto is_argument = [&](ExprId id) {
    const VarRef* ref = pool.as<VarRef>(id);
    return ref != nullptr && (ref->var == combiner.lhs[0] || ref->var == combiner.rhs[0]);
  };
  if (!is_argument(sum->a) || !is_argument(sum->b) || sum->a == sum->b) {
    return std::nullopt;
  }
  const auto read_of = [&](ExprId id, DType type) -> const TensorRead* {
    const Cast* cast = pool.as<Cast>(id);
    const ExprId inner = cast != nullptr ? cast->a : id;
    return pool.dtype(id) == intrinsic.accumulator && intrinsic.takes(type, pool.dtype(inner))
               ? pool.as<TensorRead>(inner)
               : nullptr;
  };
  for (bool is_a_first : {true, false}) {
    const TensorRead* a = read_of(is_a_first ? product->a : product->b, intrinsic.a);
    const TensorRead* b = read_of(is_a_first ? product->b : product->a, intrinsic.b);
    if (a != nullptr && b != nullptr && fits(*a, *b)) {
      return TensorOperands{a, b, is_a_first};
    }
  }
  return std::nullopt;
}

}  // namespace detail

/// Nothing if it is something else. Of two operands of the right types a is the one that does not
/// run along `vector`, which both may not do.
inline std::optional<TensorOperands> tensor_operands(const ExprPool& pool, const Operation& op,
                                                     const TensorIntrinsic& intrinsic,
                                                     VarId vector) {
  return detail::operands_that_fit(
      pool, op, intrinsic, [&](const TensorRead& a, const TensorRead& b) {
        return !detail::reads_along(pool, a, vector) && detail::reads_along(pool, b, vector);
      });
}

/// The same of a sum whose vectors run along its one reduction axis, as both operands do: groups of
/// either lie in the lanes. Not with an offset, and not in tile registers.
inline std::optional<TensorOperands> operands_along_sum(const ExprPool& pool, const Operation& op,
                                                        const TensorIntrinsic& intrinsic) {
  if (op.reduce_axes.size() != 1 || intrinsic.a_offset != 0 || intrinsic.has_tiles() ||
      !intrinsic.ptx.empty()) {
    return std::nullopt;
  }
  const VarId sum = op.reduce_axes[0].var;
  return detail::operands_that_fit(
      pool, op, intrinsic, [&](const TensorRead& a, const TensorRead& b) {
        return detail::reads_along(pool, a, sum) && detail::reads_along(pool, b, sum);
      });
}

}  // namespace tensorsmith
