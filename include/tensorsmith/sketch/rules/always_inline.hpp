// SPDX-License-Identifier: Apache-2.0
// AlwaysInline: inlines a cheap elementwise producer.
//
// Floor 5. Ansor reference, ch. 4.3. Legal for a compute stage that is no output and has only
// spatial iterators; on CPUs it must be strictly inlineable as well. Own design: no formula becomes
// longer than can be worked with.
//     bias_add[i] = c[i] + b[i];  relu[i] = max(bias_add[i], 0)  -->  relu[i] = max(c[i] + b[i], 0)
#pragma once

#include <string_view>
#include <vector>

#include "tensorsmith/sketch/grow.hpp"
#include "tensorsmith/sketch/rule.hpp"
#include "tensorsmith/sketch/stage_query.hpp"

namespace tensorsmith {

struct AlwaysInline {
  static constexpr std::string_view name() { return "always_inline"; }

  Applicability applicability(const RuleInput& input) const {
    return inlines(input) ? Applicability::apply_and_skip_rest : Applicability::skip;
  }

  static bool inlines(const RuleInput& input) {
    const StageAccess& facts = input.analysis.stage(static_cast<std::uint32_t>(input.stage));
    return is_legal(input) && (input.options.is_gpu() || facts.is_strictly_inlineable);
  }

  /// Whether the stage may be inlined at all, whatever its formula and its readers are.
  static bool is_legal(const RuleInput& input) {
    const StageAccess& facts = input.analysis.stage(static_cast<std::uint32_t>(input.stage));
    const Operation& op = input.state.operation(static_cast<std::size_t>(input.stage));
    return !facts.is_placeholder && !facts.is_output && !facts.is_too_long_to_inline &&
           !has_non_spatial_iterator(input.state, input.stage) && op.outputs.size() == 1 &&
           !op.attrs.never_inline;
  }

  std::vector<Derivation> expand(const RuleInput& input) const {
    State state = input.state;
    grow(state, ComputeInlineStep{input.stage});
    return {Derivation{std::move(state), input.stage - 1}};
  }
};

}  // namespace tensorsmith
