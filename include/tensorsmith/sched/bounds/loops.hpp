// SPDX-License-Identifier: Apache-2.0
// How the iterators of each stage came from its axes: the splits and fuses of the history, in
// pairs.
//
// Floor 3. Ansor reference, ch. 2.5: a state is replayed onto loops where a split makes two loops
// and a fuse takes two. Used by bound inference only; extents are filled in there.
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "tensorsmith/sched/apply/annotation.hpp"
#include "tensorsmith/sched/apply/split.hpp"
#include "tensorsmith/sched/copies.hpp"

namespace tensorsmith::bounds {

/// Splits `whole` into outer and inner, or fuses outer and inner to `whole`. Node ids.
struct LoopRelation {
  bool is_split = true;
  bool by_factor = true;    ///< a split: length is the inner extent, else the outer one
  std::int64_t length = 1;  ///< of a split
  std::int32_t whole = -1, outer = -1, inner = -1;
};

/// Memory scopes by rank (Ansor reference, ch. 2.5, rule 2).
enum class ScopeRank : std::int8_t { by_threads = -1, global = 0, shared = 1, warp = 2, local = 3 };

/// Of a stage; nothing: that of the threads that it is computed by.
inline ScopeRank scope_rank(std::string_view scope) {
  return scope.empty()       ? ScopeRank::by_threads
         : scope == "shared" ? ScopeRank::shared
         : scope == "warp"   ? ScopeRank::warp
         : scope == "local"  ? ScopeRank::local
                             : ScopeRank::global;
}

/// Of memory of a higher rank every block, or every thread, has its own.
constexpr int thread_rank(Annotation annotation) { return is_block_annotation(annotation) ? 0 : 1; }

/// Nodes 0 .. num_axes-1 are the spatial, then the reduction axes.
struct StageLoops {
  std::int32_t num_spatial = 0;  ///< rank of its tensors, of placeholders too
  std::int32_t num_nodes = 0;
  std::vector<LoopRelation> relations;
  std::vector<std::int32_t> leaves;  ///< one node per iterator of the state
  ScopeRank scope = ScopeRank::by_threads;

  StageLoops(std::size_t rank, std::size_t num_axes)
      : num_spatial(static_cast<std::int32_t>(rank)),
        num_nodes(static_cast<std::int32_t>(num_axes)) {
    for (std::int32_t i = 0; i < num_nodes; ++i) {
      leaves.push_back(i);
    }
  }
  void split(std::int32_t at, const LengthList& lengths, bool inner_to_outer) {
    const std::int32_t n = static_cast<std::int32_t>(lengths.size());
    std::int32_t whole = leaves[static_cast<std::size_t>(at)];
    leaves.insert(leaves.begin() + at + 1, lengths.size(), -1);
    for (std::int32_t k = 0; k < n; ++k) {
      LoopRelation relation;
      relation.by_factor = inner_to_outer;
      relation.length = lengths[static_cast<std::size_t>(inner_to_outer ? n - 1 - k : k)];
      relation.whole = whole;
      relation.outer = num_nodes++;
      relation.inner = num_nodes++;
      whole = inner_to_outer ? relation.outer : relation.inner;
      leaves[static_cast<std::size_t>(inner_to_outer ? at + n - k : at + k)] =
          inner_to_outer ? relation.inner : relation.outer;
      relations.push_back(relation);
    }
    leaves[static_cast<std::size_t>(inner_to_outer ? at : at + n)] = whole;
  }
  void fuse(const IdList& ids) {
    if (ids.empty()) {
      leaves.assign(1, num_nodes++);
      return;
    }
    const auto first = static_cast<std::size_t>(ids[0]);
    for (std::size_t i = 1; i < ids.size(); ++i) {
      LoopRelation relation;
      relation.is_split = false;
      relation.outer = leaves[first];
      relation.inner = leaves[first + i];
      relation.whole = leaves[first] = num_nodes++;
      relations.push_back(relation);
    }
    const auto begin = leaves.begin() + ids[0] + 1;
    leaves.erase(begin, begin + static_cast<std::ptrdiff_t>(ids.size()) - 1);
  }
  void reorder(const IdList& after) {
    std::vector<std::int32_t> next;
    for (std::int32_t from : after) {
      next.push_back(leaves[static_cast<std::size_t>(from)]);
    }
    leaves = std::move(next);
  }
};

/// One entry per stage of the state. Linear in the history.
inline std::vector<StageLoops> stage_loops(const State& state) {
  const ComputeDag& dag = *state.initial_dag();
  std::vector<StageLoops> loops;
  for (const Operation& op : dag.operations()) {
    loops.emplace_back(dag.tensor(op.outputs[0]).shape.size(),
                       op.axes.size() + op.reduce_axes.size());
  }
  const std::vector<Step>& steps = state.steps();
  for (const Step& step : steps) {
    const auto id = static_cast<std::size_t>(stage_of(step));
    const auto at = loops.begin() + static_cast<std::ptrdiff_t>(id);
    std::visit(
        [&]([[maybe_unused]] const auto& s) {
          using T = std::decay_t<decltype(s)>;
          if constexpr (std::is_same_v<T, SplitStep>) {
            loops[id].split(s.iterator, s.lengths, s.inner_to_outer);
          } else if constexpr (std::is_same_v<T, FollowSplitStep>) {
            loops[id].split(s.iterator, follow_split_lengths(steps, s), true);
          } else if constexpr (std::is_same_v<T, FollowFusedSplitStep>) {
            loops[id].split(s.iterator, {follow_fused_split_length(steps, s)}, s.factor_or_nparts);
          } else if constexpr (std::is_same_v<T, FuseStep>) {
            loops[id].fuse(s.iterators);
          } else if constexpr (std::is_same_v<T, ReorderStep>) {
            loops[id].reorder(s.after);
          } else if constexpr (std::is_same_v<T, CacheReadStep>) {
            const std::size_t rank =
                rank_of_copy(state, static_cast<std::size_t>(&step - &steps[0]));
            loops.emplace(at + 1, rank, rank);
          } else if constexpr (std::is_same_v<T, CacheWriteStep>) {
            const auto rank = static_cast<std::size_t>(loops[id].num_spatial);
            const std::size_t axes = loops[id].leaves.size();  // nothing was done to it yet
            *at = StageLoops(rank, rank);
            loops.emplace(at, rank, axes);
          } else if constexpr (std::is_same_v<T, ExpandReductionStep>) {
            const auto rank = static_cast<std::size_t>(loops[id].num_spatial);
            *at = StageLoops(rank, rank);
          } else if constexpr (std::is_same_v<T, FactorSumStep>) {
            const auto rank = static_cast<std::size_t>(loops[id].num_spatial);
            const std::size_t left = loops[id].leaves.size() - s.summed.size();
            *at = StageLoops(rank, left);
            loops.emplace(at, s.kept.size(), s.kept.size() + s.summed.size());
          } else if constexpr (std::is_same_v<T, RfactorStep>) {
            const auto rank = static_cast<std::size_t>(loops[id].num_spatial);
            const std::size_t leaves = loops[id].leaves.size();  // fused and split, no more
            *at = StageLoops(rank, rank + 1);
            loops.emplace(at, rank + 1, leaves);
          }
        },
        step);
  }
  for (std::size_t s = 0; s < loops.size(); ++s) {
    loops[s].scope = scope_rank(state.stage(s).scope);
  }
  return loops;
}

}  // namespace tensorsmith::bounds
