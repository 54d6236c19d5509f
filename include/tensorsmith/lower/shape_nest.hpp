// SPDX-License-Identifier: Apache-2.0
// Decisions on one nest before it is emitted: vector loop, strip-mining, register tile.
//
// Floor 4. Own design; the register-tile rule is that of the field (accumulators + operands <=
// vector registers). The state's meaning is kept: only spatial loops are cut or moved outwards past
// reduction loops, so every element is still summed in the order that the state gives
// (lanes of a reduction, emit_lanes.hpp, are the exception).
#pragma once

#include <cstdint>
#include <vector>

#include "tensorsmith/lower/nest.hpp"
#include "tensorsmith/support/sort.hpp"
#include "tensorsmith/target.hpp"

namespace tensorsmith {

/// Reductions of so few terms do not keep a spatial loop from being the vector; they are written
/// out if that is short (write_out_sums.hpp).
inline constexpr std::int64_t most_written_terms = 4;

/// What emission needs to know beside the nest itself.
struct NestShape {
  std::int32_t vector_leaf = -1;      ///< becomes the vectorized loop; -1 = none
  std::int32_t reduction_begin = -1;  ///< first leaf of the innermost run of reduction loops
  std::int32_t reduction_end = -1;    ///< one past its last; the tile are the leaves from here on
  bool is_promoted = false;           ///< accumulators live in registers across that run
};

/// The loops of a stage as they were decided on, in front of instructions on several of them.
struct ShapedNest {
  StageDerivation derivation;
  std::vector<std::int64_t> node_extent;
  NestShape shape;
  std::int32_t stage = -1;
  bool is_folded = false;        ///< the vector loop is a part of the reduction
  std::int32_t group_leaf = -1;  ///< elements of a lane that one instruction takes; -1: one each

  std::int64_t extent(std::size_t leaf) const {
    return node_extent[static_cast<std::size_t>(derivation.leaves[leaf].node)];
  }
};

/// Of the widest element that an operation writes: as many lanes as its vectors have.
inline std::int64_t element_bits(const ComputeDag& dag, const Operation& op) {
  std::int64_t bits = 8;
  for (TensorId tensor : op.outputs) {
    bits = larger_of<std::int64_t>(bits, 8 * bytes_of(dag.tensor(tensor).dtype));
  }
  return bits;
}

namespace detail {

inline void cut_leaf(StageDerivation& d, std::size_t leaf, std::int64_t inner) {
  const LeafIterator old = d.leaves[leaf];
  d.split(leaf, {inner}, true);
  d.leaves[leaf + 1].annotation = old.annotation;
  d.leaves[leaf].iterator = old.iterator;  // attached stages stay at the outer part
  d.leaves[leaf + 1].iterator = -1;
}

}  // namespace detail

/// `bits`: element_bits of the operation; `num_outputs`: values accumulated per element.
/// Changes derivation.leaves (order, cuts) and returns what the leaves then mean.
/// `has_attached(i)`: whether stages are computed at iterator i of the state's stage.
/// `in_tiles`: the tile fills tile registers as it is (tile_block.hpp), so its loops stay loops.
/// `in_lanes`: vectors run along the reduction (emit_lanes.hpp), so every element of the tile is a
/// vector of partial results, and none of its loops becomes one.
template <class HasAttached>
NestShape shape_nest(const Target& target, const std::vector<bool>& node_is_reduction, Nest& nest,
                     std::int64_t bits, std::int64_t num_outputs, const HasAttached& has_attached,
                     bool in_tiles = false, bool in_lanes = false) {
  StageDerivation& d = nest.derivation;
  NestShape shape;
  if (d.leaves.empty()) {
    return shape;
  }
  std::vector<bool> reduces = node_is_reduction;
  const auto is_reduction = [&](const LeafIterator& leaf) {
    return reduces[static_cast<std::size_t>(leaf.node)];
  };
  const auto cut = [&](std::size_t leaf, std::int64_t inner) {
    const bool was = is_reduction(d.leaves[leaf]);
    detail::cut_leaf(d, leaf, inner);
    reduces.resize(static_cast<std::size_t>(d.num_nodes), was);
  };
  const auto extents = [&] { return detail::node_extents(d, nest.axis_extent); };
  const std::int64_t lanes = target.vector_bits >= bits ? target.vector_bits / bits : 1;

  std::int32_t last_reduction = -1;
  for (std::size_t i = 0; i < d.leaves.size(); ++i) {
    if (is_reduction(d.leaves[i])) {
      last_reduction = static_cast<std::int32_t>(i);
    }
  }
  // The innermost spatial loop becomes the vector loop, annotated or not: its iterations are
  // independent. Annotated vector loops elsewhere run as they stand.
  const auto last = static_cast<std::int32_t>(d.leaves.size()) - 1;
  const LeafIterator& inner = d.leaves.back();
  const bool may_vectorize =
      !in_lanes && last > last_reduction && inner.annotation != Annotation::parallel &&
      !has_attached(inner.iterator) && inner.annotation <= Annotation::vectorize;
  if (may_vectorize) {
    const std::int64_t extent = extents()[static_cast<std::size_t>(inner.node)];
    const std::int64_t limit = in_tiles ? extent : 4 * lanes;
    d.leaves.back().annotation = Annotation::vectorize;
    if (extent > limit) {
      // Own choice: four vectors hide the latency of a chain of loads, and code stays small.
      cut(static_cast<std::size_t>(last), limit);
      d.leaves[static_cast<std::size_t>(last)].annotation = Annotation::none;
    }
    shape.vector_leaf = static_cast<std::int32_t>(d.leaves.size()) - 1;
  }
  for (std::size_t i = 0; i < d.leaves.size(); ++i) {
    if (d.leaves[i].annotation == Annotation::vectorize &&
        static_cast<std::int32_t>(i) != shape.vector_leaf) {
      d.leaves[i].annotation = Annotation::none;
    }
  }
  if (last_reduction < 0) {
    return shape;
  }
  // Spatial loops of one iteration do not end the run: they go in front of it.
  std::int32_t begin = last_reduction;
  const std::vector<std::int64_t> whole = extents();
  for (std::int32_t i = last_reduction - 1; i >= 0; --i) {
    const LeafIterator leaf = d.leaves[static_cast<std::size_t>(i)];
    if (is_reduction(leaf)) {
      --begin;
      const auto first = d.leaves.begin() + i;
      d.leaves.erase(first);
      d.leaves.insert(d.leaves.begin() + begin, leaf);
    } else if (whole[static_cast<std::size_t>(leaf.node)] != 1 || has_attached(leaf.iterator)) {
      break;
    }
  }
  shape.reduction_begin = begin;
  shape.reduction_end = last_reduction + 1;
  for (std::size_t i = static_cast<std::size_t>(shape.reduction_end); i < d.leaves.size(); ++i) {
    if (has_attached(d.leaves[i].iterator) || d.leaves[i].annotation > Annotation::vectorize) {
      return shape;  // a producer is computed inside the tile: it stays in memory
    }
  }
  if (in_tiles) {
    for (auto i = static_cast<std::size_t>(last_reduction); i + 1 < d.leaves.size(); ++i) {
      d.leaves[i].annotation = Annotation::none;
    }
    shape.is_promoted = true;
    return shape;
  }
  // Registers: move the outer tile loops out of the reduction run until accumulators and operands
  // fit.
  const std::vector<std::int64_t> extent = extents();
  const auto tile_extent = [&](std::size_t i) {
    return extent[static_cast<std::size_t>(d.leaves[i].node)];
  };
  std::size_t first = static_cast<std::size_t>(shape.reduction_end);
  const std::int64_t vectors =
      shape.vector_leaf >= 0
          ? (tile_extent(static_cast<std::size_t>(shape.vector_leaf)) + lanes - 1) / lanes
          : 1;
  const auto registers_from = [&](std::size_t from) {
    std::int64_t accumulators = vectors * num_outputs;
    for (std::size_t i = from; i < d.leaves.size(); ++i) {
      if (static_cast<std::int32_t>(i) != shape.vector_leaf) {
        accumulators *= tile_extent(i);
      }
    }
    return accumulators + vectors + 1;
  };
  while (first < d.leaves.size() && registers_from(first) > target.num_vector_registers) {
    ++first;
  }
  if (shape.vector_leaf >= 0 && first == d.leaves.size()) {
    first = d.leaves.size() - 1;  // at most four vectors: fits every target
  }
  const auto at = [&](std::size_t i) { return d.leaves.begin() + static_cast<std::ptrdiff_t>(i); };
  const std::size_t moved = first - static_cast<std::size_t>(shape.reduction_end);
  if (moved > 0) {
    // They go no further than behind the last reduction loop that a stage is computed at, or that
    // stage would be computed anew in each of their iterations.
    for (std::int32_t i = begin; i < last_reduction; ++i) {
      if (has_attached(d.leaves[static_cast<std::size_t>(i)].iterator)) {
        shape.reduction_begin = i + 1;
      }
    }
    begin = shape.reduction_begin;
    // The part of a loop that is moved and still fits is kept inside: cut the innermost moved one.
    const std::size_t candidate = first - 1;
    for (std::int64_t inside = tile_extent(candidate) - 1; inside > 1; --inside) {
      std::int64_t accumulators = vectors * num_outputs * inside;
      for (std::size_t i = first; i < d.leaves.size(); ++i) {
        if (static_cast<std::int32_t>(i) != shape.vector_leaf) {
          accumulators *= tile_extent(i);
        }
      }
      const bool even = tile_extent(candidate) % inside == 0;
      if (even && accumulators + vectors + 1 <= target.num_vector_registers) {
        cut(candidate, inside);
        d.leaves[candidate + 1].annotation = Annotation::unroll;
        break;
      }
    }
    if (shape.vector_leaf >= 0) {
      shape.vector_leaf = static_cast<std::int32_t>(d.leaves.size()) - 1;
    }
    for (std::size_t i = static_cast<std::size_t>(shape.reduction_end); i < first; ++i) {
      d.leaves[i].annotation = Annotation::none;
    }
    const std::vector<LeafIterator> outer(at(static_cast<std::size_t>(shape.reduction_end)),
                                          at(first));
    d.leaves.erase(at(static_cast<std::size_t>(shape.reduction_end)), at(first));
    d.leaves.insert(at(static_cast<std::size_t>(begin)), outer.begin(), outer.end());
    shape.reduction_begin += static_cast<std::int32_t>(moved);
    shape.reduction_end += static_cast<std::int32_t>(moved);
  }
  for (std::size_t i = static_cast<std::size_t>(shape.reduction_end); i < d.leaves.size(); ++i) {
    if (static_cast<std::int32_t>(i) != shape.vector_leaf) {
      d.leaves[i].annotation = Annotation::unroll;
    }
  }
  // Longer loops outside: what they move is loaded once and used at once, what the shorter ones
  // move waits in registers meanwhile (2 rows of 14 vectors: 2 values wait, not 14).
  if (shape.vector_leaf >= 0) {
    const std::vector<std::int64_t> lengths = extents();
    const auto length = [&](const LeafIterator& leaf) {
      return lengths[static_cast<std::size_t>(leaf.node)];
    };
    std::int64_t terms = 1;
    for (const LeafIterator& leaf : d.leaves) {
      terms *= is_reduction(leaf) ? length(leaf) : 1;
    }
    if (terms > most_written_terms || length(d.leaves.back()) >= lanes) {
      detail::insertion_sort(
          d.leaves, static_cast<std::size_t>(shape.reduction_end),
          static_cast<std::size_t>(shape.vector_leaf),
          [&](const LeafIterator& x, const LeafIterator& y) { return length(x) > length(y); });
    }
  }
  shape.is_promoted = true;
  return shape;
}

}  // namespace tensorsmith
