// SPDX-License-Identifier: Apache-2.0
// MultiLevelTiling: tiles a stage with data reuse.
//
// Floor 5. Ansor reference, ch. 4.3; OSDI 2020 sec. 4.1 ("SSRSRS"). Legal for a stage that needs
// multi-level tiling.
//     i j k  -->  i.0 j.0 i.1 j.1 k.0 i.2 j.2 k.1 i.3 j.3
#pragma once

#include <string_view>
#include <vector>

#include "tensorsmith/sketch/collapse.hpp"
#include "tensorsmith/sketch/rule.hpp"
#include "tensorsmith/sketch/stage_query.hpp"
#include "tensorsmith/sketch/tiling.hpp"

namespace tensorsmith {

struct MultiLevelTiling {
  static constexpr std::string_view name() { return "multi_level_tiling"; }

  Applicability applicability(const RuleInput& input) const {
    return needs_tiling(input.analysis, input.stage) ? Applicability::apply_and_skip_rest
                                                     : Applicability::skip;
  }

  std::vector<Derivation> expand(const RuleInput& input) const {
    State state = input.state;
    if (input.options.collapse_axes) {
      collapse_axes(state, input.stage, collapsible_axes(state, input.stage, -1));
    }
    tile_stage(state, input.stage, input.options.tiling_structure);
    return {Derivation{std::move(state), input.stage - 1}};
  }
};

}  // namespace tensorsmith
