// guard_form: the guard `index < end` as the reference's simplifier leaves it.
//
// Floor 5. Its rule for `sum < 0`, found from the rows (docs/decisions/0004): with d the greatest
// common divisor of the constant and of all coefficients beyond 1, and `rest` the terms whose
// coefficient is 1 or -1,
//     - where rest lies in (-d, d) it is dropped and the others are divided by d;
//     - where rest is one atom, x div g of modulus m, and d * g divides m, it becomes
//       x div (d * g).
// The first says too much where the rest can be negative; an atom without a modulus counts as one
// of modulus 2^63 - 1.
#pragma once

#include <cstdint>
#include <numeric>  // std::gcd
#include <utility>

#include "tensorsmith/feature/loop_values.hpp"

namespace tensorsmith::detail {

/// d in the comment above, 1 if no coefficient is beyond 1.
inline std::int64_t common_divisor(const IndexForm& sum) {
  std::int64_t divisor = sum.constant;
  bool any = false;
  for (const IndexTerm& term : sum.terms) {
    if (term.coefficient > 1 || term.coefficient < -1) {
      divisor = std::gcd(divisor, term.coefficient);
      any = true;
    }
  }
  return any ? divisor : 1;
}

/// Whether d * g divides the modulus of the atom.
inline bool divides_modulus(const IndexAtoms& atoms, std::int32_t id, std::int64_t d) {
  std::int64_t modulus = INT64_MAX, below = 1;
  const IndexAtom* atom = &atoms[id];
  if (atom->kind == AtomKind::floordiv) {
    below = atom->divisor;
    const IndexForm& inner = atom->a;
    const bool is_atom = inner.terms.size() == 1 && inner.constant == 0;
    atom = is_atom && inner.terms[0].coefficient == 1 ? &atoms[inner.terms[0].atom] : nullptr;
  }
  if (atom != nullptr && atom->kind == AtomKind::floormod) {
    modulus = atom->divisor;
  }
  return modulus % (d * below) == 0;
}

/// `index` < `end`, simplified; nothing is known of the guard itself in `values`.
inline GuardBound guard_form(IndexAtoms& atoms, const IndexForm& index, const IndexForm& end,
                             const LoopValues& values) {
  IndexForm sum = index;
  sum.add(end, -1);
  if (const std::int64_t d = common_divisor(sum); d > 1) {
    IndexForm others, rest;
    others.constant = sum.constant / d;
    for (const IndexTerm& term : sum.terms) {
      const bool divides = term.coefficient % d == 0;
      (divides ? others : rest)
          .add_term(divides ? term.coefficient / d : term.coefficient, term.atom);
    }
    if (const IndexRange r = atoms.range(rest, values); r.min > -d && r.max < d) {
      sum = std::move(others);
    } else if (rest.terms.size() == 1 && rest.terms[0].coefficient == 1 &&
               divides_modulus(atoms, rest.terms[0].atom, d)) {
      others.add(atoms.divide(rest, d, true, values));
      sum = std::move(others);
    }
  }
  const std::int64_t max = -sum.constant - 1;
  sum.constant = 0;
  return {std::move(sum), max};
}

}  // namespace tensorsmith::detail
