// SPDX-License-Identifier: Apache-2.0
// SpecialComputeLocation: a cheap producer of a transform by constant matrices is computed in it.
//
// Floor 5. Ansor reference, ch. 4.3 (SpecialComputeLocationGPU); for GPUs. Legal for a stage that
// would be inlined, reads something, and has one consumer, whose operation names loops in
// `simplify_const_tensor_indices`. Inlined, it would be computed once per term of the transform.
//     data_pack: p.0 ci.0 p.1 ci.1 unroll(eps) ...
//         -->  data_pack: p.0 ci.0 p.1 ci.1 { input_tile } unroll(eps) ...
#pragma once

#include <optional>
#include <string_view>
#include <vector>

#include "tensorsmith/sketch/grow.hpp"
#include "tensorsmith/sketch/rule.hpp"
#include "tensorsmith/sketch/rules/always_inline.hpp"
#include "tensorsmith/sketch/stage_query.hpp"

namespace tensorsmith {

struct SpecialComputeLocation {
  static constexpr std::string_view name() { return "special_compute_location"; }

  Applicability applicability(const RuleInput& input) const {
    return place_of(input) ? Applicability::apply_and_skip_rest : Applicability::skip;
  }

  std::vector<Derivation> expand(const RuleInput& input) const {
    const std::optional<IteratorKey> place = place_of(input);
    TENSORSMITH_ASSERT(place.has_value(), "expand of a rule that does not apply");
    State state = input.state;
    grow(state, ComputeAtStep{input.stage, place->stage, place->iterator});
    return {Derivation{std::move(state), input.stage - 1}};
  }

 private:
  /// The last loop in front of the unrolled ones of the consumer.
  static std::optional<IteratorKey> place_of(const RuleInput& input) {
    const StageAccess& facts = input.analysis.stage(static_cast<std::uint32_t>(input.stage));
    const std::vector<std::int32_t> readers = consumers(input.state, input.analysis, input.stage);
    if (facts.producers.empty() || readers.size() != 1 || !AlwaysInline::inlines(input)) {
      return std::nullopt;
    }
    const auto target = static_cast<std::size_t>(readers.front());
    if (input.state.operation(target).attrs.simplify_const_tensor_indices.empty()) {
      return std::nullopt;
    }
    const auto& iterators = input.state.stage(target).iterators;
    std::int32_t first_unrolled = 0;
    for (const auto& it : iterators) {
      if (it.annotation == Annotation::unroll) {
        break;
      }
      ++first_unrolled;
    }
    if (first_unrolled == 0 || first_unrolled == static_cast<std::int32_t>(iterators.size())) {
      return std::nullopt;
    }
    return IteratorKey{readers.front(), first_unrolled - 1};
  }
};

}  // namespace tensorsmith
