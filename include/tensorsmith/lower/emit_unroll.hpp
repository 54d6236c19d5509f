// SPDX-License-Identifier: Apache-2.0
// Steps of the innermost reduction loop around a register tile, written out one after the other.
//
// Floor 4. Part of emit.hpp. Own design. The order of the sum stays; what is saved are the loop's
// own instructions:
//     for k in 256: tile   -->   for k.0 in 64: for k.1 in 4 unrolled: tile
// Only where the loops of the axis cover it exactly and the steps divide the loop, so that there is
// no second loop for a rest. Elsewhere the loop stays as it is.
#pragma once

#include "tensorsmith/lower/nest_decisions.hpp"

namespace tensorsmith::detail {

inline void NestDecisions::unroll_reduction(Emission& e) const {
  const std::int64_t count = state_.stage(static_cast<std::size_t>(e.nest.stage))
                                 .hints.get<hints::UnrollReduction>()
                                 .steps;
  if (count <= 1 || !e.shape.is_promoted || e.lane_leaf >= 0 || e.tensor_leaf >= 0) {
    return;
  }
  StageDerivation& d = e.nest.derivation;
  const auto last = static_cast<std::size_t>(e.shape.reduction_end) - 1;
  const std::int32_t axis = axis_of_node(d, d.leaves[last].node);
  const std::vector<std::int64_t> extents = node_extents(d, e.nest.axis_extent);
  const std::int64_t extent = extents[static_cast<std::size_t>(d.leaves[last].node)];
  if (axis < 0 || extent % count != 0 ||
      state_.attach_map().iterator_to_stages.contains(
          IteratorKey{e.nest.stage, d.leaves[last].iterator})) {
    return;
  }
  for (const IteratorRelation& relation : d.relations) {
    std::int64_t covered = 1;
    for (std::int32_t part : relation.parts) {
      covered *= extents[static_cast<std::size_t>(part)];
    }
    if (relation.is_split && axis_of_node(d, relation.parent) == axis &&
        covered > extents[static_cast<std::size_t>(relation.parent)]) {
      return;
    }
  }
  cut_leaf(d, last, count);
  d.leaves[last + 1].annotation = Annotation::unroll;
  ++e.shape.reduction_end;
  e.shape.vector_leaf += e.shape.vector_leaf >= 0 ? 1 : 0;
  e.prefetch_leaf += e.prefetch_leaf > static_cast<std::int32_t>(last) ? 1 : 0;
}

}  // namespace tensorsmith::detail
