// RegionBox: which part of a stage its readers need (Ansor reference, ch. 2.5).
//
// Floor 5. Loops around the attach point of the stage are fixed, all others run; what is read
// outside of the tensor does not count. Not here: placement of stages (build_store_program.hpp).
#pragma once

#include <cstdint>
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

/// What index vector `v` of `access` reads of `producer` while all loops but `fixed` run.
template <class LoopRange>
RegionBox region_of_read(const IndexAtoms& atoms, const FeatureAccess& access, std::size_t v,
                         const Operation& producer, const std::vector<std::int32_t>& fixed,
                         const LoopRange& full) {
  RegionBox read;
  read.is_known = true;
  for (std::size_t dim = 0; dim < access.rank; ++dim) {
    const std::int64_t whole = producer.axes[dim].extent;
    const IndexForm& form = access.indices[v * access.rank + dim];
    IndexForm low;
    low.constant = form.constant;
    std::int64_t width = 0;
    for (const IndexTerm& term : form.terms) {
      if (atoms[term.atom].kind == AtomKind::opaque) {
        low = {};
        width = whole - 1;
        break;
      }
      if (is_fixed_atom(atoms, term.atom, fixed)) {
        low.add_term(term.coefficient, term.atom);
        continue;
      }
      const IndexRange range = atoms.atom_range(term.atom, full);
      const std::int64_t c = term.coefficient;
      low.constant += c * (c >= 0 ? range.min : range.max);
      width += (c >= 0 ? c : -c) * (range.max - range.min);
    }
    if (low.is_constant()) {
      const std::int64_t high = smaller_of(low.constant + width, whole - 1);
      low.constant = smaller_of(larger_of<std::int64_t>(low.constant, 0), whole - 1);
      width = larger_of<std::int64_t>(high - low.constant, 0);
    }
    read.low.push_back(std::move(low));
    read.extent.push_back(smaller_of(width, whole - 1) + 1);
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
