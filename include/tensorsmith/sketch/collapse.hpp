// SPDX-License-Identifier: Apache-2.0
// Collapsing: adjacent spatial axes that memory and every read see as one run as one loop.
//
// Floor 5. Own design (collapsing of contiguous dimensions, as tensor compilers do it on tensors).
// Rows of a plane that are read and written one behind the other are one long row: a tile may then
// hold any number of its elements, not only a number that divides a row of 7 or 14.
//     Y[n, h, w, co] += X[n, h, w, rc] * W[rc, co]  -->  n, h, w run as one loop over n*h*w
#pragma once

#include <cstdint>
#include <vector>

#include "tensorsmith/ir/rewrite.hpp"
#include "tensorsmith/sketch/grow.hpp"
#include "tensorsmith/support/algorithm.hpp"

namespace tensorsmith {

namespace detail {

/// Always 0: an axis of one element, or a multiple of it.
inline bool is_zero_index(const ExprPool& pool, const Operation& op, ExprId id) {
  if (const VarRef* ref = pool.as<VarRef>(id)) {
    const auto is_it = [&](const Axis& axis) { return axis.var == ref->var && axis.extent == 1; };
    return any_item(op.axes, is_it) || any_item(op.reduce_axes, is_it);
  }
  const Binary* binary = pool.as<Binary>(id);
  return binary != nullptr && binary->op == BinaryOp::mul &&
         (is_zero_index(pool, op, binary->a) || is_zero_index(pool, op, binary->b));
}

/// The index is `var`, beside terms that are always 0 (the tap of a filter of one element).
inline bool is_index(const ExprPool& pool, const Operation& op, ExprId id, VarId var) {
  if (const VarRef* ref = pool.as<VarRef>(id)) {
    return ref->var == var;
  }
  const Binary* sum = pool.as<Binary>(id);
  return sum != nullptr && sum->op == BinaryOp::add &&
         ((is_index(pool, op, sum->a, var) && is_zero_index(pool, op, sum->b)) ||
          (is_index(pool, op, sum->b, var) && is_zero_index(pool, op, sum->a)));
}

/// Whether the axes `a` and `a + 1` of a stage are neighbours in all that its bodies read: whole
/// dimensions next to each other, or not used at all. Inlined producers are looked through.
inline bool reads_as_one(const State& state, std::size_t stage, std::size_t a) {
  const ExprPool& pool = state.dag().pool();
  const Operation& op = state.operation(stage);
  const VarId outer = op.axes[a].var, inner = op.axes[a + 1].var;
  bool holds = true;
  std::int64_t num_uses = 0, num_in_order = 0;  // of both variables
  for (ExprId body : op.bodies) {
    visit_expr(pool, body, [&](ExprId id) {
      const VarRef* ref = pool.as<VarRef>(id);
      num_uses += ref != nullptr && (ref->var == outer || ref->var == inner) ? 1 : 0;
      const TensorRead* read = pool.as<TensorRead>(id);
      if (read == nullptr) {
        return;
      }
      const TensorInfo& tensor = state.dag().tensor(read->tensor);
      for (std::size_t d = 0; d + 1 < read->indices.size(); ++d) {
        if (is_index(pool, op, read->indices[d], outer) &&
            is_index(pool, op, read->indices[d + 1], inner) &&
            tensor.shape[d + 1] == op.axes[a + 1].extent) {
          num_in_order += 2;
          const std::size_t producer = tensor.operation;
          holds =
              holds && (state.stage(producer).compute_at != ComputeAt::inlined ||
                        (tensor.shape[d] == op.axes[a].extent && reads_as_one(state, producer, d)));
        }
      }
    });
  }
  return holds && num_uses == num_in_order;
}

}  // namespace detail

/// The runs of two and more adjacent spatial axes of `stage`, as its loops stand before any split,
/// that can run as one loop in it and, if it is not below 0, in `consumer`, which has the same
/// axes.
inline std::vector<IdList> collapsible_axes(const State& state, std::int32_t stage,
                                            std::int32_t consumer) {
  const Operation& op = state.operation(static_cast<std::size_t>(stage));
  std::vector<IdList> runs;
  if (!op.attrs.no_split_at_inner.empty()) {
    return runs;
  }
  for (std::size_t a = 0; a + 1 < op.axes.size(); ++a) {
    const bool joins =
        detail::reads_as_one(state, static_cast<std::size_t>(stage), a) &&
        (consumer < 0 || detail::reads_as_one(state, static_cast<std::size_t>(consumer), a));
    const auto axis = static_cast<std::int32_t>(a);
    if (joins && !runs.empty() && runs.back().back() == axis) {
      runs.back().push_back(axis + 1);
    } else if (joins) {
      runs.push_back({axis, axis + 1});
    }
  }
  // Axes of one element are no reason to touch the loops.
  std::erase_if(runs, [&](const IdList& run) {
    std::int64_t num_long = 0;
    for (std::int32_t axis : run) {
      num_long += op.axes[static_cast<std::size_t>(axis)].extent > 1 ? 1 : 0;
    }
    return num_long < 2;
  });
  return runs;
}

/// Fuses each run of loops of an untiled stage.
inline void collapse_axes(State& state, std::int32_t stage, const std::vector<IdList>& runs) {
  for (std::size_t i = runs.size(); i-- > 0;) {  // from the inside: positions in front stay
    grow(state, FuseStep{stage, runs[i]});
  }
}

}  // namespace tensorsmith
