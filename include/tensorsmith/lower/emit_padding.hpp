// SPDX-License-Identifier: Apache-2.0
// Tensor cores on matrices that their tiles do not divide: whole tiles, zeros behind the ends.
//
// Floor 4. Part of emit.hpp. Own design (docs/decisions/0009-native-gpu-space.md). An instruction
// of a warp has no place for a condition. So a sum that one computes in registers runs over whole
// tiles, and the shared copies that it reads hold as much, zeros where their matrices have ended:
//     A.shared[i, k] = if_then_else(i < 1000 && k < 1000, A[i, k], 0)
// Terms of zero change no sum; rows and columns that do not exist are computed and not stored.
#pragma once

#include "tensorsmith/lower/emit.hpp"
#include "tensorsmith/lower/tensor_operands.hpp"

namespace tensorsmith::detail {

/// Whether the sum being emitted reads this copy behind the ends of its matrix.
inline bool ThreadDecisions::is_padded_copy(std::int32_t stage) const {
  return !active_.empty() && has_item(active_.back()->padded_copies, stage);
}

/// Whether the box of `stage` stays as wide as its reader's loops make it.
inline bool ThreadDecisions::keeps_box(std::int32_t stage) const {
  return is_gpu_ && (is_padded_copy(stage) ||
                     state_.stage(static_cast<std::size_t>(stage)).hints.has<hints::Tensorize>());
}

/// Of a stage that is computed in loops of this one; nullptr: no such stage.
inline const TensorIntrinsic* ThreadDecisions::held_instruction(std::int32_t stage) const {
  for (const auto& [attached, place] : state_.attach_map().stage_to_iterator) {
    const HintList& own = state_.stage(static_cast<std::size_t>(attached)).hints;
    if (place.stage == stage && own.has<hints::Tensorize>()) {
      return find_intrinsic(target_, own);
    }
  }
  return nullptr;
}

/// Fewer rows or columns than a tile has are a tile, of which only they are stored.
inline void ThreadDecisions::widen_to_tile(Emission& e, std::vector<Constraint>& clips) const {
  const TensorIntrinsic* intrinsic = held_instruction(e.nest.stage);
  const std::size_t rank = e.op->axes.size();
  for (std::size_t axis = rank < 2 ? rank : rank - 2; intrinsic != nullptr && axis < rank; ++axis) {
    const std::int64_t tile = axis + 2 == rank ? intrinsic->m : intrinsic->n;
    if (e.nest.axis_extent[axis] < tile) {
      Constraint clip;
      clip.bound.constant = e.nest.axis_extent[axis];
      clip.residual = clip.bound;
      clip.form.constant = static_cast<std::int64_t>(axis);
      clips.push_back(std::move(clip));
      e.nest.axis_extent[axis] = tile;
    }
  }
}

/// The stage's copy that is fetched inside of the sum `e`, if all of what `read` touches can be in
/// it; -1: none. `overruns`: the loops of the sum's reduction go on behind its end, where the copy
/// must be zero, so its matrix ends there too.
inline std::int32_t ThreadDecisions::copy_to_pad(const Emission& e, const TensorRead& read,
                                                 bool overruns) const {
  const ExprPool& pool = program_.pool;
  const TensorInfo& info = state_.dag().tensor(read.tensor);
  const auto copy = static_cast<std::int32_t>(info.operation);
  const Operation& op = state_.operation(info.operation);
  const auto place = state_.attach_map().stage_to_iterator.find(copy);
  bool fits = place != state_.attach_map().stage_to_iterator.end() &&
              place->second.stage == e.nest.stage && op.reduce_axes.empty() &&
              op.outputs.size() == 1 && derivations_[info.operation].scope == "shared";
  const VarId depth = e.op->reduce_axes[0].var;
  bool ends = false;
  for (std::size_t d = 0; d < read.indices.size(); ++d) {
    const VarRef* ref = pool.as<VarRef>(read.indices[d]);
    visit_nodes(pool, read.indices[d], [&](ExprId id) {  // sums, of which regions are known
      const Binary* node = pool.as<Binary>(id);
      const bool is_scaled =
          node != nullptr && node->op == BinaryOp::mul &&
          (pool.as<IntImm>(node->a) != nullptr || pool.as<IntImm>(node->b) != nullptr);
      fits = fits && (pool.as<VarRef>(id) != nullptr || pool.as<IntImm>(id) != nullptr ||
                      is_scaled || (node != nullptr && node->op == BinaryOp::add));
    });
    ends = ends ||
           (ref != nullptr && ref->var == depth && info.shape[d] == e.op->reduce_axes[0].extent);
  }
  return fits && (ends || !overruns) ? copy : -1;
}

/// Behind place_warp_intrinsic: takes the conditions off a sum that is computed in whole tiles.
inline void ThreadDecisions::pad_warp_product(Emission& e) {
  Nest& nest = e.nest;
  const BufferId home = homes_[e.op->outputs[0].value].buffer;
  if (e.intrinsic == nullptr || nest.constraints.empty() || e.op->reduce_axes.size() != 1 ||
      program_[home].scope != Scope::local) {
    return;
  }
  const std::optional<TensorOperands> operands =
      tensor_operands(program_.pool, *e.op, *e.intrinsic, e.op->axes.back().var);
  std::vector<std::int64_t> covered;
  for (const Affine& value : nest.axis_value) {
    const auto range = range_of(program_.pool, extents_, value);
    if (!range || !operands) {
      return;
    }
    covered.push_back(range->max + 1);
  }
  std::vector<std::int32_t> copies;
  for (const TensorRead* read : {operands->a, operands->b}) {
    copies.push_back(copy_to_pad(e, *read, covered.back() > nest.axis_extent.back()));
  }
  if (!has_item(copies, -1)) {
    nest.axis_extent = std::move(covered);
    nest.constraints.clear();
    nest.is_padded = true;
    e.padded_copies = std::move(copies);
  }
}

/// A padded copy stores everywhere, so `clips` say where it stores zeros.
inline void ThreadDecisions::pad_copy(Emission& e, std::vector<Constraint>& clips) const {
  if (is_padded_copy(e.nest.stage)) {
    e.nest.is_padded = true;
    e.zero_ends = std::exchange(clips, {});
  }
}

/// The value, or zero behind the ends that a padded copy overruns.
inline ExprId Emitter::value_or_zero(const Emission& e, const ExprList& point, ExprId value) {
  ExprPool& pool = program_.pool;
  const DType type = pool.dtype(value);
  const ExprId zero = is_float(type) ? pool.float_imm(0, type) : pool.int_imm(0, type);
  ExprId inside;
  for (const Constraint& clip : e.zero_ends) {
    const auto axis = static_cast<std::size_t>(clip.form.constant);
    Affine end = clip.bound;
    end.add(e.nest.axis_base[axis]);
    const ExprId holds = is_below(affine(point[axis]), end);
    inside = inside.valid() ? fold(pool.and_(inside, holds)) : holds;
  }
  return inside.valid() ? fold(pool.if_then_else(inside, value, zero)) : value;
}

/// form < bound, without the terms that cannot change it: 8*x + y < 1000 is 8*x < 1000 for y in
/// 0 .. 7. So the lanes of a vector have one condition.
inline ExprId Emitter::is_below(Affine form, const Affine& bound) {
  Affine difference = form;
  difference.add(bound, -1);
  std::vector<AffineTerm> small(form.terms.begin(), form.terms.end());
  sort_items(small, [](const AffineTerm& a, const AffineTerm& b) {
    return a.coefficient < b.coefficient;
  });
  while (is_gpu_ && !small.empty()) {
    Affine rest = difference;
    std::int64_t low = 0, high = 0, unit = 0;
    bool is_known = true;
    for (const AffineTerm& term : small) {
      const auto range = range_of(program_.pool, extents_, term.atom);
      is_known = is_known && range && term.coefficient > 0;
      low += range ? term.coefficient * range->min : 0;
      high += range ? term.coefficient * range->max : 0;
      rest.add(term.atom, -term.coefficient);
    }
    unit = gcd(rest.constant, 0);
    for (const AffineTerm& term : rest.terms) {
      unit = gcd(unit, term.coefficient);
    }
    if (is_known && low >= 0 && high < unit) {
      for (const AffineTerm& term : small) {
        form.add(term.atom, -term.coefficient);
      }
      break;
    }
    small.pop_back();
  }
  return fold(program_.pool.lt(expr(form), expr(bound)));
}

/// Of the constraints of splits of splits, the inner ones that the outer ones imply: with
/// 16*x + y < 1000 goes x < 63.
inline void ThreadDecisions::drop_implied(Nest& nest) const {
  std::vector<Constraint>& all = nest.constraints;
  const auto implies = [&](const Constraint& outer, const Constraint& inner) {
    if (!outer.bound.is_constant() || !inner.bound.is_constant() || inner.form.terms.empty()) {
      return false;
    }
    const AffineTerm& first = inner.form.terms[0];
    std::int64_t scale = 0;
    for (const AffineTerm& term : outer.form.terms) {
      scale = term.atom == first.atom && term.coefficient % first.coefficient == 0
                  ? term.coefficient / first.coefficient
                  : scale;
    }
    Affine rest = outer.form;
    rest.add(inner.form, -scale);
    const auto range = range_of(program_.pool, extents_, rest);
    return scale > 0 && range && range->min >= 0 &&
           scale * inner.bound.constant >= outer.bound.constant;
  };
  for (std::size_t i = 0; i < all.size();) {
    bool is_implied = false;
    for (std::size_t other = 0; other < all.size(); ++other) {
      is_implied = is_implied || (other != i && implies(all[other], all[i]) &&
                                  !(other > i && implies(all[i], all[other])));
    }
    if (is_implied) {
      all.erase(all.begin() + static_cast<std::ptrdiff_t>(i));
    } else {
      ++i;
    }
  }
}

}  // namespace tensorsmith::detail
