// IndexForm: an index as constant + sum of coefficient * atom.
//
// Floor 5. Own design. A form keeps its terms in the order in which they were added, because the
// reference's stride heuristic reads an index from left to right (Ansor reference, ch. 6.5).
// Not here: what the atoms are (index_atoms.hpp).
#pragma once

#include <cstdint>

#include "tensorsmith/support/small_vector.hpp"

namespace tensorsmith {

struct IndexTerm {
  std::int64_t coefficient;
  std::int32_t atom;
  bool operator==(const IndexTerm&) const = default;
};

struct IndexForm {
  std::int64_t constant = 0;
  SmallVector<IndexTerm, 6> terms;
  bool operator==(const IndexForm&) const = default;

  bool is_constant() const { return terms.empty(); }
  void add_term(std::int64_t coefficient, std::int32_t atom) {
    for (std::size_t i = 0; i < terms.size(); ++i) {
      if (terms[i].atom == atom) {
        terms[i].coefficient += coefficient;
        if (terms[i].coefficient == 0) {
          terms.erase(i);
        }
        return;
      }
    }
    if (coefficient != 0) {
      terms.push_back({coefficient, atom});
    }
  }
  void add(const IndexForm& other, std::int64_t factor = 1) {
    constant += other.constant * factor;
    for (const IndexTerm& term : other.terms) {
      add_term(term.coefficient * factor, term.atom);
    }
  }
};

struct IndexRange {
  std::int64_t min = 0, max = 0;  ///< inclusive
};

}  // namespace tensorsmith
