// SPDX-License-Identifier: Apache-2.0
// StageGuards: the values of a stage's axes in its loops, and which conditions guard its stores.
//
// Floor 5. As the Ansor reference 0.16 makes its loop nests (ch. 6.1): a part of a split or fused
// loop in terms of the loops, a condition wherever such a value may pass the end of its range, or
// the range that of the operation, and no bound says that it does not.
#pragma once

#include <cstdint>
#include <utility>
#include <vector>

#include "tensorsmith/sched/bounds/range_inference.hpp"

namespace tensorsmith::detail {

class StageGuards : protected RangeInference {
 protected:
  explicit StageGuards(const State& state) : RangeInference(state), bound_(pool_, workspace_) {}

  bool prepare_guards() {
    if (!infer_ranges()) {
      return false;
    }
    for (const InferredStage& stage : ranges_) {
      for (std::size_t node = 0; node < stage.range.size(); ++node) {
        const NodeRange& range = stage.range[node];
        if (range.extent != algebra::no_ref) {
          bound_.bind(stage.var[node], range.min, range.extent);
          all_.set(stage.var[node], algebra::interval_of_range(pool_, range.min, range.extent));
        }
      }
    }
    return true;
  }

  /// By node; `loop_of(leaf)` is the variable of a leaf that runs.
  template <class LoopOf>
  std::vector<algebra::Ref> node_values(std::size_t s, const LoopOf& loop_of) {
    const InferredStage& stage = ranges_[s];
    std::vector<algebra::Ref> value(at(stage.relations.num_nodes), algebra::no_ref);
    for (std::size_t leaf = 0; leaf < derivations_[s].leaves.size(); ++leaf) {
      const LeafKey key{s, leaf};
      const NodeRange& range = range_of(key);
      algebra::Ref& point = value[at(node_of(key))];
      point = pool_.is_integer(range.extent, 1) || is_outside_of_scope(key)
                  ? range.min
                  : pool_.var(loop_of(leaf));
      // Threads of a whole axis count from 0; the reference builds none that begin elsewhere.
      if (is_thread(key) && point != range.min && !pool_.is_integer(range.min, 0)) {
        point = pool_.add(point, range.min);
      }
    }
    for (std::size_t i = stage.relations.relations.size(); i-- > 0;) {
      const PairRelation& r = stage.relations.relations[i];
      const auto shifted = [&](algebra::Ref x, std::int32_t node) {
        return pool_.add(x, stage.range[at(node)].min);
      };
      if (r.is_split()) {
        const algebra::Ref product = pool_.mul(value[at(r.outer)], stage.range[at(r.inner)].extent);
        value[at(r.whole)] = shifted(pool_.add(value[at(r.inner)], product), r.whole);
      } else if (r.kind == RelationKind::fuse) {
        const algebra::Ref fused = value[at(r.whole)];
        const algebra::Ref length = stage.range[at(r.inner)].extent;
        value[at(r.outer)] = shifted(pool_.floordiv(fused, length), r.outer);
        value[at(r.inner)] = shifted(pool_.floormod(fused, length), r.inner);
      } else {
        value[at(r.whole)] = shifted(value[at(r.inner)], r.whole);
      }
    }
    return value;
  }

  /// The conditions of a nest with these values. `checks_operation`: also against the axes of the
  /// operation; `is_left_out(node)`: that is not part of the nest.
  template <class LeftOut>
  std::vector<algebra::Ref> guards(std::size_t s, const std::vector<algebra::Ref>& value,
                                   bool checks_operation, const LeftOut& is_left_out) {
    const InferredStage& stage = ranges_[s];
    const std::vector<bool> may_pass = may_pass_end(stage);
    std::vector<algebra::Ref> conditions;
    for (std::int32_t node : stage.relations.made) {
      if (may_pass[at(node)] && !is_left_out(node)) {
        const NodeRange& range = stage.range[at(node)];
        const algebra::Ref distance = pool_.sub(value[at(node)], range.min);
        check_end(distance, interval_of(distance).max, range.extent, conditions);
      }
    }
    const Operation& op = dag_.operation(s);
    const std::size_t num_axes = op.axes.size() + op.reduce_axes.size();
    for (std::size_t a = 0; checks_operation && a < num_axes; ++a) {
      const NodeRange& range = stage.range[a];
      const std::int64_t extent =
          a < op.axes.size() ? op.axes[a].extent : op.reduce_axes[a - op.axes.size()].extent;
      const algebra::Ref zero = pool_.like(range.min, 0), end = pool_.like(range.min, extent);
      if (is_left_out(static_cast<std::int32_t>(a)) ||
          (is_equal(range.min, zero) && is_equal(range.extent, end))) {
        continue;
      }
      const algebra::Interval values = interval_of(value[a]);
      if (values.min == algebra::no_ref ||
          !bound_.holds(pool_.binary(algebra::Op::ge, values.min, zero))) {
        conditions.push_back(pool_.binary(algebra::Op::ge, value[a], zero));
      }
      check_end(value[a], values.max, end, conditions);
    }
    return conditions;
  }

 private:
  /// A thread does not tell elements of memory that is its own from each other.
  bool is_outside_of_scope(const LeafKey& key) const {
    if (!is_thread(key) || annotation_of(key) == Annotation::vthread ||
        derivations_[key.stage].scope.empty()) {
      return false;
    }
    const Annotation a = annotation_of(key);
    const bounds::ScopeRank scope = bounds::scope_rank(derivations_[key.stage].scope);
    return static_cast<int>(scope) > bounds::thread_rank(a) &&
           !(scope == bounds::ScopeRank::warp && a == Annotation::thread_x);
  }
  algebra::Interval interval_of(algebra::Ref ref) {
    return algebra::IntervalEvaluator(bound_, all_)(ref);
  }
  bool is_equal(algebra::Ref a, algebra::Ref b) {
    return a == b || blank_.holds(pool_.binary(algebra::Op::eq, a, b));
  }
  void check_end(algebra::Ref value, algebra::Ref max, algebra::Ref end,
                 std::vector<algebra::Ref>& conditions) {
    if (max == algebra::no_ref || !bound_.holds(pool_.binary(algebra::Op::lt, max, end))) {
      conditions.push_back(pool_.binary(algebra::Op::lt, value, end));
    }
  }
  /// By node: a split is not exact, or that of a part is not.
  std::vector<bool> may_pass_end(const InferredStage& stage) {
    std::vector<bool> result(at(stage.relations.num_nodes), false);
    for (std::size_t i = stage.relations.relations.size(); i-- > 0;) {
      const PairRelation& r = stage.relations.relations[i];
      if (r.kind == RelationKind::fuse) {
        result[at(r.outer)] = result[at(r.inner)] = result[at(r.whole)];
      } else if (r.kind == RelationKind::shift) {
        result[at(r.whole)] = result[at(r.inner)];
      } else {
        const algebra::Ref product =
            pool_.mul(stage.range[at(r.inner)].extent, stage.range[at(r.outer)].extent);
        result[at(r.whole)] = result[at(r.outer)] || result[at(r.inner)] ||
                              !is_equal(stage.range[at(r.whole)].extent, product);
      }
    }
    return result;
  }

  algebra::Analyzer bound_;  ///< knows all ranges
  algebra::Intervals all_;
};

}  // namespace tensorsmith::detail
