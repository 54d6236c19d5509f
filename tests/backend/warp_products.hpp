// SPDX-License-Identifier: Apache-2.0
// Matrix products that warps compute by tensor-core instructions: schedules for tests.
#pragma once

#include <string>

#include "support/catch.hpp"
#include "tensorsmith/lower/known_intrinsics.hpp"
#include "tensorsmith/ops/workload.hpp"
#include "tensorsmith/sched/apply.hpp"
#include "tensorsmith/sched/bounds.hpp"

namespace tensorsmith::test {

struct WarpTiles {
  std::int64_t warps_i = 1, warps_j = 2, tiles_i = 2, tiles_j = 2, steps = 2;
};

/// A matrix product as warps of 16 x 8 tiles compute it, operands copied to shared memory.
inline State warp_tiled(const Shared<const ComputeDag>& dag, const TensorIntrinsic& intrinsic,
                        const WarpTiles& t) {
  State state = State::initial(dag);
  const auto apply = [&](const Step& step) {
    const auto error = try_apply(state, step);
    REQUIRE(!error);
  };
  const Operation& op = state.operation(2);
  apply(SplitStep{2, 0, op.axes[0].extent, {t.warps_i, t.tiles_i, 2, 8}, true});
  apply(SplitStep{2, 5, op.axes[1].extent, {t.warps_j, t.tiles_j, 4, 2}, true});
  apply(SplitStep{2, 10, op.reduce_axes[0].extent, {t.steps, intrinsic.k}, true});
  // Blocks, warps, lanes; the sum; tiles of a warp, rows eight apart, columns side by side.
  apply(ReorderStep{2, {0, 5, 1, 6, 4, 8, 10, 11, 12, 2, 7, 3, 9}});
  apply(FuseStep{2, {0, 1}});
  apply(FuseStep{2, {1, 2}});
  apply(FuseStep{2, {2, 3}});
  apply(AnnotationStep{2, 0, Annotation::block_x});
  apply(AnnotationStep{2, 1, Annotation::thread_y});
  apply(AnnotationStep{2, 2, Annotation::thread_x});
  apply(CacheReadStep{1, "shared", {2}});
  apply(CacheReadStep{0, "shared", {3}});
  for (const std::int32_t copy : {3, 1}) {
    apply(ComputeAtStep{copy, 4, 3});
    apply(FuseStep{copy, {0, 1}});
    apply(SplitStep{copy, 0, 0, {t.warps_i * t.warps_j, 32}, true});
    apply(AnnotationStep{copy, 1, Annotation::thread_y});
    apply(AnnotationStep{copy, 2, Annotation::thread_x});
  }
  apply(PragmaStep{4, 0, "tensorize$" + std::string(intrinsic.name)});
  const auto bounded = infer_bounds(state);
  REQUIRE(bounded);
  return *bounded;
}

struct WarpProduct {
  const TensorIntrinsic* intrinsic;
  std::string workload;
  WarpTiles tiles;
  std::string loads;  ///< part of the text: how fragments come from shared memory
};

inline const WarpProduct warp_products[] = {
    {&mma_m16n8k16_f16, "gemm:64x32x64:f16", {}, "load_transposed_matrices(b_words"},
    {&mma_m16n8k16_bf16, "gemm:32x64x32:bf16", {1, 2, 1, 4, 1}, "load_matrices(a_words"},
    {&mma_m16n8k16_bf16, "gemm:64x64x64:bf16,tb", {2, 2, 2, 2, 2}, "load_matrices(b_words"},
    {&mma_m16n8k8_tf32, "gemm:32x32x32:f32", {1, 1, 2, 2, 2}, "gathered_word(B"},
    {&mma_m16n8k8_tf32, "gemm:32x32x32:f32,tb", {1, 2, 2, 1, 2}, "load_matrices(b_words"},
    {&mma_m16n8k32_s8, "gemm:32x32x64:i8", {1, 2, 1, 2, 1}, "gathered_word(B"},
    {&mma_m16n8k32_s8, "gemm:64x32x64:i8,tb", {2, 1, 1, 4, 1}, "load_matrices(b_words"}};

}  // namespace tensorsmith::test
