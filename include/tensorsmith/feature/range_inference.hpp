// RangeInference: over which expressions the loops of every stage run.
//
// Floor 5. The bound inference of the Ansor reference 0.16 (ch. 2.5), step by step: what the readers
// of a stage read of it while the loops inside of its place run, from the last stage to the first;
// ranges are simplified where the reference simplifies them and with what it knows there. Not here:
// stores (stage_nests.hpp), how ranges are printed (range_text.hpp).
#pragma once

#include <cstdint>
#include <optional>
#include <utility>
#include <vector>

#include "tensorsmith/feature/algebra/intervals.hpp"
#include "tensorsmith/feature/expression_reader.hpp"
#include "tensorsmith/feature/stage_relations.hpp"
#include "tensorsmith/feature/stage_scopes.hpp"
#include "tensorsmith/sched/apply/common.hpp"

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
  bool is_computed = false;        ///< it has loops: no input, not inlined
  StageRelations relations;
  std::vector<NodeRange> range;    ///< by node
  std::vector<std::int32_t> var;   ///< by node
  std::vector<LeafKey> around;     ///< loops around its place, innermost first
  std::vector<algebra::Ref> sources;  ///< by output: the body, or what is reduced
  std::vector<algebra::Ref> values;   ///< by output: what is stored
};

class RangeInference {
 protected:
  explicit RangeInference(const State& state)
      : state_(state), dag_(state.dag()), derivations_(derive(state)),
        blank_(pool_, workspace_), known_(pool_, workspace_),
        known_to_readers_(pool_, workspace_) {}

  /// False if a length is unknown or an attached stage is read from outside.
  bool infer_ranges() {
    const std::size_t n = state_.num_stages();
    ranges_.resize(n);
    scopes_ = scopes_of_stages(state_);
    inlined_.assign(dag_.tensors().size(), nullptr);
    stage_of_tensor_.assign(dag_.tensors().size(), -1);
    for (std::size_t s = 0; s < n; ++s) {
      for (TensorId tensor : dag_.operation(s).outputs) {
        stage_of_tensor_[tensor.value] = static_cast<std::int32_t>(s);
        inlined_[tensor.value] = is_inlined(s) ? &dag_.operation(s) : nullptr;
      }
    }
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

  bool is_inlined(std::size_t s) const { return state_.stage(s).compute_at == ComputeAt::inlined; }
  Annotation annotation_of(const LeafKey& key) const {
    return derivations_[key.stage].leaves[key.leaf].annotation;
  }
  bool is_thread(const LeafKey& key) const { return is_thread_annotation(annotation_of(key)); }
  bool is_across_threads(std::size_t s) const {
    const std::vector<bool> reduces = node_is_reduction(derivations_[s]);
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

  const State& state_;
  const ComputeDag& dag_;
  std::vector<StageDerivation> derivations_;
  std::vector<std::int32_t> stage_of_tensor_;
  InlinedOperations inlined_;
  std::vector<InferredStage> ranges_;
  algebra::Pool pool_;
  algebra::Workspace workspace_;
  algebra::Analyzer blank_;  ///< knows nothing

 private:
  bool place(std::size_t s) {
    for (const PairRelation& r : (ranges_[s].relations = stage_relations(derivations_[s])).relations) {
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
  /// Loops have the type of their axis.
  DType axis_dtype(std::size_t s, std::int32_t node) const {
    const Operation& op = dag_.operation(s);
    const auto axis = static_cast<std::size_t>(node);
    return axis < op.axes.size() ? dag_.pool().var_dtype(op.axes[axis].var) : DType::i32;
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
          combined.emplace_back(combiner.lhs[i],
                                pool_.with_list(algebra::Op::load, dag_.tensor(result).dtype,
                                                result.value, own));
          combined.emplace_back(combiner.rhs[i], read(reduce->sources[i]));
        }
      }
      stage.sources.push_back(combined[2 * k + 1].second);
      stage.values.push_back(ExpressionReader(dag_.pool(), pool_, inlined_, combined)(
          combiner.results[reduce->value_index]));
    }
  }

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
  int thread_rank(const LeafKey& key) const {
    const Annotation a = annotation_of(key);
    return a == Annotation::block_x || a == Annotation::block_y || a == Annotation::block_z ? 0 : 1;
  }

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
    HashSet<std::uint32_t> seen;
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
           known_to_readers_.holds(pool_.binary(algebra::Op::ge, zero, interval.min)) &&
           known_to_readers_.holds(pool_.binary(algebra::Op::le, last, interval.max)))) {
        interval = {zero, last, false};
      }
      read[d].push_back(interval);
    }
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
  /// As a range, `all` where it has no end.
  NodeRange covering(const algebra::Interval& interval, const NodeRange& all) {
    if (interval.min == algebra::no_ref || interval.max == algebra::no_ref) {
      return all;
    }
    const algebra::Ref one = pool_.like(interval.max, 1);
    return {blank_.simplify(interval.min),
            blank_.simplify(pool_.sub(pool_.add(interval.max, one), interval.min))};
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
      const std::int64_t extent = a < op.axes.size() ? op.axes[a].extent
                                                     : op.reduce_axes[a - op.axes.size()].extent;
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
    const algebra::Interval all_inner =
        algebra::interval_of_range(pool_, inner.min, inner.extent);
    if (is_all_of(fused, stage.range[at(r.whole)])) {
      of_node[at(r.outer)] = algebra::interval_of_range(pool_, outer.min, outer.extent);
      of_node[at(r.inner)] = all_inner;
      return;
    }
    const auto quotient = [&](algebra::Ref x) { return pool_.floordiv(x, inner.extent); };
    const auto remainder = [&](algebra::Ref x) { return pool_.floormod(x, inner.extent); };
    if (fused.is_point) {
      of_node[at(r.outer)] =
          algebra::Interval::point(pool_.add(quotient(fused.min), outer.min));
      of_node[at(r.inner)] =
          algebra::Interval::point(pool_.add(remainder(fused.min), inner.min));
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
};

}  // namespace tensorsmith::detail
