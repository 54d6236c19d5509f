// SPDX-License-Identifier: Apache-2.0
// The definitions of packed_dimensions.hpp.
//
// Floor 7. Included by search/packed_dimensions.hpp or compiled once (support/compiled.hpp).
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "tensorsmith/ir/rewrite.hpp"
#include "tensorsmith/lower/nest.hpp"
#include "tensorsmith/search/packed_dimensions.hpp"
#include "tensorsmith/support/algorithm.hpp"

namespace tensorsmith::detail {

TENSORSMITH_INLINE std::vector<std::int64_t> extents_at_root(const Operation& op,
                                                             const StageDerivation& d) {
  std::vector<std::int64_t> axis_extent;
  for (const auto* axes : {&op.axes, &op.reduce_axes}) {
    for (const Axis& axis : *axes) {
      axis_extent.push_back(axis.extent);
    }
  }
  return node_extents(d, axis_extent);
}

/// The axis that each node is a part of, -1 for parts of fused loops.
inline std::vector<std::int32_t> axes_of_nodes(const StageDerivation& d) {
  std::vector<std::int32_t> axis_of(static_cast<std::size_t>(d.num_nodes), -1);
  for (std::int32_t a = 0; a < d.num_axes; ++a) {
    axis_of[static_cast<std::size_t>(a)] = a;
  }
  for (const IteratorRelation& r : d.relations) {
    for (std::int32_t part : r.parts) {
      if (r.is_split) {
        axis_of[static_cast<std::size_t>(part)] = axis_of[static_cast<std::size_t>(r.parent)];
      }
    }
  }
  return axis_of;
}

/// The axis that the innermost loop runs along, -1 if it runs along several.
inline std::int32_t innermost_axis(const StageDerivation& d) {
  return d.leaves.empty() ? -1 : axes_of_nodes(d)[static_cast<std::size_t>(d.leaves.back().node)];
}

TENSORSMITH_INLINE std::vector<std::int64_t> innermost_tile(const Operation& op,
                                                            const StageDerivation& d) {
  const std::vector<std::int64_t> extent = extents_at_root(op, d);
  const std::vector<bool> reduces = node_is_reduction(d);
  const std::vector<std::int32_t> axis_of = axes_of_nodes(d);
  std::vector<std::int64_t> tile(op.axes.size(), 1);
  for (std::size_t i = d.leaves.size(); i-- > 0;) {
    const auto node = static_cast<std::size_t>(d.leaves[i].node);
    if (reduces[node]) {
      break;
    }
    if (axis_of[node] >= 0) {
      tile[static_cast<std::size_t>(axis_of[node])] *= extent[node];
    }
  }
  return tile;
}

/// Per axis of `reader`: whether a loop of it runs around the place where `copy` is computed.
inline std::vector<bool> axes_around(const State& state, const StageDerivation& d,
                                     std::size_t reader, std::size_t copy) {
  std::vector<bool> around(static_cast<std::size_t>(d.num_axes), false);
  const auto& places = state.attach_map().stage_to_iterator;
  const auto place = places.find(static_cast<std::int32_t>(copy));
  if (place == places.end() || place->second.stage != static_cast<std::int32_t>(reader)) {
    return around;
  }
  const std::vector<std::int64_t> extent = extents_at_root(state.operation(reader), d);
  std::vector<bool> is_around(static_cast<std::size_t>(d.num_nodes), false);
  for (const LeafIterator& leaf : d.leaves) {
    const auto node = static_cast<std::size_t>(leaf.node);
    is_around[node] = leaf.iterator <= place->second.iterator && extent[node] > 1;
  }
  for (std::size_t r = d.relations.size(); r-- > 0;) {  // a split by its parts, and the reverse
    const IteratorRelation& relation = d.relations[r];
    const auto parent = static_cast<std::size_t>(relation.parent);
    for (std::int32_t part : relation.parts) {
      const auto p = static_cast<std::size_t>(part);
      const std::size_t to = relation.is_split ? parent : p, from = relation.is_split ? p : parent;
      is_around[to] = is_around[to] || is_around[from];
    }
  }
  for (std::size_t a = 0; a < around.size(); ++a) {
    around[a] = is_around[a];
  }
  return around;
}

TENSORSMITH_INLINE std::optional<std::vector<PackedDimension>>
packed_dimensions(const State& state, const std::vector<StageDerivation>& derivations,
                  std::size_t copy, const std::vector<const TensorIntrinsic*>& intrinsics) {
  const ExprPool& pool = state.dag().pool();
  const TensorId tensor = state.operation(copy).outputs[0];
  for (std::size_t r = copy + 1; r < state.num_stages(); ++r) {
    const Operation& reader = state.operation(r);
    std::optional<ExprList> indices;
    for (ExprId body : reader.bodies) {
      visit_nodes(pool, body, [&](ExprId id) {
        const TensorRead* read = pool.as<TensorRead>(id);
        if (read != nullptr && read->tensor == tensor && !indices) {
          indices = read->indices;
        }
      });
    }
    if (!indices) {
      continue;
    }
    const std::vector<std::int64_t> tile = innermost_tile(reader, derivations[r]);
    const std::vector<bool> around = axes_around(state, derivations[r], r, copy);
    const std::int32_t innermost = innermost_axis(derivations[r]);
    std::vector<PackedDimension> dimensions(indices->size());
    for (std::size_t d = 0; d < dimensions.size(); ++d) {
      const VarRef* ref = pool.as<VarRef>((*indices)[d]);
      for (std::size_t a = 0; ref != nullptr && a < tile.size() + reader.reduce_axes.size(); ++a) {
        const bool is_reduction = a >= tile.size();
        const Axis& axis = is_reduction ? reader.reduce_axes[a - tile.size()] : reader.axes[a];
        if (axis.var == ref->var) {
          dimensions[d] = {static_cast<std::int32_t>(a), is_reduction,
                           is_reduction || tile[a] <= 1 ? 0 : tile[a], !around[a],
                           static_cast<std::int32_t>(a) == innermost};
        }
      }
    }
    const bool is_b = any_item(dimensions, [](const PackedDimension& d) { return d.is_vector; });
    const auto last = static_cast<std::int32_t>(tile.size() + reader.reduce_axes.size()) - 1;
    for (PackedDimension& dimension : dimensions) {
      for (const TensorIntrinsic* intrinsic : intrinsics) {  // groups along the last sum
        if (state.stage(r).hints.get<hints::Tensorize>().intrinsic == intrinsic->name &&
            intrinsic->k > 1 && dimension.is_reduction && dimension.axis == last) {
          dimension.block = is_b ? intrinsic->group() : intrinsic->k;
        }
      }
    }
    return dimensions;
  }
  return std::nullopt;
}

}  // namespace tensorsmith::detail
