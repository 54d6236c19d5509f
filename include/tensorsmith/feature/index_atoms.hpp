// IndexAtoms: what index forms are sums of: loops, numbered by integers, and quotients, remainders
// and other functions of forms.
//
// Floor 5. Own design. Small and without a pool: features are extracted a hundred thousand times in
// a search. Not here: expressions (ir/affine.hpp does the same for those).
#pragma once

#include <cstdint>
#include <utility>
#include <vector>

#include "tensorsmith/feature/index_form.hpp"
#include "tensorsmith/support/algorithm.hpp"

namespace tensorsmith {

/// div_by and mod_by: a by b, both not constant, b above 0; product: a * b, neither constant.
enum class AtomKind : std::uint8_t {
  loop,
  floordiv,
  floormod,
  min,
  max,
  div_by,
  mod_by,
  product,
  opaque
};

struct IndexAtom {
  AtomKind kind = AtomKind::loop;
  std::int32_t loop = -1;
  std::int64_t divisor = 1;
  IndexForm a, b;  ///< b: of those with two operands; opaque: both, for the loops in them
};

/// The atoms of one program; atom i < loops made so far may be a loop.
class IndexAtoms {
 public:
  std::int32_t loop(std::int32_t id) { return find_or_add({AtomKind::loop, id, 1, {}, {}}); }
  const IndexAtom& operator[](std::int32_t atom) const {
    return atoms_[static_cast<std::size_t>(atom)];
  }

  /// `loop_range(id)` gives the values of a loop; its member bounded(atom or form, range), if there
  /// is one, what else is known. As constant-bound analysis does it: no knowledge of correlations.
  template <class LoopRange>
  IndexRange range(const IndexForm& form, const LoopRange& loop_range) const {
    IndexRange result{form.constant, form.constant};
    for (const IndexTerm& term : form.terms) {
      const IndexRange atom = atom_range(term.atom, loop_range);
      const std::int64_t c = term.coefficient;
      result.min += c * (c >= 0 ? atom.min : atom.max);
      result.max += c * (c >= 0 ? atom.max : atom.min);
    }
    if constexpr (requires { loop_range.bounded(form, result); }) {
      return loop_range.bounded(form, result);
    }
    return result;
  }
  template <class LoopRange>
  IndexRange atom_range(std::int32_t id, const LoopRange& loop_range) const {
    if constexpr (requires { loop_range.bounded(id, IndexRange()); }) {
      return loop_range.bounded(id, unbounded_range(id, loop_range));
    }
    return unbounded_range(id, loop_range);
  }

  bool uses_loop(const IndexForm& form, std::int32_t loop) const {
    for (const IndexTerm& term : form.terms) {
      if (atom_uses_loop(term.atom, loop)) {
        return true;
      }
    }
    return false;
  }
  bool atom_uses_loop(std::int32_t id, std::int32_t loop) const {
    const IndexAtom& atom = (*this)[id];
    return atom.kind == AtomKind::loop ? atom.loop == loop
                                       : uses_loop(atom.a, loop) || uses_loop(atom.b, loop);
  }

  /// floordiv (is_div) or floormod by a positive constant. `full` ranges over all loops.
  template <class LoopRange>
  IndexForm divide(const IndexForm& form, std::int64_t divisor, bool is_div,
                   const LoopRange& full) {
    IndexForm whole, rest, result;
    for (const IndexTerm& term : form.terms) {
      const bool divides = term.coefficient % divisor == 0;
      (divides ? whole : rest)
          .add_term(divides ? term.coefficient / divisor : term.coefficient, term.atom);
    }
    whole.constant = floor_quotient(form.constant, divisor);
    rest.constant = form.constant - whole.constant * divisor;
    const IndexRange left = range(rest, full);
    if (left.min >= 0 && left.max < divisor) {
      return is_div ? whole : rest;
    }
    if (const std::int64_t g = block_of(rest, divisor, full); g > 1) {
      // (g * x + r) div d, 0 <= r < g, g divides d --> x div (d / g); mod: g * (x mod (d / g)) + r
      IndexForm x, r;
      for (const IndexTerm& term : rest.terms) {
        const bool divides = term.coefficient % g == 0;
        (divides ? x : r).add_term(divides ? term.coefficient / g : term.coefficient, term.atom);
      }
      x.constant = floor_quotient(rest.constant, g);
      r.constant = rest.constant - x.constant * g;
      const IndexForm part = divide(x, divisor / g, is_div, full);
      if (is_div && whole == IndexForm{} && r.terms.size() == 1) {
        shortened_.push_back({part, form});
      }
      result.add(is_div ? whole : part, is_div ? 1 : g);
      result.add(is_div ? part : r);
      return result;
    }
    if (is_div) {
      result = whole;
    }
    if (!is_div && rest.terms.size() == 1 && rest.constant == 0 && rest.terms[0].coefficient == 1 &&
        (*this)[rest.terms[0].atom].kind == AtomKind::floormod &&
        (*this)[rest.terms[0].atom].divisor % divisor == 0) {
      rest = IndexForm((*this)[rest.terms[0].atom].a);  // (x mod 12) mod 4 --> x mod 4
    }
    if (is_div && rest.terms.size() == 1 && rest.constant == 0 && rest.terms[0].coefficient == 1 &&
        (*this)[rest.terms[0].atom].kind == AtomKind::floordiv) {
      const IndexAtom inner = (*this)[rest.terms[0].atom];  // (x div 3) div 4 --> x div 12
      result.add(divide(inner.a, divisor * inner.divisor, true, full));
      return result;
    }
    if (!is_div && rest.terms.size() == 1 && rest.constant == 0 && rest.terms[0].coefficient == 1 &&
        (*this)[rest.terms[0].atom].kind == AtomKind::floordiv) {
      const IndexAtom inner = (*this)[rest.terms[0].atom];  // x div 4 mod 7 --> x mod 28 div 4
      return part(inner.a, inner.divisor, divisor, full);
    }
    if (!is_div) {
      reduce(rest, divisor);
    }
    const AtomKind kind = is_div ? AtomKind::floordiv : AtomKind::floormod;
    result.add_term(1, find_or_add({kind, -1, divisor, std::move(rest), {}}));
    return result;
  }
  /// form div `below` mod `length`, as the reference has it: (form mod (below * length)) div below.
  template <class LoopRange>
  IndexForm part(const IndexForm& form, std::int64_t below, std::int64_t length,
                 const LoopRange& full) {
    const IndexRange all = range(form, full);
    if (all.min >= 0 && all.max < below * length) {
      return divide(form, below, true, full);
    }
    if (below == 1 || !is_loop_and_block(form)) {
      const IndexForm rest = divide(form, below * length, false, full);
      return below == 1 ? rest : divide(rest, below, true, full);
    }
    // The reference stops here: it does not see that such an index may be a multiple and a rest.
    IndexForm rest = form;
    reduce(rest, below * length);
    IndexForm modulo, result;
    modulo.add_term(1, find_or_add({AtomKind::floormod, -1, below * length, std::move(rest), {}}));
    result.add_term(1, find_or_add({AtomKind::floordiv, -1, below, std::move(modulo), {}}));
    return result;
  }
  /// Puts together what a fused loop was taken apart into:
  ///     c * b * (f div (a * b)) + c * ((f mod (a * b)) div a)  -->  c * (f div a)
  /// and the same with another `mod` around the first f.
  template <class LoopRange>
  void recombine(IndexForm& form, const LoopRange& full) {
    for (std::size_t low = 0; low < form.terms.size(); ++low) {
      const IndexTerm rest = form.terms[low];
      const Slice inner = slice(rest.atom);
      if (inner.above == 0) {
        continue;
      }
      for (std::size_t high = 0; high < form.terms.size(); ++high) {
        if (form.terms[high].coefficient * inner.below != rest.coefficient * inner.above) {
          continue;
        }
        const Slice outer = slice(form.terms[high].atom);
        if (outer.below != inner.above || !(outer.index == inner.index)) {
          continue;
        }
        IndexForm joined;
        if (outer.above != 0) {
          joined = part(inner.index, inner.below, outer.above / inner.below, full);
        } else {
          joined = inner.below == 1 ? inner.index : divide(inner.index, inner.below, true, full);
        }
        IndexForm result;
        result.constant = form.constant;
        for (std::size_t i = 0; i < form.terms.size(); ++i) {
          if (i == high) {
            result.add(joined, rest.coefficient);
          } else if (i != low) {
            result.add_term(form.terms[i].coefficient, form.terms[i].atom);
          }
        }
        form = std::move(result);
        return recombine(form, full);
      }
    }
  }
  /// Is `quotient` nothing but `form` div some number?
  bool is_quotient(const IndexForm& quotient, const IndexForm& form) const {
    return quotient.terms.size() == 1 && quotient.constant == 0 &&
           (*this)[quotient.terms[0].atom].kind == AtomKind::floordiv &&
           (*this)[quotient.terms[0].atom].a == form;
  }
  /// form div divisor as it stands, nothing taken out of the fraction.
  IndexForm fraction(IndexForm form, std::int64_t divisor) {
    IndexForm result;
    result.add_term(1, find_or_add({AtomKind::floordiv, -1, divisor, std::move(form), {}}));
    return result;
  }
  /// a * b; of two that are not constant, an atom.
  IndexForm product(const IndexForm& a, const IndexForm& b) {
    if (!a.is_constant() && !b.is_constant()) {
      return other(AtomKind::product, a, b);
    }
    IndexForm result;
    result.add(a.is_constant() ? b : a, a.is_constant() ? a.constant : b.constant);
    return result;
  }
  /// What was divided where (c * x + y) div d became x div (d / c) = `quotient`; null: nothing was.
  const IndexForm* before_division(const IndexForm& quotient) const {
    const Shortened* found =
        find_item(shortened_, [&](const Shortened& s) { return s.quotient == quotient; });
    return found != nullptr ? &found->index : nullptr;
  }
  IndexForm other(AtomKind kind, IndexForm a, IndexForm b) {
    IndexForm result;
    result.add_term(1, find_or_add({kind, -1, 1, std::move(a), std::move(b)}));
    return result;
  }

  static std::int64_t floor_quotient(std::int64_t a, std::int64_t b) {
    return a / b - (a % b < 0 ? 1 : 0);  // b > 0
  }

 private:
  template <class LoopRange>
  IndexRange unbounded_range(std::int32_t id, const LoopRange& loop_range) const {
    const IndexAtom& atom = (*this)[id];
    switch (atom.kind) {
    case AtomKind::loop:
      return loop_range(atom.loop);
    case AtomKind::floordiv: {
      const IndexRange a = range(atom.a, loop_range);
      return {floor_quotient(a.min, atom.divisor), floor_quotient(a.max, atom.divisor)};
    }
    case AtomKind::floormod: {
      const IndexRange a = range(atom.a, loop_range);
      if (a.min >= 0) {
        return a.max < atom.divisor ? a : IndexRange{0, atom.divisor - 1};
      }
      return {0, atom.divisor - 1};
    }
    case AtomKind::min:
    case AtomKind::max: {
      const IndexRange a = range(atom.a, loop_range), b = range(atom.b, loop_range);
      return atom.kind == AtomKind::min
                 ? IndexRange{smaller_of(a.min, b.min), smaller_of(a.max, b.max)}
                 : IndexRange{larger_of(a.min, b.min), larger_of(a.max, b.max)};
    }
    case AtomKind::div_by:
    case AtomKind::mod_by:
    case AtomKind::product:
      return range_of_two(atom, range(atom.a, loop_range), range(atom.b, loop_range));
    case AtomKind::opaque:
      break;
    }
    return {0, 0};
  }

  /// Of div_by, mod_by and product; operands are not negative.
  static IndexRange range_of_two(const IndexAtom& atom, IndexRange a, IndexRange b) {
    if (atom.kind == AtomKind::product) {
      return {a.min * b.min, a.max * b.max};
    }
    const std::int64_t least = larger_of<std::int64_t>(b.min, 1), most = larger_of(b.max, least);
    if (atom.kind == AtomKind::div_by) {
      return {floor_quotient(a.min, most), floor_quotient(a.max, least)};
    }
    return a.max < least ? a : IndexRange{0, smaller_of(a.max, most - 1)};
  }
  /// c * x + loop.
  bool is_loop_and_block(const IndexForm& form) const {
    return form.terms.size() == 2 && form.constant == 0 && form.terms[1].coefficient == 1 &&
           (*this)[form.terms[1].atom].kind == AtomKind::loop;
  }
  /// (32 * x + y) mod 21 --> (11 * x + y) mod 21
  static void reduce(IndexForm& form, std::int64_t divisor) {
    for (IndexTerm& term : form.terms) {
      term.coefficient -= floor_quotient(term.coefficient, divisor) * divisor;
    }
    form.constant -= floor_quotient(form.constant, divisor) * divisor;
  }
  /// (index mod above) div below; above 0: no mod.
  struct Slice {
    IndexForm index;
    std::int64_t below = 1, above = 0;
  };
  Slice slice(std::int32_t id) const {
    const IndexAtom& atom = (*this)[id];
    if (atom.kind == AtomKind::floormod) {
      return {atom.a, 1, atom.divisor};
    }
    if (atom.kind != AtomKind::floordiv) {
      return {};
    }
    if (atom.a.terms.size() == 1 && atom.a.constant == 0 && atom.a.terms[0].coefficient == 1) {
      const IndexAtom& inner = (*this)[atom.a.terms[0].atom];
      if (inner.kind == AtomKind::floormod) {
        return {inner.a, atom.divisor, inner.divisor};
      }
    }
    return {atom.a, atom.divisor, 0};
  }
  /// The largest coefficient g that divides `divisor` and all terms but a rest in [0, g); 1 if
  /// none.
  template <class LoopRange>
  std::int64_t block_of(const IndexForm& form, std::int64_t divisor, const LoopRange& full) const {
    std::int64_t best = 1;
    if (form.terms.size() > 2) {
      return best;
    }
    for (const IndexTerm& candidate : form.terms) {
      const std::int64_t g =
          candidate.coefficient < 0 ? -candidate.coefficient : candidate.coefficient;
      if (g <= best || divisor % g != 0) {
        continue;
      }
      IndexForm rest;
      rest.constant = form.constant - floor_quotient(form.constant, g) * g;
      for (const IndexTerm& term : form.terms) {
        if (term.coefficient % g != 0) {
          rest.add_term(term.coefficient, term.atom);
        }
      }
      const IndexRange r = range(rest, full);
      if (r.min >= 0 && r.max < g) {
        best = g;
      }
    }
    return best;
  }
  std::int32_t find_or_add(IndexAtom atom) {
    for (std::size_t i = 0; i < atoms_.size(); ++i) {
      const IndexAtom& other = atoms_[i];
      if (other.kind == atom.kind && other.loop == atom.loop && other.divisor == atom.divisor &&
          other.a == atom.a && other.b == atom.b) {
        return static_cast<std::int32_t>(i);
      }
    }
    atoms_.push_back(std::move(atom));
    return static_cast<std::int32_t>(atoms_.size()) - 1;
  }

  struct Shortened {
    IndexForm quotient, index;
  };
  std::vector<IndexAtom> atoms_;
  std::vector<Shortened> shortened_;
};

}  // namespace tensorsmith
