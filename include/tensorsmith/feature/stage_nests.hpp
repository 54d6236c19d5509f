// SPDX-License-Identifier: Apache-2.0
// StageNests: the loops of every stage of a state, and its stores as the reference simplifies them.
//
// Floor 5. Ansor reference, ch. 6.1. A store is simplified inside of its loops and guards: that
// decides index arithmetic, operations and regions. Not here: the order of the stores
// (build_store_program.hpp).
#pragma once

#include <cstdint>
#include <utility>
#include <vector>

#include "tensorsmith/feature/stage_guards.hpp"
#include "tensorsmith/feature/store_program.hpp"
#include "tensorsmith/feature/store_value.hpp"
#include "tensorsmith/ir/algebra/substitute.hpp"
#include "tensorsmith/support/factorize.hpp"

namespace tensorsmith::detail {

/// Of the stores of a stage without their loops; nothing if guards say that nothing is stored.
struct NestStores {
  bool is_reachable = true;
  std::vector<FeatureStore> stores;
};

/// The part of build_store_program that knows stages.
class StageNests : protected StageGuards {
 protected:
  struct StageInfo {
    std::vector<std::int32_t> leaf_loop;  ///< -1: extent 1
    std::vector<bool> leaf_reduces;
    double elements = 1;                ///< that memory is set aside for
    std::vector<algebra::Ref> varying;  ///< extents that count as 1 in them
    NestStores update, initial;         ///< initial: of reductions
    NestStores copy;                    ///< of a reduction across threads, its last store
    bool is_across_threads = false, gathers = false;
  };

  explicit StageNests(const State& state) : StageGuards(state) {}

  /// False if a length is unknown or an attached stage is read from outside.
  bool analyse_stages() {
    if (!prepare_guards()) {
      return false;
    }
    stages_.resize(ranges_.size());
    for (std::size_t s = ranges_.size(); s-- > 0;) {
      if (ranges_[s].is_computed) {
        make_loops(s);
      }
    }
    for (std::size_t s = ranges_.size(); s-- > 0;) {
      if (ranges_[s].is_computed) {
        make_stores(s);
      }
    }
    return true;
  }

  bool is_thread_loop(std::int32_t loop) const {
    return is_thread_annotation(program_.loops[static_cast<std::size_t>(loop)].annotation);
  }

  StoreProgram program_;
  std::vector<StageInfo> stages_;

 private:
  void make_loops(std::size_t s) {
    StageInfo& info = stages_[s];
    const std::vector<bool>& reduces = reduces_[s];
    for (std::size_t leaf = 0; leaf < derivations_[s].leaves.size(); ++leaf) {
      const LeafKey key{s, leaf};
      info.leaf_reduces.push_back(reduces[at(derivations_[s].leaves[leaf].node)]);
      const NodeRange& range = range_of(key);
      // A thread scope of one iteration stays in the program, though no index uses it.
      if (pool_.is_integer(range.extent, 1) && !is_thread(key)) {
        info.leaf_loop.push_back(-1);
        continue;
      }
      const auto loop = static_cast<std::int32_t>(program_.loops.size());
      FeatureLoop made;
      made.annotation = annotation_of(key);
      made.extent = pool_.is_integer(range.extent) ? pool_.value(range.extent) : 1;
      made.varying = pool_.is_integer(range.extent) ? algebra::no_ref : range.extent;
      made.vars.push_back(var_of(key));
      made.stage = static_cast<std::int32_t>(s);
      made.iterator = static_cast<std::int32_t>(leaf);
      program_.loops.push_back(std::move(made));
      info.leaf_loop.push_back(loop);
    }
    info.is_across_threads = is_across_threads(s);
    for (std::size_t leaf = 0; leaf < info.leaf_loop.size(); ++leaf) {
      info.gathers = info.gathers || (info.leaf_reduces[leaf] && !is_thread({s, leaf}));
    }
  }

  /// Opens a loop for what is simplified inside.
  void open(algebra::Analyzer& analyzer, const LeafKey& key, std::int32_t var) {
    const NodeRange& range = range_of(key);
    const bool is_loop = !is_thread(key);
    if (is_loop && pool_.is_integer(range.extent, 1)) {
      return;
    }
    const algebra::Ref zero = pool_.like(range.extent, 0);
    analyzer.bind(var, zero, range.extent);
    if (!is_loop || pool_.is_integer(range.extent)) {
      return;
    }
    analyzer.enter(pool_.raw(algebra::Op::ge, pool_.var(var), zero));
    analyzer.enter(pool_.raw(algebra::Op::lt, pool_.var(var), range.extent));
    FeatureLoop& loop = program_.loops[at(stages_[key.stage].leaf_loop[key.leaf])];
    loop.varying = analyzer.simplify(range.extent);
    loop.extent = largest_extent(loop.varying);
  }
  void open_around(algebra::Analyzer& analyzer, std::size_t s) {
    const std::vector<LeafKey>& around = ranges_[s].around;
    for (std::size_t i = around.size(); i-- > 0;) {
      open(analyzer, around[i], var_of(around[i]));
    }
  }
  /// As the reference sees it, which does not know how many threads there are.
  std::int64_t largest_extent(algebra::Ref extent) {
    algebra::Bounds bounds(pool_, workspace_.bounds);
    for (const FeatureLoop& loop : program_.loops) {
      for (std::int32_t var : loop.vars) {
        if (!is_thread_annotation(loop.annotation)) {
          bounds.bind(var, algebra::Bound{0, loop.extent - 1});
        }
      }
    }
    const std::int64_t largest = bounds(extent).max;
    return largest == algebra::unlimited ? 1 : largest;
  }

  void make_stores(std::size_t s) {
    StageInfo& info = stages_[s];
    const std::size_t num_leaves = info.leaf_loop.size();
    const auto own_loop = [&](std::size_t leaf) { return var_of({s, leaf}); };
    const auto nothing = [](std::int32_t) { return false; };
    const std::vector<algebra::Ref> value = node_values(s, own_loop);
    const std::vector<algebra::Ref> conditions = guards(s, value, true, nothing);
    algebra::Analyzer analyzer(pool_, workspace_);
    open_around(analyzer, s);
    const std::size_t rank = dag_.operation(s).axes.size();
    for (std::size_t a = 0; a < rank; ++a) {
      // An extent that varies counts as 1 there.
      const algebra::Ref extent = analyzer.simplify(ranges_[s].range[a].extent);
      if (pool_.is_integer(extent)) {
        info.elements *= static_cast<double>(pool_.value(extent));
      } else {
        info.varying.push_back(extent);
      }
    }
    for (std::size_t leaf = 0; leaf < num_leaves; ++leaf) {
      if (!(info.is_across_threads && info.leaf_reduces[leaf] && !is_thread({s, leaf}))) {
        open(analyzer, {s, leaf}, own_loop(leaf));
      }
    }
    if (info.is_across_threads) {
      make_copy(s, value, analyzer);
      for (std::size_t leaf = 0; leaf < num_leaves; ++leaf) {
        if (info.leaf_reduces[leaf] && !is_thread({s, leaf})) {
          open(analyzer, {s, leaf}, own_loop(leaf));
        }
      }
    } else if (!dag_.operation(s).reduce_axes.empty()) {
      make_initial(s);
    }
    std::vector<algebra::Ref> entered;
    info.update.is_reachable = enter_all(analyzer, conditions, entered);
    if (info.update.is_reachable) {
      info.update.stores = stores_of(s, ranges_[s].values, value, analyzer);
      for (FeatureStore& store : info.update.stores) {
        store.conditions = entered;
      }
    }
  }

  /// False if one of them cannot hold; `entered`: those that may not.
  bool enter_all(algebra::Analyzer& analyzer, const std::vector<algebra::Ref>& conditions,
                 std::vector<algebra::Ref>& entered) {
    for (algebra::Ref condition : conditions) {
      const algebra::Ref simple = analyzer.simplify(condition);
      if (!pool_.is_integer(simple)) {
        analyzer.enter(simple);
        entered.push_back(simple);
      } else if (pool_.value(simple) == 0) {
        return false;
      }
    }
    return true;
  }

  /// What a reduction begins with: its loops start at the first one that reduces.
  void make_initial(std::size_t s) {
    StageInfo& info = stages_[s];
    std::size_t first = 0;
    while (first < info.leaf_reduces.size() && !info.leaf_reduces[first]) {
      ++first;
    }
    std::vector<std::int32_t> var;
    for (std::size_t leaf = 0; leaf < info.leaf_loop.size(); ++leaf) {
      const LeafKey key{s, leaf};
      const bool is_new = leaf >= first && !info.leaf_reduces[leaf] && !is_thread(key);
      var.push_back(is_new ? pool_.new_var(pool_.dtype(range_of(key).extent)) : var_of(key));
      if (is_new && info.leaf_loop[leaf] >= 0) {
        program_.loops[at(info.leaf_loop[leaf])].vars.push_back(var.back());
      }
    }
    const std::vector<bool> reduces = reducing_nodes(s);
    const auto is_left_out = [&](std::int32_t node) { return reduces[at(node)]; };
    const std::vector<algebra::Ref> value =
        node_values(s, [&](std::size_t leaf) { return var[leaf]; });
    const std::vector<algebra::Ref> conditions = guards(s, value, false, is_left_out);
    algebra::Analyzer analyzer(pool_, workspace_);
    open_around(analyzer, s);
    for (std::size_t leaf = 0; leaf < info.leaf_loop.size(); ++leaf) {
      if (leaf < first || !info.leaf_reduces[leaf]) {
        open(analyzer, {s, leaf}, var[leaf]);
      }
    }
    std::vector<algebra::Ref> entered;
    info.initial.is_reachable = enter_all(analyzer, conditions, entered);
    if (info.initial.is_reachable) {
      info.initial.stores = stores_of(s, {}, value, analyzer);
    }
  }
  /// By node: it comes from axes that reduce, and from no others.
  std::vector<bool> reducing_nodes(std::size_t s) const {
    const StageRelations& relations = ranges_[s].relations;
    const auto num_spatial = static_cast<std::int32_t>(dag_.operation(s).axes.size());
    std::vector<bool> result(at(relations.num_nodes), false);
    for (std::int32_t a = num_spatial; a < derivations_[s].num_axes; ++a) {
      result[at(a)] = true;
    }
    for (const PairRelation& r : relations.relations) {
      if (r.is_split()) {
        result[at(r.outer)] = result[at(r.inner)] = result[at(r.whole)];
      } else if (r.kind == RelationKind::fuse) {
        result[at(r.whole)] = result[at(r.outer)] && result[at(r.inner)];
      } else {
        result[at(r.inner)] = result[at(r.whole)];
      }
    }
    return result;
  }

  /// Of a reduction across threads: the first of them stores.
  void make_copy(std::size_t s, const std::vector<algebra::Ref>& value,
                 algebra::Analyzer& analyzer) {
    StageInfo& info = stages_[s];
    std::vector<algebra::Ref> first;
    for (std::size_t leaf = 0; leaf < info.leaf_loop.size(); ++leaf) {
      if (info.leaf_reduces[leaf] && is_thread({s, leaf})) {
        const algebra::Ref thread = pool_.var(var_of({s, leaf}));
        first.push_back(pool_.raw(algebra::Op::eq, thread, pool_.like(thread, 0)));
      }
    }
    std::vector<algebra::Facts::Mark> marks;
    for (algebra::Ref condition : first) {
      const algebra::Ref simple = analyzer.simplify(condition);
      if (!pool_.is_integer(simple)) {
        marks.push_back(analyzer.enter(simple));
      }
    }
    info.copy.stores = stores_of(s, {}, value, analyzer);
    while (!marks.empty()) {
      analyzer.leave(marks.back());
      marks.pop_back();
    }
  }

  /// One per output, of `values` (none: of constants), where the axes have `value`.
  std::vector<FeatureStore> stores_of(std::size_t s, const std::vector<algebra::Ref>& values,
                                      const std::vector<algebra::Ref>& value,
                                      algebra::Analyzer& analyzer) {
    const Operation& op = dag_.operation(s);
    std::vector<algebra::Ref> place;
    for (std::size_t a = 0; a < op.axes.size(); ++a) {
      place.push_back(analyzer.simplify(value[a]));
    }
    std::vector<FeatureStore> stores;
    for (std::size_t k = 0; k < op.outputs.size(); ++k) {
      FeatureStore store;
      store.stage = static_cast<std::uint32_t>(s);
      store.tensor = op.outputs[k];
      FeatureAccess own;
      own.tensor = store.tensor;
      own.kind = AccessKind::write;
      own.rank = op.axes.size();
      own.indices = place;
      store.accesses.push_back(std::move(own));
      if (!values.empty()) {
        const algebra::Ref in_loops = substituted(s, values[k], value);
        add_value(pool_, analyzer.simplify(in_loops), store);
      }
      stores.push_back(std::move(store));
    }
    return stores;
  }
  /// The axes of the stage replaced by their values.
  algebra::Ref substituted(std::size_t s, algebra::Ref ref,
                           const std::vector<algebra::Ref>& value) {
    const std::int32_t first = ranges_[s].var.empty() ? 0 : ranges_[s].var[0];
    algebra::RefMap<algebra::Ref> known;
    return algebra::substituted(pool_, ref, known, [&](std::int64_t var, algebra::Ref self) {
      const std::int64_t axis = var - first;  // the nodes of a stage have variables in a row
      return axis >= 0 && axis < derivations_[s].num_axes ? value[static_cast<std::size_t>(axis)]
                                                          : self;
    });
  }
};

}  // namespace tensorsmith::detail
