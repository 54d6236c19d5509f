// RegionBox: which part of a stage its readers need (Ansor reference, ch. 2.5).
//
// Floor 5. Loops around the attach point of the stage are fixed, all others run; what is read
// outside of the tensor does not count. Not here: placement of stages (build_store_program.hpp).
#pragma once

#include <cstdint>
#include <optional>
#include <utility>
#include <vector>

#include "tensorsmith/feature/store_program.hpp"
#include "tensorsmith/support/algorithm.hpp"
#include "tensorsmith/te/compute_dag.hpp"

namespace tensorsmith::detail {

struct RegionBox {
  bool is_known = false;       ///< something reads it
  std::vector<IndexForm> low;  ///< over the fixed loops
  std::vector<std::int64_t> extent;
  std::vector<IndexForm> varying;  ///< the extent over the fixed loops, 0 where it is constant
};

/// Whether the atom depends on no other loops than those in `fixed`.
inline bool is_fixed_atom(const IndexAtoms& atoms, std::int32_t id,
                          const std::vector<std::int32_t>& fixed) {
  const IndexAtom& atom = atoms[id];
  if (atom.kind == AtomKind::loop) {
    return has_item(fixed, atom.loop);
  }
  const auto all = [&](const IndexForm& form) {
    return all_items(form.terms,
                     [&](const IndexTerm& term) { return is_fixed_atom(atoms, term.atom, fixed); });
  };
  return all(atom.a) && all(atom.b);
}

/// An atom x div d that runs, x = fixed + moving. While the fixed loops stand still it begins at
/// (fixed + least of moving) div d and takes that many more values as
///     ((fixed + least) mod d + width of moving) div d.
struct RunningQuotient {
  IndexForm low, more;
};
template <class LoopRange>
std::optional<RunningQuotient> running_quotient(IndexAtoms& atoms, std::int32_t id,
                                                const std::vector<std::int32_t>& fixed,
                                                const LoopRange& full) {
  const IndexAtom atom = atoms[id];
  if (atom.kind != AtomKind::floordiv) {
    return std::nullopt;
  }
  IndexForm still, moving;
  for (const IndexTerm& term : atom.a.terms) {
    (is_fixed_atom(atoms, term.atom, fixed) ? still : moving).add_term(term.coefficient, term.atom);
  }
  if (still.is_constant()) {
    return std::nullopt;
  }
  const IndexRange moves = atoms.range(moving, full);
  still.constant = atom.a.constant + moves.min;
  const std::int64_t width = moves.max - moves.min;
  RunningQuotient result;
  result.low = atoms.divide(still, atom.divisor, true, full);
  const std::int64_t rest = width % atom.divisor;
  IndexForm remainder = atoms.divide(still, atom.divisor, false, full);
  if (atom.divisor == 2) {
    result.more = rest == 1 ? remainder : IndexForm{};  // (x mod 2 + 1) div 2 --> x mod 2
  } else {
    remainder.constant += rest;
    result.more = atoms.divide(remainder, atom.divisor, true, full);
  }
  result.more.constant += width / atom.divisor;
  return result;
}

/// What index vector `v` of `access` reads of `producer` while all loops but `fixed` run.
template <class LoopRange>
RegionBox region_of_read(IndexAtoms& atoms, const FeatureAccess& access, std::size_t v,
                         const Operation& producer, const std::vector<std::int32_t>& fixed,
                         const LoopRange& full) {
  RegionBox read;
  read.is_known = true;
  for (std::size_t dim = 0; dim < access.rank; ++dim) {
    const std::int64_t whole = producer.axes[dim].extent;
    const IndexForm& form = access.indices[v * access.rank + dim];
    IndexForm low, more;  // more: values besides the first
    low.constant = form.constant;
    for (const IndexTerm& term : form.terms) {
      const std::int64_t c = term.coefficient;
      if (atoms[term.atom].kind == AtomKind::opaque) {
        low = more = {};
        more.constant = whole - 1;
        break;
      }
      if (is_fixed_atom(atoms, term.atom, fixed)) {
        low.add_term(c, term.atom);
        continue;
      }
      if (const auto quotient = running_quotient(atoms, term.atom, fixed, full);
          quotient && c > 0) {
        low.add(quotient->low, c);
        more.add(quotient->more, c);
        continue;
      }
      const IndexRange range = atoms.atom_range(term.atom, full);
      low.constant += c * (c >= 0 ? range.min : range.max);
      more.constant += (c >= 0 ? c : -c) * (range.max - range.min);
    }
    std::int64_t width = atoms.range(more, full).max;
    if (low.is_constant()) {
      const std::int64_t high = smaller_of(low.constant + width, whole - 1);
      low.constant = smaller_of(larger_of<std::int64_t>(low.constant, 0), whole - 1);
      width = larger_of<std::int64_t>(high - low.constant, 0);
    }
    more.constant += 1;
    read.low.push_back(std::move(low));
    read.extent.push_back(smaller_of(width, whole - 1) + 1);
    read.varying.push_back(more.is_constant() || width >= whole ? IndexForm{} : std::move(more));
  }
  return read;
}

/// The hull of both; a dimension whose ends differ by more than a constant becomes whole.
inline void merge_region(RegionBox& box, const RegionBox& read, const Operation& producer) {
  if (!box.is_known) {
    box = read;
    return;
  }
  for (std::size_t dim = 0; dim < read.low.size(); ++dim) {
    if (!(read.varying[dim] == box.varying[dim] && read.low[dim] == box.low[dim])) {
      box.varying[dim] = {};
    }
    IndexForm difference = read.low[dim];
    difference.add(box.low[dim], -1);
    if (!difference.is_constant()) {
      box.low[dim] = {};
      box.extent[dim] = producer.axes[dim].extent;
      continue;
    }
    const std::int64_t shift = difference.constant;
    const std::int64_t begin = smaller_of<std::int64_t>(0, shift);
    const std::int64_t end = larger_of(box.extent[dim], shift + read.extent[dim]);
    box.low[dim].constant += begin;
    box.extent[dim] = smaller_of(end - begin, producer.axes[dim].extent);
  }
}

}  // namespace tensorsmith::detail
