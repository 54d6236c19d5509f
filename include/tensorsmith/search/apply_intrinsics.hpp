// SPDX-License-Identifier: Apache-2.0
// apply_intrinsics: which stages of a program are computed by tensor intrinsics.
//
// Floor 7. Own design. Draws nothing: an instruction that computes several products at once is
// never slower than one that computes one, so a space that has it uses it wherever it fits.
//     C: for i, j, k  -->  C intrinsic: vdpbf16ps: for i, j, k
// Tile registers want more: loops that fill them, b in a packed copy (whose layout follows), and a
// in one or in rows. Where a program has them they come first.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "tensorsmith/lower/tensor_operands.hpp"
#include "tensorsmith/lower/tile_block.hpp"
#include "tensorsmith/search/packed_dimensions.hpp"
#include "tensorsmith/sketch/grow.hpp"
#include "tensorsmith/sketch/packs.hpp"
#include "tensorsmith/sketch/stage_query.hpp"

namespace tensorsmith {
namespace detail {

/// Whether the stage's loops fill tile registers, with operands that are or will be as they want.
inline bool fits_tiles(const State& state, std::size_t stage, const TensorIntrinsic& intrinsic,
                       const TensorOperands& operands, const StageDerivation& derivation,
                       const PackedCopies& packs) {
  const Operation& op = state.operation(stage);
  const auto is_packed = [&](const TensorRead& read) {
    return packs.contains(static_cast<std::int32_t>(state.dag().tensor(read.tensor).operation));
  };
  const VarRef* last = operands.a->indices.empty()
                           ? nullptr
                           : state.dag().pool().as<VarRef>(operands.a->indices.back());
  const bool has_rows = last != nullptr && last->var == op.reduce_axes.back().var;
  return is_packed(*operands.b) && (is_packed(*operands.a) || has_rows) &&
         tile_block(state.dag().pool(), op, derivation, extents_at_root(op, derivation), intrinsic,
                    [&](std::int32_t iterator) {
                      return state.attach_map().iterator_to_stages.contains(
                          IteratorKey{static_cast<std::int32_t>(stage), iterator});
                    })
             .has_value();
}

/// The first of `intrinsics` for a stage that is computed, whose sum runs along an operand's rows.
inline const TensorIntrinsic* intrinsic_for(const State& state, std::size_t stage,
                                            const std::vector<const TensorIntrinsic*>& intrinsics,
                                            const PackedCopies& packs) {
  const Operation& op = state.operation(stage);
  const ExprPool& pool = state.dag().pool();
  if (state.stage(stage).is_placeholder || state.stage(stage).compute_at == ComputeAt::inlined ||
      op.axes.empty() || op.reduce_axes.empty() || state.stage(stage).iterators.empty()) {
    return nullptr;
  }
  const VarId group = op.reduce_axes.back().var;
  std::vector<StageDerivation> derivations;  // made when needed
  for (const TensorIntrinsic* intrinsic : intrinsics) {
    const std::optional<TensorOperands> operands =
        state.stage(stage).hints.has<hints::VectorizeSum>()
            ? operands_along_sum(pool, op, *intrinsic)
            : tensor_operands(pool, op, *intrinsic, op.axes.back().var);
    if (!operands || op.reduce_axes.back().extent < intrinsic->k) {
      continue;
    }
    bool is_dense = op.reduce_axes.size() == 1, is_read = true;
    for (const TensorRead* read : {operands->a, operands->b}) {
      const std::uint32_t producer = state.dag().tensor(read->tensor).operation;
      is_dense =
          is_dense || (!read->indices.empty() && uses_var(pool, read->indices.back(), group));
      is_read =
          is_read &&
          (state.stage(producer).compute_at != ComputeAt::inlined ||
           (!intrinsic->has_tiles() && takes_inlined(pool, state.operation(producer), *intrinsic)));
    }
    if (is_read && intrinsic->has_tiles()) {
      derivations = derivations.empty() ? derive(state) : std::move(derivations);
      is_read = fits_tiles(state, stage, *intrinsic, *operands, derivations[stage], packs);
    }
    if (is_dense && is_read) {
      return intrinsic;
    }
  }
  return nullptr;
}

}  // namespace detail

/// A step for every stage that one of `intrinsics` computes, appended to the history. `packs`: the
/// packed copies of the state.
inline bool apply_intrinsics(State& state, const std::vector<const TensorIntrinsic*>& intrinsics,
                             const PackedCopies& packs) {
  for (std::size_t stage = 0; !intrinsics.empty() && stage < state.num_stages(); ++stage) {
    const TensorIntrinsic* intrinsic = detail::intrinsic_for(state, stage, intrinsics, packs);
    if (intrinsic != nullptr &&
        !try_step(state, PragmaStep{static_cast<std::int32_t>(stage), 0,
                                    hints::Tensorize{std::string(intrinsic->name)}})) {
      return false;
    }
  }
  return true;
}

}  // namespace tensorsmith
