// SPDX-License-Identifier: Apache-2.0
// Reductions whose loops end with reduction loops: which axis their vectors run along.
//
// Floor 4. Part of emit.hpp. Own design. Nothing stands behind the reduction that could become the
// vector loop, so one is made:
//   along the axis that is read densely, if it is the last spatial one (its loop is cut)
//     for c in 2048: for r in 49: Y[c] += X[r, c]
//       -->  for c in 32: for r in 49: for c' in 64 vectorized: Y.acc[c'] += X[r, 64*c + c']
//   or along the reduction itself: up to four vectors of partial results, folded in halves
//     for k in 1000: B[i] += A[i, k]
//       -->  for l in 64 vectorized: acc[l] = 0
//            for k in 15: for l in 64 vectorized: acc[l] += A[i, 64*k + l];  tail: l in 40
//            for l in 32 vectorized: acc[l] += acc[l + 32];  16; 8; 4; 2; 1;  B[i] = acc[0]
// With hints::RowBlock the last loop around such a reduction is cut, and a step is taken in R rows
// one after the other, so that R streams are read at a time and what does not depend on the row is
// loaded once:
//     for i in 8: for k in 16: for i' in 4 unrolled: for l in 64 vectorized: acc[i', l] += ...
// Tiles of vectors of partial results: emit_sum_lanes.hpp.
// The second one changes the order in which an element is summed, and is the only place where
// lowering does so. It needs a sum, a product, a minimum or a maximum that begins with what changes
// nothing, no terms that are left out, and all loops of the reduction in the run.
#pragma once

#include "tensorsmith/lower/nest_decisions.hpp"
#include "tensorsmith/lower/partial_results.hpp"

namespace tensorsmith::detail {

/// What index `id` adds per step of `var`; nothing if that is not a constant.
inline std::optional<std::int64_t> step_of_index(const ExprPool& pool, ExprId id, VarId var) {
  if (!uses_var(pool, id, var)) {
    return 0;
  }
  if (pool.as<VarRef>(id) != nullptr) {
    return 1;
  }
  const Binary* node = pool.as<Binary>(id);
  if (node == nullptr || (node->op != BinaryOp::add && node->op != BinaryOp::sub)) {
    return std::nullopt;
  }
  const auto a = step_of_index(pool, node->a, var);
  const auto b = step_of_index(pool, node->b, var);
  if (!a || !b) {
    return std::nullopt;
  }
  return node->op == BinaryOp::add ? *a + *b : *a - *b;
}

/// How what a body reads moves with one of its axes.
struct ReadsAlong {
  bool has_dense = false;  ///< some read goes from element to neighbour
  bool has_jumps = false;  ///< some read does anything else but stay
};

inline void add_reads_along(const State& state, const Operation& op, VarId var, ReadsAlong& found) {
  const ExprPool& pool = state.dag().pool();
  for (ExprId body : op.bodies) {
    visit_expr(pool, body, [&](ExprId id) {
      const TensorRead* read = pool.as<TensorRead>(id);
      if (read == nullptr || found.has_jumps) {
        return;
      }
      const std::uint32_t producer = state.dag().tensor(read->tensor).operation;
      const bool is_inlined = state.stage(producer).compute_at == ComputeAt::inlined;
      std::size_t moving = 0;
      for (std::size_t d = 0; d < read->indices.size(); ++d) {
        const auto step = step_of_index(pool, read->indices[d], var);
        if (step == std::int64_t{0}) {
          continue;
        }
        bool is_last = true;  // of the dimensions that have more than one element
        for (std::size_t later = d + 1; later < read->indices.size(); ++later) {
          is_last = is_last && state.dag().tensor(read->tensor).shape[later] == 1;
        }
        ++moving;
        if (step != std::int64_t{1} || moving > 1 || (!is_inlined && !is_last)) {
          found.has_jumps = true;
        } else if (is_inlined) {
          const Operation& inner = state.operation(producer);
          add_reads_along(state, inner, inner.axes[d].var, found);
        } else {
          found.has_dense = true;
        }
      }
    });
  }
}

/// The axis of which `node` is the innermost part: by splits, or fused with axes of one element.
/// -1: none.
inline std::int32_t innermost_of_axis(const StageDerivation& d,
                                      const std::vector<std::int64_t>& node_extent,
                                      std::int32_t node) {
  for (std::size_t i = d.relations.size(); i-- > 0;) {
    const IteratorRelation& r = d.relations[i];
    if (r.is_split && has_item(r.parts, node)) {
      for (std::size_t p = r.parts.size(); p-- > 0 && r.parts[p] != node;) {
        if (node_extent[static_cast<std::size_t>(r.parts[p])] > 1) {
          return -1;
        }
      }
      node = r.parent;
    } else if (!r.is_split && r.parent == node) {
      std::int32_t only = -1;
      for (std::int32_t part : r.parts) {
        if (node_extent[static_cast<std::size_t>(part)] > 1) {
          if (only >= 0) {
            return -1;
          }
          only = part;
        }
      }
      node = only;
    }
  }
  return node < d.num_axes ? node : -1;
}

/// Vectors of partial results that hide the latency of their sums.
inline constexpr std::int64_t most_lane_vectors = 4;

/// Cuts what hints::RowBlock asks for off `leaf`, the last loop around the run: its inner part
/// becomes the register tile. The number of rows; 1: nothing was cut.
inline std::int64_t NestDecisions::cut_rows(Emission& e, std::size_t leaf) const {
  StageDerivation& d = e.nest.derivation;
  const std::int64_t extent =
      node_extents(d, e.nest.axis_extent)[static_cast<std::size_t>(d.leaves[leaf].node)];
  const std::int64_t rows = smaller_of<std::int64_t>(
      state_.stage(static_cast<std::size_t>(e.nest.stage)).hints.get<hints::RowBlock>().rows,
      extent);
  if (rows <= 1) {
    return 1;
  }
  cut_leaf(d, leaf, rows);
  LeafIterator inner = d.leaves[leaf + 1];
  d.leaves[leaf].annotation = inner.annotation;
  inner.annotation = Annotation::unroll;
  d.leaves.erase(d.leaves.begin() + static_cast<std::ptrdiff_t>(leaf) + 1);
  d.leaves.insert(d.leaves.begin() + e.shape.reduction_end, inner);
  return rows;
}

/// Whether something is read from neighbour to neighbour along the leaf, and nothing in jumps.
inline bool NestDecisions::reads_densely(const Emission& e, std::size_t leaf,
                                         bool is_spatial) const {
  constexpr std::int64_t fewest_elements = 4;
  const Operation& op = *e.op;
  const StageDerivation& d = e.nest.derivation;
  const std::vector<std::int64_t> extent = node_extents(d, e.nest.axis_extent);
  const std::int32_t node = d.leaves[leaf].node;
  const std::int32_t axis = innermost_of_axis(d, extent, node);
  if (axis < 0 || extent[static_cast<std::size_t>(node)] < fewest_elements) {
    return false;
  }
  const auto a = static_cast<std::size_t>(axis);
  if ((a < op.axes.size()) != is_spatial || (is_spatial && a + 1 != op.axes.size())) {
    return false;
  }
  ReadsAlong reads;
  add_reads_along(state_, op, is_spatial ? op.axes[a].var : op.reduce_axes[a - op.axes.size()].var,
                  reads);
  return reads.has_dense && !reads.has_jumps;
}

/// Cuts at most `lanes` of a reduction loop's iterations off: they become the vector loop.
inline void NestDecisions::cut_lanes(Emission& e, std::size_t leaf, std::int64_t lanes,
                                     std::int64_t extent) {
  StageDerivation& d = e.nest.derivation;
  cut_leaf(d, leaf, smaller_of(lanes, extent));
  d.leaves[leaf].annotation = Annotation::none;
  LeafIterator inner = d.leaves[leaf + 1];
  inner.annotation = Annotation::vectorize;
  d.leaves.erase(d.leaves.begin() + static_cast<std::ptrdiff_t>(leaf) + 1);
  d.leaves.push_back(inner);
  e.lane_leaf = static_cast<std::int32_t>(d.leaves.size()) - 1;
  e.shape.vector_leaf = e.lane_leaf;
}

/// Decides and cuts; before the nest is built. Does nothing where a loop behind the reduction is
/// the vector loop already.
inline void NestDecisions::place_lanes(Emission& e,
                                       const std::vector<TermCondition>& conditions) const {
  constexpr std::int64_t fewest_chunks = 8;
  if (e.sum_node >= 0 && e.shape.is_promoted) {
    place_sum_lanes(e);
    return;
  }
  const auto id = static_cast<std::size_t>(e.nest.stage);
  StageDerivation& d = e.nest.derivation;
  const Operation& op = *e.op;
  const auto end = static_cast<std::size_t>(e.shape.reduction_end < 0 ? 0 : e.shape.reduction_end);
  if (end == 0 || end != d.leaves.size() || !e.shape.is_promoted ||
      state_.stage(id).hints.has<hints::Tensorize>()) {
    return;
  }
  const DType type = state_.dag().tensor(op.outputs[0]).dtype;
  const std::int64_t native = larger_of<std::int64_t>(target_.vector_lanes(8 * bytes_of(type)), 1);
  const std::vector<std::int64_t> extent = node_extents(d, e.nest.axis_extent);
  const auto extent_of = [&](std::size_t leaf) {
    return extent[static_cast<std::size_t>(d.leaves[leaf].node)];
  };
  const auto has_attached = [&](std::size_t leaf) {
    return state_.attach_map().iterator_to_stages.contains(
        IteratorKey{e.nest.stage, d.leaves[leaf].iterator});
  };
  const auto begin = static_cast<std::size_t>(e.shape.reduction_begin);
  const std::vector<bool> reduces = node_is_reduction(d);
  for (std::size_t i = 0; i < end; ++i) {
    const bool is_outside =
        i < begin && extent_of(i) > 1 && reduces[static_cast<std::size_t>(d.leaves[i].node)];
    if (is_outside || (i >= begin && has_attached(i))) {
      return;
    }
  }
  std::size_t spatial = begin;  // the last loop outside of the run that runs
  while (spatial > 0 && extent_of(spatial - 1) == 1 && !has_attached(spatial - 1)) {
    --spatial;
  }
  const bool has_loop = spatial > 0 && !has_attached(spatial - 1);
  if (has_loop && op.outputs.size() == 1 && reads_densely(e, spatial - 1, true)) {
    --spatial;
    // Half of the registers: long stretches of every row are read at a time.
    std::int64_t most = larger_of<std::int64_t>(target_.num_vector_registers / 2, 1);
    const bool is_parallel = d.leaves[spatial].annotation == Annotation::parallel;
    while (is_parallel && most > most_lane_vectors &&
           extent_of(spatial) < fewest_chunks * most * native) {
      most /= 2;  // the other threads want some
    }
    cut_leaf(d, spatial, smaller_of(most * native, extent_of(spatial)));
    d.leaves[spatial].annotation = d.leaves[spatial + 1].annotation;
    LeafIterator lanes = d.leaves[spatial + 1];
    lanes.annotation = Annotation::vectorize;
    d.leaves.erase(d.leaves.begin() + static_cast<std::ptrdiff_t>(spatial) + 1);
    d.leaves.push_back(lanes);
    e.shape.vector_leaf = static_cast<std::int32_t>(d.leaves.size()) - 1;
    return;
  }
  const ExprPool& pool = state_.dag().pool();
  const Reduce* reduce = pool.as<Reduce>(op.bodies[0]);
  if (reduce == nullptr || !conditions.empty()) {
    return;
  }
  const std::int64_t rows = has_loop ? cut_rows(e, spatial - 1) : 1;
  if (!has_partial_results(pool, pool.combiner(reduce->combiner))) {
    return;
  }
  // Half of the registers: the other half is what is read.
  const std::int64_t vectors = larger_of<std::int64_t>(
      smaller_of(most_lane_vectors, target_.num_vector_registers / (2 * rows)), 1);
  for (std::size_t leaf = end; leaf-- > begin;) {
    // The loops are as they were when `extent` was made, but for rows behind all of them.
    if (reads_densely(e, leaf, false)) {
      cut_lanes(e, leaf, vectors * native, extent_of(leaf));
      return;
    }
  }
}

}  // namespace tensorsmith::detail
