// SPDX-License-Identifier: Apache-2.0
// RangeInference: over which expressions the loops of every stage run.
//
// Floor 3. The bound inference of the Ansor reference 0.16 (ch. 2.5), step by step: what the
// readers of a stage read of it while the loops inside of its place run, from the last stage to the
// first; ranges are simplified where the reference simplifies them and with what it knows there.
// Not here: stores (stage_nests.hpp), how ranges are printed (range_text.hpp).
#pragma once

#include <cstdint>
#include <utility>
#include <vector>

#include "tensorsmith/ir/algebra/example.hpp"
#include "tensorsmith/sched/bounds/stage_scopes.hpp"
#include "tensorsmith/sched/bounds/stage_spaces.hpp"

namespace tensorsmith::detail {

class RangeInference : protected StageSpaces {
 protected:
  explicit RangeInference(const State& state)
      : StageSpaces(state), known_(pool_, workspace_), known_to_readers_(pool_, workspace_),
        example_(pool_) {}

  /// False if a length is unknown or an attached stage is read from outside.
  bool infer_ranges() {
    const std::size_t n = state_.num_stages();
    scopes_ = scopes_of_stages(state_);
    for (std::size_t s = n; s-- > 0;) {
      if (is_inlined(s) || state_.stage(s).is_placeholder) {
        continue;
      }
      ranges_[s].is_computed = true;
      if (!place(s)) {
        return false;
      }
      make_nodes(s);
      read_bodies(s);
      if (!infer_axes(s)) {
        return false;
      }
      pass_down(s);
    }
    for (InferredStage& stage : ranges_) {
      for (NodeRange& range : stage.range) {
        if (range.extent != algebra::no_ref) {
          range = {known_.simplify(range.min), known_.simplify(range.extent)};
        }
      }
    }
    return true;
  }

  /// The memory of a stage: its own, or, if it says nothing, that of the threads around it.
  bounds::ScopeRank scope_of(std::size_t s) const {
    bounds::ScopeRank scope = scopes_[s];
    if (scope != bounds::ScopeRank::by_threads) {
      return scope;
    }
    scope = bounds::ScopeRank::global;
    for (const LeafKey& key : ranges_[s].around) {
      if (is_thread(key)) {
        scope = larger_of(scope, thread_rank(key) == 0 ? bounds::ScopeRank::shared
                                                       : bounds::ScopeRank::local);
      }
    }
    return scope;
  }

 private:
  int thread_rank(const LeafKey& key) const { return bounds::thread_rank(annotation_of(key)); }

  /// The ranges of the axes: all of the operation, or what its readers read.
  bool infer_axes(std::size_t s) {
    const Operation& op = dag_.operation(s);
    std::vector<std::vector<algebra::Interval>> read(op.axes.size());
    bool is_read = false;
    for (std::size_t reader = s + 1; reader < state_.num_stages(); ++reader) {
      if (!ranges_[reader].is_computed) {
        continue;
      }
      const std::vector<algebra::Ref> loads = loads_of(reader, s);
      if (loads.empty()) {
        continue;
      }
      is_read = true;
      algebra::Intervals axes;
      if (!intervals_of_axes(s, reader, axes)) {
        return false;
      }
      algebra::IntervalEvaluator evaluate(known_to_readers_, axes);
      for (algebra::Ref load : loads) {
        if (pool_[load].value == op.outputs[0].value) {
          add_load(op, load, evaluate, read);
        }
      }
    }
    for (std::size_t a = 0; a < op.axes.size(); ++a) {
      NodeRange& range = ranges_[s].range[a];
      const algebra::Ref zero = pool_.like(variable(s, static_cast<std::int32_t>(a)), 0);
      range = {zero, pool_.like(zero, op.axes[a].extent)};
      if (is_read && !read[a].empty()) {
        range = covering(joined(read[a]), range);
      }
    }
    for (std::size_t a = 0; a < op.reduce_axes.size(); ++a) {
      ranges_[s].range[op.axes.size() + a] = {number(0), number(op.reduce_axes[a].extent)};
    }
    return true;
  }
  /// The elements of the stage `s` that the stage `reader` loads.
  std::vector<algebra::Ref> loads_of(std::size_t reader, std::size_t s) const {
    std::vector<algebra::Ref> loads;
    algebra::RefSet seen;
    for (algebra::Ref source : ranges_[reader].sources) {
      for_each_load(pool_, source, seen, [&](algebra::Ref load) {
        if (stage_of_tensor_[static_cast<std::size_t>(pool_[load].value)] ==
            static_cast<std::int32_t>(s)) {
          loads.push_back(load);
        }
      });
    }
    return loads;
  }
  void add_load(const Operation& op, algebra::Ref load, algebra::IntervalEvaluator& evaluate,
                std::vector<std::vector<algebra::Interval>>& read) {
    for (std::size_t d = 0; d < op.axes.size(); ++d) {
      algebra::Interval interval = evaluate(pool_.operand(pool_[load], d));
      const algebra::Ref last = number(op.axes[d].extent - 1), zero = number(0);
      // All of the tensor, where that can be shown.
      if (interval.is_everything() ||
          (interval.min != algebra::no_ref && interval.max != algebra::no_ref &&
           covers_start(interval.min) &&
           known_to_readers_.holds(pool_.binary(algebra::Op::le, last, interval.max)))) {
        interval = {zero, last, false};
      }
      read[d].push_back(interval);
    }
  }
  bool covers_start(algebra::Ref min) {
    const auto value = example_(min);
    return !(value && *value > 0) &&
           known_to_readers_.holds(pool_.binary(algebra::Op::ge, number(0), min));
  }
  algebra::Interval joined(const std::vector<algebra::Interval>& parts) {
    algebra::Interval result = parts[0];
    for (std::size_t i = 1; i < parts.size(); ++i) {
      result = algebra::hull(pool_, result, parts[i]);
    }
    if (parts.size() > 1) {
      const auto simple = [&](algebra::Ref ref) {
        return ref == algebra::no_ref ? ref : blank_.simplify(ref);
      };
      result = {simple(result.min), simple(result.max), false};
    }
    return result;
  }
  /// Where the axes of `reader` run while one region of `s` is held.
  bool intervals_of_axes(std::size_t s, std::size_t reader, algebra::Intervals& axes) {
    const std::vector<LeafKey>& around = ranges_[s].around;
    const bounds::ScopeRank scope = scope_of(s);
    bool is_outside = false;
    const auto runs = [&](const LeafKey& key) {
      is_outside = is_outside || (!around.empty() && key == around[0]);
      return is_thread(key) ? static_cast<int>(scope) <= thread_rank(key) : !is_outside;
    };
    std::vector<algebra::Interval> of_node(at(ranges_[reader].relations.num_nodes));
    for (std::size_t leaf = derivations_[reader].leaves.size(); leaf-- > 0;) {
      const LeafKey key{reader, leaf};
      const NodeRange& range = range_of(key);
      const bool does_run = runs(key);
      of_node[at(node_of(key))] =
          pool_.is_integer(range.extent, 1) ? algebra::Interval::point(range.min)
          : does_run ? algebra::interval_of_range(pool_, range.min, range.extent)
                     : algebra::Interval::point(pool_.var(var_of(key)));
    }
    algebra::Intervals running;
    for (const LeafKey& key : ranges_[reader].around) {
      if (runs(key)) {
        const NodeRange& range = range_of(key);
        running.set(var_of(key), algebra::interval_of_range(pool_, range.min, range.extent));
      }
    }
    if (!around.empty() && !is_outside) {
      return false;
    }
    pass_up(reader, of_node);
    const Operation& op = dag_.operation(reader);
    const std::size_t num_axes = op.axes.size() + op.reduce_axes.size();
    algebra::IntervalEvaluator evaluate(known_to_readers_, running);
    for (std::size_t a = 0; a < num_axes; ++a) {
      const std::int64_t extent =
          a < op.axes.size() ? op.axes[a].extent : op.reduce_axes[a - op.axes.size()].extent;
      const NodeRange range = covering(of_node[a], {number(0), number(extent)});
      algebra::Interval interval = algebra::interval_of_range(pool_, range.min, range.extent);
      if (running.size() > 0) {
        const algebra::Ref last = pool_.sub(pool_.add(range.min, range.extent), number(1));
        interval = {evaluate(range.min).min, evaluate(last).max, false};
      }
      axes.set(ranges_[reader].var[a], interval);
    }
    return true;
  }
  /// From the axes to the leaves.
  void pass_down(std::size_t s) {
    InferredStage& stage = ranges_[s];
    const auto bind = [&](std::int32_t node) {
      known_.bind(stage.var[at(node)], stage.range[at(node)].min, stage.range[at(node)].extent);
    };
    const std::int32_t num_axes = derivations_[s].num_axes;
    for (std::int32_t a = 0; a < num_axes; ++a) {
      bind(a);
    }
    for (std::int32_t node : stage.relations.singles) {
      stage.range[at(node)] = {number(0), number(1)};
      bind(node);
    }
    const auto set = [&](std::int32_t node, algebra::Ref extent) {
      stage.range[at(node)] = {pool_.like(extent, 0), extent};
      bind(node);
    };
    for (const PairRelation& r : stage.relations.relations) {
      const algebra::Ref extent = stage.range[at(r.whole)].extent;
      if (r.is_split()) {
        const bool by_factor = r.kind == RelationKind::split_by_factor;
        const std::int32_t given = by_factor ? r.inner : r.outer;
        const algebra::Ref length = pool_.like(extent, r.length);
        const bool keeps_length =
            stage.relations.is_thread[at(given)] || pool_.is_integer(extent, 0);
        set(given, keeps_length ? length : at_most(extent, length));
        set(by_factor ? r.outer : r.inner, quotient_up(extent, length));
      } else if (r.kind == RelationKind::fuse) {
        // How far a fused loop runs is not known to what is inferred from here.
        const algebra::Ref product =
            pool_.mul(stage.range[at(r.outer)].extent, stage.range[at(r.inner)].extent);
        stage.range[at(r.whole)] = {number(0), product};
      } else {
        set(r.inner, extent);
      }
    }
    for (std::size_t leaf = 0; leaf < derivations_[s].leaves.size(); ++leaf) {
      if (is_thread({s, leaf})) {
        bind(node_of({s, leaf}));
      }
    }
    for (std::int32_t node = 0; node < stage.relations.num_nodes; ++node) {
      const NodeRange& range = stage.range[at(node)];
      if (range.extent != algebra::no_ref) {
        known_to_readers_.bind(stage.var[at(node)], range.min, range.extent);
        example_.bind(stage.var[at(node)], range.min, range.extent);
      }
    }
  }
  algebra::Ref at_most(algebra::Ref extent, algebra::Ref length) {
    return known_.simplify(known_.holds(pool_.binary(algebra::Op::lt, extent, length)) ? extent
                                                                                       : length);
  }
  algebra::Ref quotient_up(algebra::Ref extent, algebra::Ref length) {
    const algebra::Ref rest = pool_.floormod(extent, length);
    if (known_.holds(pool_.binary(algebra::Op::eq, rest, pool_.like(rest, 0)))) {
      return known_.simplify(pool_.floordiv(extent, length));
    }
    const algebra::Ref up = pool_.add(extent, pool_.sub(length, pool_.like(length, 1)));
    return known_.simplify(pool_.floordiv(up, length));
  }

  std::vector<bounds::ScopeRank> scopes_;
  algebra::Analyzer known_;             ///< all but the ends of fused loops
  algebra::Analyzer known_to_readers_;  ///< all
  algebra::Example example_;            ///< of what is known to readers
};

}  // namespace tensorsmith::detail
