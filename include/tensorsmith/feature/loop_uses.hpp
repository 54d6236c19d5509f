// SPDX-License-Identifier: Apache-2.0
// LoopUses: which loops of a program the accesses of its stages depend on, by numbers alone.
//
// Floor 5. Own design. The same that the simplified expressions of a StoreProgram say
// (store_program.hpp), for programs that are made of splits, fuses and sums; there are none for
// others: who asks then builds the stores. Loops of one iteration are left out unless they are
// bound to threads.
#pragma once

#include <cstdint>
#include <optional>
#include <utility>
#include <vector>

#include "tensorsmith/feature/loop_forms.hpp"
#include "tensorsmith/feature/plain_loops.hpp"
#include "tensorsmith/feature/read_region.hpp"
#include "tensorsmith/feature/stage_reads.hpp"
#include "tensorsmith/sched/apply/annotation.hpp"
#include "tensorsmith/sched/bounds/propagate.hpp"
#include "tensorsmith/support/sort.hpp"

namespace tensorsmith::detail {

struct CountedLoop {
  std::int64_t extent = 1;
  Annotation annotation = Annotation::none;
};

struct CountedAccess {
  TensorId tensor;
  LoopSet loops, unsure;  ///< it depends on; it may depend on
};

struct CountedStore {
  TensorId tensor;
  double float_ops = 0;
  bool is_shared = false;               ///< the tensor lies in shared memory
  std::size_t num_loops = 0;            ///< the outer ones of its stage's nest that are around it
  std::vector<CountedAccess> accesses;  ///< the stored tensor first
};

class LoopUses {
 public:
  struct Stage {
    bool is_computed = false;
    bool is_across_threads = false;   ///< threads share a sum
    std::vector<std::uint32_t> nest;  ///< loops around its stores, outermost first
    std::vector<CountedStore> stores;
  };

  /// Bounds must be inferred.
  static std::optional<LoopUses> of(const State& state) {
    LoopUses uses(state);
    return uses.run() ? std::optional(std::move(uses)) : std::nullopt;
  }

  const std::vector<CountedLoop>& loops() const { return loops_; }
  const Stage& stage(std::size_t s) const { return stages_[s]; }
  /// The last store to each buffer, in the order of the first ones.
  std::vector<std::pair<std::size_t, std::size_t>> order() const {
    std::vector<std::pair<std::size_t, std::size_t>> found;
    for (std::size_t s = 0; s < stages_.size(); ++s) {
      if (stages_[s].is_computed && state_->stage(s).compute_at == ComputeAt::root) {
        append(s, found);
      }
    }
    return found;
  }

 private:
  /// What other stages need of a stage.
  struct Work {
    std::vector<std::size_t> inside;  ///< loops of the nest at and outside of an iterator
    std::vector<StageRead> reads;     ///< of all its values
  };

  explicit LoopUses(const State& state)
      : state_(&state), dag_(&state.dag()), stages_(state.num_stages()), work_(state.num_stages()) {
  }

  bool run() {
    if (!state_->has_bounds() || !has_plain_loops(*state_)) {
      return false;
    }
    const std::vector<bounds::StageLoops> loops = bounds::stage_loops(*state_);
    for (std::size_t s = stages_.size(); s-- > 0;) {
      const auto& stage = state_->stage(s);
      if (!stage.is_placeholder && stage.compute_at != ComputeAt::inlined && !place(s, loops[s])) {
        return false;
      }
    }
    return true;
  }

  bool place(std::size_t s, const bounds::StageLoops& loops) {
    Stage& made = stages_[s];
    made.is_computed = true;
    LoopSet around;
    if (!find_nest(s, around)) {
      return false;
    }
    const bounds::ScopeRank scope = scope_of(s, loops.scope);
    const Operation& op = dag_->operation(s);
    std::vector<std::int64_t> extents(static_cast<std::size_t>(loops.num_nodes), 1);
    std::vector<LoopForm> axes(op.axes.size() + op.reduce_axes.size());
    if (!find_region(s, standing(around, scope), around, extents, axes)) {
      return false;
    }
    for (std::size_t a = 0; a < op.reduce_axes.size(); ++a) {
      extents[op.axes.size() + a] = op.reduce_axes[a].extent;
    }
    bounds::pass_down(loops, state_->stage(s), extents);
    return make_axes(s, loops, extents, scope, axes) &&
           read_bodies(s, axes, scope == bounds::ScopeRank::shared);
  }

  /// The loops around its place.
  bool find_nest(std::size_t s, LoopSet& around) {
    if (state_->stage(s).compute_at != ComputeAt::iterator) {
      return true;
    }
    const auto& map = state_->attach_map().stage_to_iterator;
    const auto found = map.find(static_cast<std::int32_t>(s));
    if (found == map.end()) {
      return false;
    }
    const auto target = static_cast<std::size_t>(found->second.stage);
    const auto leaf = static_cast<std::size_t>(found->second.iterator);
    if (target <= s || !stages_[target].is_computed || stages_[target].is_across_threads ||
        leaf >= work_[target].inside.size()) {
      return false;
    }
    const std::vector<std::uint32_t>& nest = stages_[target].nest;
    stages_[s].nest.assign(nest.begin(),
                           nest.begin() + static_cast<std::ptrdiff_t>(work_[target].inside[leaf]));
    for (const std::uint32_t loop : stages_[s].nest) {
      around.add(loop);
    }
    return true;
  }
  bounds::ScopeRank scope_of(std::size_t s, bounds::ScopeRank own) const {
    if (own != bounds::ScopeRank::by_threads) {
      return own;
    }
    bounds::ScopeRank scope = bounds::ScopeRank::global;
    for (const std::uint32_t loop : stages_[s].nest) {
      if (is_thread_annotation(loops_[loop].annotation)) {
        scope = larger_of(scope, is_block_annotation(loops_[loop].annotation)
                                     ? bounds::ScopeRank::shared
                                     : bounds::ScopeRank::local);
      }
    }
    return scope;
  }
  /// The loops that stand still while one region is held.
  LoopSet standing(const LoopSet& around, bounds::ScopeRank scope) const {
    LoopSet loops;
    for (std::uint32_t loop = 0; loop < loops_.size(); ++loop) {
      const Annotation annotation = loops_[loop].annotation;
      const bool stands = is_thread_annotation(annotation)
                              ? static_cast<int>(scope) > bounds::thread_rank(annotation)
                              : around.has(loop);
      if (stands) {
        loops.add(loop);
      }
    }
    return loops;
  }

  /// What the readers of `s` read of it: where it begins, and how much.
  bool find_region(std::size_t s, const LoopSet& stands, const LoopSet& around,
                   std::vector<std::int64_t>& extents, std::vector<LoopForm>& axes) const {
    const Operation& op = dag_->operation(s);
    std::vector<ReadRegion> regions(op.axes.size());
    for (std::size_t r = s + 1; r < stages_.size(); ++r) {
      for (const StageRead& read : work_[r].reads) {
        for (std::size_t d = 0; dag_->tensor(read.tensor).operation == s && d < regions.size();
             ++d) {
          if (!regions[d].add(read.indices[d], op.axes[d].extent, stands, around)) {
            return false;
          }
        }
      }
    }
    for (std::size_t d = 0; d < regions.size(); ++d) {
      extents[d] = regions[d].is_read() ? regions[d].extent() : op.axes[d].extent;
      if (extents[d] > op.axes[d].extent) {
        return false;
      }
      axes[d] = regions[d].begin();
    }
    return true;
  }

  /// Its own loops, and what its axes are by them.
  bool make_axes(std::size_t s, const bounds::StageLoops& loops,
                 const std::vector<std::int64_t>& extents, bounds::ScopeRank scope,
                 std::vector<LoopForm>& axes) {
    const auto& iterators = state_->stage(s).iterators;
    std::vector<LoopForm> forms(extents.size());
    std::vector<std::uint32_t> gathering;  // of one thread, where threads share a sum
    stages_[s].is_across_threads = any_item(iterators, [](const auto& it) {
      return is_thread_annotation(it.annotation) && it.kind != IteratorKind::spatial;
    });
    for (std::size_t leaf = 0; leaf < iterators.size(); ++leaf) {
      const auto node = static_cast<std::size_t>(loops.leaves[leaf]);
      const bool is_thread = is_thread_annotation(iterators[leaf].annotation);
      // Threads share what is theirs alone.
      if (iterators[leaf].extent != extents[node] ||
          (is_thread && scope > bounds::ScopeRank::shared)) {
        return false;
      }
      if (extents[node] != 1 || is_thread) {
        const auto loop = static_cast<std::uint32_t>(loops_.size());
        if (loop >= LoopSet::most) {
          return false;
        }
        loops_.push_back({extents[node], iterators[leaf].annotation});
        const bool gathers = stages_[s].is_across_threads && !is_thread &&
                             iterators[leaf].kind != IteratorKind::spatial;
        (gathers ? gathering : stages_[s].nest).push_back(loop);
        if (extents[node] != 1) {
          forms[node] = LoopForm(loop, extents[node]);
        }
      }
      work_[s].inside.push_back(stages_[s].nest.size());
    }
    stages_[s].nest.insert(stages_[s].nest.end(), gathering.begin(), gathering.end());
    for (std::size_t i = loops.relations.size(); i-- > 0;) {
      const bounds::LoopRelation& r = loops.relations[i];
      const std::size_t whole = bounds::node(r.whole), outer = bounds::node(r.outer),
                        inner = bounds::node(r.inner);
      if (r.is_split) {
        forms[whole].add(forms[outer], extents[inner]);
        forms[whole].add(forms[inner], 1);
      } else {
        // Its own condition says that the outer part stays 0, to the stages inside nothing does.
        if (extents[outer] == 1 && extents[inner] != 1 && forms[whole].last() >= extents[inner] &&
            holds_stages(*state_, s)) {
          return false;
        }
        forms[whole].unfuse(extents[outer], extents[inner], forms[outer], forms[inner]);
      }
    }
    for (std::size_t a = 0; a < axes.size(); ++a) {
      axes[a].add(forms[a], 1);
    }
    return true;
  }

  bool read_bodies(std::size_t s, const std::vector<LoopForm>& axes, bool is_shared) {
    Stage& stage = stages_[s];
    const Operation& op = dag_->operation(s);
    StageReads reads(*state_, s, axes);
    CountedAccess place;
    for (std::size_t a = 0; a < op.axes.size(); ++a) {
      add_uses(axes[a], place);
    }
    // What a thread has of a shared sum is one element.
    const CountedAccess own = stage.is_across_threads ? CountedAccess{} : place;
    for (std::size_t k = 0; k < op.outputs.size(); ++k) {
      std::optional<StageReads::Value> value = reads.of(k);
      if (!value) {
        return false;
      }
      CountedStore store{op.outputs[k],
                         value->float_ops,
                         is_shared && !stage.is_across_threads,
                         stage.nest.size(),
                         {own}};
      store.accesses[0].tensor = store.tensor;
      for (const TensorId result : value->of_results) {
        store.accesses.push_back(own);
        store.accesses.back().tensor = result;
      }
      for (StageRead& read : value->reads) {
        CountedAccess* access = find_item(
            store.accesses, [&](const CountedAccess& one) { return one.tensor == read.tensor; });
        if (access == nullptr) {
          store.accesses.push_back({read.tensor, {}, {}});
          access = &store.accesses.back();
        }
        for (const LoopForm& index : read.indices) {
          add_uses(index, *access);
        }
        work_[s].reads.push_back(std::move(read));
      }
      stage.stores.push_back(std::move(store));
    }
    if (stage.is_across_threads) {
      // A thread stores what it gathers, if it has more than one term; then one stores the result.
      const auto& iterators = state_->stage(s).iterators;
      const bool gathers = any_item(iterators, [](const auto& it) {
        return !is_thread_annotation(it.annotation) && it.kind != IteratorKind::spatial;
      });
      stage.stores.resize(gathers ? op.outputs.size() : 0);
      for (const TensorId result : op.outputs) {
        stage.stores.push_back(
            {result, 0, is_shared, work_[s].inside.back(), {place, CountedAccess{}}});
        stage.stores.back().accesses[0].tensor = result;
      }
    }
    return true;
  }
  static void add_uses(const LoopForm& index, CountedAccess& access) {
    for (const LoopPart& part : index.parts()) {
      access.loops |= part.sure;
      access.unsure |= part.maybe;
    }
  }

  void append(std::size_t s, std::vector<std::pair<std::size_t, std::size_t>>& found) const {
    const auto put = [&] {
      for (std::size_t k = 0; k < stages_[s].stores.size(); ++k) {
        found.emplace_back(s, k);
      }
    };
    bool is_put = false;
    const auto& iterators = state_->stage(s).iterators;
    for (std::size_t i = 0; i < iterators.size(); ++i) {
      if (!is_put && iterators[i].kind != IteratorKind::spatial) {
        put();
        is_put = true;
      }
      const auto attached = state_->attach_map().iterator_to_stages.find(
          {static_cast<std::int32_t>(s), static_cast<std::int32_t>(i)});
      if (attached != state_->attach_map().iterator_to_stages.end()) {
        std::vector<std::int32_t> stages = attached->second;
        sort_items(stages);
        for (const std::int32_t inner : stages) {
          append(static_cast<std::size_t>(inner), found);
        }
      }
    }
    if (!is_put) {
      put();
    }
  }

  const State* state_;
  const ComputeDag* dag_;
  std::vector<CountedLoop> loops_;
  std::vector<Stage> stages_;
  std::vector<Work> work_;
};

}  // namespace tensorsmith::detail
