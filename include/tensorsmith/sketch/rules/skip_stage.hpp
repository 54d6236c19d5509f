// SPDX-License-Identifier: Apache-2.0
// SkipStage: leaves a stage as it is.
//
// Floor 5. Ansor reference, ch. 4.3. Legal always.
//     (state, s)  -->  (state, s - 1)
#pragma once

#include <string_view>
#include <vector>

#include "tensorsmith/sketch/rule.hpp"

namespace tensorsmith {

struct SkipStage {
  static constexpr std::string_view name() { return "skip_stage"; }
  Applicability applicability(const RuleInput&) const { return Applicability::apply; }
  std::vector<Derivation> expand(const RuleInput& input) const {
    return {Derivation{input.state, input.stage - 1}};
  }
};

}  // namespace tensorsmith
