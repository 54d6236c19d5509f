// Taps that fall into zero padding: the reduction run leaves them out.
//
// Floor 4. Part of emit.hpp. Own design; what direct convolutions of libraries do by hand.
// Conditions of term_conditions.hpp with the same linear part are one padded axis,
//     low <= h + r <= high.
// h outside of the register tile: the loop of r gets bounds, once per run,
//     for r in min(3, 15 - h) - max(0, 1 - h)
// h in the tile: r is unrolled around the loops inside of it, and every copy has the rows of the
// tile for which the tap lies inside. Where the tile stands decides which: an If per run chooses
// among the copies for the borders and the interior, as is_first_block does.
// Conditions that fit neither stay where they are, in the body (correct and slow).
#pragma once

#include "tensorsmith/lower/emit.hpp"

namespace tensorsmith::detail {

/// The padded axes of the run that is about to be emitted; all loops outside of it have values.
inline void Emitter::plan_padding(Emission& e) {
  constexpr std::int64_t most_copies = 24;
  Nest& nest = e.nest;
  const auto run = static_cast<std::int32_t>(e.shape.reduction_begin);
  const auto tile = static_cast<std::int32_t>(e.shape.reduction_end);
  e.padded.clear();
  e.holds = e.solved;
  e.tile_range.assign(nest.num_leaves(), {});
  std::vector<PaddedAxis> found;
  for (const TermForm& condition : e.conditions) {
    PaddedAxis axis;
    bool is_plain = true;
    for (const AffineTerm& term : condition.form.terms) {
      const std::int32_t leaf = deepest_leaf(program_.pool, nest, term.atom);
      if (leaf < run) {
        axis.outer.add(term.atom, term.coefficient);
        continue;
      }
      const VarRef* ref = program_.pool.as<VarRef>(term.atom);
      is_plain = is_plain && ref != nullptr;
      (leaf < tile ? axis.run : axis.tile)
          .push_back({static_cast<std::size_t>(leaf), term.coefficient});
    }
    if (!is_plain) {
      continue;
    }
    sort_items(axis.run, [](const auto& a, const auto& b) { return a.leaf < b.leaf; });
    axis.outer.constant = condition.form.constant;
    axis.outer = with_values(program_.pool, extents_, nest, axis.outer);
    const auto& leading = axis.run.empty() ? axis.tile : axis.run;
    const std::int64_t sign = !leading.empty() && leading.front().coefficient < 0 ? -1 : 1;
    for (auto* terms : {&axis.run, &axis.tile}) {
      for (PaddedAxis::Term& term : *terms) {
        term.coefficient *= sign;
      }
    }
    const std::int64_t constant = axis.outer.constant;
    axis.outer.constant = 0;
    Affine outer;
    outer.add(axis.outer, sign);
    axis.outer = outer;
    (sign > 0 ? axis.low : axis.high) = sign > 0 ? -constant : constant;
    axis.comparisons.push_back(condition.comparison);
    bool is_new = true;
    for (PaddedAxis& other : found) {
      if (is_new && !(axis.run.empty() && axis.tile.empty()) && other.outer == axis.outer &&
          other.run == axis.run && other.tile == axis.tile) {
        if (axis.low && (!other.low || *other.low < *axis.low)) {
          other.low = axis.low;
        }
        if (axis.high && (!other.high || *other.high > *axis.high)) {
          other.high = axis.high;
        }
        other.comparisons.push_back(condition.comparison);
        is_new = false;
      }
    }
    if (is_new) {
      found.push_back(std::move(axis));
    }
  }
  std::vector<bool> is_taken(nest.num_leaves(), false);
  std::int64_t copies = 1;
  for (PaddedAxis& axis : found) {
    if (!can_skip(e, axis, is_taken)) {
      continue;
    }
    if (!axis.tile.empty()) {
      const std::int64_t more = find_places(e, axis);
      if (more == 0 || copies * more > most_copies) {
        continue;
      }
      copies *= more;
      for (const PaddedAxis::Term& term : axis.run) {
        is_taken[term.leaf] = true;
      }
      is_taken[axis.tile.front().leaf] = true;
    } else if (!axis.run.empty()) {
      is_taken[axis.run.back().leaf] = true;
    }
    e.holds.insert(e.holds.end(), axis.comparisons.begin(), axis.comparisons.end());
    e.padded.push_back(std::move(axis));
  }
}

/// Whether the loops of the axis can be bounded, or copied with rows left out.
inline bool Emitter::can_skip(const Emission& e, const PaddedAxis& axis,
                              const std::vector<bool>& is_taken) const {
  const Nest& nest = e.nest;
  if (axis.tile.size() > 1) {
    return false;
  }
  const std::size_t first = axis.tile.empty() && !axis.run.empty() ? axis.run.size() - 1 : 0;
  for (std::size_t i = first; i < axis.run.size(); ++i) {
    if (is_taken[axis.run[i].leaf]) {
      return false;
    }
    // Steady and tail copies, and bounds that are not constant, are another matter.
    for (const Constraint& c : nest.constraints) {
      if (!c.residual || !is_in(e, axis.run[i].leaf, c)) {
        continue;
      }
      for (std::size_t leaf = 0; leaf < nest.num_leaves(); ++leaf) {
        const bool is_own =
            any_item(axis.run, [&](const PaddedAxis::Term& term) { return term.leaf == leaf; });
        if (!nest.leaf_value[leaf].valid() && !is_own && is_in(e, leaf, c)) {
          return false;
        }
      }
      if (!axis.tile.empty() && !c.residual->is_constant()) {
        return false;
      }
    }
  }
  if (axis.tile.empty()) {
    return true;
  }
  const std::size_t row = axis.tile.front().leaf;
  return !is_taken[row] && static_cast<std::int32_t>(row) != e.shape.vector_leaf &&
         rows_in_tile(e, row) > 0;
}

inline bool Emitter::is_in(const Emission& e, std::size_t leaf, const Constraint& c) const {
  return any_item(c.form.terms, [&](const AffineTerm& term) {
    return uses_var(program_.pool, term.atom, e.nest.leaf_var[leaf]);
  });
}

/// The constant extent that the tile's loop has here; 0 if it has none.
inline std::int64_t Emitter::rows_in_tile(const Emission& e, std::size_t row) const {
  const Nest& nest = e.nest;
  std::int64_t most = nest.leaf_extent[row];
  for (const Constraint& c : nest.constraints) {
    if (!c.residual || !is_in(e, row, c)) {
      continue;
    }
    std::int64_t coefficient = 0;
    for (const AffineTerm& term : c.form.terms) {
      const VarRef* ref = program_.pool.as<VarRef>(term.atom);
      coefficient =
          ref != nullptr && ref->var == nest.leaf_var[row] ? term.coefficient : coefficient;
    }
    for (std::size_t leaf = 0; leaf < nest.num_leaves(); ++leaf) {
      const bool is_other = leaf != row && !nest.leaf_value[leaf].valid() && is_in(e, leaf, c);
      coefficient = is_other ? 0 : coefficient;
    }
    if (coefficient <= 0 || !c.residual->is_constant()) {
      return 0;
    }
    most = smaller_of(most, ceil_div(c.residual->constant, coefficient));
  }
  return most;
}

/// The places of the tile that see padding, and the copies that all places take; 0: too many.
inline std::int64_t Emitter::find_places(const Emission& e, PaddedAxis& axis) const {
  constexpr std::size_t most_borders = 4;
  axis.rows = rows_in_tile(e, axis.tile.front().leaf);
  const auto range = range_of(program_.pool, extents_, axis.outer);
  if (!range) {
    return 0;
  }
  std::int64_t least = 0, most = 0, step = 0;  // of the loops of run and tile together
  const auto widen = [&](const PaddedAxis::Term& term, std::int64_t extent) {
    (term.coefficient < 0 ? least : most) += term.coefficient * (extent - 1);
  };
  for (const PaddedAxis::Term& term : axis.run) {
    widen(term, e.nest.leaf_extent[term.leaf]);
  }
  widen(axis.tile.front(), axis.rows);
  for (const AffineTerm& term : axis.outer.terms) {
    step = gcd(step, term.coefficient);
  }
  step = larger_of<std::int64_t>(step, 1);
  const auto is_inside = [&](std::int64_t at) {
    return (!axis.low || at + least >= *axis.low) && (!axis.high || at + most <= *axis.high);
  };
  std::int64_t at = range->min;
  for (; at <= range->max && !is_inside(at); at += step) {
    axis.borders.push_back(at);
    if (axis.borders.size() > most_borders) {
      return 0;
    }
  }
  axis.has_interior = at <= range->max;
  for (std::int64_t back = range->max - floor_mod(range->max - range->min, step);
       axis.has_interior && back > at && !is_inside(back); back -= step) {
    axis.borders.push_back(back);
    if (axis.borders.size() > most_borders) {
      return 0;
    }
  }
  std::int64_t copies = axis.has_interior ? 1 : 0;
  for (std::int64_t border : axis.borders) {
    // Neighbouring taps with the same rows are one copy.
    std::int64_t taps = 1;
    for (const PaddedAxis::Term& term : axis.run) {
      taps *= e.nest.leaf_extent[term.leaf];
    }
    if (taps > 64) {
      return 0;
    }
    TileRange last{0, 0};
    for (std::int64_t tap = 0; tap < taps; ++tap) {
      std::int64_t sum = border, rest = tap;
      for (std::size_t i = axis.run.size(); i-- > 0;) {
        const std::int64_t extent = e.nest.leaf_extent[axis.run[i].leaf];
        sum += axis.run[i].coefficient * (rest % extent);
        rest /= extent;
      }
      const TileRange rows = axis.rows_inside(sum);
      copies += rows.begin < rows.end && rows != last ? 1 : 0;
      last = rows;
    }
  }
  return larger_of<std::int64_t>(copies, 1);
}

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

/// The axis whose taps `leaf`, a loop of the run, is copied for.
inline const PaddedAxis* Emitter::copied_for(const Emission& e, std::size_t leaf) const {
  for (const PaddedAxis& axis : e.padded) {
    if (axis.place &&
        any_item(axis.run, [&](const PaddedAxis::Term& term) { return term.leaf == leaf; })) {
      return &axis;
    }
  }
  return nullptr;
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
