// SPDX-License-Identifier: Apache-2.0
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

#include "tensorsmith/lower/nest_decisions.hpp"

namespace tensorsmith::detail {

/// The padded axes of the run that is about to be emitted; all loops outside of it have values.
inline void NestDecisions::plan_padding(Emission& e) {
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
inline bool NestDecisions::can_skip(const Emission& e, const PaddedAxis& axis,
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

inline bool NestDecisions::is_in(const Emission& e, std::size_t leaf, const Constraint& c) const {
  return any_item(c.form.terms, [&](const AffineTerm& term) {
    return uses_var(program_.pool, term.atom, e.nest.leaf_var[leaf]);
  });
}

/// The constant extent that the tile's loop has here; 0 if it has none.
inline std::int64_t NestDecisions::rows_in_tile(const Emission& e, std::size_t row) const {
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
inline std::int64_t NestDecisions::find_places(const Emission& e, PaddedAxis& axis) const {
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

/// The axis whose taps `leaf`, a loop of the run, is copied for.
inline const PaddedAxis* NestDecisions::copied_for(const Emission& e, std::size_t leaf) const {
  for (const PaddedAxis& axis : e.padded) {
    if (axis.place &&
        any_item(axis.run, [&](const PaddedAxis::Term& term) { return term.leaf == leaf; })) {
      return &axis;
    }
  }
  return nullptr;
}

}  // namespace tensorsmith::detail
