// SPDX-License-Identifier: Apache-2.0
// The sketch rules of the native space for GPUs: the reference's and what it cannot say.
//
// Floor 5. Own design (docs/decisions/0009-native-gpu-space.md). For options of
// gpu_sketch_options() with the target's intrinsics.
#pragma once

#include <vector>

#include "tensorsmith/sketch/generate.hpp"
#include "tensorsmith/sketch/gpu_rules.hpp"
#include "tensorsmith/sketch/rules/expand_sums.hpp"
#include "tensorsmith/sketch/rules/reduce_rows.hpp"
#include "tensorsmith/sketch/rules/share_for_tensor_cores.hpp"
#include "tensorsmith/sketch/rules/split_reduction.hpp"
#include "tensorsmith/sketch/rules/stream_sums.hpp"
#include "tensorsmith/sketch/rules/tile_for_tensor_cores.hpp"

namespace tensorsmith {

using NativeGpuRules =
    RuleSet<ExpandSums, SplitReduction, StreamSums, TileForTensorCores, ShareForTensorCores,
            ReduceRows, AddCacheRead, SpecialComputeLocation, AlwaysInline,
            SimplifyComputeWithConstTensor, CrossThreadReduction, AddCacheWrite,
            MultiLevelTilingWithFusion, MultiLevelTiling, SkipStage>;

inline NativeGpuRules native_gpu_rules() { return NativeGpuRules{}; }

#ifdef TENSORSMITH_COMPILED
extern template std::vector<State> generate_sketches(Shared<const ComputeDag> dag,
                                                     const NativeGpuRules& rules,
                                                     const SketchOptions& options);
#endif

}  // namespace tensorsmith
