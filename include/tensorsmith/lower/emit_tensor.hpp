// SPDX-License-Identifier: Apache-2.0
// Tensor intrinsics: which loop becomes one, and sums for operands with an offset.
//
// Floor 4. Part of emit.hpp. Own design (docs/decisions/0008-tensor-intrinsics.md). The innermost
// reduction loop is cut into groups of what the instruction takes, a loop that stays in front of
// the register tile:
//     for k in 64: tile   -->   for k.0 in 32: for k.1 in 2 unrolled as vdpbf16ps: tile
// For tile registers all of these stay loops, and accumulators have addresses:
//     for k in 256: tile   -->   for k.0 in 8: for k.1 in 32 as tdpbf16ps: tile
// Where the instruction wants a + offset for a, the surplus is summed up beside the tile and taken
// off behind the run:
//     for k.1 in 4 as vpdpbusd_signed: acc[i, j] = acc[i, j] + (i32(A) + 128)*i32(B)
//     for k.1 in 4 as vpdpbusd_signed: sums[j] = sums[j] + 128*i32(B)
//     ... acc[i, j] = acc[i, j] - sums[j]
#pragma once

#include "tensorsmith/ir/tensor_match.hpp"
#include "tensorsmith/lower/emit.hpp"
#include "tensorsmith/lower/tensor_operands.hpp"
#include "tensorsmith/lower/tile_block.hpp"

namespace tensorsmith::detail {

/// Whether the stage's intrinsic keeps accumulators in tile registers and the loops suit it. What
/// they read must be in memory: a tile is loaded row by row.
inline bool NestDecisions::fills_tile_registers(Emission& e, bool has_all_terms) const {
  const TensorIntrinsic* intrinsic =
      find_intrinsic(target_, state_.stage(static_cast<std::size_t>(e.nest.stage)).hints);
  bool reads_memory = true;
  for (ExprId body : e.op->bodies) {
    visit_nodes(program_.pool, body, [&](ExprId id) {
      const TensorRead* read = program_.pool.as<TensorRead>(id);
      reads_memory =
          reads_memory &&
          (read == nullptr ||
           !is_inlined(static_cast<std::int32_t>(state_.dag().tensor(read->tensor).operation)));
    });
  }
  if (intrinsic == nullptr || !has_all_terms || !reads_memory) {
    return false;
  }
  const StageDerivation& d = e.nest.derivation;
  const auto has_attached = [&](std::int32_t iterator) {
    return state_.attach_map().iterator_to_stages.contains(IteratorKey{e.nest.stage, iterator});
  };
  e.has_tiles = tile_block(program_.pool, *e.op, d, node_extents(d, e.nest.axis_extent), *intrinsic,
                           has_attached)
                    .has_value();
  return e.has_tiles;
}

/// Decides which loop the stage's intrinsic covers; cuts the innermost reduction loop.
inline void NestDecisions::place_intrinsic(Emission& e) const {
  const TensorIntrinsic* intrinsic =
      find_intrinsic(target_, state_.stage(static_cast<std::size_t>(e.nest.stage)).hints);
  if (intrinsic == nullptr || !e.shape.is_promoted || e.shape.vector_leaf < 0 ||
      intrinsic->has_tiles() != e.has_tiles || e.lane_leaf >= 0) {
    return;  // the loops do the same
  }
  StageDerivation& d = e.nest.derivation;
  const auto last = static_cast<std::size_t>(e.shape.reduction_end) - 1;
  const auto var_of = [&](std::size_t leaf) {
    return e.op->axis_var(axis_of_node(d, d.leaves[leaf].node));
  };
  const VarId vector = var_of(static_cast<std::size_t>(e.shape.vector_leaf));
  const std::optional<TensorOperands> operands =
      vector.valid() ? tensor_operands(program_.pool, *e.op, *intrinsic, vector) : std::nullopt;
  const std::int64_t extent =
      node_extents(d, e.nest.axis_extent)[static_cast<std::size_t>(d.leaves[last].node)];
  if (!operands || !var_of(last).valid() || extent < intrinsic->k ||
      state_.attach_map().iterator_to_stages.contains(
          IteratorKey{e.nest.stage, d.leaves[last].iterator})) {
    return;
  }
  for (const TensorRead* read : {operands->a, operands->b}) {
    const std::uint32_t producer = state_.dag().tensor(read->tensor).operation;
    if (is_inlined(static_cast<std::int32_t>(producer)) &&
        !takes_inlined(program_.pool, state_.operation(producer), *intrinsic)) {
      return;
    }
  }
  e.tensor_leaf = static_cast<std::int32_t>(last);
  if (extent > intrinsic->k) {
    cut_leaf(d, last, intrinsic->k);
    ++e.shape.reduction_end;
    ++e.shape.vector_leaf;
    ++e.tensor_leaf;
  }
  d.leaves[static_cast<std::size_t>(e.tensor_leaf)].annotation =
      e.has_tiles ? Annotation::none : Annotation::unroll;
  e.intrinsic = intrinsic;
  e.is_a_first = operands->is_a_first;
  for (std::size_t leaf = 0; leaf < d.leaves.size(); ++leaf) {
    const VarId var = var_of(leaf);
    e.moves_b.push_back(!var.valid() || reads_along(program_.pool, *operands->b, var));
  }
}

/// Loops around accumulators in tile registers stay loops, but are of constant extent.
inline void NestDecisions::mark_tile_loops(Emission& e) {
  for (auto leaf = static_cast<std::size_t>(e.tensor_leaf);
       e.has_tiles && leaf < e.nest.num_leaves(); ++leaf) {
    e.nest.is_tile[leaf] = true;
  }
}

/// For GPUs: the innermost reduction loop is covered if it is as long as the instruction's. That a
/// warp's threads and loops lie as the instruction wants them is the schedule's affair.
inline void ThreadDecisions::place_warp_intrinsic(Emission& e) const {
  const TensorIntrinsic* intrinsic =
      find_intrinsic(target_, state_.stage(static_cast<std::size_t>(e.nest.stage)).hints);
  for (std::size_t i = e.nest.num_leaves(); intrinsic != nullptr && i-- > 0;) {
    if (e.nest.is_reduction[i]) {
      const bool fits = e.nest.leaf_extent[i] == intrinsic->k;
      e.tensor_leaf = fits ? static_cast<std::int32_t>(i) : -1;
      e.intrinsic = fits ? intrinsic : nullptr;
      return;
    }
  }
}

/// What computes the loop of this leaf; nullptr: the loop itself, as where a tile on the border of
/// padding has a condition.
inline const TensorIntrinsic* NestDecisions::intrinsic_of_loop(const Emission& e, std::size_t leaf,
                                                               ForKind kind, ExprId extent,
                                                               StmtId body) const {
  const IntImm* constant = program_.pool.as<IntImm>(extent);
  const bool is_covered = static_cast<std::int32_t>(leaf) == e.tensor_leaf && constant != nullptr &&
                          (e.mode == BodyMode::update || e.mode == BodyMode::offset_sum) &&
                          (kind == ForKind::unrolled || is_gpu_ || e.has_tiles) &&
                          constant->value == e.intrinsic->k &&
                          (e.intrinsic->a_offset == 0 || e.offset_sums.valid()) &&
                          (is_gpu_ || is_tensor_tile(program_, *e.intrinsic, body));
  return is_covered ? e.intrinsic : nullptr;
}

/// Registers for a_offset * sum(b), if the intrinsic wants them: as many as b has in the tile.
inline void Emitter::make_offset_sums(Emission& e) {
  if (e.intrinsic == nullptr || e.intrinsic->a_offset == 0 || e.accumulators.empty()) {
    return;
  }
  Buffer sums;
  sums.name = e.op->name + ".sums";
  sums.dtype = e.intrinsic->accumulator;
  sums.scope = Scope::register_;
  for (auto i = static_cast<std::size_t>(e.shape.reduction_end); i < e.nest.num_leaves(); ++i) {
    sums.shape.push_back(e.moves_b[i] ? e.nest.leaf_extent[i] : 1);
  }
  e.offset_sums = program_.add(std::move(sums));
  e.temporaries.push_back(e.offset_sums);
}

/// In front of the run or behind it.
inline void Emitter::emit_offset_tile(Emission& e, BodyMode mode, std::vector<StmtId>& parts) {
  if (e.offset_sums.valid()) {
    e.mode = mode;
    parts.push_back(emit_leaf(e, static_cast<std::size_t>(e.shape.reduction_end)));
  }
}

inline bool NestDecisions::wants_offset_sums(const Emission& e, std::size_t leaf) const {
  return static_cast<std::int32_t>(leaf) == e.tensor_leaf && e.mode == BodyMode::update &&
         e.offset_sums.valid() && !e.is_summing;
}

inline bool NestDecisions::is_left_out_of_sums(const Emission& e, std::size_t leaf) const {
  return (e.mode == BodyMode::offset_zero || e.mode == BodyMode::offset_sum) && !e.moves_b[leaf];
}

/// The loop of the intrinsic, and a second one for the sums.
inline StmtId Emitter::emit_with_offset_sums(Emission& e, std::size_t leaf) {
  e.is_summing = true;
  const StmtId update = emit_leaf(e, leaf);
  e.mode = BodyMode::offset_sum;
  const StmtId sums = emit_leaf(e, leaf);
  e.mode = BodyMode::update;
  e.is_summing = false;
  return seq({update, sums});
}

/// The source of a sum as the intrinsic takes it.
inline ExprId Emitter::with_offset(const Emission& e, ExprId source) {
  const Binary* found = program_.pool.as<Binary>(source);
  if (!e.offset_sums.valid() || found == nullptr) {
    return source;
  }
  const Binary product = *found;
  const ExprId a = e.is_a_first ? product.a : product.b;
  const ExprId b = e.is_a_first ? product.b : product.a;
  const ExprId offset = program_.pool.int_imm(e.intrinsic->a_offset, e.intrinsic->accumulator);
  return program_.pool.mul(program_.pool.add(a, offset), b);
}

/// One element of the sums, or an accumulator without what is too much in it.
inline StmtId Emitter::emit_offset(Emission& e, const ExprList& tile_point, ExprId source) {
  ExprPool& pool = program_.pool;
  const DType type = e.intrinsic->accumulator;
  ExprList point;
  for (std::size_t i = 0; i < tile_point.size(); ++i) {
    const std::size_t leaf = static_cast<std::size_t>(e.shape.reduction_end) + i;
    point.push_back(e.moves_b[leaf] ? tile_point[i] : pool.int_imm(0));
  }
  const ExprId sum = pool.load(e.offset_sums, type, point);
  if (e.mode == BodyMode::take_off) {
    const ExprId old = pool.load(e.accumulators[0], type, tile_point);
    return program_.add(Store{e.accumulators[0], tile_point, pool.sub(old, sum)});
  }
  ExprId value = pool.int_imm(0, type);
  if (e.mode == BodyMode::offset_sum) {
    const Binary product = *pool.as<Binary>(source);
    const ExprId b = e.is_a_first ? product.b : product.a;
    value = pool.add(sum, pool.mul(pool.int_imm(e.intrinsic->a_offset, type), b));
  }
  return program_.add(Store{e.offset_sums, point, value});
}

}  // namespace tensorsmith::detail
