// SPDX-License-Identifier: Apache-2.0
// Sums with their vectors along the reduction and a register tile behind it: hints::VectorizeSum.
//
// Floor 4. Part of emit.hpp. Own design. Loops of the result that stand behind the reduction are
// the tile, and every element of it is a vector of partial results, folded behind the run. What
// both operands have along the sum is read as it lies, nothing is packed:
//     for k in 64: for i' in 4 unrolled: for j' in 3 unrolled:
//       for l in 8 vectorized: acc[i', j', l] += A[i', 8*k + l] * B[j', 8*k + l]
// A tensor intrinsic that takes groups of g has those in the lanes, where vectors of them divide
// the sum:
//     for k in 32: for g in 2 unrolled as vpmaddwd: for i' ...: for j' ...:
//       for l in 8 vectorized: acc[i', j', l] += A[i', 16*k + 2*l + g] * B[j', 16*k + 2*l + g]
// Not here: folding (emit_lanes.hpp), and what else decides on lanes (place_lanes.hpp).
#pragma once

#include "tensorsmith/lower/emit_lanes.hpp"
#include "tensorsmith/lower/tensor_operands.hpp"

namespace tensorsmith::detail {

/// The reduction loop that hints::VectorizeSum has its vectors along: all loops of the reduction
/// are in one run, and nothing is computed inside of it. -1: there is none, and the pragma means
/// nothing.
inline std::int32_t
NestDecisions::node_of_lanes(const Emission& e,
                             const std::vector<TermCondition>& conditions) const {
  const auto id = static_cast<std::size_t>(e.nest.stage);
  const StageDerivation& d = e.nest.derivation;
  const ExprPool& pool = state_.dag().pool();
  const Reduce* reduce = e.op->bodies.size() == 1 && e.op->outputs.size() == 1
                             ? pool.as<Reduce>(e.op->bodies[0])
                             : nullptr;
  if (!state_.stage(id).hints.has<hints::VectorizeSum>() || reduce == nullptr ||
      !conditions.empty() || !has_partial_results(pool, pool.combiner(reduce->combiner))) {
    return -1;
  }
  const std::vector<std::int64_t> extent = node_extents(d, e.nest.axis_extent);
  const std::vector<bool> reduces = node_is_reduction(d);
  const auto is_sum = [&](std::size_t leaf) {
    return reduces[static_cast<std::size_t>(d.leaves[leaf].node)];
  };
  const auto is_single = [&](std::size_t leaf) {
    return extent[static_cast<std::size_t>(d.leaves[leaf].node)] == 1;
  };
  std::size_t end = d.leaves.size();
  while (end > 0 && !is_sum(end - 1)) {
    --end;
  }
  std::size_t begin = end;
  while (begin > 0 && (is_sum(begin - 1) || is_single(begin - 1))) {
    --begin;
  }
  for (std::size_t leaf = 0; leaf < d.leaves.size(); ++leaf) {
    const bool has_attached = state_.attach_map().iterator_to_stages.contains(
        IteratorKey{e.nest.stage, d.leaves[leaf].iterator});
    if ((leaf < begin && is_sum(leaf) && !is_single(leaf)) || (leaf >= begin && has_attached) ||
        (leaf >= end && d.leaves[leaf].annotation > Annotation::vectorize)) {
      return -1;
    }
  }
  while (end-- > begin) {
    if (is_sum(end) && reads_densely(e, end, false)) {
      return d.leaves[end].node;
    }
  }
  return -1;
}

/// Cuts the lanes off the loop that was found; the tile is as shape_nest left it.
inline void NestDecisions::place_sum_lanes(Emission& e) const {
  StageDerivation& d = e.nest.derivation;
  const std::vector<std::int64_t> extent = node_extents(d, e.nest.axis_extent);
  std::int64_t rows = 1;
  for (auto leaf = static_cast<std::size_t>(e.shape.reduction_end); leaf < d.leaves.size();
       ++leaf) {
    rows *= extent[static_cast<std::size_t>(d.leaves[leaf].node)];
  }
  const DType type = state_.dag().tensor(e.op->outputs[0]).dtype;
  const std::int64_t native = larger_of<std::int64_t>(target_.vector_lanes(8 * bytes_of(type)), 1);
  const std::int64_t vectors = larger_of<std::int64_t>(
      smaller_of(most_lane_vectors, target_.num_vector_registers / (2 * rows)), 1);
  for (auto leaf = static_cast<std::size_t>(e.shape.reduction_begin);
       leaf < static_cast<std::size_t>(e.shape.reduction_end); ++leaf) {
    if (d.leaves[leaf].node == e.sum_node) {
      const std::int64_t whole = extent[static_cast<std::size_t>(e.sum_node)];
      if (!place_groups_along_sum(e, leaf, native, vectors, whole)) {
        cut_lanes(e, leaf, vectors * native, whole);
      }
      return;
    }
  }
}

/// The intrinsic of the stage on groups in the lanes of its sum; false if it has none that can be.
inline bool NestDecisions::place_groups_along_sum(Emission& e, std::size_t leaf,
                                                  std::int64_t native, std::int64_t vectors,
                                                  std::int64_t extent) const {
  const TensorIntrinsic* intrinsic =
      find_intrinsic(target_, state_.stage(static_cast<std::size_t>(e.nest.stage)).hints);
  const auto operands =
      intrinsic != nullptr ? operands_along_sum(program_.pool, *e.op, *intrinsic) : std::nullopt;
  if (!operands) {
    return false;
  }
  for (const TensorRead* read : {operands->a, operands->b}) {
    if (is_inlined(static_cast<std::int32_t>(state_.dag().tensor(read->tensor).operation))) {
      return false;
    }
  }
  while (vectors > 1 && extent % (vectors * native * intrinsic->k) != 0) {
    --vectors;
  }
  if (extent % (vectors * native * intrinsic->k) != 0) {
    return false;
  }
  StageDerivation& d = e.nest.derivation;
  cut_lanes(e, leaf, vectors * native * intrinsic->k, extent);
  const auto lane = static_cast<std::size_t>(e.lane_leaf);
  cut_leaf(d, lane, intrinsic->k);  // lanes, and behind them the groups: these go around the tile
  LeafIterator group = d.leaves[lane + 1];
  group.annotation = Annotation::unroll;
  d.leaves[lane].annotation = Annotation::vectorize;
  d.leaves.erase(d.leaves.begin() + static_cast<std::ptrdiff_t>(lane) + 1);
  d.leaves.insert(d.leaves.begin() + e.shape.reduction_end, group);
  e.tensor_leaf = e.shape.reduction_end++;
  e.lane_leaf = e.shape.vector_leaf = static_cast<std::int32_t>(d.leaves.size()) - 1;
  e.intrinsic = intrinsic;
  e.is_a_first = operands->is_a_first;
  e.moves_b.assign(d.leaves.size(), true);
  return true;
}

}  // namespace tensorsmith::detail
