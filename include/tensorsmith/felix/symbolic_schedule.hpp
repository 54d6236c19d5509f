// SPDX-License-Identifier: Apache-2.0
// SymbolicSchedule: the loops of every stage of a schedule, with its split lengths as symbols.
//
// Floor 6.5. Felix, ch. 2.1 and 2.2. Length i of the g-th split step is the symbol "sp_g_i:k"; one
// more than the limit of unrolling of step s is "ur_s:k", for a limit may be 0. The steps are kept
// by stage and replayed when the extents of its axes are known: an attached stage computes a region
// that depends on who reads it. A split of an axis into several levels, or of a reduced axis, is a
// tile and divides it; any other split may leave a rest. Not here: regions and stores
// (symbolic_program.hpp).
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "tensorsmith/felix/formula_numbers.hpp"
#include "tensorsmith/felix/polynomial.hpp"
#include "tensorsmith/sched/apply/annotation.hpp"
#include "tensorsmith/sched/hints.hpp"
#include "tensorsmith/sched/state.hpp"
#include "tensorsmith/sched/step_traits.hpp"

namespace tensorsmith::felix {

struct SymbolicIterator {
  FormulaId var, extent;
  Annotation annotation = Annotation::none;
  bool reduces = false;
};

/// A stage after its steps.
struct SymbolicStage {
  std::vector<SymbolicIterator> iterators;
  std::vector<FormulaId> axis_values;  ///< spatial axes, then reduced ones, by the iterators
};

class SymbolicSchedule {
 public:
  /// Steps that it does not know make it invalid. `open`: see symbolic_program().
  SymbolicSchedule(FormulaPool& pool, const State& state, const std::vector<bool>* open)
      : pool_(pool), n_(pool), expand_(pool), state_(state), open_(open),
        stages_(state.initial_dag()->operations().size()), unrolls_(stages_.size()) {
    for (std::size_t i = 0; i < state.steps().size() && is_valid_; ++i) {
      is_valid_ = std::visit([&](const auto& step) { return read(step); }, state.steps()[i]);
      lengths_.resize(i + 1);
    }
    is_valid_ = is_valid_ && stages_.size() == state.num_stages();
  }
  bool is_valid() const { return is_valid_; }
  /// By split step, in the order of the steps.
  const std::vector<std::vector<FormulaId>>& splits() const { return splits_; }
  /// By step: the lengths of a split, numbers of one that is not open; the symbol of a limit of
  /// unrolling that is.
  const std::vector<std::vector<FormulaId>>& of_step() const { return lengths_; }
  /// The limit of unrolling of a stage where a symbol says it; else not valid.
  FormulaId unroll_of(std::size_t stage) const { return unrolls_[stage]; }

  /// `extents`: of the spatial axes, then of the reduced ones; `bases`: where the spatial ones
  /// begin.
  SymbolicStage replay(std::size_t s, const std::vector<FormulaId>& extents,
                       const std::vector<FormulaId>& bases) {
    SymbolicStage made;
    const std::size_t num_spatial = state_.operation(s).axes.size();
    std::vector<bool> is_axis;
    for (std::size_t a = 0; a < extents.size(); ++a) {
      made.iterators.push_back({new_var(s), extents[a], Annotation::none, a >= num_spatial});
      made.axis_values.push_back(made.iterators.back().var);
      is_axis.push_back(true);
    }
    for (const LocalStep& step : stages_[s]) {
      apply(step, s, made, is_axis);
    }
    for (SymbolicIterator& it : made.iterators) {
      if (is_thread_annotation(it.annotation)) {  // loops over one kind of thread are one loop
        const FormulaId var =
            pool_.symbol("thread." + std::to_string(static_cast<int>(it.annotation)));
        made.axis_values = substitute(pool_, made.axis_values, {{it.var, var}});
        it.var = var;
      }
    }
    for (std::size_t a = 0; a < num_spatial; ++a) {
      made.axis_values[a] = n_.add(bases[a], made.axis_values[a]);
    }
    return made;
  }

 private:
  struct LocalStep {
    enum class Kind : std::uint8_t { split, fuse, reorder, annotate } kind;
    std::vector<std::int32_t> iterators;
    std::vector<FormulaId> lengths = {};
    bool inner_to_outer = true;
    Annotation annotation = Annotation::none;
    bool tightens = true;  ///< a part is no longer than the whole; threads are as many as others
  };
  using Kind = LocalStep::Kind;

  std::vector<LocalStep>& of(std::int32_t stage) {
    return stages_[static_cast<std::size_t>(stage)];
  }
  bool read(const AnnotationStep& step) {
    of(step.stage).push_back({Kind::annotate, {step.iterator}, {}, true, step.annotation});
    return true;
  }
  bool read(const FuseStep& step) {
    of(step.stage).push_back({Kind::fuse, {step.iterators.begin(), step.iterators.end()}});
    return !step.iterators.empty();
  }
  bool read(const ReorderStep& step) {
    of(step.stage).push_back({Kind::reorder, {step.after.begin(), step.after.end()}});
    return true;
  }
  bool read(const SplitStep& step) {
    std::vector<FormulaId> lengths;
    const bool is_open = open_ == nullptr || (*open_)[lengths_.size()];
    for (std::size_t i = 0; i < step.lengths.size(); ++i) {
      lengths.push_back(is_open ? pool_.symbol("sp_" + std::to_string(splits_.size()) + "_" +
                                                   std::to_string(i) + ":k",
                                               SymbolKind::knob)
                                : n_.number(static_cast<double>(step.lengths[i])));
    }
    splits_.push_back(lengths);
    lengths_.push_back(lengths);
    of(step.stage).push_back({Kind::split, {step.iterator}, lengths, step.inner_to_outer});
    return true;
  }
  bool read(const FollowSplitStep& step) {
    const std::vector<FormulaId>& source = lengths_[static_cast<std::size_t>(step.source_step)];
    std::vector<FormulaId> lengths;
    FormulaId rest = n_.number(1);
    for (std::size_t i = 0; i < source.size(); ++i) {
      if (static_cast<std::int32_t>(i) + 1 < step.num_split) {
        lengths.push_back(source[i]);
      } else {
        rest = n_.mul(rest, source[i]);
      }
    }
    lengths.push_back(rest);
    of(step.stage).push_back({Kind::split, {step.iterator}, lengths});
    return true;
  }
  bool read(const FollowFusedSplitStep& step) {
    FormulaId length = n_.number(1);
    for (const std::int32_t source : step.source_steps) {
      length = n_.mul(
          length, lengths_[static_cast<std::size_t>(source)][static_cast<std::size_t>(step.level)]);
    }
    of(step.stage)
        .push_back({Kind::split,
                    {step.iterator},
                    {length},
                    step.factor_or_nparts,
                    Annotation::none,
                    false});
    return true;
  }
  bool read(const CacheReadStep& step) {
    stages_.insert(stages_.begin() + step.stage + 1, std::vector<LocalStep>{});
    unrolls_.insert(unrolls_.begin() + step.stage + 1, FormulaId{});
    return true;
  }
  bool read(const CacheWriteStep& step) { return add_stage_before(step.stage); }
  bool read(const FactorSumStep& step) { return add_stage_before(step.stage); }
  bool read(const PragmaStep& step) {
    if (step.hint.is<hints::AutoUnroll>()) {
      FormulaId& limit = unrolls_[static_cast<std::size_t>(step.stage)];
      limit = FormulaId{};
      if (open_ != nullptr && (*open_)[lengths_.size()]) {
        const FormulaId symbol =
            pool_.symbol("ur_" + std::to_string(lengths_.size()) + ":k", SymbolKind::knob);
        limit = n_.sub(symbol, n_.number(1));
        lengths_.push_back({symbol});
      }
    }
    return true;
  }
  bool read(const RfactorStep&) { return false; }
  bool read(const StorageLayoutStep&) { return false; }
  /// Nothing was done to the stage that its loops are taken from.
  bool add_stage_before(std::int32_t stage) {
    stages_.insert(stages_.begin() + stage, std::vector<LocalStep>{});
    unrolls_.insert(unrolls_.begin() + stage, FormulaId{});
    return true;
  }
  /// Where stages are computed is that of the state.
  template <class Other>
  bool read(const Other&) {
    return true;
  }

  FormulaId new_var(std::size_t s) {
    return pool_.symbol("loop." + std::to_string(s) + "." + std::to_string(num_vars_++));
  }

  void apply(const LocalStep& step, std::size_t s, SymbolicStage& stage,
             std::vector<bool>& is_axis) {
    std::vector<SymbolicIterator>& all = stage.iterators;
    const auto at = static_cast<std::size_t>(step.iterators[0]);
    switch (step.kind) {
    case Kind::annotate:
      all[at].annotation = step.annotation;
      return;
    case Kind::reorder: {
      std::vector<SymbolicIterator> after;
      std::vector<bool> axes_after;
      for (const std::int32_t from : step.iterators) {
        after.push_back(all[static_cast<std::size_t>(from)]);
        axes_after.push_back(is_axis[static_cast<std::size_t>(from)]);
      }
      all = std::move(after);
      is_axis = std::move(axes_after);
      return;
    }
    case Kind::split:
      return split(step, s, stage, is_axis, at);
    case Kind::fuse:
      return fuse(step.iterators.size(), s, stage, is_axis, at);
    }
  }
  void split(const LocalStep& step, std::size_t s, SymbolicStage& stage, std::vector<bool>& is_axis,
             std::size_t at) {
    const SymbolicIterator old = stage.iterators[at];
    const std::size_t n = step.lengths.size();
    std::vector<SymbolicIterator> parts(n + 1);
    FormulaId rest = old.extent, value = n_.number(0);
    for (std::size_t k = 0; k < n; ++k) {
      const std::size_t part = step.inner_to_outer ? n - k : k;
      const FormulaId length = step.lengths[step.inner_to_outer ? n - 1 - k : k];
      parts[part].extent = length;
      const bool divides = is_axis[at] && (n > 1 || old.reduces);
      rest = quotient(rest, length, divides, step.tightens, parts[part].extent);
    }
    parts[step.inner_to_outer ? 0 : n].extent = rest;
    for (SymbolicIterator& part : parts) {
      part.var = new_var(s);
      part.reduces = old.reduces;
      value = n_.add(n_.mul(value, part.extent), var_or_zero(part));
    }
    stage.axis_values = substitute(pool_, stage.axis_values, {{old.var, value}});
    stage.iterators.erase(stage.iterators.begin() + static_cast<std::ptrdiff_t>(at));
    stage.iterators.insert(stage.iterators.begin() + static_cast<std::ptrdiff_t>(at), parts.begin(),
                           parts.end());
    is_axis[at] = false;
    is_axis.insert(is_axis.begin() + static_cast<std::ptrdiff_t>(at), n, false);
  }
  /// How many parts of `length`; where a rest may be left, a part is no longer than the whole.
  FormulaId quotient(FormulaId whole, FormulaId length, bool divides, bool tightens,
                     FormulaId& part) {
    if (pool_.is_number(whole, 1) && tightens) {
      part = n_.number(1);
      return whole;
    }
    if (const std::optional<FormulaId> exact = expand_.exact_quotient(whole, length)) {
      return *exact;
    }
    if (divides || pool_[whole].op == Op::div) {
      return expand_(n_.div(whole, length));
    }
    part = tightens ? n_.min(whole, length) : length;
    const FormulaId one = n_.number(1);
    return n_.add(n_.floordiv(n_.sub(whole, one), length), one);
  }
  void fuse(std::size_t count, std::size_t s, SymbolicStage& stage, std::vector<bool>& is_axis,
            std::size_t at) {
    const auto first = stage.iterators.begin() + static_cast<std::ptrdiff_t>(at);
    SymbolicIterator fused{new_var(s), n_.number(1), Annotation::none, first->reduces};
    std::vector<std::pair<FormulaId, FormulaId>> values;
    for (std::size_t i = count; i-- > 0;) {
      const SymbolicIterator& part = stage.iterators[at + i];
      FormulaId value = n_.floordiv(fused.var, fused.extent);
      value = pool_.is_number(fused.extent, 1) ? fused.var : value;
      bool is_outermost = true;
      for (std::size_t outer = 0; outer < i; ++outer) {
        is_outermost = is_outermost && pool_.is_number(stage.iterators[at + outer].extent, 1);
      }
      value = is_outermost ? value : fold(pool_, Op::mod, value, part.extent);
      values.emplace_back(part.var, pool_.is_number(part.extent, 1) ? n_.number(0) : value);
      fused.extent = expand_(n_.mul(part.extent, fused.extent));
    }
    stage.axis_values = substitute(pool_, stage.axis_values, values);
    stage.iterators.erase(first + 1, first + static_cast<std::ptrdiff_t>(count));
    stage.iterators[at] = fused;
    is_axis.erase(is_axis.begin() + static_cast<std::ptrdiff_t>(at) + 1,
                  is_axis.begin() + static_cast<std::ptrdiff_t>(at + count));
    is_axis[at] = false;
  }
  FormulaId var_or_zero(const SymbolicIterator& it) const {
    return pool_.is_number(it.extent, 1) ? n_.number(0) : it.var;
  }

  FormulaPool& pool_;
  FormulaNumbers n_;
  Expansion expand_;
  const State& state_;
  const std::vector<bool>* open_;
  std::vector<std::vector<LocalStep>> stages_;
  std::vector<FormulaId> unrolls_;  // by stage
  std::vector<std::vector<FormulaId>> splits_;
  std::vector<std::vector<FormulaId>> lengths_;  // by step; empty: nothing of it has a length
  std::size_t num_vars_ = 0;
  bool is_valid_ = true;
};

}  // namespace tensorsmith::felix
