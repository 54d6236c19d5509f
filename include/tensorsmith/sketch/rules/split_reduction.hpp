// SPDX-License-Identifier: Apache-2.0
// SplitReduction: several blocks share the sum of one tile (split-K); for GPUs.
//
// Floor 5. Own design (split-K of CUTLASS; here without atomics: a second kernel adds the parts up,
// in one order). Legal for a stage with one reduction and data reuse. Worth it where tiles are too
// few for the device and the sum is long. One sketch per number of parts:
//     C[i, j] += A[i, k] * B[k, j]
//         -->  C.rf[p, i, j] += A[i, p*256 + k] * B[p*256 + k, j];  C[i, j] += C.rf[p, i, j]
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "tensorsmith/sketch/grow.hpp"
#include "tensorsmith/sketch/rule.hpp"
#include "tensorsmith/sketch/stage_query.hpp"

namespace tensorsmith {

struct SplitReduction {
  static constexpr std::string_view name() { return "split_reduction"; }

  Applicability applicability(const RuleInput& input) const {
    return parts_of(input).empty() ? Applicability::skip : Applicability::apply;
  }

  /// The stage of the parts has the id now and is looked at next; it is no candidate again. An
  /// elementwise consumer computes the sum of the parts, so that there are two kernels, not three.
  std::vector<Derivation> expand(const RuleInput& input) const {
    const auto consumer = single_elementwise_consumer(input.state, input.analysis, input.stage);
    const auto rank = static_cast<std::int32_t>(
        input.state.operation(static_cast<std::size_t>(input.stage)).axes.size());
    std::vector<Derivation> derived;
    for (std::int64_t parts : parts_of(input)) {
      State state = input.state;
      const auto& op = state.operation(static_cast<std::size_t>(input.stage));
      grow(state, split_of(state, input.stage, rank, {op.reduce_axes[0].extent / parts}));
      grow(state, RfactorStep{input.stage, rank, 0});
      if (consumer) {
        grow(state, ComputeAtStep{input.stage + 1, *consumer + 1, rank - 1});
      }
      derived.push_back(Derivation{std::move(state), input.stage});
    }
    return derived;
  }

 private:
  /// Tiles of this side are what a block has at least; with so many of them a device is busy.
  static constexpr std::int64_t tile_side = 64, enough_tiles = 512, most_parts = 8;
  /// Of a part; shorter ones are not worth the way to memory and back.
  static constexpr std::int64_t least_terms = 256, terms_unit = 32;

  static std::vector<std::int64_t> parts_of(const RuleInput& input) {
    std::vector<std::int64_t> found;
    const auto stage = static_cast<std::size_t>(input.stage);
    const Operation& op = input.state.operation(stage);
    if (op.is_placeholder() || op.reduce_axes.size() != 1 ||
        !needs_tiling(input.analysis, input.stage) || is_tiled(input.state, input.stage) ||
        has_cache_write(input.state, input.stage) || input.state.stage(stage).is_partial_sum ||
        !op.attrs.no_split_at_inner.empty() || op.bodies.size() != 1) {
      return found;
    }
    const auto consumer = single_elementwise_consumer(input.state, input.analysis, input.stage);
    if (consumer && is_tiled(input.state, *consumer)) {
      return found;
    }
    const std::int64_t tiles =
        extent_product(input.state, input.stage, IteratorKind::spatial) / (tile_side * tile_side);
    const std::int64_t terms = op.reduce_axes[0].extent;
    for (std::int64_t parts = 2; parts <= most_parts; parts *= 2) {
      if (tiles * parts <= enough_tiles && terms % (parts * terms_unit) == 0 &&
          terms / parts >= least_terms) {
        found.push_back(parts);
      }
    }
    return found;
  }
};

}  // namespace tensorsmith
