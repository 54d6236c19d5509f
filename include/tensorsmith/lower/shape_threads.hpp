// SPDX-License-Identifier: Apache-2.0
// What the loops of one thread of a GPU are: which threads store, what accumulates the reduction,
// which loops are unrolled, how often they run.
//
// Floor 4. Part of emit.hpp.
#pragma once

#include "tensorsmith/lower/thread_decisions.hpp"

namespace tensorsmith::detail {

/// Thread axes that have a value in the first `depth` active nests, from the innermost of them to
/// the one that threads work on together.
inline std::vector<AxisUse> ThreadDecisions::threads_around(std::size_t depth) const {
  std::vector<AxisUse> uses;
  while (depth-- > 0) {
    const Emission& e = *active_[depth];
    for (std::size_t i = 0; i < e.nest.num_leaves(); ++i) {
      const ForKind axis = bound_kind(e.nest.derivation.leaves[i].annotation);
      if (is_thread_loop(axis) && e.nest.leaf_extent[i] > 1 && e.nest.leaf_value[i].valid()) {
        uses.push_back({axis, e.nest.leaf_value[i], e.nest.leaf_extent[i]});
      }
    }
    if (program_[homes_[e.op->outputs[0].value].buffer].scope != Scope::local) {
      break;
    }
  }
  return uses;
}

/// Which threads store: those inside of the extents that the stage's loops bind; of an axis that
/// it does not bind, the first, unless every thread has its own copy.
inline void ThreadDecisions::guard_threads(Emission& e) {
  ExprPool& pool = program_.pool;
  const Nest& nest = e.nest;
  const BufferId home = homes_[e.op->outputs[0].value].buffer;
  const bool is_private = program_[home].scope == Scope::local;
  bool is_bound[3] = {false, false, false};
  std::int32_t num_bound[6] = {};
  for (std::size_t i = 0; i < nest.num_leaves(); ++i) {
    const ForKind kind = bound_kind(nest.derivation.leaves[i].annotation);
    if (kind == ForKind::serial || nest.leaf_extent[i] == 1) {
      continue;
    }
    const auto axis = static_cast<std::size_t>(kind) - static_cast<std::size_t>(ForKind::block_x);
    const bool is_twice = ++num_bound[axis] > 1;
    const bool is_lost = is_private && !nest.is_reduction[i];
    const bool is_block = is_block_loop(kind) && (!active_.empty() || nest.is_reduction[i]);
    if (is_twice || is_lost || is_block) {
      fail(LowerErrorCode::illegal_binding, nest.stage);
    }
    if (is_thread_loop(kind)) {
      is_bound[axis - 3] = true;
    }
  }
  if (is_private) {
    for (const AxisUse& use : threads_around(active_.size())) {
      if (is_bound[static_cast<std::size_t>(use.axis) -
                   static_cast<std::size_t>(ForKind::thread_x)]) {
        fail(LowerErrorCode::illegal_binding, nest.stage);
      }
    }
  }
  // What the reader does in one thread only may still be reduced by several.
  for (std::size_t axis = 0; axis < 3; ++axis) {
    const ExprId is_first = pool.eq(pool.var(kernel_.any_thread[axis]), pool.int_imm(0));
    const bool applies =
        !is_private || (!active_.empty() && has_item(active_.back()->guards, is_first));
    if (!is_bound[axis] && applies) {
      e.guards.push_back(is_first);
    }
  }
  for (std::size_t i = 0; is_private && !active_.empty() && i < active_.back()->guards.size();
       ++i) {
    const ExprId guard = active_.back()->guards[i];
    bool is_placed = false;
    for (VarId var : kernel_.any_thread) {
      is_placed = is_placed || uses_var(pool, guard, var);
    }
    if (!is_placed) {
      e.guards.push_back(guard);
    }
  }
}

/// What threads compute together reads nothing that each of them keeps for itself, unless that is
/// computed in its own loops: another thread's is out of reach. `stage`: of e, or inlined into it.
inline void ThreadDecisions::check_private_operands(const Emission& e, std::int32_t stage) {
  const auto is_private = [&](const Emission& of) {
    return program_[homes_[of.op->outputs[0].value].buffer].scope == Scope::local;
  };
  std::size_t depth = active_.size();  // of what threads compute together
  while (depth > 0 && is_private(depth == active_.size() ? e : *active_[depth])) {
    --depth;
  }
  const auto& places = state_.attach_map().stage_to_iterator;
  for (ExprId body : state_.operation(static_cast<std::size_t>(stage)).bodies) {
    visit_nodes(program_.pool, body, [&](ExprId id) {
      const TensorRead* read = program_.pool.as<TensorRead>(id);
      if (read == nullptr) {
        return;
      }
      const auto producer = static_cast<std::int32_t>(state_.dag().tensor(read->tensor).operation);
      const BufferId home = homes_[read->tensor.value].buffer;
      const auto place = places.find(producer);
      if (is_inlined(producer)) {
        check_private_operands(e, producer);
        return;
      }
      if (!home.valid() || program_[home].scope != Scope::local || place == places.end()) {
        return;
      }
      for (std::size_t outside = 0; outside < depth; ++outside) {
        if (active_[outside]->nest.stage == place->second.stage) {
          fail(LowerErrorCode::illegal_binding, producer);
        }
      }
    });
  }
}

/// Where the reduction begins, what accumulates it, and which loops are unrolled.
inline void ThreadDecisions::shape_threads(Emission& e) const {
  Nest& nest = e.nest;
  const auto leaves = static_cast<std::int32_t>(nest.num_leaves());
  if (!e.op->reduce_axes.empty()) {
    for (std::int32_t i = leaves; i-- > 0;) {
      const auto leaf = static_cast<std::size_t>(i);
      if (nest.is_reduction[leaf] && (nest.leaf_extent[leaf] > 1 || e.shape.reduction_begin < 0)) {
        e.shape.reduction_begin = i;
      }
    }
    e.shape.reduction_end = leaves;
  }
  // Own choice: a thousand copies of a body of a few instructions is what compilers and the
  // instruction cache bear; loops that fill no private array are left to the compiler.
  const bool is_accumulating = e.shape.reduction_begin >= 0;
  bool has_private = is_accumulating;
  for (std::size_t i = 0; i < nest.num_leaves(); ++i) {
    has_private = has_private || state_.attach_map().iterator_to_stages.count(
                                     {nest.stage, nest.derivation.leaves[i].iterator}) != 0;
  }
  const std::int64_t limit = has_private ? 1024 : 16;
  const std::int64_t steps =
      state_.stage(static_cast<std::size_t>(nest.stage)).auto_unroll_max_step;
  std::int64_t copies = kernel_.num_vthreads;
  nest.is_tile.assign(nest.num_leaves(), false);
  bool is_open = true;
  for (std::size_t i = nest.num_leaves(); i-- > 0;) {
    const Annotation annotation = nest.derivation.leaves[i].annotation;
    const bool is_bound =
        bound_kind(annotation) != ForKind::serial ||
        (annotation == Annotation::vthread &&
         (!is_accumulating || static_cast<std::int32_t>(i) < e.shape.reduction_begin));
    if (is_bound || nest.leaf_extent[i] == 1) {
      continue;
    }
    is_open = is_open && state_.attach_map().iterator_to_stages.count(
                             {nest.stage, nest.derivation.leaves[i].iterator}) == 0;
    if (static_cast<std::int32_t>(i) == e.tensor_leaf) {  // one instruction of a warp computes it
      const std::int64_t of_thread = std::int64_t{e.intrinsic->m} * e.intrinsic->n / 32;
      copies = larger_of<std::int64_t>(copies / of_thread, 1);
      nest.is_tile[i] = true;
      continue;
    }
    const std::int64_t more = copies * nest.leaf_extent[i];
    const std::int64_t most =
        nest.is_reduction[i] ? smaller_of<std::int64_t>(larger_of<std::int64_t>(steps, 16), limit)
                             : limit;
    nest.is_tile[i] = annotation == Annotation::unroll || (is_open && more <= most);
    copies = nest.is_tile[i] ? more : copies;
    is_open = is_open && (nest.is_tile[i] || nest.is_reduction[i]);
  }
}

/// How often a loop runs at most, for all threads alike. Appends the constraints that it settles.
inline std::int64_t ThreadDecisions::bound_of(const Emission& e, std::size_t leaf,
                                              std::vector<std::size_t>& settled) {
  ExprPool& pool = program_.pool;
  const Nest& nest = e.nest;
  const ExprId placeholder = pool.var(nest.leaf_var[leaf]);
  std::int64_t most = nest.leaf_extent[leaf];
  for (std::size_t k = 0; k < nest.constraints.size(); ++k) {
    const Constraint& c = nest.constraints[k];
    std::int64_t coefficient = 0;
    bool is_last = true, is_known = c.residual && c.residual->is_constant();
    for (std::size_t t = 0; is_known && t < c.form.terms.size(); ++t) {
      const AffineTerm& term = c.form.terms[t];
      if (term.atom == placeholder) {
        coefficient = term.coefficient;
      } else if (deepest_leaf(pool, nest, term.atom) > static_cast<std::int32_t>(leaf)) {
        const auto range = range_of(pool, extents_, term.atom);
        is_known =
            range && term.coefficient * (term.coefficient > 0 ? range->min : range->max) >= 0;
        is_last = false;
      }
    }
    if (!is_known || coefficient <= 0) {
      continue;
    }
    most = smaller_of(most, ceil_div(c.residual->constant, coefficient));
    if (is_last) {
      settled.push_back(k);
    }
  }
  return most;
}

}  // namespace tensorsmith::detail
