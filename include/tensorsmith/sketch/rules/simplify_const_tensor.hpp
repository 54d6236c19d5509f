// SPDX-License-Identifier: Apache-2.0
// SimplifyComputeWithConstTensor: loops over constant matrices are unrolled, the others tiled once.
//
// Floor 5. Ansor reference, ch. 4.3; for transforms by small constant matrices (Winograd). Legal
// for a stage whose operation names such loops in `simplify_const_tensor_indices`.
//     eps nu p ci r_a r_b, names eps nu r_a r_b
//         -->  p.0 ci.0 p.1 ci.1 unroll(eps) unroll(nu) unroll(r_a) unroll(r_b)
#pragma once

#include <array>
#include <string_view>
#include <vector>

#include "tensorsmith/sketch/grow.hpp"
#include "tensorsmith/sketch/rule.hpp"
#include "tensorsmith/support/algorithm.hpp"

namespace tensorsmith {

struct SimplifyComputeWithConstTensor {
  static constexpr std::string_view name() { return "simplify_compute_with_const_tensor"; }

  Applicability applicability(const RuleInput& input) const {
    return names(input).empty() ? Applicability::skip : Applicability::apply_and_skip_rest;
  }

  std::vector<Derivation> expand(const RuleInput& input) const {
    State state = input.state;
    const auto before = state.stage(static_cast<std::size_t>(input.stage)).iterators;
    std::array<std::vector<std::int32_t>, 2> levels;
    std::vector<std::int32_t> unrolled;
    std::int32_t position = 0;
    for (const auto& it : before) {
      if (has_item(names(input), it.name)) {
        grow(state, AnnotationStep{input.stage, position, Annotation::unroll});
        unrolled.push_back(position++);
        continue;
      }
      TENSORSMITH_ASSERT(it.kind == IteratorKind::spatial,
                         "a reduction over constant matrices is named in the attribute");
      grow(state, split_of(state, input.stage, position, LengthList(1, unknown_length)));
      levels[0].push_back(position++);
      levels[1].push_back(position++);
    }
    order_loops(state, input.stage, levels[0], levels[1], unrolled);
    return {Derivation{std::move(state), input.stage - 1}};
  }

 private:
  static const std::vector<std::string>& names(const RuleInput& input) {
    return input.state.operation(static_cast<std::size_t>(input.stage))
        .attrs.simplify_const_tensor_indices;
  }
};

}  // namespace tensorsmith
