// SPDX-License-Identifier: Apache-2.0
// The sketch rules of the reference for GPUs (CUDA), in its order.
//
// Floor 5. Ansor reference, ch. 4.2. For options of gpu_sketch_options(); a user's rule is asked
// first, as on CPUs:
//     ansor_gpu_rules().preceded_by(MyRule{})
#pragma once

#include <vector>

#include "tensorsmith/sketch/generate.hpp"
#include "tensorsmith/sketch/rule.hpp"
#include "tensorsmith/sketch/rules/add_cache_read.hpp"
#include "tensorsmith/sketch/rules/add_cache_write.hpp"
#include "tensorsmith/sketch/rules/always_inline.hpp"
#include "tensorsmith/sketch/rules/cross_thread_reduction.hpp"
#include "tensorsmith/sketch/rules/multi_level_tiling.hpp"
#include "tensorsmith/sketch/rules/multi_level_tiling_with_fusion.hpp"
#include "tensorsmith/sketch/rules/simplify_const_tensor.hpp"
#include "tensorsmith/sketch/rules/skip_stage.hpp"
#include "tensorsmith/sketch/rules/special_compute_location.hpp"

namespace tensorsmith {

using AnsorGpuRules = RuleSet<AddCacheRead, SpecialComputeLocation, AlwaysInline,
                              SimplifyComputeWithConstTensor, CrossThreadReduction, AddCacheWrite,
                              MultiLevelTilingWithFusion, MultiLevelTiling, SkipStage>;

inline AnsorGpuRules ansor_gpu_rules() { return AnsorGpuRules{}; }

#ifdef TENSORSMITH_COMPILED
extern template std::vector<State> generate_sketches(Shared<const ComputeDag> dag,
                                                     const AnsorGpuRules& rules,
                                                     const SketchOptions& options);
#endif

}  // namespace tensorsmith
