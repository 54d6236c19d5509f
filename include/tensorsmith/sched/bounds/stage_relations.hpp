// SPDX-License-Identifier: Apache-2.0
// StageRelations: how the loops of a stage come from its axes, two loops at a time.
//
// Floor 3. A split into several parts is several splits into two, a fuse of several loops several
// fuses of two, as the reference makes them; an axis that is a loop itself is shifted to begin at
// 0. Not here: ranges (range_inference.hpp).
#pragma once

#include <cstdint>
#include <utility>
#include <vector>

#include "tensorsmith/sched/apply/annotation.hpp"
#include "tensorsmith/sched/derivation.hpp"

namespace tensorsmith::detail {

enum class RelationKind : std::uint8_t {
  split_by_factor,  ///< whole --> outer, inner of `length`
  split_in_parts,   ///< whole --> outer of `length`, inner
  fuse,             ///< outer, inner --> whole
  shift             ///< whole --> inner, which begins at 0
};

struct PairRelation {
  RelationKind kind = RelationKind::fuse;
  std::int32_t whole = -1, outer = -1, inner = -1;
  std::int64_t length = 1;

  bool is_split() const { return kind <= RelationKind::split_in_parts; }
};

/// Nodes 0 .. num_axes - 1 are the axes, spatial first; then those of the derivation.
struct StageRelations {
  std::int32_t num_nodes = 0;
  std::vector<PairRelation> relations;
  std::vector<std::int32_t> leaves;   ///< by leaf of the derivation; shifted axes in their place
  std::vector<std::int32_t> made;     ///< nodes in the order in which they were made
  std::vector<std::int32_t> singles;  ///< nodes of one iteration that come from no axis
  std::vector<bool> is_thread;        ///< by node: a loop over threads is made of it
};

inline StageRelations stage_relations(const StageDerivation& d) {
  StageRelations result;
  result.num_nodes = d.num_nodes;
  for (std::int32_t a = 0; a < d.num_axes; ++a) {
    result.made.push_back(a);
  }
  const auto relate = [&](PairRelation relation) {
    if (relation.is_split()) {
      result.made.push_back(relation.outer);
      result.made.push_back(relation.inner);
    } else {
      result.made.push_back(relation.whole);
    }
    result.relations.push_back(relation);
  };
  std::vector<std::pair<std::int32_t, std::int32_t>> same;  // a fuse of one loop is that loop
  const auto resolved = [&](std::int32_t node) {
    for (const auto& [name, meant] : same) {
      node = node == name ? meant : node;
    }
    return node;
  };
  for (const IteratorRelation& r : d.relations) {
    const std::size_t n = r.lengths.size();
    if (r.is_split) {
      std::int32_t whole = resolved(r.parent);
      for (std::size_t i = 0; i < n; ++i) {
        const bool is_last = i + 1 == n;
        PairRelation pair;
        pair.whole = whole;
        if (r.inner_to_outer) {
          pair.kind = RelationKind::split_by_factor;
          pair.length = r.lengths[n - 1 - i];
          pair.inner = r.parts[n - i];
          pair.outer = is_last ? r.parts[0] : result.num_nodes++;
          whole = pair.outer;
        } else {
          pair.kind = RelationKind::split_in_parts;
          pair.length = r.lengths[i];
          pair.outer = r.parts[i];
          pair.inner = is_last ? r.parts[n] : result.num_nodes++;
          whole = pair.inner;
        }
        relate(pair);
      }
      if (n == 0) {
        same.emplace_back(r.parts[0], whole);
      }
      continue;
    }
    if (r.parts.empty()) {
      result.singles.push_back(r.parent);
      result.made.push_back(r.parent);
    } else if (r.parts.size() == 1) {
      same.emplace_back(r.parent, resolved(r.parts[0]));
    }
    for (std::size_t i = 1; i < r.parts.size(); ++i) {
      PairRelation pair;
      pair.outer = i == 1 ? resolved(r.parts[0]) : result.relations.back().whole;
      pair.inner = resolved(r.parts[i]);
      pair.whole = i + 1 == r.parts.size() ? r.parent : result.num_nodes++;
      relate(pair);
    }
  }
  const auto at = [](std::int32_t node) { return static_cast<std::size_t>(node); };
  std::vector<std::int32_t> threads;
  for (const LeafIterator& leaf : d.leaves) {
    const bool is_thread = is_thread_annotation(leaf.annotation);
    std::int32_t node = resolved(leaf.node);
    if (is_thread) {
      threads.push_back(node);
    } else if (node < d.num_axes) {
      const std::int32_t shifted = result.num_nodes++;
      result.relations.push_back({RelationKind::shift, node, -1, shifted, 1});
      node = shifted;
    }
    result.leaves.push_back(node);
  }
  result.is_thread.assign(at(result.num_nodes), false);
  for (std::int32_t node : threads) {
    result.is_thread[at(node)] = true;
  }
  for (std::size_t i = result.relations.size(); i-- > 0;) {
    const PairRelation& r = result.relations[i];
    if (r.is_split()) {
      result.is_thread[at(r.whole)] =
          result.is_thread[at(r.outer)] || result.is_thread[at(r.inner)];
    } else if (r.kind == RelationKind::fuse) {
      result.is_thread[at(r.outer)] = result.is_thread[at(r.inner)] = result.is_thread[at(r.whole)];
    } else {
      result.is_thread[at(r.whole)] = result.is_thread[at(r.inner)];
    }
  }
  return result;
}

}  // namespace tensorsmith::detail
