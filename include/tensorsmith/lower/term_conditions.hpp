// SPDX-License-Identifier: Apache-2.0
// term_conditions: when a term of a reduction counts, as linear conditions on the axes.
//
// Floor 4. Own design. Zero padding that is inlined leaves a choice in the source of a sum:
//     Y[h] = sum over r of if_then_else(h + r >= 1 && h + r < 15, X[h + r - 1], 0) * W[r]
//     -->  h + r - 1 >= 0  and  14 - h - r >= 0
// So does a transposed convolution, which meets an input element at every s-th tap only:
//     Y[h] = sum over r of if_then_else((h + r) mod 2 == 0, X[(h + r) floordiv 2] * W[r], 0)
//     -->  h + r a multiple of 2  and, with padding,  (h + r) floordiv 2 - 1 >= 0
// Where one of them fails the term is what the reduction starts from, so that nothing is lost if it
// is left out (but 0 * infinity, which is not 0). Not here: what is made of it (plan_padding.hpp).
#pragma once

#include <cstdint>
#include <vector>

#include "tensorsmith/sched/state.hpp"
#include "tensorsmith/support/algorithm.hpp"
#include "tensorsmith/support/compiled.hpp"
#include "tensorsmith/support/floor_div.hpp"

namespace tensorsmith {

/// scale * ((sum of coefficients[a] * axis a + constant) floordiv divisor).
struct TermQuotient {
  std::vector<std::int64_t> coefficients;
  std::int64_t constant = 0, divisor = 1, scale = 1;
};

/// sum of coefficients[a] * axis a + quotients + constant is not negative or, where there is a
/// modulus, a multiple of it; axes of the stage, spatial ones first.
struct TermCondition {
  ExprId comparison;  ///< of the workload's pool; stands at one place of the source only
  std::vector<std::int64_t> coefficients;
  std::int64_t constant = 0;
  std::vector<TermQuotient> quotients = {};  ///< none beside a modulus
  std::int64_t modulus = 0;                  ///< 0 = none

  bool is_about(std::size_t axis) const {
    return coefficients[axis] != 0 || any_item(quotients, [axis](const TermQuotient& quotient) {
             return quotient.coefficients[axis] != 0;
           });
  }
  /// Whether it is true where the axes have these values.
  bool holds(const std::vector<std::int64_t>& axes) const {
    const auto sum = [&axes](const auto& form) {
      std::int64_t value = form.constant;
      for (std::size_t a = 0; a < axes.size(); ++a) {
        value += form.coefficients[a] * axes[a];
      }
      return value;
    };
    std::int64_t value = sum(*this);
    for (const TermQuotient& quotient : quotients) {
      value += quotient.scale * floor_div(sum(quotient), quotient.divisor);
    }
    return modulus > 0 ? value % modulus == 0 : value >= 0;
  }
};

/// Empty for a stage without a reduction, and for one with several results.
TENSORSMITH_INLINE std::vector<TermCondition> term_conditions(const State& state,
                                                              std::size_t stage);

}  // namespace tensorsmith

#ifndef TENSORSMITH_COMPILED
#include "tensorsmith/lower/term_conditions_body.hpp"
#endif
