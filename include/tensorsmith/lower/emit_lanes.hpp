// SPDX-License-Identifier: Apache-2.0
// Partial results of reductions that end with their own loops: folds of vectors (place_lanes.hpp).
//
// Floor 4. Part of emit.hpp.
#pragma once

#include "tensorsmith/lower/emit.hpp"
#include "tensorsmith/lower/place_lanes.hpp"

namespace tensorsmith::detail {

/// The lanes of every row's accumulators become one value, which goes to its place.
inline StmtId Emitter::emit_fold(Emission& e) {
  const auto saved = e.nest.constraints;
  for (Constraint& c : e.nest.constraints) {  // of the reduction: it is over
    for (const AffineTerm& term : c.form.terms) {
      const std::int32_t deepest = deepest_leaf(program_.pool, e.nest, term.atom);
      if (deepest >= 0 && e.nest.is_reduction[static_cast<std::size_t>(deepest)]) {
        c.residual.reset();
        break;
      }
    }
  }
  e.mode = BodyMode::write_back;
  const StmtId all = emit_leaf(e, static_cast<std::size_t>(e.shape.reduction_end));
  e.nest.constraints = saved;
  return all;
}

/// The same of the row that the loops in front of the lanes have come to.
inline StmtId Emitter::emit_row_fold(Emission& e) {
  ExprPool& pool = program_.pool;
  const auto lane = static_cast<std::size_t>(e.lane_leaf);
  const Combiner combiner = pool.combiner(pool.as<Reduce>(e.op->bodies[0])->combiner);
  const BufferId buffer = e.accumulators[0];
  const DType type = program_[buffer].dtype;
  ExprList row;
  for (auto i = static_cast<std::size_t>(e.shape.reduction_end); i < lane; ++i) {
    row.push_back(e.nest.leaf_value[i]);
  }
  const auto at = [&](ExprId index) {
    ExprList point = row;
    point.push_back(index);
    return point;
  };
  std::vector<StmtId> parts;
  for (std::int64_t left = e.nest.leaf_extent[lane]; left > 1;) {
    std::int64_t half = 1;
    while (2 * half < left) {
      half *= 2;
    }
    const std::int64_t count = left - half;
    ExprId low = pool.int_imm(0);
    VarId var;
    if (count > 1) {
      var = pool.new_var("lane");
      extents_.set(var, count);
      low = pool.var(var);
    }
    const ExprId high = expr(affine(pool.add(low, pool.int_imm(half))));
    const ExprId value =
        value_of(combiner.results[0], {{combiner.lhs[0], pool.load(buffer, type, at(low))},
                                       {combiner.rhs[0], pool.load(buffer, type, at(high))}});
    StmtId stmt = program_.add(Store{buffer, at(low), value});
    if (count > 1) {
      stmt = program_.add(For{var, pool.int_imm(count), ForKind::vectorized, stmt});
    }
    parts.push_back(stmt);
    left = half;
  }
  e.nest.leaf_value[lane] = pool.int_imm(0);
  parts.push_back(emit_body(e));
  e.nest.leaf_value[lane] = {};
  return seq(std::move(parts));
}

}  // namespace tensorsmith::detail

#include "tensorsmith/lower/emit_sum_lanes.hpp"
