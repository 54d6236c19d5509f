// SPDX-License-Identifier: Apache-2.0
// StreamSums: a thread adds up a column of its own, without tiles or copies; for GPUs.
//
// Floor 5. Own design. Legal for a stage that reduces; worth it where tiles are expected for what
// it reads again (a vector), although every term reads something of its own (a matrix), which a
// copy in shared memory would only keep waiting, and not along the sum, where threads share a row
// (reduce_rows.hpp). The other rules are asked too.
//     y[j] += x[k] * W[k, j]  -->  the same loops, for j = blocks and threads
#pragma once

#include <string_view>
#include <vector>

#include "tensorsmith/sketch/rule.hpp"
#include "tensorsmith/sketch/stage_query.hpp"

namespace tensorsmith {

struct StreamSums {
  static constexpr std::string_view name() { return "stream_sums"; }

  Applicability applicability(const RuleInput& input) const {
    const bool applies = input.options.is_gpu() && is_untouched_sum(input.state, input.stage) &&
                         needs_tiling(input.analysis, input.stage) &&
                         !reads_of_own_terms(input.state, input.stage).empty() &&
                         !reduction_along_rows(input.state, input.stage);
    return applies ? Applicability::apply : Applicability::skip;
  }

  std::vector<Derivation> expand(const RuleInput& input) const {
    return {Derivation{input.state, input.stage - 1}};
  }
};

}  // namespace tensorsmith
