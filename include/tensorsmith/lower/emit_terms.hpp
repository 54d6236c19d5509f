// SPDX-License-Identifier: Apache-2.0
// When the terms of a reduction count, in the loops of one nest: values of loops, linear forms.
//
// Floor 4. Part of emit.hpp. Not here: what the run makes of the forms (plan_padding.hpp).
#pragma once

#include "tensorsmith/lower/emit_context.hpp"

namespace tensorsmith::detail {

/// Takes the loops that have one iteration by a condition out of the nest.
inline void EmitContext::take_solved(Emission& e, const std::vector<TermCondition>& conditions) {
  StageDerivation& d = e.nest.derivation;
  for (SolvedLoop& loop : solve_loops(d, e.nest.axis_extent, conditions)) {
    std::size_t leaf = 0;
    while (d.leaves[leaf].node != loop.node) {
      ++leaf;
    }
    const IteratorKey place{e.nest.stage, d.leaves[leaf].iterator};
    if (state_.attach_map().iterator_to_stages.count(place) == 0) {
      d.leaves.erase(d.leaves.begin() + static_cast<std::ptrdiff_t>(leaf));
      e.solved.push_back(loop.comparison);
      e.nest.solved.push_back(std::move(loop));
    }
  }
}

/// What must not be negative, over the placeholders of the leaves.
inline Affine EmitContext::form_of(const Nest& nest, const TermCondition& condition) {
  const auto sum = [&](const auto& linear) {
    Affine form;
    form.constant = linear.constant;
    for (std::size_t a = 0; a < linear.coefficients.size(); ++a) {
      form.add(nest.axis_value[a], linear.coefficients[a]);
      if (a < nest.axis_base.size()) {
        form.add(nest.axis_base[a], linear.coefficients[a]);
      }
    }
    return form;
  };
  Affine form = sum(condition);
  for (const TermQuotient& quotient : condition.quotients) {
    const ExprId divisor = program_.pool.int_imm(quotient.divisor);
    form.add(affine(program_.pool.floordiv(expr(sum(quotient)), divisor)), quotient.scale);
  }
  return form;
}

}  // namespace tensorsmith::detail
