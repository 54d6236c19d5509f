// SPDX-License-Identifier: Apache-2.0
// Stores and values: te expressions --> expressions over loop variables and buffers.
//
// Floor 4. Part of emit.hpp. Inlined producers are expanded, indices are made affine, conditions
// that the ranges of the loops decide are folded.
#pragma once

#include "tensorsmith/lower/emit.hpp"

namespace tensorsmith::detail {

/// The loops of the register tile, of a promoted reduction.
inline std::vector<TileLoop> NestDecisions::tile_loops(const Emission& e) const {
  std::vector<TileLoop> loops;
  const std::int32_t first = e.shape.reduction_end < 0 ? 0 : e.shape.reduction_end;
  for (auto i = static_cast<std::size_t>(first); i < e.nest.num_leaves(); ++i) {
    if (!e.nest.leaf_value[i].valid()) {
      continue;
    }
    TileLoop loop{{}, e.nest.leaf_extent[i]};
    visit_nodes(program_.pool, e.nest.leaf_value[i], [&](ExprId id) {
      if (const VarRef* ref = program_.pool.as<VarRef>(id)) {
        loop.vars.push_back(ref->var);
      }
    });
    loops.push_back(std::move(loop));
  }
  return loops;
}

inline StmtId Emitter::emit_body(Emission& e) {
  ExprPool& pool = program_.pool;
  const Operation& op = *e.op;
  std::vector<std::pair<VarId, ExprId>> env;
  ExprList point;  // of the output
  for (std::size_t d = 0; d < op.axes.size(); ++d) {
    Affine value = with_values(pool, extents_, e.nest, e.nest.axis_value[d]);
    value.add(e.nest.axis_base[d]);
    point.push_back(expr(value));
    env.emplace_back(op.axes[d].var, point.back());
  }
  for (std::size_t r = 0; r < op.reduce_axes.size(); ++r) {
    const Affine& form = e.nest.axis_value[op.axes.size() + r];
    env.emplace_back(op.reduce_axes[r].var, expr(with_values(pool, extents_, e.nest, form)));
  }
  ExprList tile_point;  // in the register tile
  for (std::size_t i =
           static_cast<std::size_t>(e.shape.reduction_end < 0 ? 0 : e.shape.reduction_end);
       !e.accumulators.empty() && i < e.nest.num_leaves(); ++i) {
    tile_point.push_back(e.nest.leaf_value[i]);
  }
  for (std::size_t leaf : e.tile_leaves) {
    tile_point.push_back(e.nest.leaf_value[leaf]);
  }
  if (is_gpu_ && tile_point.empty()) {
    tile_point.push_back(pool.int_imm(0));
  }
  const std::size_t num_outputs = op.outputs.size();
  const auto home_of = [&](std::size_t k) { return homes_[op.outputs[k].value].buffer; };
  const auto dtype_of = [&](std::size_t k) { return state_.dag().tensor(op.outputs[k]).dtype; };
  const auto stored = [&](std::size_t k) {
    return pool.load(home_of(k), dtype_of(k), place(op.outputs[k], point));
  };
  std::vector<StmtId> stores;
  const auto store_home = [&](std::size_t k, ExprId value) {
    stores.push_back(program_.add(Store{home_of(k), place(op.outputs[k], point), value}));
  };
  const auto store_tile = [&](BufferId buffer, ExprId value) {
    stores.push_back(program_.add(Store{buffer, tile_point, value}));
  };
  const Reduce* found = op.bodies.empty() ? nullptr : pool.as<Reduce>(op.bodies[0]);
  if (e.mode >= BodyMode::offset_zero) {
    stores.push_back(
        emit_offset(e, tile_point,
                    e.mode == BodyMode::offset_sum ? value_of(found->sources[0], env) : ExprId{}));
  } else if (found == nullptr) {
    for (std::size_t k = 0; k < num_outputs; ++k) {
      store_home(k, value_or_zero(e, point, value_of(op.bodies[k], env)));
    }
  } else {
    const Reduce reduce = *found;
    const Combiner combiner = pool.combiner(reduce.combiner);
    const bool in_tile = !e.accumulators.empty();
    for (std::size_t k = 0; k < num_outputs && e.mode != BodyMode::update; ++k) {
      if (e.mode == BodyMode::finish) {
        stores.push_back(
            emit_finish(e, point, pool.load(e.accumulators[k], dtype_of(k), tile_point)));
      } else if (e.mode == BodyMode::write_back) {
        store_home(k, pool.load(e.accumulators[k], dtype_of(k), tile_point));
      } else {
        const ExprId value = e.is_reading_partial ? stored(k) : combiner.identity[k];
        in_tile ? store_tile(e.accumulators[k], value) : store_home(k, value);
      }
    }
    if (e.mode == BodyMode::update) {
      std::vector<std::pair<VarId, ExprId>> operands;
      for (std::size_t k = 0; k < num_outputs; ++k) {
        operands.emplace_back(combiner.lhs[k],
                              in_tile ? pool.load(e.accumulators[k], dtype_of(k), tile_point)
                                      : stored(k));
        holds_ = &e.holds;
        ExprId source = value_of(reduce.sources[k], env);
        if (in_tile && !is_gpu_) {
          source = share_factors(pool, source, tile_loops(e));
        }
        operands.emplace_back(combiner.rhs[k], with_offset(e, source));
        holds_ = nullptr;
      }
      for (std::size_t k = 0; k < num_outputs; ++k) {
        const ExprId value = value_of(combiner.results[k], operands);
        if (num_outputs > 1) {
          // All results come from the old values: keep them apart until every one is known.
          stores.push_back(program_.add(
              Store{e.temporaries[k], in_tile && !is_gpu_ ? tile_point : ExprList{pool.int_imm(0)},
                    value}));
        } else {
          in_tile ? store_tile(e.accumulators[k], value) : store_home(k, value);
        }
      }
      for (std::size_t k = 0; num_outputs > 1 && k < num_outputs; ++k) {
        const ExprId value =
            pool.load(e.temporaries[k], dtype_of(k),
                      in_tile && !is_gpu_ ? tile_point : ExprList{pool.int_imm(0)});
        in_tile ? store_tile(e.accumulators[k], value) : store_home(k, value);
      }
    }
  }
  StmtId body = seq(std::move(stores));
  if (is_gpu_ && e.mode == BodyMode::initialize && !e.accumulators.empty()) {
    return body;  // private to the thread: nothing is written outside
  }
  for (const Constraint& c : e.nest.constraints) {
    if (!c.residual) {
      continue;
    }
    bool is_decided = true;  // a constraint on loops that this mode leaves out does not apply
    for (const AffineTerm& term : c.form.terms) {
      const std::int32_t leaf = deepest_leaf(pool, e.nest, term.atom);
      is_decided =
          is_decided && (leaf < 0 || e.nest.leaf_value[static_cast<std::size_t>(leaf)].valid());
    }
    if (is_decided) {
      const ExprId holds = is_below(with_values(pool, extents_, e.nest, c.form),
                                    with_values(pool, extents_, e.nest, c.bound));
      const IntImm* known = pool.as<IntImm>(holds);
      if (known == nullptr || known->value == 0) {
        body = program_.add(If{holds, body, {}});
      }
    }
  }
  for (ExprId guard : e.guards) {
    body = program_.add(If{guard, body, {}});
  }
  return body;
}

}  // namespace tensorsmith::detail
