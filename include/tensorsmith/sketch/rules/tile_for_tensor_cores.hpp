// SPDX-License-Identifier: Apache-2.0
// TileForTensorCores: tiles a sum of products as the warps of a GPU multiply matrices.
//
// Floor 5. Own design (block, warp and instruction tiles as in CUTLASS and Triton; fragments as in
// the PTX ISA). Legal for C[.., i, j] += A[.., i, k] * B[.., k, j] that an instruction of m x n x k
// for warps computes. Sizes that m, n and k do not divide are those of whole tiles, with zeros
// (lower/emit_padding.hpp); worth it for no less than m/4 rows, n columns and k terms. Lengths g, w
// and t are open: blocks that are neighbours in time, warps of a block, tiles of a warp.
//     C: i j k, D: i j
//         -->  D: blockIdx.x i.g j.g i.b j.b, vthread i.t j.t i.8, threadIdx.y i.w j.w,
//                 threadIdx.x i.lane j.lane { C: k.0 k.1 k.m i j } j.pair
// Accumulators are those of a virtual thread, so C is computed element by element in D, whatever D
// does with it. A stage without an elementwise consumer gets a copy of its result as one.
// Not here: the operands' copies (share_for_tensor_cores.hpp).
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "tensorsmith/lower/tensor_operands.hpp"
#include "tensorsmith/sketch/grow.hpp"
#include "tensorsmith/sketch/rule.hpp"
#include "tensorsmith/sketch/stage_query.hpp"

namespace tensorsmith {

struct TileForTensorCores {
  static constexpr std::string_view name() { return "tile_for_tensor_cores"; }

  /// Rules for threads that multiply for themselves are asked only where few warps have work.
  Applicability applicability(const RuleInput& input) const {
    if (intrinsics_of(input).empty()) {
      return Applicability::skip;
    }
    const auto& axes = input.state.operation(static_cast<std::size_t>(input.stage)).axes;
    constexpr std::int64_t large = 64;
    const bool is_large = axes.back().extent >= large && axes[axes.size() - 2].extent >= large;
    return is_large ? Applicability::apply_and_skip_rest : Applicability::apply;
  }

  /// One of instructions of a warp, one of those of several.
  std::vector<Derivation> expand(const RuleInput& input) const {
    std::vector<Derivation> derived;
    for (const TensorIntrinsic* intrinsic : intrinsics_of(input)) {
      derived.push_back(Derivation{tiled(input, *intrinsic), input.stage - 1});
    }
    TENSORSMITH_ASSERT(!derived.empty(), "expand of a rule that does not apply");
    return derived;
  }

 private:
  static State tiled(const RuleInput& input, const TensorIntrinsic& intrinsic) {
    State state = input.state;
    std::optional<std::int32_t> consumer =
        single_elementwise_consumer(state, input.analysis, input.stage);
    if (!consumer) {
      grow(state, CacheWriteStep{input.stage, "local"});
      consumer = input.stage + 1;
    }
    const std::int32_t lane = tile_consumer(state, *consumer, intrinsic);
    tile_sum(state, input.stage, intrinsic);
    grow(state, ComputeAtStep{input.stage, *consumer, lane});
    grow(state, PragmaStep{input.stage, 0, hints::Tensorize{std::string(intrinsic.name)}});
    return state;
  }

  /// The target's that compute the stage: the first of those for so many warps.
  static std::vector<const TensorIntrinsic*> intrinsics_of(const RuleInput& input) {
    std::vector<const TensorIntrinsic*> found;
    const auto stage = static_cast<std::size_t>(input.stage);
    const Operation& op = input.state.operation(stage);
    const std::size_t rank = op.axes.size();
    if (op.is_placeholder() || rank < 2 || op.reduce_axes.size() != 1 ||
        is_tiled(input.state, input.stage) || has_cache_write(input.state, input.stage)) {
      return found;
    }
    const auto consumer = single_elementwise_consumer(input.state, input.analysis, input.stage);
    if (consumer && is_tiled(input.state, *consumer)) {
      return found;
    }
    const ExprPool& pool = input.state.dag().pool();
    const VarId i = op.axes[rank - 2].var, j = op.axes[rank - 1].var, k = op.reduce_axes[0].var;
    for (const TensorIntrinsic* intrinsic : input.options.intrinsics) {
      const bool is_for_warps =
          !intrinsic->ptx.empty() && intrinsic->m == 2 * lane_rows * intrinsic->warps &&
          intrinsic->n % (2 * lane_columns) == 0 &&
          !any_item(found, [&](const auto* other) { return other->warps == intrinsic->warps; });
      const std::optional<TensorOperands> operands =
          is_for_warps ? tensor_operands(pool, op, *intrinsic, j) : std::nullopt;
      if (operands && 4 * op.axes[rank - 2].extent >= intrinsic->m &&
          op.axes[rank - 1].extent >= intrinsic->n &&
          op.reduce_axes[0].extent >= depth_of(*intrinsic) &&
          is_padded_to_its_end(input.state, *operands, op.reduce_axes[0], *intrinsic) &&
          is_matrix(pool, *operands->a, i, k) && is_matrix(pool, *operands->b, j, k) &&
          !detail::reads_along(pool, *operands->b, i) &&
          operands->a->tensor != operands->b->tensor) {
        found.push_back(intrinsic);
      }
    }
    return found;
  }

  /// Terms of a step of the loop that fetches, at least: several warps read lines of 128 bytes.
  static std::int64_t depth_of(const TensorIntrinsic& intrinsic) {
    constexpr std::int64_t line_bytes = 128;
    return intrinsic.warps > 1 ? line_bytes / bytes_of(intrinsic.a) : intrinsic.k;
  }

  /// A sum whose length is no multiple of the instruction's goes on in zeros behind the ends of
  /// both matrices; so none may go on behind the sum.
  static bool is_padded_to_its_end(const State& state, const TensorOperands& operands,
                                   const Axis& k, const TensorIntrinsic& intrinsic) {
    const ExprPool& pool = state.dag().pool();
    return k.extent % depth_of(intrinsic) == 0 ||
           (ends_with_sum(pool, state.dag().tensor(operands.a->tensor), *operands.a, k) &&
            ends_with_sum(pool, state.dag().tensor(operands.b->tensor), *operands.b, k));
  }
  static bool ends_with_sum(const ExprPool& pool, const TensorInfo& info, const TensorRead& read,
                            const Axis& k) {
    bool ends = false;
    for (std::size_t d = 0; d < read.indices.size(); ++d) {
      const VarRef* ref = pool.as<VarRef>(read.indices[d]);
      ends = ends || (ref != nullptr && ref->var == k.var && info.shape[d] == k.extent);
    }
    return ends;
  }

  /// A thread has rows lane / 4 and eight below, and two columns at 2 * (lane % 4).
  static constexpr std::int32_t lane_rows = 8, lane_columns = 4;

  /// Every index is an axis, and the last two are `line` and `k`; of a part of a sum, k and where
  /// the part begins.
  static bool is_matrix(const ExprPool& pool, const TensorRead& read, VarId line, VarId k) {
    const std::size_t rank = read.indices.size();
    const auto is_var = [&](ExprId id, VarId var) {
      const VarRef* ref = pool.as<VarRef>(id);
      return ref != nullptr && ref->var == var;
    };
    const auto is = [&](std::size_t d, VarId var) {
      const Binary* sum = pool.as<Binary>(read.indices[d]);
      const bool is_of_part = var == k && sum != nullptr && sum->op == BinaryOp::add &&
                              ((is_var(sum->a, k) && !uses_var(pool, sum->b, k)) ||
                               (is_var(sum->b, k) && !uses_var(pool, sum->a, k)));
      return is_var(read.indices[d], var) || (is_of_part && !uses_var(pool, read.indices[d], line));
    };
    for (std::size_t d = 0; d + 2 < rank; ++d) {
      if (pool.as<VarRef>(read.indices[d]) == nullptr || is(d, line) || is(d, k)) {
        return false;
      }
    }
    return rank >= 2 &&
           ((is(rank - 2, line) && is(rank - 1, k)) || (is(rank - 2, k) && is(rank - 1, line)));
  }

  /// Splits, binds and orders the loops of the stage that receives the sum; returns its loop over
  /// lanes.
  static std::int32_t tile_consumer(State& state, std::int32_t stage,
                                    const TensorIntrinsic& intrinsic) {
    const auto rank =
        static_cast<std::int32_t>(state.operation(static_cast<std::size_t>(stage)).axes.size());
    // Of i: groups, blocks, warps (or four of them), tiles, the warps of four, 2, 8; of j: the same
    // four, tiles of 8 columns where there are several, 4, 2.
    const LengthList open(3, unknown_length);
    const bool has_warps = intrinsic.warps > 1, has_columns = intrinsic.n > 2 * lane_columns;
    const std::int32_t i = rank - 2, j = i + 6 + (has_warps ? 1 : 0);
    LengthList rows{2, lane_rows}, columns{lane_columns, 2};
    if (has_warps) {
      rows.insert(0, intrinsic.warps);
    }
    if (has_columns) {
      columns.insert(0, intrinsic.n / (2 * lane_columns));
    }
    grow(state, split_of(state, stage, i, rows));
    grow(state, split_of(state, stage, i, open));
    grow(state, split_of(state, stage, j, columns));
    grow(state, split_of(state, stage, j, open));
    ReorderStep order{stage, {}};
    FuseStep blocks{stage, {}};
    for (std::int32_t outer = 0; outer < i; ++outer) {
      order.after.push_back(outer);
      blocks.iterators.push_back(outer);
    }
    for (std::int32_t loop : {i, j, i + 1, j + 1}) {  // groups of blocks, and blocks in them
      order.after.push_back(loop);
      blocks.iterators.push_back(static_cast<std::int32_t>(blocks.iterators.size()));
    }
    const std::int32_t two = i + 4 + (has_warps ? 1 : 0), four = j + 4 + (has_columns ? 1 : 0);
    std::vector<std::int32_t> tiles{i + 3, j + 3}, lanes;
    if (has_columns) {
      tiles.push_back(j + 4);
    }
    tiles.push_back(two);
    if (has_warps) {
      lanes.push_back(i + 4);
    }
    lanes.insert(lanes.end(), {two + 1, four});
    for (std::int32_t loop : tiles) {
      order.after.push_back(loop);
    }
    for (std::int32_t loop : {i + 2, j + 2}) {
      order.after.push_back(loop);
    }
    for (std::int32_t loop : lanes) {
      order.after.push_back(loop);
    }
    order.after.push_back(four + 1);
    grow(state, order);
    grow(state, blocks);
    grow(state, AnnotationStep{stage, 0, Annotation::block_x});
    std::int32_t at = 1;
    for (; at <= static_cast<std::int32_t>(tiles.size()); ++at) {
      grow(state, AnnotationStep{stage, at, Annotation::vthread});
    }
    grow(state, FuseStep{stage, {at, at + 1}});
    grow(state, AnnotationStep{stage, at, Annotation::thread_y});
    FuseStep threads{stage, {}};
    for (std::size_t lane = 0; lane < lanes.size(); ++lane) {
      threads.iterators.push_back(++at);
    }
    const std::int32_t lane = threads.iterators[0];
    grow(state, threads);
    grow(state, AnnotationStep{stage, lane, Annotation::thread_x});
    grow(state, AnnotationStep{stage, lane + 1, Annotation::vectorize});
    return lane;
  }

  static void tile_sum(State& state, std::int32_t stage, const TensorIntrinsic& intrinsic) {
    const auto rank =
        static_cast<std::int32_t>(state.operation(static_cast<std::size_t>(stage)).axes.size());
    const std::int64_t steps = depth_of(intrinsic) / intrinsic.k;
    grow(state, split_of(state, stage, rank, {intrinsic.k}));
    grow(state, split_of(state, stage, rank, {intrinsic.warps > 1 ? steps : unknown_length}));
    ReorderStep order{stage, {rank, rank + 1, rank + 2}};
    for (std::int32_t loop = 0; loop < rank; ++loop) {
      order.after.push_back(loop);
    }
    grow(state, order);
  }
};

}  // namespace tensorsmith
