// SPDX-License-Identifier: Apache-2.0
// solve_loops: reduction loops of which a condition of the terms leaves one iteration.
//
// Floor 4. Own design. A transposed convolution of stride s meets an input element at every s-th
// tap. Where the loops of the output and of the taps are split by s, the condition is about the
// inner parts alone, and says which tap of s it is: a value, not a loop.
//     h = 2*h.0 + h.1, r = 2*r.0 + r.1, (h + r + 1) mod 2 == 0  -->  r.1 = (-h.1 - 1) mod 2
// So the operation runs as s (in a plane s*s) small convolutions, without zeros in between. Not
// here: what becomes of the value (nest.hpp), how loops are split that way (sketch/rules/).
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "tensorsmith/lower/term_conditions.hpp"
#include "tensorsmith/sched/derivation.hpp"
#include "tensorsmith/support/factorize.hpp"

namespace tensorsmith {

/// Node `node` = (constant + sum of coefficient * axis's residue) mod modulus.
struct SolvedLoop {
  struct Residue {
    std::int32_t axis, node;  ///< spatial; the axis and its node are the same modulo `modulus`
    std::int64_t coefficient;
  };
  ExprId comparison;  ///< true for that value
  std::int32_t node = -1;
  std::int64_t modulus = 1, constant = 0;
  std::vector<Residue> residues;
};

namespace detail {

/// The node that is `axis` modulo `modulus`: the last part of it as far as parts are a multiple of
/// that long; -1 if there is none.
inline std::int32_t residue_node(const StageDerivation& d, const std::vector<std::int64_t>& extent,
                                 std::int32_t axis, std::int64_t modulus) {
  std::int32_t node = axis;
  for (const IteratorRelation& r : d.relations) {
    if (!r.is_split && has_item(r.parts, node)) {
      return node;
    }
    if (r.is_split && r.parent == node) {
      node = r.parts.back();
      if (extent[static_cast<std::size_t>(node)] % modulus != 0) {
        return -1;
      }
    }
  }
  return node;
}

/// Whether the value of `node`, which may be a part of a fused loop, is known when that of `part`,
/// which came from a split, is asked for: values are derived from the last relation to the first.
inline bool is_known_before(const StageDerivation& d, std::int32_t node, std::int32_t part) {
  std::size_t fused_at = d.relations.size(), split_at = 0;
  for (std::size_t i = 0; i < d.relations.size(); ++i) {
    const IteratorRelation& r = d.relations[i];
    if (has_item(r.parts, r.is_split ? part : node)) {
      (r.is_split ? split_at : fused_at) = i;
    }
  }
  return part < d.num_axes || fused_at > split_at;
}

/// One past the last leaf that a node, which may be fused with others, has its value from.
inline std::size_t end_of_leaves(const StageDerivation& d, std::int32_t node) {
  std::vector<bool> is_of(static_cast<std::size_t>(d.num_nodes), false);
  is_of[static_cast<std::size_t>(node)] = true;
  for (const IteratorRelation& r : d.relations) {
    for (std::int32_t part : r.parts) {
      const auto from = static_cast<std::size_t>(r.is_split ? r.parent : part);
      const auto to = static_cast<std::size_t>(r.is_split ? part : r.parent);
      is_of[to] = is_of[to] || is_of[from];
    }
  }
  std::size_t end = d.leaves.size();
  while (end > 0 && !is_of[static_cast<std::size_t>(d.leaves[end - 1].node)]) {
    --end;
  }
  return end;
}

inline std::optional<SolvedLoop> solve_loop(const StageDerivation& d,
                                            const std::vector<std::int64_t>& extent,
                                            std::size_t first_reduction,
                                            const TermCondition& condition) {
  SolvedLoop solved;
  solved.comparison = condition.comparison;
  solved.modulus = condition.modulus;
  std::int64_t inverse = 1;  // of the coefficient of the tap
  for (std::int32_t axis = 0; axis < d.num_axes; ++axis) {
    const std::int64_t coefficient =
        floor_mod(condition.coefficients[static_cast<std::size_t>(axis)], solved.modulus);
    if (coefficient == 0) {
      continue;
    }
    const std::int32_t node = residue_node(d, extent, axis, solved.modulus);
    if (node < 0) {
      return std::nullopt;
    }
    if (axis < d.num_spatial) {
      if (end_of_leaves(d, node) > first_reduction) {
        return std::nullopt;  // the value must be known before the taps run
      }
      solved.residues.push_back({axis, node, coefficient});
      continue;
    }
    const bool is_loop =
        any_item(d.leaves, [node](const LeafIterator& leaf) { return leaf.node == node; });
    if (solved.node >= 0 || !is_loop || extent[static_cast<std::size_t>(node)] != solved.modulus) {
      return std::nullopt;
    }
    solved.node = node;
    while (inverse < solved.modulus && coefficient * inverse % solved.modulus != 1) {
      ++inverse;
    }
    if (inverse == solved.modulus) {
      return std::nullopt;
    }
  }
  if (solved.node < 0 || !all_items(solved.residues, [&](const SolvedLoop::Residue& residue) {
        return is_known_before(d, residue.node, solved.node);
      })) {
    return std::nullopt;
  }
  solved.constant = floor_mod(-inverse * condition.constant, solved.modulus);
  for (SolvedLoop::Residue& residue : solved.residues) {
    residue.coefficient = floor_mod(-inverse * residue.coefficient, solved.modulus);
  }
  return solved;
}

}  // namespace detail

/// `axis_extent`: of all axes.
inline std::vector<SolvedLoop> solve_loops(const StageDerivation& d,
                                           const std::vector<std::int64_t>& axis_extent,
                                           const std::vector<TermCondition>& conditions) {
  std::vector<SolvedLoop> all;
  if (!any_item(conditions, [](const TermCondition& c) { return c.modulus > 1; })) {
    return all;
  }
  const std::vector<std::int64_t> extent = detail::node_extents(d, axis_extent);
  const std::vector<bool> reduces = node_is_reduction(d);
  std::size_t num_left = 0;  // loops of the reduction: one has to stay
  for (const LeafIterator& leaf : d.leaves) {
    num_left += reduces[static_cast<std::size_t>(leaf.node)] ? 1 : 0;
  }
  std::size_t first_reduction = 0;
  while (first_reduction < d.leaves.size() &&
         !reduces[static_cast<std::size_t>(d.leaves[first_reduction].node)]) {
    ++first_reduction;
  }
  for (const TermCondition& condition : conditions) {
    if (condition.modulus <= 1) {
      continue;
    }
    std::optional<SolvedLoop> solved = detail::solve_loop(d, extent, first_reduction, condition);
    const bool is_new = solved && !any_item(all, [&](const SolvedLoop& other) {
                          return other.node == solved->node;
                        });
    if (is_new && num_left > 1) {
      --num_left;
      all.push_back(std::move(*solved));
    }
  }
  return all;
}

/// Leaves out the conditions that the loops of the stage do not see to: congruences that are not
/// solved and, beside such a one, quotients, which no loop is bounded by. The iterators of the
/// state that are values.
inline IdList drop_unsolved(const State& state, std::size_t stage,
                            std::vector<TermCondition>& conditions) {
  const auto is_uneven = [](const TermCondition& c) {
    return c.modulus > 0 || !c.quotients.empty();
  };
  if (!any_item(conditions, is_uneven)) {
    return {};
  }
  const Operation& op = state.operation(stage);
  std::vector<std::int64_t> extents;
  for (const auto* axes : {&op.axes, &op.reduce_axes}) {
    for (const Axis& axis : *axes) {
      extents.push_back(axis.extent);
    }
  }
  const StageDerivation d = derive(state)[stage];
  const std::vector<SolvedLoop> solved = solve_loops(d, extents, conditions);
  const auto is_solved = [&](const TermCondition& c) {
    return any_item(solved,
                    [&](const SolvedLoop& loop) { return loop.comparison == c.comparison; });
  };
  const bool has_rest =
      any_item(conditions, [&](const TermCondition& c) { return c.modulus > 0 && !is_solved(c); });
  std::erase_if(conditions, [&](const TermCondition& c) {
    return c.modulus > 0 ? !is_solved(c) : has_rest && !c.quotients.empty();
  });
  IdList iterators;
  for (const LeafIterator& leaf : d.leaves) {
    if (any_item(solved, [&](const SolvedLoop& loop) { return loop.node == leaf.node; })) {
      iterators.push_back(leaf.iterator);
    }
  }
  return iterators;
}

}  // namespace tensorsmith
