// Extents of a stage's loops, as the reference's bound inference has them.
//
// Floor 5. Ansor reference, ch. 2.5, rule 3. Not here: regions (read_region.hpp), the loops that
// are made of them (stage_nests.hpp).
#pragma once

#include <cstdint>
#include <utility>
#include <vector>

#include "tensorsmith/feature/index_atoms.hpp"
#include "tensorsmith/lower/derivation.hpp"
#include "tensorsmith/lower/nest.hpp"
#include "tensorsmith/sched/apply/annotation.hpp"
#include "tensorsmith/support/algorithm.hpp"

namespace tensorsmith::detail {

/// By node: is a loop over threads made of it? Empty if the stage has none.
inline std::vector<bool> thread_bound_nodes(const StageDerivation& d) {
  const auto at = [](std::int32_t node) { return static_cast<std::size_t>(node); };
  std::vector<bool> is_bound(at(d.num_nodes), false);
  bool any_bound = false;
  for (const LeafIterator& leaf : d.leaves) {
    is_bound[at(leaf.node)] = is_thread_annotation(leaf.annotation);
    any_bound = any_bound || is_bound[at(leaf.node)];
  }
  if (!any_bound) {
    return {};
  }
  for (std::size_t i = d.relations.size(); i-- > 0;) {
    const IteratorRelation& r = d.relations[i];
    for (std::int32_t part : r.parts) {
      if (r.is_split) {
        is_bound[at(r.parent)] = is_bound[at(r.parent)] || is_bound[at(part)];
      } else {
        is_bound[at(part)] = is_bound[at(r.parent)];
      }
    }
  }
  return is_bound;
}

/// Extents of a stage's nodes. A split that makes a loop over threads takes its length as it is,
/// so that the stages of one kernel agree on it; the others take no more than there is.
inline std::vector<std::int64_t> loop_extents(const StageDerivation& d,
                                              const std::vector<std::int64_t>& axis_extent) {
  const auto at = [](std::int32_t node) { return static_cast<std::size_t>(node); };
  std::vector<std::int64_t> extent = node_extents(d, axis_extent);
  const std::vector<bool> is_bound = thread_bound_nodes(d);
  if (is_bound.empty()) {
    return extent;
  }
  for (const IteratorRelation& r : d.relations) {
    if (!r.is_split) {
      extent[at(r.parent)] = 1;
      for (std::int32_t part : r.parts) {
        extent[at(r.parent)] *= extent[at(part)];
      }
      continue;
    }
    std::int64_t rest = extent[at(r.parent)];
    const std::size_t n = r.lengths.size();
    for (std::size_t i = 0; i < n; ++i) {
      const std::int32_t part = r.parts[r.inner_to_outer ? n - i : i];
      const std::int64_t length = r.lengths[r.inner_to_outer ? n - 1 - i : i];
      extent[at(part)] = is_bound[at(part)] ? length : smaller_of(length, rest);
      rest = (rest + extent[at(part)] - 1) / extent[at(part)];
    }
    extent[at(r.parts[r.inner_to_outer ? 0 : n])] = rest;
  }
  return extent;
}

/// Extents of a stage of which some change with the loops around it.
struct VaryingExtents {
  std::vector<IndexForm> of_node;  ///< none: all are constant
  bool is_guarded = false;         ///< loops may run further than their axes, guards skip the rest

  bool varies(std::int32_t node) const {
    return !of_node.empty() && !of_node[static_cast<std::size_t>(node)].is_constant();
  }
};

/// From the extents of the axes; `full` ranges over all loops.
template <class LoopRange>
VaryingExtents varying_extents(const StageDerivation& d, std::vector<IndexForm> axes,
                               IndexAtoms& atoms, const LoopRange& full) {
  VaryingExtents result{std::move(axes), false};
  std::vector<IndexForm>& extent = result.of_node;
  const auto at = [](std::int32_t node) { return static_cast<std::size_t>(node); };
  const auto constant = [](std::int64_t value) {
    IndexForm form;
    form.constant = value;
    return form;
  };
  extent.resize(at(d.num_nodes), constant(1));
  const std::vector<bool> is_bound = thread_bound_nodes(d);
  for (const IteratorRelation& r : d.relations) {
    if (!r.is_split) {
      extent[at(r.parent)] = constant(1);
      for (std::int32_t part : r.parts) {
        extent[at(r.parent)] = atoms.product(extent[at(r.parent)], extent[at(part)]);
      }
      continue;
    }
    IndexForm rest = extent[at(r.parent)];
    const std::size_t n = r.lengths.size();
    for (std::size_t i = 0; i < n; ++i) {
      const std::int32_t part = r.parts[r.inner_to_outer ? n - i : i];
      const std::int64_t length = r.lengths[r.inner_to_outer ? n - 1 - i : i];
      if (atoms.range(rest, full).max <= length && (is_bound.empty() || !is_bound[at(part)])) {
        extent[at(part)] = std::move(rest);
        rest = constant(1);
        continue;
      }
      extent[at(part)] = constant(length);
      const bool divides = rest.constant % length == 0 && all_items(rest.terms, [&](auto& term) {
                             return term.coefficient % length == 0;
                           });
      result.is_guarded = result.is_guarded || !divides;
      rest.constant += length - 1;
      const IndexRange values = atoms.range(rest, full);
      const bool is_constant = values.min / length == values.max / length;
      rest = divides || is_constant ? atoms.divide(rest, length, true, full)
                                    : atoms.fraction(std::move(rest), length);
    }
    extent[at(r.parts[r.inner_to_outer ? 0 : n])] = std::move(rest);
  }
  return result;
}

}  // namespace tensorsmith::detail
