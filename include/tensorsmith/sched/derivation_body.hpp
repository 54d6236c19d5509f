// SPDX-License-Identifier: Apache-2.0
// The definitions of derivation.hpp.
//
// Floor 3. Included by sched/derivation.hpp or compiled once (support/compiled.hpp).
#pragma once

#include <cstdint>
#include <utility>
#include <variant>
#include <vector>

#include "tensorsmith/sched/apply/split.hpp"
#include "tensorsmith/sched/derivation.hpp"

namespace tensorsmith {

TENSORSMITH_INLINE StageDerivation StageDerivation::initial(std::int32_t num_spatial,
                                                            std::int32_t num_reduce) {
  StageDerivation d;
  d.num_spatial = num_spatial;
  d.num_axes = d.num_nodes = num_spatial + num_reduce;
  for (std::int32_t i = 0; i < d.num_axes; ++i) {
    d.leaves.push_back({i, i, Annotation::none});
  }
  return d;
}

TENSORSMITH_INLINE void StageDerivation::split(std::size_t leaf, const LengthList& lengths,
                                               bool inner_to_outer) {
  IteratorRelation relation{true, leaves[leaf].node, {}, lengths, inner_to_outer};
  std::vector<LeafIterator> parts;
  for (std::size_t i = 0; i <= lengths.size(); ++i) {
    relation.parts.push_back(num_nodes);
    parts.push_back({num_nodes++, -1, Annotation::none});
  }
  leaves.erase(leaves.begin() + static_cast<std::ptrdiff_t>(leaf));
  leaves.insert(leaves.begin() + static_cast<std::ptrdiff_t>(leaf), parts.begin(), parts.end());
  relations.push_back(std::move(relation));
}

TENSORSMITH_INLINE void StageDerivation::fuse(std::size_t first, std::size_t count) {
  IteratorRelation relation{false, num_nodes, {}, {}, true};
  for (std::size_t i = 0; i < count; ++i) {
    relation.parts.push_back(leaves[first + i].node);
  }
  const auto begin = leaves.begin() + static_cast<std::ptrdiff_t>(first);
  leaves.erase(begin, begin + static_cast<std::ptrdiff_t>(count));
  leaves.insert(leaves.begin() + static_cast<std::ptrdiff_t>(first),
                LeafIterator{num_nodes++, -1, Annotation::none});
  relations.push_back(std::move(relation));
}

TENSORSMITH_INLINE std::vector<bool> node_is_reduction(const StageDerivation& d) {
  std::vector<bool> reduces(static_cast<std::size_t>(d.num_nodes), false);
  for (std::int32_t a = d.num_spatial; a < d.num_axes; ++a) {
    reduces[static_cast<std::size_t>(a)] = true;
  }
  for (const IteratorRelation& r : d.relations) {
    for (std::int32_t part : r.parts) {
      if (r.is_split) {
        reduces[static_cast<std::size_t>(part)] = reduces[static_cast<std::size_t>(r.parent)];
      } else if (reduces[static_cast<std::size_t>(part)]) {
        reduces[static_cast<std::size_t>(r.parent)] = true;
      }
    }
  }
  return reduces;
}

TENSORSMITH_INLINE std::vector<StageDerivation> derive(const State& state) {
  std::vector<StageDerivation> current;
  for (const Operation& op : state.initial_dag()->operations()) {
    // A placeholder has no loops; its rank is what a cache of it starts from.
    const std::size_t num_spatial = op.is_placeholder()
                                        ? state.initial_dag()->tensor(op.outputs[0]).shape.size()
                                        : op.axes.size();
    current.push_back(StageDerivation::initial(static_cast<std::int32_t>(num_spatial),
                                               static_cast<std::int32_t>(op.reduce_axes.size())));
  }
  for (const Step& step : state.steps()) {
    const auto id = static_cast<std::size_t>(stage_of(step));
    if (const auto* s = std::get_if<SplitStep>(&step)) {
      current[id].split(static_cast<std::size_t>(s->iterator), s->lengths, s->inner_to_outer);
    } else if (const auto* follow = std::get_if<FollowSplitStep>(&step)) {
      current[id].split(static_cast<std::size_t>(follow->iterator),
                        follow_split_lengths(state.steps(), *follow), true);
    } else if (const auto* fused = std::get_if<FollowFusedSplitStep>(&step)) {
      current[id].split(static_cast<std::size_t>(fused->iterator),
                        {follow_fused_split_length(state.steps(), *fused)},
                        fused->factor_or_nparts);
    } else if (const auto* fuse = std::get_if<FuseStep>(&step)) {
      if (fuse->iterators.empty()) {
        // The state forgets the reduction's loops (Ansor reference, ch. 2.3); they are still run.
        current[id].fuse(0, 0);
      } else {
        current[id].fuse(static_cast<std::size_t>(fuse->iterators[0]), fuse->iterators.size());
      }
    } else if (const auto* annotation = std::get_if<AnnotationStep>(&step)) {
      current[id].leaves[static_cast<std::size_t>(annotation->iterator)].annotation =
          annotation->annotation;
    } else if (const auto* reorder = std::get_if<ReorderStep>(&step)) {
      std::vector<LeafIterator> after;
      for (std::int32_t from : reorder->after) {
        after.push_back(current[id].leaves[static_cast<std::size_t>(from)]);
      }
      current[id].leaves = std::move(after);
    } else if (std::holds_alternative<CacheReadStep>(step)) {
      const std::size_t rank =
          rank_of_copy(state, static_cast<std::size_t>(&step - &state.steps()[0]));
      current.insert(current.begin() + static_cast<std::ptrdiff_t>(id) + 1,
                     StageDerivation::initial(static_cast<std::int32_t>(rank), 0));
      current[id + 1].scope = std::get<CacheReadStep>(step).scope;
    } else if (const auto* write = std::get_if<CacheWriteStep>(&step)) {
      // The cache takes over the axes, the old stage starts again as a copy.
      const std::int32_t num_spatial = current[id].num_spatial;
      const std::int32_t num_reduce = current[id].num_axes - num_spatial;
      current[id] = StageDerivation::initial(num_spatial, 0);
      current.insert(current.begin() + static_cast<std::ptrdiff_t>(id),
                     StageDerivation::initial(num_spatial, num_reduce));
      current[id].scope = write->scope;
    } else if (std::holds_alternative<ExpandReductionStep>(step)) {
      const std::string scope = current[id].scope;
      current[id] = StageDerivation::initial(current[id].num_spatial, 0);
      current[id].scope = scope;
    } else if (const auto* factored = std::get_if<FactorSumStep>(&step)) {
      const std::int32_t num_spatial = current[id].num_spatial;
      const auto num_kept = static_cast<std::int32_t>(factored->kept.size());
      const auto num_summed = static_cast<std::int32_t>(factored->summed.size());
      const std::int32_t num_left = current[id].num_axes - num_spatial - num_summed;
      const std::string scope = current[id].scope;
      current[id] = StageDerivation::initial(num_spatial, num_left);
      current[id].scope = scope;
      current.insert(current.begin() + static_cast<std::ptrdiff_t>(id),
                     StageDerivation::initial(num_kept, num_summed));
    } else if (std::holds_alternative<RfactorStep>(step)) {
      // Only one fuse and one split of reduction axes may come before: one leaf becomes spatial.
      const std::int32_t num_spatial = current[id].num_spatial;
      const auto num_leaves = static_cast<std::int32_t>(current[id].leaves.size());
      current[id] = StageDerivation::initial(num_spatial, 1);
      current.insert(current.begin() + static_cast<std::ptrdiff_t>(id),
                     StageDerivation::initial(num_spatial + 1, num_leaves - num_spatial - 1));
    }
  }
  for (std::size_t s = 0; s < current.size(); ++s) {
    const auto& iterators = state.stage(s).iterators;
    for (std::size_t i = 0; i < current[s].leaves.size(); ++i) {
      const bool is_known = state.stage(s).is_placeholder || i < iterators.size();
      current[s].leaves[i].iterator = is_known ? static_cast<std::int32_t>(i) : -1;
      if (i < iterators.size()) {
        current[s].leaves[i].annotation = iterators[i].annotation;
      }
    }
  }
  return current;
}

namespace detail {

TENSORSMITH_INLINE std::vector<std::int64_t>
node_extents(const StageDerivation& d, const std::vector<std::int64_t>& axis_extent) {
  std::vector<std::int64_t> extent(static_cast<std::size_t>(d.num_nodes), 1);
  for (std::size_t a = 0; a < axis_extent.size(); ++a) {
    extent[a] = axis_extent[a];
  }
  const auto at = [&](std::int32_t node) -> std::int64_t& {
    return extent[static_cast<std::size_t>(node)];
  };
  for (const IteratorRelation& r : d.relations) {
    if (!r.is_split) {
      std::int64_t product = 1;
      for (std::int32_t part : r.parts) {
        product *= at(part);
      }
      at(r.parent) = product;
      continue;
    }
    std::int64_t rest = at(r.parent);
    const std::size_t n = r.lengths.size();
    for (std::size_t i = 0; i < n; ++i) {
      const std::size_t part = r.inner_to_outer ? n - i : i;
      const std::int64_t length = r.lengths[r.inner_to_outer ? n - 1 - i : i];
      const std::int64_t taken = length < rest ? length : rest;
      at(r.parts[part]) = taken;
      rest = (rest + taken - 1) / taken;
    }
    at(r.parts[r.inner_to_outer ? 0 : n]) = rest;
  }
  return extent;
}

}  // namespace detail

TENSORSMITH_INLINE std::int32_t axis_of_node(const StageDerivation& d, std::int32_t node) {
  for (std::size_t i = d.relations.size(); i-- > 0;) {
    const IteratorRelation& r = d.relations[i];
    for (std::int32_t part : r.parts) {
      if (r.is_split && part == node) {
        node = r.parent;
        break;
      }
    }
  }
  return node < d.num_axes ? node : -1;
}

}  // namespace tensorsmith
