// SPDX-License-Identifier: Apache-2.0
// ExpandSums: reductions of a few terms become formulas, beside what is done with them as loops.
//
// Floor 5. Own design. A formula has what elementwise stages have: it is inlined where it is cheap,
// and its vectors run along whatever loop is long. Asked once, in front of every other rule; all
// such reductions of a program are expanded at once, but sums over constant matrices.
//     L[i] += X[i,j] * X[i,j], j in 3; Y[i,j] = X[i,j] / sqrt(L[i])
//         -->  Y[i,j] = X[i,j] / sqrt(0 + X[i,0] * X[i,0] + X[i,1] * X[i,1] + X[i,2] * X[i,2])
#pragma once

#include <cstdint>
#include <string_view>
#include <utility>
#include <vector>

#include "tensorsmith/lower/shape_nest.hpp"
#include "tensorsmith/sketch/grow.hpp"
#include "tensorsmith/sketch/rule.hpp"
#include "tensorsmith/support/algorithm.hpp"

namespace tensorsmith {

struct ExpandSums {
  static constexpr std::string_view name() { return "expand_sums"; }

  Applicability applicability(const RuleInput& input) const {
    const bool applies =
        input.state.steps().empty() && any_item(input.state.dag().operations(), is_short);
    return applies ? Applicability::apply : Applicability::skip;
  }

  std::vector<Derivation> expand(const RuleInput& input) const {
    State state = input.state;
    for (std::size_t stage = 0; stage < state.num_stages(); ++stage) {
      if (is_short(state.operation(stage))) {
        grow(state, ExpandReductionStep{static_cast<std::int32_t>(stage)});
      }
    }
    return {Derivation{std::move(state), input.stage}};
  }

 private:
  static bool is_short(const Operation& op) {
    const std::int64_t terms = num_terms(op);
    return op.outputs.size() == 1 && terms > 0 && terms <= most_written_terms &&
           op.attrs.simplify_const_tensor_indices.empty();
  }
};

}  // namespace tensorsmith
