// SPDX-License-Identifier: Apache-2.0
// KeepStencils: a cheap stage that its reader reads at several places is computed into memory.
//
// Floor 5. Own design (the choice between work twice and a buffer, as schedules of image pipelines
// have it). Legal always; asked for a stage that AlwaysInline inlines, where one reader has several
// reads of it, in a workload without products. The inlined form stays another sketch, unless there
// are more than three such stages: work and code would grow with a power of their number.
//     B[i] = A[i] + A[i+1] + A[i+2];  C[i] = B[i] + B[i+1] + B[i+2]
//         -->  B in memory, whole or a tile of C at a time: 2 + 2 sums an element instead of 8
#pragma once

#include <string_view>
#include <vector>

#include "tensorsmith/sketch/map_query.hpp"
#include "tensorsmith/sketch/rule.hpp"

namespace tensorsmith {

struct KeepStencils {
  static constexpr std::string_view name() { return "keep_stencils"; }

  Applicability applicability(const RuleInput& input) const {
    return !is_shared_stencil(input)            ? Applicability::skip
           : has_many(input, is_shared_stencil) ? Applicability::apply_and_skip_rest
                                                : Applicability::apply;
  }

  std::vector<Derivation> expand(const RuleInput& input) const {
    return {Derivation{input.state, input.stage - 1}};
  }
};

}  // namespace tensorsmith
