// SPDX-License-Identifier: Apache-2.0
// The sketch rules of the native space: the reference's and what it cannot say.
//
// Floor 5. Own design. Each rule beyond the reference's adds sketches and takes none away.
#pragma once

#include <vector>

#include "tensorsmith/sketch/choose.hpp"
#include "tensorsmith/sketch/cpu_rules.hpp"
#include "tensorsmith/sketch/rules/attach_rows.hpp"
#include "tensorsmith/sketch/rules/chain_rows.hpp"
#include "tensorsmith/sketch/rules/expand_sums.hpp"
#include "tensorsmith/sketch/rules/factor_sums.hpp"
#include "tensorsmith/sketch/rules/inline_cheap.hpp"
#include "tensorsmith/sketch/rules/inline_maps.hpp"
#include "tensorsmith/sketch/rules/inline_padding.hpp"
#include "tensorsmith/sketch/rules/keep_rows.hpp"
#include "tensorsmith/sketch/rules/keep_stencils.hpp"
#include "tensorsmith/sketch/rules/pack_computed.hpp"
#include "tensorsmith/sketch/rules/pack_operand.hpp"
#include "tensorsmith/sketch/rules/pack_patches.hpp"
#include "tensorsmith/sketch/rules/skip_placed.hpp"
#include "tensorsmith/sketch/rules/split_phases.hpp"
#include "tensorsmith/sketch/rules/split_sums.hpp"
#include "tensorsmith/sketch/rules/tile_across.hpp"
#include "tensorsmith/sketch/rules/tile_maps.hpp"
#include "tensorsmith/sketch/rules/unroll_rows.hpp"
#include "tensorsmith/sketch/rules/vectorize_sum.hpp"
#include "tensorsmith/sketch/rules/window_rows.hpp"

namespace tensorsmith {

using NativeCpuRules =
    RuleSet<ExpandSums, SkipPlaced, FactorSums, KeepStencils, InlineCheap, InlineMaps, UnrollRows,
            PackComputed, SimplifyComputeWithConstTensor, AddRfactor, SplitSums, AttachRows,
            ChainRows, WindowRows, PackPatches, AddCacheWrite, MultiLevelTilingWithFusion,
            TileAcross, KeepRows, VectorizeSum, SplitPhases, MultiLevelTiling, TileMaps, SkipStage,
            PackOperand, InlinePadding>;

inline NativeCpuRules native_cpu_rules() { return NativeCpuRules{}; }

#ifdef TENSORSMITH_COMPILED
extern template std::vector<State> generate_sketches(Shared<const ComputeDag> dag,
                                                     const NativeCpuRules& rules,
                                                     const SketchOptions& options);
extern template std::vector<State> choose_sketches(Shared<const ComputeDag> dag,
                                                   const NativeCpuRules& rules,
                                                   const SketchOptions& options, std::size_t most,
                                                   const SketchRating& rate);
#endif

}  // namespace tensorsmith
