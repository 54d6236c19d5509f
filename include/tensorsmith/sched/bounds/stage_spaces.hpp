// SPDX-License-Identifier: Apache-2.0
// StageSpaces: stages as relations of loops, with their bodies as expressions of them.
//
// Floor 3. What the inference of ranges starts from, and how intervals of loops become intervals of
// axes. Not here: the ranges (range_inference.hpp).
#pragma once

#include <cstdint>
#include <utility>
#include <vector>

#include "tensorsmith/ir/algebra/intervals.hpp"
#include "tensorsmith/sched/apply/common.hpp"
#include "tensorsmith/sched/bounds/stage_relations.hpp"
#include "tensorsmith/te/expression_reader.hpp"

namespace tensorsmith::detail {

struct NodeRange {
  algebra::Ref min = algebra::no_ref, extent = algebra::no_ref;
};

/// A leaf of a stage.
struct LeafKey {
  std::size_t stage = 0, leaf = 0;
  bool operator==(const LeafKey&) const = default;
};

struct InferredStage {
  bool is_computed = false;  ///< it has loops: no input, not inlined
  StageRelations relations;
  std::vector<NodeRange> range;       ///< by node
  std::vector<std::int32_t> var;      ///< by node
  std::vector<LeafKey> around;        ///< loops around its place, innermost first
  std::vector<algebra::Ref> sources;  ///< by output: the body, or what is reduced
  std::vector<algebra::Ref> values;   ///< by output: what is stored
};

class StageSpaces {
 protected:
  explicit StageSpaces(const State& state)
      : state_(state), dag_(state.dag()), derivations_(derive(state)), blank_(pool_, workspace_) {
    ranges_.resize(state_.num_stages());
    inlined_.assign(dag_.tensors().size(), nullptr);
    stage_of_tensor_.assign(dag_.tensors().size(), -1);
    for (std::size_t s = 0; s < ranges_.size(); ++s) {
      reduces_.push_back(node_is_reduction(derivations_[s]));
      for (TensorId tensor : dag_.operation(s).outputs) {
        stage_of_tensor_[tensor.value] = static_cast<std::int32_t>(s);
        inlined_[tensor.value] = is_inlined(s) ? &dag_.operation(s) : nullptr;
      }
    }
  }

  bool is_inlined(std::size_t s) const { return state_.stage(s).compute_at == ComputeAt::inlined; }
  Annotation annotation_of(const LeafKey& key) const {
    return derivations_[key.stage].leaves[key.leaf].annotation;
  }
  bool is_thread(const LeafKey& key) const { return is_thread_annotation(annotation_of(key)); }
  bool is_across_threads(std::size_t s) const {
    const std::vector<bool>& reduces = reduces_[s];
    return any_item(derivations_[s].leaves, [&](const LeafIterator& leaf) {
      return reduces[at(leaf.node)] && is_thread_annotation(leaf.annotation);
    });
  }
  std::int32_t node_of(const LeafKey& key) const {
    return ranges_[key.stage].relations.leaves[key.leaf];
  }
  const NodeRange& range_of(const LeafKey& key) const {
    return ranges_[key.stage].range[static_cast<std::size_t>(node_of(key))];
  }
  std::int32_t var_of(const LeafKey& key) const {
    return ranges_[key.stage].var[static_cast<std::size_t>(node_of(key))];
  }
  algebra::Ref number(std::int64_t value) { return pool_.integer(value); }
  static std::size_t at(std::int32_t node) { return static_cast<std::size_t>(node); }

  bool place(std::size_t s) {
    for (const PairRelation& r :
         (ranges_[s].relations = stage_relations(derivations_[s])).relations) {
      if (r.length <= 0) {
        return false;
      }
    }
    if (state_.stage(s).compute_at != ComputeAt::iterator) {
      return true;
    }
    const auto found = state_.attach_map().stage_to_iterator.find(static_cast<std::int32_t>(s));
    if (found == state_.attach_map().stage_to_iterator.end() ||
        found->second.stage <= static_cast<std::int32_t>(s)) {
      return false;
    }
    const auto target = static_cast<std::size_t>(found->second.stage);
    const auto last = static_cast<std::size_t>(found->second.iterator);
    if (!ranges_[target].is_computed || last >= derivations_[target].leaves.size()) {
      return false;
    }
    for (std::size_t leaf = last + 1; leaf-- > 0;) {
      ranges_[s].around.push_back({target, leaf});
    }
    const std::vector<LeafKey>& outer = ranges_[target].around;
    ranges_[s].around.insert(ranges_[s].around.end(), outer.begin(), outer.end());
    return true;
  }

  void make_nodes(std::size_t s) {
    InferredStage& stage = ranges_[s];
    stage.range.resize(at(stage.relations.num_nodes));
    for (std::int32_t node = 0; node < stage.relations.num_nodes; ++node) {
      stage.var.push_back(pool_.new_var(axis_dtype(s, node)));
    }
  }
  algebra::Ref variable(std::size_t s, std::int32_t node) {
    return pool_.var(ranges_[s].var[at(node)]);
  }

  void read_bodies(std::size_t s) {
    const Operation& op = dag_.operation(s);
    InferredStage& stage = ranges_[s];
    Meanings meanings;
    std::vector<algebra::Ref> own;
    for (std::size_t a = 0; a < op.axes.size(); ++a) {
      own.push_back(variable(s, static_cast<std::int32_t>(a)));
      meanings.emplace_back(op.axes[a].var, own.back());
    }
    for (std::size_t a = 0; a < op.reduce_axes.size(); ++a) {
      meanings.emplace_back(op.reduce_axes[a].var,
                            variable(s, static_cast<std::int32_t>(op.axes.size() + a)));
    }
    if (is_across_threads(s)) {
      own = {number(0)};  // every thread gathers in one element
    }
    ExpressionReader read(dag_.pool(), pool_, inlined_, meanings);
    Meanings combined;
    for (std::size_t k = 0; k < op.bodies.size(); ++k) {
      const Reduce* reduce = dag_.pool().as<Reduce>(op.bodies[k]);
      if (reduce == nullptr) {
        stage.sources.push_back(read(op.bodies[k]));
        stage.values.push_back(stage.sources.back());
        continue;
      }
      const Combiner& combiner = dag_.pool().combiner(reduce->combiner);
      if (combined.empty()) {
        for (std::size_t i = 0; i < reduce->sources.size(); ++i) {
          const TensorId result = op.outputs[i];
          combined.emplace_back(
              combiner.lhs[i],
              pool_.with_list(algebra::Op::load, dag_.tensor(result).dtype, result.value, own));
          combined.emplace_back(combiner.rhs[i], read(reduce->sources[i]));
        }
      }
      stage.sources.push_back(combined[2 * k + 1].second);
      stage.values.push_back(ExpressionReader(dag_.pool(), pool_, inlined_,
                                              combined)(combiner.results[reduce->value_index]));
    }
  }

  /// As a range, `all` where it has no end.
  NodeRange covering(const algebra::Interval& interval, const NodeRange& all) {
    if (interval.min == algebra::no_ref || interval.max == algebra::no_ref) {
      return all;
    }
    const algebra::Ref one = pool_.like(interval.max, 1);
    return {blank_.simplify(interval.min),
            blank_.simplify(pool_.sub(pool_.add(interval.max, one), interval.min))};
  }

  bool is_all_of(const algebra::Interval& interval, const NodeRange& range) {
    if (interval.min == algebra::no_ref || interval.max == algebra::no_ref) {
      return false;
    }
    const auto equal = [&](algebra::Ref a, algebra::Ref b) {
      return a == b || pool_.is_integer(blank_.simplify(pool_.sub(a, b)), 0);
    };
    return equal(interval.min, range.min) &&
           equal(interval.max,
                 pool_.sub(pool_.add(range.extent, range.min), pool_.like(range.min, 1)));
  }
  /// From the leaves to the axes.
  void pass_up(std::size_t s, std::vector<algebra::Interval>& of_node) {
    const InferredStage& stage = ranges_[s];
    const auto whole = [&](std::int32_t node) {
      const NodeRange& range = stage.range[at(node)];
      return algebra::interval_of_range(pool_, range.min, range.extent);
    };
    for (std::size_t i = stage.relations.relations.size(); i-- > 0;) {
      const PairRelation& r = stage.relations.relations[i];
      if (r.kind == RelationKind::fuse) {
        pass_up_fuse(stage, r, of_node);
        continue;
      }
      const bool is_shift = r.kind == RelationKind::shift;
      if ((is_shift || is_all_of(of_node[at(r.outer)], stage.range[at(r.outer)])) &&
          is_all_of(of_node[at(r.inner)], stage.range[at(r.inner)])) {
        of_node[at(r.whole)] = whole(r.whole);
        continue;
      }
      algebra::Intervals parts;
      algebra::Ref sum = variable(s, r.inner);
      parts.set(stage.var[at(r.inner)], of_node[at(r.inner)]);
      if (!is_shift) {
        parts.set(stage.var[at(r.outer)], of_node[at(r.outer)]);
        sum = pool_.add(pool_.mul(variable(s, r.outer), stage.range[at(r.inner)].extent), sum);
      }
      sum = pool_.add(sum, stage.range[at(r.whole)].min);
      of_node[at(r.whole)] = algebra::IntervalEvaluator(blank_, parts)(sum);
    }
  }
  void pass_up_fuse(const InferredStage& stage, const PairRelation& r,
                    std::vector<algebra::Interval>& of_node) {
    const algebra::Interval fused = of_node[at(r.whole)];
    const NodeRange& outer = stage.range[at(r.outer)];
    const NodeRange& inner = stage.range[at(r.inner)];
    const algebra::Interval all_inner = algebra::interval_of_range(pool_, inner.min, inner.extent);
    if (is_all_of(fused, stage.range[at(r.whole)])) {
      of_node[at(r.outer)] = algebra::interval_of_range(pool_, outer.min, outer.extent);
      of_node[at(r.inner)] = all_inner;
      return;
    }
    const auto quotient = [&](algebra::Ref x) { return pool_.floordiv(x, inner.extent); };
    const auto remainder = [&](algebra::Ref x) { return pool_.floormod(x, inner.extent); };
    if (fused.is_point) {
      of_node[at(r.outer)] = algebra::Interval::point(pool_.add(quotient(fused.min), outer.min));
      of_node[at(r.inner)] = algebra::Interval::point(pool_.add(remainder(fused.min), inner.min));
      return;
    }
    if (fused.min == algebra::no_ref || fused.max == algebra::no_ref) {
      of_node[at(r.outer)] = algebra::interval_of_range(pool_, outer.min, outer.extent);
      of_node[at(r.inner)] = all_inner;
      return;
    }
    const algebra::Ref extent =
        pool_.add(pool_.sub(fused.max, fused.min), pool_.like(fused.max, 1));
    of_node[at(r.outer)] = {pool_.add(outer.min, quotient(fused.min)),
                            pool_.add(outer.min, quotient(fused.max)), false};
    const auto is_zero = [&](algebra::Ref x) { return pool_.is_integer(blank_.simplify(x), 0); };
    // One row, or all of each row.
    if (is_zero(pool_.floormod(inner.extent, extent)) &&
        is_zero(pool_.floormod(fused.min, extent))) {
      of_node[at(r.inner)] = {pool_.add(inner.min, remainder(fused.min)),
                              pool_.add(inner.min, remainder(fused.max)), false};
    } else {
      of_node[at(r.inner)] = all_inner;
    }
  }

  const State& state_;
  const ComputeDag& dag_;
  std::vector<StageDerivation> derivations_;
  std::vector<std::vector<bool>> reduces_;  ///< by stage and node of its derivation
  std::vector<std::int32_t> stage_of_tensor_;
  InlinedOperations inlined_;
  std::vector<InferredStage> ranges_;
  algebra::Pool pool_;
  algebra::Workspace workspace_;
  algebra::Analyzer blank_;  ///< knows nothing

 private:
  /// Loops have the type of their axis.
  DType axis_dtype(std::size_t s, std::int32_t node) const {
    const Operation& op = dag_.operation(s);
    const auto axis = static_cast<std::size_t>(node);
    return axis < op.axes.size() ? dag_.pool().var_dtype(op.axes[axis].var) : DType::i32;
  }
};

}  // namespace tensorsmith::detail
