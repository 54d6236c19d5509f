// SPDX-License-Identifier: Apache-2.0
// InlineMaps: a copy in another order (a transposition, a reshape) is not computed into memory; its
// readers read what it reads.
//
// Floor 5. Own design. Legal for a stage that only moves elements. Worth it where nothing is read
// often, so in workloads without products. The copy stays another sketch, unless there are more
// than three of them.
//     T[i, j] = A[j, i];  O[k] = exp(T[k / 64, k % 64])  -->  O[k] = exp(A[k % 64, k / 64])
#pragma once

#include <string_view>
#include <vector>

#include "tensorsmith/sketch/grow.hpp"
#include "tensorsmith/sketch/map_query.hpp"
#include "tensorsmith/sketch/rule.hpp"

namespace tensorsmith {

struct InlineMaps {
  static constexpr std::string_view name() { return "inline_maps"; }

  Applicability applicability(const RuleInput& input) const {
    return !is_inlineable_copy(input)            ? Applicability::skip
           : has_many(input, is_inlineable_copy) ? Applicability::apply_and_skip_rest
                                                 : Applicability::apply;
  }

  std::vector<Derivation> expand(const RuleInput& input) const {
    State state = input.state;
    grow(state, ComputeInlineStep{input.stage});
    return {Derivation{std::move(state), input.stage - 1}};
  }
};

}  // namespace tensorsmith
