// SPDX-License-Identifier: Apache-2.0
// The loops of one nest: bounds, steady and tail copies, the register tile around a reduction run.
//
// Floor 4. Part of emit.hpp.
#pragma once

#include "tensorsmith/lower/emit.hpp"

namespace tensorsmith::detail {

inline ForKind NestDecisions::kind_of(const Emission& e, std::size_t leaf, bool is_constant) const {
  const Annotation annotation = e.nest.derivation.leaves[leaf].annotation;
  if (static_cast<std::int32_t>(leaf) == e.shape.vector_leaf) {
    return is_constant ? ForKind::vectorized : ForKind::serial;
  }
  if (annotation == Annotation::unroll) {
    return is_constant ? ForKind::unrolled : ForKind::serial;
  }
  if (annotation == Annotation::parallel && parallel_depth_ == 0 && !e.nest.is_reduction[leaf]) {
    return ForKind::parallel;
  }
  return ForKind::serial;
}

/// The constraints after `leaf` has got a value; number `settled` (-1 = none) is settled by the
/// caller.
inline void Emitter::settle(Emission& e, std::size_t leaf, std::int32_t settled) {
  Nest& nest = e.nest;
  for (std::size_t k = 0; k < nest.constraints.size(); ++k) {
    Constraint& c = nest.constraints[k];
    if (static_cast<std::int32_t>(k) == settled) {
      c.residual.reset();
    }
    if (!c.residual) {
      continue;
    }
    std::int64_t below = 0;  // what the loops inside can still add
    bool is_known = true, is_touched = false;
    Affine residual = *c.residual;
    for (const AffineTerm& term : c.form.terms) {
      const std::int32_t deepest = deepest_leaf(program_.pool, nest, term.atom);
      if (deepest == static_cast<std::int32_t>(leaf)) {
        Affine atom;
        atom.add(term.atom, 1);
        residual.add(with_values(program_.pool, extents_, nest, atom), -term.coefficient);
        is_touched = true;
      } else if (deepest > static_cast<std::int32_t>(leaf)) {
        const auto range = range_of(program_.pool, extents_, term.atom);
        is_known = is_known && range.has_value();
        below += range ? term.coefficient * range->max : 0;
      }
    }
    if (!is_touched) {
      continue;
    }
    c.residual = residual;
    const auto least = range_of(program_.pool, extents_, residual);
    if (is_known && least && least->min > below) {
      c.residual.reset();
    }
  }
}

inline StmtId Emitter::emit_below(Emission& e, std::size_t leaf) {
  const std::int32_t iterator = e.nest.derivation.leaves[leaf].iterator;
  const bool computes = e.mode == BodyMode::compute || e.mode == BodyMode::update;
  if (computes && iterator >= 0 &&
      state_.attach_map().iterator_to_stages.count({e.nest.stage, iterator}) != 0) {
    return emit_attached(e, leaf, &Emitter::emit_leaf);
  }
  return emit_leaf(e, leaf + 1);
}

/// for y in extent: leaf = offset + y. No loop if it runs exactly once.
inline StmtId Emitter::emit_loop(Emission& e, std::size_t leaf, ForKind kind, const Affine& offset,
                                 ExprId extent, std::int64_t most) {
  ExprPool& pool = program_.pool;
  const IntImm* constant = pool.as<IntImm>(extent);
  if (constant != nullptr && constant->value == 1) {
    e.nest.leaf_value[leaf] = expr(offset);
    const auto saved = e.nest.constraints;
    settle(e, leaf, -1);
    const StmtId body = emit_below(e, leaf);
    e.nest.constraints = saved;
    return body;
  }
  if (kind == ForKind::serial && static_cast<std::int32_t>(leaf) >= e.shape.reduction_end) {
    e.is_tile_indexed = true;
  }
  const VarId var = pool.new_var(pool.var_name(e.nest.leaf_var[leaf]));
  extents_.set(var, most);
  Affine value = offset;
  value.add(pool.var(var), 1);
  e.nest.leaf_value[leaf] = expr(value);
  parallel_depth_ += kind == ForKind::parallel ? 1 : 0;
  const auto saved = e.nest.constraints;
  settle(e, leaf, -1);
  const StmtId body = emit_below(e, leaf);
  e.nest.constraints = saved;
  parallel_depth_ -= kind == ForKind::parallel ? 1 : 0;
  return program_.add(For{var, extent, kind, body, intrinsic_of_loop(e, leaf, kind, extent, body)});
}

inline StmtId Emitter::emit_leaf(Emission& e, std::size_t leaf) {
  if (is_gpu_) {
    return emit_thread_leaf(e, leaf);
  }
  Nest& nest = e.nest;
  ExprPool& pool = program_.pool;
  const bool is_run = static_cast<std::int32_t>(leaf) == e.shape.reduction_begin;
  if (e.mode == BodyMode::compute && (is_run || leaf == first_tile_leaf(e))) {
    const StmtId versions = emit_versions(e, leaf);
    if (versions.valid()) {
      return versions;
    }
  }
  if (is_run && e.mode == BodyMode::compute) {
    return emit_reduction(e);
  }
  if (static_cast<std::int32_t>(leaf) == e.prefetch_leaf && e.mode == BodyMode::update) {
    const StmtId ahead = emit_prefetch(e);
    const std::int32_t here = std::exchange(e.prefetch_leaf, -1);
    const StmtId rest = emit_leaf(e, leaf);
    e.prefetch_leaf = here;
    return seq({ahead, rest});
  }
  if (static_cast<std::int32_t>(leaf) == e.lane_leaf && e.mode == BodyMode::write_back) {
    return emit_row_fold(e);
  }
  if (leaf == nest.num_leaves()) {
    return emit_body(e);
  }
  if (wants_offset_sums(e, leaf)) {
    return emit_with_offset_sums(e, leaf);
  }
  const std::int64_t extent = nest.leaf_extent[leaf];
  if (extent == 1 || is_left_out_of_sums(e, leaf)) {
    nest.leaf_value[leaf] = pool.int_imm(0);
    const StmtId body = emit_below(e, leaf);
    nest.leaf_value[leaf] = {};
    return body;
  }
  if (e.mode == BodyMode::update) {
    if (const PaddedAxis* axis = copied_for(e, leaf)) {
      return emit_taps(e, leaf, *axis);
    }
  }
  const ExprId placeholder = pool.var(nest.leaf_var[leaf]);
  std::int64_t most = extent;         // constant bound
  std::vector<Affine> bounds;         // others, to be taken the minimum of
  std::int32_t partition = -1;        // the constraint that asks for steady and tail copies
  std::vector<std::size_t> enforced;  // settled by this loop's bound
  std::int64_t stride = 0, inner_max = 0;
  for (std::size_t k = 0; k < nest.constraints.size(); ++k) {
    const Constraint& c = nest.constraints[k];
    if (!c.residual) {
      continue;
    }
    std::int64_t coefficient = 0, below = 0;
    bool tile_below = false, loop_below = false, is_known = true;
    for (const AffineTerm& term : c.form.terms) {
      if (term.atom == placeholder) {
        coefficient = term.coefficient;
        continue;
      }
      const std::int32_t deepest = deepest_leaf(pool, nest, term.atom);
      if (deepest > static_cast<std::int32_t>(leaf)) {
        const auto range = range_of(pool, extents_, term.atom);
        is_known = is_known && range.has_value() && range->min >= 0;
        below += range ? term.coefficient * range->max : 0;
        (nest.is_tile[static_cast<std::size_t>(deepest)] ? tile_below : loop_below) = true;
      }
    }
    if (coefficient <= 0 || !is_known) {
      continue;
    }
    const Affine& residual = *c.residual;
    if (residual.is_constant()) {
      const std::int64_t count = ceil_div(residual.constant, coefficient);
      most = count < most ? count : most;
    } else {
      const auto range = range_of(pool, extents_, residual);
      if (!range || range->min < coefficient * (extent - 1) + 1) {
        Affine count = residual;
        count.constant += coefficient - 1;
        bounds.push_back(affine(pool.floordiv(expr(count), pool.int_imm(coefficient))));
      }
    }
    if (!tile_below && !loop_below) {
      enforced.push_back(k);
    } else if (tile_below && !loop_below && partition < 0) {
      bool can_partition = residual.is_constant();
      if (!can_partition && below < coefficient) {
        can_partition = true;
        for (const AffineTerm& term : residual.terms) {
          can_partition = can_partition && term.coefficient % coefficient == 0;
        }
      }
      if (can_partition) {
        partition = static_cast<std::int32_t>(k);
        stride = coefficient;
        inner_max = below;
      }
    }
  }
  if (most <= 0) {  // all of it lies behind an end
    return program_.add(Seq{});
  }
  ExprId count = pool.int_imm(most);
  for (const Affine& bound : bounds) {
    count = expr(affine(pool.min(expr(bound), count)));
  }
  const bool is_constant = bounds.empty();
  if (!is_constant && inner_max >= stride) {
    partition = -1;  // one iteration more or less would not be one tile more or less
  }
  const auto saved = nest.constraints;
  for (std::size_t k : enforced) {
    nest.constraints[k].residual.reset();
  }
  const auto finish = [&](StmtId stmt) {
    nest.constraints = saved;
    nest.leaf_value[leaf] = {};
    return stmt;
  };
  if (e.mode == BodyMode::update && partition < 0) {
    if (const TileRange rows = e.tile_range[leaf]; rows.end > 0) {
      Affine offset;
      offset.constant = rows.begin;
      const std::int64_t inside = rows.end - rows.begin;
      return finish(
          emit_loop(e, leaf, kind_of(e, leaf, true), offset, pool.int_imm(inside), inside));
    }
    if (const auto bounds_of_taps = tap_bounds(e, leaf, count)) {
      const auto [begin, end] = *bounds_of_taps;
      const ExprId inside = expr(affine(pool.max(pool.sub(end, begin), pool.int_imm(0))));
      const auto range = range_of(pool, extents_, inside);
      most = range && range->max < most ? range->max : most;
      if (most <= 0) {
        return finish(program_.add(Seq{}));
      }
      const ForKind kind = kind_of(e, leaf, pool.as<IntImm>(inside) != nullptr);
      return finish(emit_loop(e, leaf, kind, affine(begin), inside, most));
    }
  }
  if (partition < 0) {
    const ForKind kind = kind_of(e, leaf, is_constant);
    return finish(emit_loop(e, leaf, kind, {}, count, most));
  }
  Constraint& split = nest.constraints[static_cast<std::size_t>(partition)];
  const Affine residual = *split.residual;
  if (residual.is_constant() && is_constant) {
    std::int64_t full = floor_div(residual.constant - 1 - inner_max, stride) + 1;
    full = full < 0 ? 0 : (full > most ? most : full);
    std::vector<StmtId> parts;
    if (full > 0) {
      split.residual.reset();
      parts.push_back(emit_loop(e, leaf, kind_of(e, leaf, true), {}, pool.int_imm(full), full));
      split.residual = residual;
    }
    for (std::int64_t x = full; x < most; ++x) {  // one, unless the loops are in an odd order
      Affine offset;
      offset.constant = x;
      parts.push_back(emit_loop(e, leaf, ForKind::serial, offset, pool.int_imm(1), 1));
    }
    return finish(seq(std::move(parts)));
  }
  // residual = stride * q + rest for every outer iteration: q whole tiles, then one of `rest`.
  std::int64_t rest = floor_mod(residual.constant, stride);
  rest = rest == 0 ? stride : rest;
  if (inner_max < rest) {
    split.residual.reset();
    return finish(emit_loop(e, leaf, kind_of(e, leaf, is_constant), {}, count, most));
  }
  const Affine quotient = affine(pool.floordiv(expr(residual), pool.int_imm(stride)));
  ExprId full = expr(affine(pool.min(expr(quotient), pool.int_imm(extent))));
  if (bounds.size() > 1 || most < extent) {
    full = expr(affine(pool.min(full, count)));
  }
  const auto range = range_of(pool, extents_, residual);
  if (!range || range->min < 0) {  // outer iterations may lie behind the end altogether
    full = expr(affine(pool.max(full, pool.int_imm(0))));
  }
  split.residual.reset();
  std::vector<StmtId> parts{emit_loop(e, leaf, kind_of(e, leaf, false), {}, full, most)};
  // The tail runs (count - full) times, which is 0 or 1; where it runs, leaf = quotient.
  const VarId once = pool.new_var(pool.var_name(nest.leaf_var[leaf]) + "_tail");
  extents_.set(once, 1);
  Affine constant_rest;
  constant_rest.constant = rest;
  nest.leaf_value[leaf] = expr(quotient);
  if (static_cast<std::int32_t>(leaf) >= e.shape.reduction_end) {
    e.is_tile_indexed = true;
  }
  const auto before_tail = nest.constraints;
  settle(e, leaf, -1);
  nest.constraints[static_cast<std::size_t>(partition)].residual = constant_rest;
  const StmtId tail = emit_below(e, leaf);
  nest.constraints = before_tail;
  For rest_loop{once, expr(affine(pool.sub(count, full))), ForKind::serial, tail};
  rest_loop.is_tail = true;
  parts.push_back(program_.add(rest_loop));
  return finish(seq(std::move(parts)));
}

}  // namespace tensorsmith::detail
