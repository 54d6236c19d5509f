// SPDX-License-Identifier: Apache-2.0
// MultiLevelTilingWithFusion: tiles a stage and computes it inside its elementwise consumer.
//
// Floor 5. Ansor reference, ch. 4.3. Legal for a stage that needs multi-level tiling and has
// exactly one consumer, reached elementwise and not tiled. Levels 1 and 2 on CPUs; 3, inside the
// threads, on GPUs. Level 1 of a matmul with relu:
//     C: i j k, relu: i j  -->  relu: i.0 j.0 { C: i.0 j.0 i.1 j.1 k.0 i.2 j.2 k.1 i.3 j.3 } i.1
//     j.1
#pragma once

#include <string_view>
#include <vector>

#include "tensorsmith/sketch/collapse.hpp"
#include "tensorsmith/sketch/rule.hpp"
#include "tensorsmith/sketch/stage_query.hpp"
#include "tensorsmith/sketch/tiling.hpp"

namespace tensorsmith {

struct MultiLevelTilingWithFusion {
  static constexpr std::string_view name() { return "multi_level_tiling_with_fusion"; }

  Applicability applicability(const RuleInput& input) const {
    if (!needs_tiling(input.analysis, input.stage) ||
        !untiled_elementwise_consumer(input.state, input.analysis, input.stage)) {
      return Applicability::skip;
    }
    // A cache that is not fused with its copy is of no use.
    return input.options.is_gpu() || has_cache_write(input.state, input.stage)
               ? Applicability::apply_and_skip_rest
               : Applicability::apply;
  }

  std::vector<Derivation> expand(const RuleInput& input) const {
    const auto target = untiled_elementwise_consumer(input.state, input.analysis, input.stage);
    TENSORSMITH_ASSERT(target.has_value(), "expand of a rule that does not apply");
    const std::string& structure = input.options.tiling_structure;
    State tiled = input.state;
    if (input.options.collapse_axes) {
      const std::vector<IdList> runs = collapsible_axes(tiled, input.stage, *target);
      collapse_axes(tiled, input.stage, runs);
      collapse_axes(tiled, *target, runs);
    }
    const std::vector<std::int32_t> splits = tile_stage(tiled, input.stage, structure);
    std::vector<Derivation> derived;
    for (std::int32_t level : {1, 2, 3}) {
      const auto letter = static_cast<std::size_t>(level - 1);
      if ((level == 3) != input.options.is_gpu() || letter >= structure.size() ||
          !is_spatial_level(structure[letter])) {
        continue;
      }
      State state = tiled;
      follow_tiling(state, *target, splits, level);
      const auto last = level * static_cast<std::int32_t>(splits.size()) - 1;
      grow(state, ComputeAtStep{input.stage, *target, last});
      derived.push_back(Derivation{std::move(state), input.stage - 1});
    }
    return derived;
  }
};

}  // namespace tensorsmith
