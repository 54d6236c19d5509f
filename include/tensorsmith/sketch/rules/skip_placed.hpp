// SPDX-License-Identifier: Apache-2.0
// SkipPlaced: a stage that another rule has given a place is left alone.
//
// Floor 5. Own design; for rules that place several stages at once and leave the inputs between
// them to others (rules/chain_rows.hpp). Legal for every stage that is inlined or computed at a
// loop.
//     (state, s)  -->  (state, s - 1)
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "tensorsmith/sketch/rule.hpp"

namespace tensorsmith {

struct SkipPlaced {
  static constexpr std::string_view name() { return "skip_placed"; }

  Applicability applicability(const RuleInput& input) const {
    const auto& stage = input.state.stage(static_cast<std::size_t>(input.stage));
    return !stage.is_placeholder && stage.compute_at != ComputeAt::root
               ? Applicability::apply_and_skip_rest
               : Applicability::skip;
  }

  std::vector<Derivation> expand(const RuleInput& input) const {
    return {Derivation{input.state, input.stage - 1}};
  }
};

}  // namespace tensorsmith
