// SPDX-License-Identifier: Apache-2.0
// The work of infer_bounds: regions of stages from what their readers touch.
//
// Floor 3. Ansor reference, ch. 2.5. Used by sched/bounds.hpp only.
#pragma once

#include <cstdint>
#include <utility>
#include <vector>

#include "tensorsmith/sched/bounds/propagate.hpp"
#include "tensorsmith/sched/bounds/reads.hpp"
#include "tensorsmith/support/algorithm.hpp"

namespace tensorsmith::bounds {

class Inference {
 public:
  explicit Inference(const State& state)
      : state_(state), context_(&state.dag().pool()), loops_(stage_loops(state)) {}

  StepCheck run() {
    const std::size_t count = state_.num_stages();
    is_read_.assign(count, false);
    known_.assign(count, false);
    extents_.resize(count);
    minima_.resize(count);
    leaf_vars_.resize(count);
    thread_vars_.resize(count);
    std::vector<Read> reads;
    for (std::uint32_t id = 0; id < count; ++id) {
      const Operation& op = state_.operation(id);
      if (op.is_placeholder() || state_.stage(id).compute_at == ComputeAt::inlined) {
        continue;
      }
      for (const auto* axes : {&op.axes, &op.reduce_axes}) {
        for (const Axis& axis : *axes) {
          context_.extents().set(axis.var, axis.extent);
        }
      }
      ReadCollector(state_, context_, reads).collect(id);
    }
    for (const Read& read : reads) {
      is_read_[read.source] = true;
    }
    for (std::size_t i = count; i-- > 0;) {
      const auto id = static_cast<std::uint32_t>(i);
      if (state_.stage(id).is_placeholder || state_.stage(id).compute_at == ComputeAt::inlined) {
        continue;
      }
      if (StepCheck error = infer_stage(id, reads)) {
        return error;
      }
    }
    return {};
  }

  /// Some region is no affine form, so that only a bound of an extent is known.
  bool needs_expressions() const { return needs_expressions_; }

  void write(State& state) const {
    for (std::size_t id = 0; id < state.num_stages(); ++id) {
      const auto& stage = state.stage(id);
      if (stage.is_placeholder || stage.compute_at == ComputeAt::inlined) {
        continue;
      }
      bool changed = false;
      for (std::size_t i = 0; i < stage.iterators.size(); ++i) {
        changed = changed || stage.iterators[i].extent != leaf_extent(id, i);
      }
      if (changed) {
        auto& iterators = state.mutable_stage(id).iterators;
        for (std::size_t i = 0; i < iterators.size(); ++i) {
          iterators[i].extent = leaf_extent(id, i);
        }
      }
    }
  }

 private:
  std::int64_t leaf_extent(std::size_t stage, std::size_t iterator) const {
    return extents_[stage][static_cast<std::size_t>(loops_[stage].leaves[iterator])];
  }
  const BasicIterator<std::int64_t>& iterator(std::size_t stage, std::size_t leaf) const {
    return state_.stage(stage).iterators[leaf];
  }
  const IteratorKey* attach_point(std::uint32_t stage) const {
    const auto& map = state_.attach_map().stage_to_iterator;
    const auto found = map.find(static_cast<std::int32_t>(stage));
    return found == map.end() ? nullptr : &found->second;
  }

  /// The root stage under which a stage lies: a GPU kernel of its own.
  std::size_t root_of(std::size_t stage) const {
    while (const IteratorKey* key = attach_point(static_cast<std::uint32_t>(stage))) {
      stage = static_cast<std::size_t>(key->stage);
    }
    return stage;
  }
  VarId& var_slot(std::size_t stage, std::size_t leaf) {
    const Annotation annotation = iterator(stage, leaf).annotation;
    if (!is_thread_annotation(annotation) || annotation == Annotation::vthread) {
      return leaf_vars_[stage][leaf];
    }
    auto& threads = thread_vars_[root_of(stage)];
    if (threads.empty()) {
      threads.resize(static_cast<std::size_t>(Annotation::tensorize));
    }
    return threads[static_cast<std::size_t>(annotation)];
  }
  /// The variable of a loop; loops of one kernel bound to the same thread index share one.
  VarId loop_var(std::size_t stage, std::size_t leaf) {
    VarId& var = var_slot(stage, leaf);
    if (!var.valid()) {
      var = context_.pool().new_var("");
      context_.extents().set(var, leaf_extent(stage, leaf));
    }
    return var;
  }
  Affine loop_point(std::size_t stage, std::size_t leaf) {
    Affine form;
    form.add(context_.pool().var(loop_var(stage, leaf)), 1);
    return form;
  }

  ScopeRank scope_of(std::uint32_t stage) const {
    if (loops_[stage].scope != ScopeRank::by_threads) {
      return loops_[stage].scope;
    }
    int deepest = -1;
    for (const IteratorKey* key = attach_point(stage); key != nullptr;
         key = attach_point(static_cast<std::uint32_t>(key->stage))) {
      for (std::int32_t i = 0; i <= key->iterator; ++i) {
        const Annotation annotation =
            iterator(static_cast<std::size_t>(key->stage), static_cast<std::size_t>(i)).annotation;
        if (is_thread_annotation(annotation)) {
          deepest = larger_of(deepest, thread_rank(annotation));
        }
      }
    }
    return deepest < 0 ? ScopeRank::global : deepest == 0 ? ScopeRank::shared : ScopeRank::local;
  }
  /// Does the loop run over its whole range while one region of a stage in `scope` is held?
  bool is_relaxed(Annotation annotation, bool found_attach, ScopeRank scope) const {
    if (!is_thread_annotation(annotation)) {
      return !found_attach;
    }
    if (scope == ScopeRank::warp && annotation == Annotation::thread_x) {
      return true;
    }
    return static_cast<int>(scope) <= thread_rank(annotation);
  }

  StepCheck infer_stage(std::uint32_t id, const std::vector<Read>& reads) {
    const Operation& op = state_.operation(id);
    std::vector<Interval> region(op.axes.size());
    std::vector<char> some(op.axes.size(), 0), whole(op.axes.size(), is_read_[id] ? 0 : 1);
    if (!is_read_[id] && attach_point(id) != nullptr) {
      return ScheduleError{ScheduleErrorCode::bounds_no_consumer, static_cast<std::int32_t>(id)};
    }
    for (std::size_t r = 0; r < reads.size(); ++r) {
      if (reads[r].source != id) {
        continue;
      }
      if (r == 0 || reads[r - 1].source != id || reads[r - 1].reader != reads[r].reader) {
        if (StepCheck error = hold_reader(id, reads[r].reader)) {
          return error;
        }
      }
      for (std::size_t d = 0; d < op.axes.size(); ++d) {
        const auto touched = context_.eval(reads[r].indices[d]);
        if (!touched) {
          whole[d] = 1;
          continue;
        }
        Interval part = *touched;
        // The ends of the tensor, if they are proved to be tighter.
        if (context_.is_at_most(part.min, constant_form(0)) &&
            context_.is_at_most(constant_form(op.axes[d].extent - 1), part.max)) {
          part = constant_interval(0, op.axes[d].extent - 1);
        }
        if (some[d] == 0) {
          region[d] = part;
          some[d] = 1;
        } else if (!widen(region[d], part)) {
          whole[d] = 1;
        }
      }
    }
    auto& extents = extents_[id];
    extents.assign(static_cast<std::size_t>(loops_[id].num_nodes), 1);
    minima_[id].resize(op.axes.size());
    for (std::size_t d = 0; d < op.axes.size(); ++d) {
      extents[d] = op.axes[d].extent;
      if (whole[d] != 0) {
        needs_expressions_ = needs_expressions_ || is_read_[id];
        continue;
      }
      // A region that does not vary may stick out of the tensor: splits that do not divide.
      const auto exact = IntervalContext::difference(region[d].max, region[d].min);
      const auto size = exact ? exact : context_.largest_difference(region[d].max, region[d].min);
      needs_expressions_ = needs_expressions_ || !exact;
      if (size && *size >= 0 && (exact || *size < op.axes[d].extent)) {
        minima_[id][d] = region[d].min;
        extents[d] = *size + 1;
      }
    }
    for (std::size_t k = 0; k < op.reduce_axes.size(); ++k) {
      extents[op.axes.size() + k] = op.reduce_axes[k].extent;
    }
    pass_down(loops_[id], state_.stage(id), extents);
    leaf_vars_[id].resize(loops_[id].leaves.size());
    known_[id] = true;
    return {};
  }

  bool widen(Interval& into, const Interval& part) {
    const bool lower = context_.is_at_most(part.min, into.min);
    const bool higher = context_.is_at_most(into.max, part.max);
    if ((!lower && !context_.is_at_most(into.min, part.min)) ||
        (!higher && !context_.is_at_most(part.max, into.max))) {
      return false;
    }
    into.min = lower ? part.min : into.min;
    into.max = higher ? part.max : into.max;
    return true;
  }

  /// Assigns to the axes of `reader` the intervals they run over while one region of `source` is
  /// held.
  StepCheck hold_reader(std::uint32_t source, std::uint32_t reader) {
    const IteratorKey* attach = attach_point(source);
    const ScopeRank scope = scope_of(source);
    const auto fail_with = [&](ScheduleErrorCode why, std::int64_t stage) {
      return ScheduleError{why, static_cast<std::int32_t>(source), -1, stage};
    };
    if (!known_[reader]) {
      return fail_with(ScheduleErrorCode::bounds_consumer_outside, reader);
    }
    const StageLoops& loops = loops_[reader];
    bool found = false, is_whole = true;  // is_whole: none of its loops stands still
    std::vector<char> stands(loops.leaves.size(), 0);
    for (std::size_t i = loops.leaves.size(); i-- > 0;) {
      found = found || (attach != nullptr && attach->stage == static_cast<std::int32_t>(reader) &&
                        attach->iterator == static_cast<std::int32_t>(i));
      stands[i] =
          leaf_extent(reader, i) != 1 && !is_relaxed(iterator(reader, i).annotation, found, scope)
              ? 1
              : 0;
      is_whole = is_whole && stands[i] == 0;
    }
    std::vector<Interval> nodes(is_whole ? 0 : static_cast<std::size_t>(loops.num_nodes));
    for (std::size_t i = is_whole ? 0 : loops.leaves.size(); i-- > 0;) {
      Interval& value = nodes[static_cast<std::size_t>(loops.leaves[i])];
      if (stands[i] != 0) {
        value.min = value.max = loop_point(reader, i);
      } else {
        value = constant_interval(0, leaf_extent(reader, i) - 1);
      }
    }
    // Loops above the reader.
    context_.clear_assigned();
    bool any_relaxed = false;
    for (const IteratorKey* key = attach_point(reader); key != nullptr;
         key = attach_point(static_cast<std::uint32_t>(key->stage))) {
      const auto above = static_cast<std::size_t>(key->stage);
      if (!known_[above]) {
        return fail_with(ScheduleErrorCode::bounds_consumer_outside, key->stage);
      }
      for (std::int32_t i = key->iterator; i >= 0; --i) {
        found =
            found || (attach != nullptr && attach->stage == key->stage && attach->iterator == i);
        const auto leaf = static_cast<std::size_t>(i);
        const std::int64_t extent = leaf_extent(above, leaf);
        if (extent > 1 && is_relaxed(iterator(above, leaf).annotation, found, scope)) {
          context_.assign(loop_var(above, leaf), constant_interval(0, extent - 1));
          any_relaxed = true;
        }
      }
    }
    if (attach != nullptr && !found) {
      return fail_with(ScheduleErrorCode::bounds_consumer_outside, reader);
    }
    const Operation& op = state_.operation(reader);
    const std::size_t num_axes = op.axes.size() + op.reduce_axes.size();
    if (!is_whole) {
      pass_up(loops, extents_[reader], context_, nodes);
    }
    std::vector<Interval> axes;
    axes.reserve(num_axes);
    for (std::size_t d = 0; d < num_axes; ++d) {
      Interval value =
          is_whole ? constant_interval(0, extents_[reader][d] - 1) : std::move(nodes[d]);
      if (d < op.axes.size()) {
        value.min.add(minima_[reader][d]);
        value.max.add(minima_[reader][d]);
      }
      if (any_relaxed) {
        const auto low = context_.eval(value.min), high = context_.eval(value.max);
        value = low && high ? Interval{low->min, high->max}
                            : constant_interval(0, extents_[reader][d] - 1);
      }
      axes.push_back(std::move(value));
    }
    context_.clear_assigned();
    for (std::size_t d = 0; d < axes.size(); ++d) {
      const Axis& axis = d < op.axes.size() ? op.axes[d] : op.reduce_axes[d - op.axes.size()];
      context_.assign(axis.var, std::move(axes[d]));
    }
    return {};
  }

  const State& state_;
  IntervalContext context_;
  std::vector<StageLoops> loops_;
  std::vector<bool> is_read_, known_;
  bool needs_expressions_ = false;
  std::vector<std::vector<std::int64_t>> extents_;  ///< per stage, per node
  std::vector<std::vector<Affine>> minima_;         ///< per stage, per spatial axis
  std::vector<std::vector<VarId>> leaf_vars_;
  std::vector<std::vector<VarId>> thread_vars_;  ///< per root stage, per annotation
};

}  // namespace tensorsmith::bounds
