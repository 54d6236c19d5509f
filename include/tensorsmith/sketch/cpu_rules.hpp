// SPDX-License-Identifier: Apache-2.0
// The sketch rules of the reference for CPUs, in its order.
//
// Floor 5. Ansor reference, ch. 4.2. A user's rule is asked first:
//     ansor_cpu_rules().preceded_by(MyRule{})
#pragma once

#include <vector>

#include "tensorsmith/sketch/generate.hpp"
#include "tensorsmith/sketch/rule.hpp"
#include "tensorsmith/sketch/rules/add_cache_write.hpp"
#include "tensorsmith/sketch/rules/add_rfactor.hpp"
#include "tensorsmith/sketch/rules/always_inline.hpp"
#include "tensorsmith/sketch/rules/multi_level_tiling.hpp"
#include "tensorsmith/sketch/rules/multi_level_tiling_with_fusion.hpp"
#include "tensorsmith/sketch/rules/simplify_const_tensor.hpp"
#include "tensorsmith/sketch/rules/skip_stage.hpp"

namespace tensorsmith {

using AnsorCpuRules =
    RuleSet<AlwaysInline, SimplifyComputeWithConstTensor, AddRfactor, AddCacheWrite,
            MultiLevelTilingWithFusion, MultiLevelTiling, SkipStage>;

inline AnsorCpuRules ansor_cpu_rules() { return AnsorCpuRules{}; }

#ifdef TENSORSMITH_COMPILED
extern template std::vector<State> generate_sketches(Shared<const ComputeDag> dag,
                                                     const AnsorCpuRules& rules,
                                                     const SketchOptions& options);
#endif

}  // namespace tensorsmith
