// SPDX-License-Identifier: Apache-2.0
// SplitPhases: multi-level tiling of the outputs of one phase at a time.
//
// Floor 5. Own design (libraries and hand-written kernels run a transposed convolution of stride s
// as s * s small ones). Legal for a reduction that needs multi-level tiling, whose terms count
// where sums of an output axis and a reduction axis are multiples of a number s, and that has no
// elementwise consumer to fuse with. Both axes are split by s; the inner parts, the phase and the
// tap that belongs to it, are not tiled, so that lowering finds the tap (lower/solved_loops.hpp).
//     Y[h] += X[(h + r) floordiv 2] * W[r] where (h + r) mod 2 == 0
//     -->  h.0.0 h.1 r.1 h.0.1 r.0.0 h.0.2 r.0.1 h.0.3
#pragma once

#include <cstdint>
#include <string_view>
#include <utility>
#include <vector>

#include "tensorsmith/lower/solved_loops.hpp"
#include "tensorsmith/sketch/rule.hpp"
#include "tensorsmith/sketch/stage_query.hpp"
#include "tensorsmith/sketch/tiling.hpp"

namespace tensorsmith {

/// Per axis of an untiled stage the number of its phases, 1 = none; empty if no axis has phases.
inline std::vector<std::int64_t> phase_lengths(const State& state, std::int32_t stage) {
  const auto id = static_cast<std::size_t>(stage);
  std::vector<std::int64_t> extents;
  for (const auto* axes : {&state.operation(id).axes, &state.operation(id).reduce_axes}) {
    for (const Axis& axis : *axes) {
      extents.push_back(axis.extent);
    }
  }
  std::vector<std::int64_t> length(extents.size(), 1);
  bool has_phases = false;
  for (const TermCondition& condition : term_conditions(state, id)) {
    if (condition.modulus <= 1) {
      continue;
    }
    for (std::size_t a = 0; a < extents.size(); ++a) {
      if (condition.coefficients[a] % condition.modulus == 0) {
        continue;
      }
      if (length[a] != 1 || extents[a] < condition.modulus) {
        return {};
      }
      length[a] = condition.modulus;
      has_phases = true;
    }
  }
  return has_phases ? length : std::vector<std::int64_t>{};
}

/// Splits the axes of an untiled stage by their phases; the positions of the phases.
inline IdList split_phases(State& state, std::int32_t stage,
                           const std::vector<std::int64_t>& lengths) {
  IdList held;
  std::int32_t position = 0;
  for (std::int64_t phases : lengths) {
    if (phases > 1) {
      grow(state, split_of(state, stage, position++, {phases}));
      held.push_back(position);
    }
    ++position;
  }
  return held;
}

struct SplitPhases {
  static constexpr std::string_view name() { return "split_phases"; }

  Applicability applicability(const RuleInput& input) const {
    if (!needs_tiling(input.analysis, input.stage) || is_tiled(input.state, input.stage) ||
        has_cache_write(input.state, input.stage)) {
      return Applicability::skip;
    }
    return phase_lengths(input.state, input.stage).empty() ? Applicability::skip
                                                           : Applicability::apply;
  }

  std::vector<Derivation> expand(const RuleInput& input) const {
    State state = input.state;
    const IdList held = split_phases(state, input.stage, phase_lengths(state, input.stage));
    tile_stage(state, input.stage, input.options.tiling_structure, held);
    return {Derivation{std::move(state), input.stage - 1}};
  }
};

}  // namespace tensorsmith
