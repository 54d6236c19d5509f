// SPDX-License-Identifier: Apache-2.0
// Runs without the terms that are zero padding, as plan_padding.hpp has decided.
//
// Floor 4. Part of emit.hpp.
#pragma once

#include "tensorsmith/lower/emit.hpp"
#include "tensorsmith/lower/plan_padding.hpp"

namespace tensorsmith::detail {

/// The run, from padded axis number `index` on.
inline StmtId Emitter::emit_run(Emission& e, std::size_t index) {
  ExprPool& pool = program_.pool;
  if (index == e.padded.size()) {
    return emit_leaf(e, static_cast<std::size_t>(e.shape.reduction_begin));
  }
  PaddedAxis& axis = e.padded[index];
  if (axis.tile.empty()) {
    if (!axis.run.empty()) {
      return emit_run(e, index + 1);  // bounds of a loop: emit_leaf
    }
    const ExprId holds = fold(pool.ge(expr(axis.outer), pool.int_imm(*axis.low)));
    const StmtId body = emit_run(e, index + 1);
    const IntImm* known = pool.as<IntImm>(holds);
    if (known != nullptr) {
      return known->value != 0 ? body : program_.add(Seq{});
    }
    return program_.add(If{holds, body, {}});
  }
  StmtId result;
  if (axis.has_interior) {
    axis.place.reset();
    result = emit_run(e, index + 1);
  }
  for (std::size_t i = axis.borders.size(); i-- > 0;) {
    axis.place = axis.borders[i];
    StmtId copy;
    if (axis.run.empty()) {  // its tap is known outside of the run
      const TileRange rows = axis.rows_inside(axis.borders[i]);
      e.tile_range[axis.tile.front().leaf] = rows;
      copy = rows.begin < rows.end ? emit_run(e, index + 1) : program_.add(Seq{});
      e.tile_range[axis.tile.front().leaf] = {};
    } else {
      copy = emit_run(e, index + 1);
    }
    if (!result.valid()) {
      result = copy;
      continue;
    }
    const ExprId is_here = pool.eq(expr(axis.outer), pool.int_imm(axis.borders[i]));
    result = program_.add(If{is_here, copy, result});
  }
  axis.place.reset();
  return result;
}

/// The copies of one loop of the run, a constant each; the innermost decides about the rows.
inline StmtId Emitter::emit_taps(Emission& e, std::size_t leaf, const PaddedAxis& axis) {
  Nest& nest = e.nest;
  std::int64_t most = nest.leaf_extent[leaf];
  for (const Constraint& c : nest.constraints) {
    for (const AffineTerm& term : c.form.terms) {
      const VarRef* ref = program_.pool.as<VarRef>(term.atom);
      if (c.residual && ref != nullptr && ref->var == nest.leaf_var[leaf]) {
        most = smaller_of(most, ceil_div(c.residual->constant, term.coefficient));
      }
    }
  }
  const bool is_innermost = axis.run.back().leaf == leaf;
  const std::size_t row = axis.tile.front().leaf;
  const std::int64_t step = axis.run.back().coefficient;
  std::int64_t sum = *axis.place;
  for (const PaddedAxis::Term& term : axis.run) {
    const IntImm* value = nest.leaf_value[term.leaf].valid()
                              ? program_.pool.as<IntImm>(nest.leaf_value[term.leaf])
                              : nullptr;
    sum += value != nullptr ? term.coefficient * value->value : 0;
  }
  std::vector<StmtId> parts;
  for (std::int64_t x = 0, next = 0; x < most; x = next) {
    const TileRange rows = is_innermost ? axis.rows_inside(sum + step * x) : TileRange{};
    next = x + 1;
    while (is_innermost && next < most && axis.rows_inside(sum + step * next) == rows) {
      ++next;
    }
    if (is_innermost) {
      if (rows.begin >= rows.end) {
        continue;
      }
      e.tile_range[row] = rows;
    }
    Affine offset;
    offset.constant = x;
    const StmtId copy =
        emit_loop(e, leaf, ForKind::serial, offset, program_.pool.int_imm(next - x), next - x);
    parts.push_back(copy);
    e.tile_range[row] = {};
  }
  nest.leaf_value[leaf] = {};
  return seq(std::move(parts));
}

/// begin <= leaf < end for the loop of a run whose taps are bounded; nothing if it has no bounds.
inline std::optional<std::pair<ExprId, ExprId>>
Emitter::tap_bounds(const Emission& e, std::size_t leaf, ExprId count) {
  ExprPool& pool = program_.pool;
  for (const PaddedAxis& axis : e.padded) {
    if (!axis.tile.empty() || axis.run.empty() || axis.run.back().leaf != leaf) {
      continue;
    }
    Affine outside = axis.outer;  // and the loops of the run around this one
    for (std::size_t i = 0; i + 1 < axis.run.size(); ++i) {
      outside.add(affine(e.nest.leaf_value[axis.run[i].leaf]), axis.run[i].coefficient);
    }
    // low <= outside + c * x <= high; for a negative c all signs are turned.
    std::optional<std::int64_t> low = axis.low, high = axis.high;
    std::int64_t step = axis.run.back().coefficient;
    if (step < 0) {
      Affine turned;
      turned.add(outside, -1);
      outside = turned;
      step = -step;
      low.reset();
      if (axis.high) {
        low = -*axis.high;
      }
      high.reset();
      if (axis.low) {
        high = -*axis.low;
      }
    }
    const auto quotient = [&](std::int64_t constant) {
      Affine form;
      form.add(outside, -1);
      form.constant += constant;
      return affine(pool.floordiv(expr(form), pool.int_imm(step)));
    };
    ExprId begin = pool.int_imm(0), end = count;
    if (low) {
      begin = expr(affine(pool.max(expr(quotient(*low + step - 1)), pool.int_imm(0))));
    }
    if (high) {
      end = expr(affine(pool.min(expr(quotient(*high + step)), count)));
    }
    return std::pair{begin, end};
  }
  return std::nullopt;
}

}  // namespace tensorsmith::detail
