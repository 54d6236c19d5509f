// SPDX-License-Identifier: Apache-2.0
// The definitions of schedule_packs.hpp.
//
// Floor 7. Included by search/schedule_packs.hpp or compiled once (support/compiled.hpp).
#pragma once

#include <cstdint>
#include <utility>
#include <vector>

#include "tensorsmith/ir/rewrite.hpp"
#include "tensorsmith/search/packed_dimensions.hpp"
#include "tensorsmith/search/schedule_packs.hpp"
#include "tensorsmith/support/algorithm.hpp"
#include "tensorsmith/support/sort.hpp"

namespace tensorsmith {

namespace detail {

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

/// Fewer elements than this many vectors are no row worth padding.
inline constexpr std::int64_t least_row_vectors = 2;

/// The dimension along which the source is contiguous, and the copy. Filters of 1 x 1 are no rows.
inline std::size_t contiguous_dimension(const TensorInfo& tensor) {
  std::size_t last = tensor.shape.size() - 1;
  while (last > 0 && tensor.shape[last] == 1) {
    --last;
  }
  return last;
}
inline std::size_t written_dimension(const TensorInfo& tensor, IdList order) {
  while (order.size() > 1 && tensor.shape[static_cast<std::size_t>(order.back() / 2)] == 1) {
    order.pop_back();
  }
  return static_cast<std::size_t>(order.back() / 2);
}

/// Elements of `tensor` that a vector holds.
inline std::int64_t lanes_of(const TensorInfo& tensor, const HardwareParams& hardware) {
  return larger_of(hardware.vector_unit_bytes / bytes_of(tensor.dtype), std::int32_t{1});
}

TENSORSMITH_INLINE bool can_keep_rows(const std::vector<PackedDimension>& dimensions,
                                      const TensorInfo& tensor, const HardwareParams& hardware) {
  const std::size_t read = contiguous_dimension(tensor);
  return dimensions[read].is_reduction && dimensions[read].block == 0 &&
         tensor.shape[read] >= least_row_vectors * lanes_of(tensor, hardware) &&
         any_item(dimensions, [](const PackedDimension& d) { return d.block > 0; }) &&
         !any_item(dimensions, [](const PackedDimension& d) { return d.is_vector; });
}

/// Makes the outermost loop of a copy at root parallel, of those before `num_outer`.
inline bool run_in_parallel(State& state, std::int32_t copy, std::int32_t num_outer) {
  const auto id = static_cast<std::size_t>(copy);
  if (state.stage(id).compute_at != ComputeAt::root) {
    return true;
  }
  const auto& iterators = state.stage(id).iterators;
  std::int32_t outermost = 0;
  while (outermost < num_outer &&
         iterators[static_cast<std::size_t>(outermost)].extent == std::int64_t{1}) {
    ++outermost;
  }
  return outermost >= num_outer ||
         try_step(state, AnnotationStep{copy, outermost, Annotation::parallel});
}

/// Loops in the order of the source, vectors along its rows, a line of padding behind each row.
inline bool schedule_rows(State& state, std::int32_t copy, const HardwareParams& hardware) {
  const auto id = static_cast<std::size_t>(copy);
  const TensorInfo& tensor = state.dag().tensor(state.operation(id).outputs[0]);
  const auto rank = static_cast<std::int32_t>(tensor.shape.size());
  const auto read = static_cast<std::int32_t>(contiguous_dimension(tensor));
  StorageLayoutStep layout{copy, LengthList(tensor.shape.size(), 0), {}, 0};
  layout.pad_elements =
      larger_of(hardware.cache_line_bytes / bytes_of(tensor.dtype), std::int32_t{1});
  ReorderStep order{copy, {}};
  for (std::int32_t d = 0; d < rank; ++d) {
    if (d != read) {
      layout.order.push_back(2 * d);
    }
    if (d != read + 1) {  // the vector
      order.after.push_back(d);
    }
  }
  layout.order.push_back(2 * read);
  if (read + 1 < rank) {
    order.after.push_back(rank);
  }
  order.after.push_back(read + 1);
  return try_step(state, split_of(state, copy, read, {lanes_of(tensor, hardware)})) &&
         (read + 1 == rank || try_step(state, order)) &&
         try_step(state, AnnotationStep{copy, rank, Annotation::vectorize}) &&
         run_in_parallel(state, copy, rank) && try_step(state, layout);
}

/// Whether what a copy reads is chosen on the way, as the padding of a convolution is.
inline bool reads_choices(const State& state, std::size_t copy) {
  const ExprPool& pool = state.dag().pool();
  bool found = false;
  for (ExprId body : state.operation(copy).bodies) {
    visit_nodes(pool, body, [&](ExprId at) {
      if (const TensorRead* read = pool.as<TensorRead>(at)) {
        const std::uint32_t source = state.dag().tensor(read->tensor).operation;
        found = found || (state.stage(source).compute_at == ComputeAt::inlined &&
                          any_item(state.operation(source).bodies,
                                   [&](ExprId inlined) { return has_choice(pool, inlined); }));
      }
    });
  }
  return found;
}

inline bool schedule_pack(State& state, std::vector<PackedDimension> dimensions, std::int32_t copy,
                          const HardwareParams& hardware) {
  const auto id = static_cast<std::size_t>(copy);
  StorageLayoutStep layout{copy, {}, packed_order(dimensions), 0};
  for (const PackedDimension& dimension : dimensions) {
    layout.blocks.push_back(dimension.block);
  }
  const TensorInfo& tensor = state.dag().tensor(state.operation(id).outputs[0]);
  const std::int64_t lanes = lanes_of(tensor, hardware);
  const std::size_t written = written_dimension(tensor, layout.order);  // by vectors
  std::size_t read = contiguous_dimension(tensor);
  // Nothing is transposed in registers where every element is chosen.
  const bool is_square = written != read && !reads_choices(state, id);
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
  return run_in_parallel(state, copy, num_outer) && try_step(state, layout);
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

TENSORSMITH_INLINE bool schedule_result_caches(State& state, const ResultCaches& caches) {
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

TENSORSMITH_INLINE bool schedule_packs(State& state, const PackedCopies& copies,
                                       const HardwareParams& hardware,
                                       const std::vector<const TensorIntrinsic*>& intrinsics) {
  const std::vector<StageDerivation> derivations =
      copies.empty() ? std::vector<StageDerivation>{} : derive(state);
  for (std::int32_t copy : copies.stages()) {
    const auto id = static_cast<std::size_t>(copy);
    const auto dimensions = detail::packed_dimensions(state, derivations, id, intrinsics);
    if (!dimensions || dimensions->empty() || state.stage(id).compute_at == ComputeAt::inlined) {
      continue;
    }
    const TensorInfo& tensor = state.dag().tensor(state.operation(id).outputs[0]);
    const bool keeps_rows =
        copies.keeps_rows(copy) && detail::can_keep_rows(*dimensions, tensor, hardware);
    if (!(keeps_rows ? detail::schedule_rows(state, copy, hardware)
                     : detail::schedule_pack(state, *dimensions, copy, hardware))) {
      return false;
    }
  }
  return true;
}

}  // namespace tensorsmith
