// schedule_packs: loops and layouts of packed copies, from the register tiles of their readers.
//
// Floor 7. Own design (the micro-panels of GotoBLAS, for any operand). A dimension that the tile
// runs over is cut into blocks of the tile's length; blocks come first, then reductions in the
// order of the reader, innermost what one step of the tile reads:
//     C tile of 6 x 64: B.packed[j, k] stored as [j floordiv 64][k][j floormod 64]
// The copy runs in the order of its destination and writes whole vectors. If the source is
// contiguous along another dimension, one vector of that dimension is unrolled around them: a
// square that code generation can transpose in registers. The last dimensions of the source that
// follow each other in the destination as well run as one (channels and taps of a filter), so that
// the square finds whole vectors.
//     for j.0, k.0, j.1:  unroll k.1 (0,16):  vectorize j.2 (0,16):  B.packed = B
// A reader that is computed by a tensor intrinsic takes k reductions at once: these come last,
//     C tile of 6 x 64 as vdpbf16ps: [j floordiv 64][k floordiv 2][j floormod 64][k floormod 2]
#pragma once

#include <optional>
#include <utility>
#include <vector>

#include "tensorsmith/ir/rewrite.hpp"
#include "tensorsmith/ir/tensor_intrinsic.hpp"
#include "tensorsmith/lower/nest.hpp"
#include "tensorsmith/sketch/grow.hpp"
#include "tensorsmith/sketch/packs.hpp"
#include "tensorsmith/support/algorithm.hpp"
#include "tensorsmith/support/sort.hpp"
#include "tensorsmith/target.hpp"

namespace tensorsmith {
namespace detail {

/// Extents of all nodes of a stage at root.
inline std::vector<std::int64_t> extents_at_root(const Operation& op, const StageDerivation& d) {
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

/// Per spatial axis of `op`: elements that the loops behind its last reduction loop cover.
inline std::vector<std::int64_t> innermost_tile(const Operation& op, const StageDerivation& d) {
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

/// How the reader of a copy runs along one of its dimensions.
struct PackedDimension {
  std::int32_t axis = -1;  ///< of the reader, spatial axes first; -1 = none alone
  bool is_reduction = false;
  std::int64_t block = 0;  ///< length of the tile, 0 = not cut
  bool is_whole = true;    ///< if a reduction: no loop around the copy runs along it
};

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

/// Nothing if no stage reads the copy.
inline std::optional<std::vector<PackedDimension>>
packed_dimensions(const State& state, const std::vector<StageDerivation>& derivations,
                  std::size_t copy, const std::vector<const TensorIntrinsic*>& intrinsics) {
  const ExprPool& pool = state.dag().pool();
  const TensorId tensor = state.operation(copy).outputs[0];
  for (std::size_t r = copy + 1; r < state.num_stages(); ++r) {
    const Operation& reader = state.operation(r);
    std::optional<ExprList> indices;
    for (ExprId body : reader.bodies) {
      visit_expr(pool, body, [&](ExprId id) {
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
    std::vector<PackedDimension> dimensions(indices->size());
    for (std::size_t d = 0; d < dimensions.size(); ++d) {
      const VarRef* ref = pool.as<VarRef>((*indices)[d]);
      for (std::size_t a = 0; ref != nullptr && a < tile.size() + reader.reduce_axes.size(); ++a) {
        const bool is_reduction = a >= tile.size();
        const Axis& axis = is_reduction ? reader.reduce_axes[a - tile.size()] : reader.axes[a];
        if (axis.var == ref->var) {
          dimensions[d] = {static_cast<std::int32_t>(a), is_reduction,
                           is_reduction || tile[a] <= 1 ? 0 : tile[a], !around[a]};
        }
      }
      for (const TensorIntrinsic* intrinsic : intrinsics) {  // groups along the last sum
        const auto last = static_cast<std::int32_t>(tile.size() + reader.reduce_axes.size()) - 1;
        if (state.stage(r).intrinsic == intrinsic->name && intrinsic->k > 1 &&
            dimensions[d].is_reduction && dimensions[d].axis == last) {
          dimensions[d].block = intrinsic->k;
        }
      }
    }
    return dimensions;
  }
  return std::nullopt;
}

/// Pieces in the order of memory, as StorageLayoutStep names them.
inline IdList packed_order(const std::vector<PackedDimension>& dimensions) {
  const auto count = static_cast<std::int32_t>(dimensions.size());
  IdList order;
  for (std::int32_t d = 0; d < count; ++d) {
    if (!dimensions[static_cast<std::size_t>(d)].is_reduction) {
      order.push_back(2 * d);
    }
  }
  // Reductions, then blocks, each in the order of the reader's axes.
  for (const bool is_block : {false, true}) {
    std::vector<std::pair<std::int32_t, std::int32_t>> pieces;  // axis, piece
    for (std::int32_t d = 0; d < count; ++d) {
      const PackedDimension& dimension = dimensions[static_cast<std::size_t>(d)];
      if (is_block ? dimension.block > 0 : dimension.is_reduction) {
        pieces.emplace_back(dimension.axis, is_block ? 2 * d + 1 : 2 * d);
      }
    }
    sort_items(pieces);
    for (const auto& [axis, piece] : pieces) {
      order.push_back(piece);
    }
  }
  return order;
}

/// The first of the last dimensions that are one run of memory in the source and in the copy;
/// rank - 1 if there is no run.
inline std::size_t first_of_run(const std::vector<PackedDimension>& dimensions,
                                const IdList& order) {
  const std::size_t last = dimensions.size() - 1;
  const auto place = [&](std::size_t d) {
    std::size_t at = 0;
    while (at < order.size() && order[at] != static_cast<std::int32_t>(2 * d)) {
      ++at;
    }
    return at;
  };
  std::size_t first = last;
  while (first > 0 && dimensions[first].is_reduction && dimensions[first].is_whole &&
         dimensions[first].block == 0 && dimensions[first - 1].block == 0 &&
         dimensions[first - 1].is_reduction && place(first - 1) + 1 == place(first)) {
    --first;
  }
  return first;
}

/// The loops that a dimension of a copy is cut into, and whether the last one is the row or the
/// vector of the square that is copied at a time.
inline LengthList packed_cuts(const PackedDimension& dimension, bool is_in_square,
                              std::int64_t lanes) {
  LengthList lengths;
  if (dimension.block > 0) {
    lengths.push_back(dimension.block);
    if (is_in_square && dimension.block > lanes && dimension.block % lanes == 0) {
      lengths = {dimension.block / lanes, lanes};
    }
  } else if (is_in_square) {
    lengths.push_back(lanes);
  }
  return lengths;
}

inline bool schedule_pack(State& state, std::vector<PackedDimension> dimensions, std::int32_t copy,
                          const HardwareParams& hardware) {
  const auto id = static_cast<std::size_t>(copy);
  StorageLayoutStep layout{copy, {}, packed_order(dimensions), 0};
  for (const PackedDimension& dimension : dimensions) {
    layout.blocks.push_back(dimension.block);
  }
  const TensorInfo& tensor = state.dag().tensor(state.operation(id).outputs[0]);
  const std::int64_t lanes =
      larger_of(hardware.vector_unit_bytes / bytes_of(tensor.dtype), std::int32_t{1});
  const auto written = static_cast<std::size_t>(layout.order.back() / 2);  // dimension by vectors
  std::size_t read = dimensions.size() - 1;      // contiguous in the source
  while (read > 0 && tensor.shape[read] == 1) {  // filters of 1 x 1 are no rows
    --read;
  }
  const bool is_square = written != read;
  const std::size_t run = first_of_run(dimensions, layout.order);
  if (is_square && run < read) {
    IdList fused;
    for (std::size_t d = run; d < dimensions.size(); ++d) {
      fused.push_back(static_cast<std::int32_t>(d));
    }
    if (!try_step(state, FuseStep{copy, fused})) {
      return false;
    }
    dimensions.resize(run + 1);
    read = run;
  }
  const std::size_t rank = dimensions.size();

  // Loops by piece, outermost first; what belongs to the square comes last.
  std::vector<IdList> parts(rank);
  std::int32_t position = 0;
  for (std::size_t d = 0; d < rank; ++d) {
    const LengthList cuts =
        packed_cuts(dimensions[d], is_square && (d == written || d == read), lanes);
    if (!cuts.empty() && !try_step(state, split_of(state, copy, position, cuts))) {
      return false;
    }
    for (std::size_t i = 0; i <= cuts.size(); ++i) {
      parts[d].push_back(position++);
    }
  }
  ReorderStep order{copy, {}};
  const auto is_held_back = [&](std::size_t d, std::size_t part) {
    return part + 1 == parts[d].size() && (d == written || (is_square && d == read));
  };
  for (std::int32_t piece : layout.order) {
    const auto d = static_cast<std::size_t>(piece / 2);
    if (d >= rank) {
      continue;  // runs with the first of its run
    }
    const bool is_whole = dimensions[d].block == 0;
    for (std::size_t part = piece % 2 == 0 ? 0 : 1; part < parts[d].size(); ++part) {
      if (!is_held_back(d, part) && (is_whole || (part == 0) == (piece % 2 == 0))) {
        order.after.push_back(parts[d][part]);
      }
    }
  }
  if (is_square) {
    order.after.push_back(parts[read].back());
  }
  order.after.push_back(parts[written].back());
  const auto last = static_cast<std::int32_t>(order.after.size()) - 1;
  const std::int32_t num_outer = is_square ? last - 1 : last;
  if ((last > 0 && !try_step(state, order)) ||
      (is_square && !try_step(state, AnnotationStep{copy, last - 1, Annotation::unroll})) ||
      !try_step(state, AnnotationStep{copy, last, Annotation::vectorize})) {
    return false;
  }
  if (state.stage(id).compute_at == ComputeAt::root) {
    const auto& iterators = state.stage(id).iterators;
    std::int32_t outermost = 0;
    while (outermost < num_outer &&
           iterators[static_cast<std::size_t>(outermost)].extent == std::int64_t{1}) {
      ++outermost;
    }
    if (outermost < num_outer &&
        !try_step(state, AnnotationStep{copy, outermost, Annotation::parallel})) {
      return false;
    }
  }
  return try_step(state, layout);
}

/// Whether the reduction comes back to its tiles, one tile after the other.
inline bool revisits_tiles(const Operation& op, const StageDerivation& d) {
  std::vector<std::int64_t> axis_extent;
  for (const auto* axes : {&op.axes, &op.reduce_axes}) {
    for (const Axis& axis : *axes) {
      axis_extent.push_back(axis.extent);
    }
  }
  const std::vector<std::int64_t> extent = node_extents(d, axis_extent);
  const std::vector<bool> reduces = node_is_reduction(d);
  bool in_block = false, has_tiles = false;
  for (const LeafIterator& leaf : d.leaves) {
    const auto node = static_cast<std::size_t>(leaf.node);
    const bool is_loop = extent[node] > 1;
    if (reduces[node] && has_tiles) {
      return true;
    }
    has_tiles = has_tiles || (in_block && !reduces[node] && is_loop);
    in_block = in_block || (reduces[node] && is_loop);
  }
  return false;
}

}  // namespace detail

/// A layout for every cache of a result whose tiles are visited again and again, appended to the
/// history: the columns of a tile lie together, so that a tile is one stretch of memory.
///     C.local[i, j], tile of 8 x 32  -->  stored as [j floordiv 32][i][j floormod 32]
inline bool schedule_result_caches(State& state, const ResultCaches& caches) {
  std::vector<StageDerivation> derivations;
  for (std::int32_t cache : caches.stages()) {
    const auto id = static_cast<std::size_t>(cache);
    const Operation& op = state.operation(id);
    if (op.axes.size() < 2 || state.stage(id).compute_at == ComputeAt::inlined) {
      continue;
    }
    if (derivations.empty()) {
      derivations = derive(state);
    }
    if (!detail::revisits_tiles(op, derivations[id])) {
      continue;
    }
    const std::int64_t columns = detail::innermost_tile(op, derivations[id]).back();
    const auto last = static_cast<std::int32_t>(op.axes.size()) - 1;
    if (columns <= 1 || columns >= op.axes.back().extent) {
      continue;
    }
    StorageLayoutStep layout{cache, LengthList(op.axes.size(), 0), {2 * last}, 0};
    layout.blocks.back() = columns;
    for (std::int32_t d = 0; d < last; ++d) {
      layout.order.push_back(2 * d);
    }
    layout.order.push_back(2 * last + 1);
    if (!try_step(state, layout)) {
      return false;
    }
  }
  return true;
}

/// Steps for every copy in `copies`, appended to the history; false if one of them is illegal. The
/// copies are as their rule made them, and their readers are complete.
inline bool schedule_packs(State& state, const PackedCopies& copies, const HardwareParams& hardware,
                           const std::vector<const TensorIntrinsic*>& intrinsics = {}) {
  const std::vector<StageDerivation> derivations =
      copies.empty() ? std::vector<StageDerivation>{} : derive(state);
  for (std::int32_t copy : copies.stages()) {
    const auto id = static_cast<std::size_t>(copy);
    const auto dimensions = detail::packed_dimensions(state, derivations, id, intrinsics);
    if (dimensions && !dimensions->empty() && state.stage(id).compute_at != ComputeAt::inlined &&
        !detail::schedule_pack(state, *dimensions, copy, hardware)) {
      return false;
    }
  }
  return true;
}

}  // namespace tensorsmith
