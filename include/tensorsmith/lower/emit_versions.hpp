// SPDX-License-Identifier: Apache-2.0
// The register tile in two versions: whole, and what is left of it at the end of an axis.
//
// Floor 4. Part of emit.hpp. For tiles whose outer loop cannot be split any more, since it was
// fused with another one or belongs to the reader of the stage.
#pragma once

#include "tensorsmith/lower/emit.hpp"

namespace tensorsmith::detail {

/// The first of the unrolled and vectorized loops at the end of a nest without reductions.
inline std::size_t NestDecisions::first_tile_leaf(const Emission& e) const {
  std::size_t first = e.nest.num_leaves();
  while (e.shape.reduction_begin < 0 && first > 0 && e.nest.is_tile[first - 1]) {
    --first;
  }
  return first;
}

/// The register tile, or the last unrolled and vectorized loops, once for whole tiles and once for
/// the tail: an outer loop has decided which one it is, and is no longer to be split. Invalid if
/// nothing asks for it.
///     h = f floordiv 8:  form < 49 - 14*h  -->  if 14*h <= 35: tile of 14; else: tile of 7
inline StmtId Emitter::emit_versions(Emission& e, std::size_t leaf) {
  Nest& nest = e.nest;
  const auto tile = static_cast<std::int32_t>(
      e.shape.reduction_end >= 0 ? static_cast<std::size_t>(e.shape.reduction_end) : leaf);
  for (Constraint& c : nest.constraints) {
    if (!c.residual || c.residual->is_constant()) {
      continue;
    }
    std::int64_t most = 0;  // of the form's part in the tile
    bool is_tile = true, is_open = false;
    for (const AffineTerm& term : c.form.terms) {
      const std::int32_t deepest = deepest_leaf(program_.pool, nest, term.atom);
      if (deepest < static_cast<std::int32_t>(leaf)) {
        continue;
      }
      const auto range = range_of(program_.pool, extents_, term.atom);
      is_open = true;
      is_tile = is_tile && deepest >= tile && nest.is_tile[static_cast<std::size_t>(deepest)] &&
                term.coefficient > 0 && range && program_.pool.as<VarRef>(term.atom) != nullptr;
      most += range ? term.coefficient * range->max : 0;
    }
    // residual = step * q + rest: above `most` the tile is whole, else `rest` of it is left.
    std::int64_t step = 0;
    for (const AffineTerm& term : c.residual->terms) {
      step = gcd(step, term.coefficient < 0 ? -term.coefficient : term.coefficient);
    }
    if (!is_open || !is_tile || step <= most) {
      continue;
    }
    const Affine residual = *c.residual;
    const std::vector<Constraint> saved = nest.constraints;
    const std::int64_t rest = floor_mod(residual.constant, step);
    const auto range = range_of(program_.pool, extents_, residual);
    c.residual.reset();
    const StmtId whole = emit_leaf(e, leaf);
    nest.constraints = saved;
    StmtId tail;
    if (rest > 0 && rest <= most && (!range || range->min <= most)) {
      Affine left;
      left.constant = rest;
      nest.constraints[static_cast<std::size_t>(&c - nest.constraints.data())].residual = left;
      tail = emit_leaf(e, leaf);
      nest.constraints = saved;
      if (!range || range->min <= 0) {
        tail = program_.add(
            If{fold(program_.pool.lt(program_.pool.int_imm(0), expr(residual))), tail, {}});
      }
    }
    return program_.add(
        If{fold(program_.pool.lt(program_.pool.int_imm(most), expr(residual))), whole, tail});
  }
  return {};
}

}  // namespace tensorsmith::detail
