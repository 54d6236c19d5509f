// apply_intrinsics: which stages of a program are computed by tensor intrinsics.
//
// Floor 7. Own design. Draws nothing: an instruction that computes several products at once is
// never slower than one that computes one, so a space that has it uses it wherever it fits.
//     C: for i, j, k  -->  C intrinsic: vdpbf16ps: for i, j, k
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "tensorsmith/lower/tensor_operands.hpp"
#include "tensorsmith/sketch/grow.hpp"
#include "tensorsmith/sketch/stage_query.hpp"

namespace tensorsmith {
namespace detail {

/// The first of `intrinsics` for a stage that is computed, whose sum runs along an operand's rows.
inline const TensorIntrinsic* intrinsic_for(const State& state, std::size_t stage,
                                            const std::vector<const TensorIntrinsic*>& intrinsics) {
  const Operation& op = state.operation(stage);
  const ExprPool& pool = state.dag().pool();
  if (state.stage(stage).is_placeholder || state.stage(stage).compute_at == ComputeAt::inlined ||
      op.axes.empty() || op.reduce_axes.empty() || state.stage(stage).iterators.empty()) {
    return nullptr;
  }
  const VarId group = op.reduce_axes.back().var;
  for (const TensorIntrinsic* intrinsic : intrinsics) {
    const std::optional<TensorOperands> operands =
        tensor_operands(pool, op, *intrinsic, op.axes.back().var);
    if (!operands || op.reduce_axes.back().extent < intrinsic->k) {
      continue;
    }
    bool is_dense = op.reduce_axes.size() == 1, is_read = true;
    for (const TensorRead* read : {operands->a, operands->b}) {
      const std::uint32_t producer = state.dag().tensor(read->tensor).operation;
      is_dense =
          is_dense || (!read->indices.empty() && uses_var(pool, read->indices.back(), group));
      is_read = is_read && (state.stage(producer).compute_at != ComputeAt::inlined ||
                            takes_inlined(pool, state.operation(producer), *intrinsic));
    }
    if (is_dense && is_read) {
      return intrinsic;
    }
  }
  return nullptr;
}

}  // namespace detail

/// A step for every stage that one of `intrinsics` computes, appended to the history.
inline bool apply_intrinsics(State& state, const std::vector<const TensorIntrinsic*>& intrinsics) {
  for (std::size_t stage = 0; !intrinsics.empty() && stage < state.num_stages(); ++stage) {
    const TensorIntrinsic* intrinsic = detail::intrinsic_for(state, stage, intrinsics);
    if (intrinsic != nullptr && !try_step(state, PragmaStep{static_cast<std::int32_t>(stage), 0,
                                                            std::string(tensorize_pragma) + "$" +
                                                                std::string(intrinsic->name)})) {
      return false;
    }
  }
  return true;
}

}  // namespace tensorsmith
