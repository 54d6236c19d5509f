// SPDX-License-Identifier: Apache-2.0
// symbolic_program: the loop nest of a schedule, with its split lengths as symbols.
//
// Floor 6.5. Felix, ch. 2.2 and 2.3. An attached stage computes the region that its readers need in
// one iteration of the loops around it; copies in shared memory are for all threads of a block.
// Extents and regions are written out as polynomials where lengths divide. Of operations the counts
// are those of the schedule at hand. Not for reductions across threads and factored ones, storage
// layouts, and indices that read memory or depend on a condition.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "tensorsmith/felix/symbolic_nest.hpp"
#include "tensorsmith/felix/symbolic_reads.hpp"
#include "tensorsmith/felix/symbolic_schedule.hpp"
#include "tensorsmith/sched/bounds/stage_scopes.hpp"

namespace tensorsmith::felix {

struct SymbolicProgram {
  SymbolicNest nest;                            ///< tensors are those of the state's dag
  std::vector<std::vector<FormulaId>> splits;   ///< lengths by split step
  std::vector<std::vector<FormulaId>> steps;    ///< by step: what SymbolicSchedule::of_step() says
  std::vector<std::vector<FormulaId>> extents;  ///< of iterators, by stage; inlined: none
  /// False: a region of an attached stage is what the rules for ranges say, with a quotient that
  /// leaves a rest, as between tiles of two stages; bounds of the concrete program may be others.
  bool is_exact = true;
};

namespace detail {

class SymbolicProgramBuilder {
 public:
  /// `counted`: the stores of the same schedule, of which operations are taken.
  SymbolicProgramBuilder(FormulaPool& pool, const State& state, const StoreProgram& counted,
                         const std::vector<bool>* open)
      : pool_(pool), n_(pool), expand_(pool), state_(state), dag_(state.dag()), counted_(counted),
        schedule_(pool, state, open), reads_(pool, state),
        scopes_(tensorsmith::detail::scopes_of_stages(state)), stages_(state.num_stages()) {}

  std::optional<SymbolicProgram> run() {
    if (!schedule_.is_valid()) {
      return std::nullopt;
    }
    for (std::size_t s = stages_.size(); s-- > 0 && is_known_;) {
      if (is_computed(s)) {
        place(s);
      }
    }
    if (!is_known_) {
      return std::nullopt;
    }
    make_buffers();
    for (std::size_t s = 0; s < stages_.size(); ++s) {
      if (is_computed(s) && state_.stage(s).compute_at == ComputeAt::root) {
        emit(s, n_.number(0));
      }
    }
    if (!is_known_) {
      return std::nullopt;
    }
    SymbolicProgram made{std::move(nest_), schedule_.splits(), schedule_.of_step(), {}, is_exact_};
    for (const Placed& stage : stages_) {
      made.extents.emplace_back();
      for (const SymbolicIterator& it : stage.loops.iterators) {
        made.extents.back().push_back(it.extent);
      }
    }
    return made;
  }

 private:
  struct Placed {
    SymbolicStage loops;
    std::vector<SymbolicRead> reads;
    FormulaId elements;
  };

  bool is_computed(std::size_t s) const {
    return !state_.stage(s).is_placeholder && state_.stage(s).compute_at != ComputeAt::inlined;
  }
  FormulaId whole(std::int64_t value) const { return n_.number(static_cast<double>(value)); }

  /// Finds the region of a stage, then its loops and what it reads.
  void place(std::size_t s) {
    const Operation& op = dag_.operation(s);
    std::vector<FormulaId> extents, bases;
    for (const Axis& axis : op.axes) {
      extents.push_back(whole(axis.extent));
      bases.push_back(n_.number(0));
    }
    if (state_.stage(s).compute_at == ComputeAt::iterator) {
      find_region(s, extents, bases);
    }
    stages_[s].elements = n_.number(1);
    for (const FormulaId extent : extents) {
      stages_[s].elements = expand_(n_.mul(stages_[s].elements, extent));
    }
    for (const Axis& axis : op.reduce_axes) {
      extents.push_back(whole(axis.extent));
    }
    stages_[s].loops = schedule_.replay(s, extents, bases);
    for (const SymbolicIterator& it : stages_[s].loops.iterators) {
      is_known_ = is_known_ && !(it.reduces && is_thread_annotation(it.annotation));
    }
    is_known_ = reads_.collect(s, stages_[s].loops.axis_values, stages_[s].reads) && is_known_;
  }
  /// What one iteration of the loops around `s` reads of it.
  void find_region(std::size_t s, std::vector<FormulaId>& extents, std::vector<FormulaId>& bases) {
    const auto place = state_.attach_map().stage_to_iterator.find(static_cast<std::int32_t>(s));
    if (place == state_.attach_map().stage_to_iterator.end()) {
      is_known_ = false;
      return;
    }
    std::vector<const SymbolicIterator*> around;
    loops_around(place->second, around);
    std::vector<std::optional<FormulaId>> widest(extents.size());
    for (std::size_t c = s + 1; c < stages_.size(); ++c) {
      for (const SymbolicRead& read : stages_[c].reads) {
        if (dag_.tensor(read.tensor).operation != s) {
          continue;
        }
        std::vector<std::pair<FormulaId, FormulaId>> inside, outside;
        FormulaRanges ranges(pool_);
        for (const Placed& stage : stages_) {
          for (const SymbolicIterator& it : stage.loops.iterators) {
            if (is_fixed(it, around, scopes_[s])) {
              ranges.bind(it.var, {n_.number(0), n_.number(0)});
            } else {
              ranges.bind_loop(it.var, it.extent);
              inside.emplace_back(it.var, n_.number(0));
            }
          }
        }
        const std::vector<FormulaId> first = substitute(pool_, read.indices, inside);
        for (std::size_t d = 0; d < extents.size(); ++d) {
          const FormulaId width = expand_(ranges.width(read.indices[d]));
          is_exact_ = is_exact_ && !has_rounding(width);
          widest[d] = widest[d] && *widest[d] != width ? n_.max(*widest[d], width) : width;
          bases[d] = first[d];
        }
      }
    }
    for (std::size_t d = 0; d < extents.size(); ++d) {
      const bool is_part = widest[d] && (pool_[*widest[d]].op != Op::number ||
                                         pool_[*widest[d]].value < pool_[extents[d]].value);
      extents[d] = is_part ? *widest[d] : extents[d];
    }
  }
  bool has_rounding(FormulaId id) const {
    const std::vector<bool> used = used_by(pool_, {id});
    for (std::uint32_t i = 0; i <= id.value; ++i) {
      const Op op = pool_[FormulaId{i}].op;
      if (used[i] && (op == Op::floordiv || op == Op::mod)) {
        return true;
      }
    }
    return false;
  }
  void loops_around(const IteratorKey& place, std::vector<const SymbolicIterator*>& around) const {
    const auto stage = static_cast<std::size_t>(place.stage);
    const auto outer = state_.attach_map().stage_to_iterator.find(place.stage);
    if (outer != state_.attach_map().stage_to_iterator.end()) {
      loops_around(outer->second, around);
    }
    const std::vector<SymbolicIterator>& all = stages_[stage].loops.iterators;
    for (std::int32_t i = 0; i <= place.iterator; ++i) {
      around.push_back(&all[static_cast<std::size_t>(i)]);
    }
  }
  /// A loop around, unless all its iterations share the memory.
  bool is_fixed(const SymbolicIterator& it, const std::vector<const SymbolicIterator*>& around,
                bounds::ScopeRank scope) const {
    return any_item(around, [&](const SymbolicIterator* loop) { return loop->var == it.var; }) &&
           !(scope == bounds::ScopeRank::shared && is_thread_annotation(it.annotation) &&
             !is_block_annotation(it.annotation));
  }

  void make_buffers() {
    for (const TensorInfo& tensor : dag_.tensors()) {
      SymbolicBuffer made;
      made.name = tensor.name;
      made.element_bytes = bytes_of(tensor.dtype);
      for (const std::int64_t length : tensor.shape) {
        made.lengths.push_back(whole(length));
      }
      nest_.buffers.push_back(std::move(made));
    }
  }

  void emit(std::size_t s, FormulaId auto_unroll) {
    const BasicStage<std::int64_t>& stage = state_.stage(s);
    const Operation& op = dag_.operation(s);
    // A remark on a loop that is bound to a thread is lost, and so is one that says 0.
    const bool is_bound =
        !stage.iterators.empty() && is_thread_annotation(stage.iterators[0].annotation);
    if (!is_bound) {
      const FormulaId own = schedule_.unroll_of(s).valid() ? schedule_.unroll_of(s)
                                                           : whole(stage.auto_unroll_max_step);
      auto_unroll = pool_.is_number(auto_unroll, 0)
                        ? own
                        : n_.select(n_.equal(own, n_.number(0)), auto_unroll, own);
    }
    for (const TensorId tensor : op.outputs) {
      SymbolicBuffer& buffer = nest_.buffers[tensor.value];
      buffer.elements = stages_[s].elements;
      buffer.around = open_;
      buffer.scope = scopes_[s] == bounds::ScopeRank::shared  ? FeatureScope::shared
                     : scopes_[s] == bounds::ScopeRank::local ? FeatureScope::local
                                                              : FeatureScope::global;
    }
    const std::size_t depth = open_.size();
    bool is_initialised = op.reduce_axes.empty();
    const std::vector<SymbolicIterator>& all = stages_[s].loops.iterators;
    for (std::size_t i = 0; i < all.size(); ++i) {
      if (all[i].reduces && !is_initialised) {
        put_initial(s, i, auto_unroll);
        is_initialised = true;
      }
      if (!pool_.is_number(all[i].extent, 1) || is_thread_annotation(all[i].annotation)) {
        open_.push_back(new_loop(all[i], all[i].var));
      }
      const auto attached = state_.attach_map().iterator_to_stages.find(
          {static_cast<std::int32_t>(s), static_cast<std::int32_t>(i)});
      if (attached != state_.attach_map().iterator_to_stages.end()) {
        std::vector<std::int32_t> order = attached->second;
        sort_items(order);
        for (const std::int32_t inner : order) {
          emit(static_cast<std::size_t>(inner), auto_unroll);
        }
      }
    }
    put(s, open_, stages_[s].loops.axis_values, true, auto_unroll);
    open_.resize(depth);
  }
  std::uint32_t new_loop(const SymbolicIterator& it, FormulaId var) {
    nest_.is_gpu = nest_.is_gpu || is_thread_annotation(it.annotation);
    nest_.loops.push_back({var, it.extent, it.annotation, !is_thread_annotation(it.annotation)});
    return static_cast<std::uint32_t>(nest_.loops.size()) - 1;
  }
  /// What a reduction begins with has loops of its own.
  void put_initial(std::size_t s, std::size_t first_reduced, FormulaId auto_unroll) {
    std::vector<std::uint32_t> loops = open_;
    std::vector<std::pair<FormulaId, FormulaId>> renamed;
    const std::vector<SymbolicIterator>& all = stages_[s].loops.iterators;
    for (std::size_t i = first_reduced; i < all.size(); ++i) {
      if (!all[i].reduces && !pool_.is_number(all[i].extent, 1)) {
        const FormulaId var =
            pool_.symbol(pool_.name_of_symbol(pool_[all[i].var].args[0]) + ".init");
        loops.push_back(new_loop(all[i], var));
        renamed.emplace_back(all[i].var, var);
      }
    }
    put(s, loops, substitute(pool_, stages_[s].loops.axis_values, renamed), false, auto_unroll);
  }
  void put(std::size_t s, const std::vector<std::uint32_t>& loops,
           const std::vector<FormulaId>& axes, bool is_update, FormulaId auto_unroll) {
    const Operation& op = dag_.operation(s);
    for (std::size_t k = 0; k < op.outputs.size(); ++k) {
      SymbolicStore store;
      store.tensor = op.outputs[k];
      store.loops = loops;
      store.auto_unroll_max_step = auto_unroll;
      store.counts.fill(n_.number(0));
      const bool is_sum = is_update && !op.reduce_axes.empty();
      store.accesses.push_back(
          {store.tensor,
           is_sum ? AccessKind::read_write : AccessKind::write,
           {{axes.begin(), axes.begin() + static_cast<std::ptrdiff_t>(op.axes.size())}}});
      for (const SymbolicRead& read : stages_[s].reads) {
        if (is_update) {
          add_read(read, store);
        }
      }
      if (is_update) {
        for (const FeatureStore& counted : counted_.stores) {  // the last one is the update
          for (std::size_t c = 0; counted.tensor == store.tensor && c < num_op_classes; ++c) {
            store.counts[c] = n_.number(counted.counts.count[c]);
          }
        }
      }
      nest_.stores.push_back(std::move(store));
    }
  }
  static void add_read(const SymbolicRead& read, SymbolicStore& store) {
    SymbolicAccess* known = find_item(
        store.accesses, [&](const SymbolicAccess& access) { return access.tensor == read.tensor; });
    if (known == nullptr) {
      store.accesses.push_back({read.tensor, AccessKind::read, {read.indices}});
    } else if (known->kind == AccessKind::read) {
      known->places.push_back(read.indices);
    }
  }

  FormulaPool& pool_;
  FormulaNumbers n_;
  Expansion expand_;
  const State& state_;
  const ComputeDag& dag_;
  const StoreProgram& counted_;
  SymbolicSchedule schedule_;
  SymbolicReads reads_;
  std::vector<bounds::ScopeRank> scopes_;
  std::vector<Placed> stages_;
  SymbolicNest nest_;
  std::vector<std::uint32_t> open_;
  bool is_known_ = true, is_exact_ = true;
};

}  // namespace detail

/// Nothing if the schedule has what symbols cannot follow. `counted`: its stores. `open`: by step,
/// whether a split has symbols for its lengths, and a remark on unrolling one for its limit; null:
/// all splits and no such remark.
inline std::optional<SymbolicProgram> symbolic_program(FormulaPool& pool, const State& state,
                                                       const StoreProgram& counted,
                                                       const std::vector<bool>* open = nullptr) {
  return detail::SymbolicProgramBuilder(pool, state, counted, open).run();
}

}  // namespace tensorsmith::felix
