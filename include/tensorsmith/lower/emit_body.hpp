// Stores and values: te expressions --> expressions over loop variables and buffers.
//
// Floor 4. Part of emit.hpp. Inlined producers are expanded, indices are made affine, conditions
// that the ranges of the loops decide are folded.
#pragma once

#include "tensorsmith/lower/emit.hpp"

namespace tensorsmith::detail {

/// `tensor` at `indices` (over loop variables) as indices into its buffer.
inline ExprList Emitter::place(TensorId tensor, const ExprList& indices) {
  const TensorHome& home = homes_[tensor.value];
  std::vector<Affine> relative;
  for (std::size_t d = 0; d < indices.size(); ++d) {
    Affine form = affine(indices[d]);
    if (!home.origin.empty()) {
      form.add(home.origin[d], -1);
    }
    relative.push_back(std::move(form));
  }
  ExprList placed;
  if (home.layout == nullptr) {
    for (const Affine& form : relative) {
      placed.push_back(expr(form));
    }
    return placed;
  }
  for (std::int32_t piece : home.layout->order) {
    const auto d = static_cast<std::size_t>(piece / 2);
    const std::int64_t block = home.layout->blocks[d];
    if (block == 0) {
      placed.push_back(expr(relative[d]));
      continue;
    }
    const ExprId whole = expr(relative[d]);
    const ExprId size = program_.pool.int_imm(block);
    placed.push_back(expr(affine(piece % 2 == 0 ? program_.pool.floordiv(whole, size)
                                                : program_.pool.floormod(whole, size))));
  }
  return placed;
}

/// Comparisons that ranges decide, and what follows from them.
inline ExprId Emitter::fold(ExprId id) {
  ExprPool& pool = program_.pool;
  const auto truth = [&](ExprId e) -> std::optional<bool> {
    const IntImm* imm = pool.as<IntImm>(e);
    return imm != nullptr ? std::optional(imm->value != 0) : std::nullopt;
  };
  const auto boolean = [&](bool value) { return pool.int_imm(value ? 1 : 0, DType::boolean); };
  if (const Binary* found = pool.as<Binary>(id)) {
    const Binary node = *found;
    if (node.op == BinaryOp::and_ || node.op == BinaryOp::or_) {
      const bool absorbing = node.op == BinaryOp::or_;
      const auto a = truth(node.a);
      const auto b = truth(node.b);
      if ((a && *a == absorbing) || (b && *b == absorbing)) {
        return boolean(absorbing);
      }
      return a ? node.b : (b ? node.a : id);
    }
    if (is_comparison(node.op) && is_integer(pool.dtype(node.a))) {
      if (is_gpu_) {  // what is left is computed by every thread: in its shortest form
        id = pool.binary(node.op, expr(affine(node.a)), expr(affine(node.b)));
      }
      Affine difference = affine(node.a);
      difference.add(affine(node.b), -1);
      const auto range = range_of(pool, extents_, difference);
      if (range) {
        const bool all_lt = range->max < 0;
        const bool all_ge = range->min >= 0;
        const bool all_le = range->max <= 0;
        const bool all_gt = range->min > 0;
        switch (node.op) {
        case BinaryOp::lt:
          return all_lt ? boolean(true) : (all_ge ? boolean(false) : id);
        case BinaryOp::le:
          return all_le ? boolean(true) : (all_gt ? boolean(false) : id);
        case BinaryOp::gt:
          return all_gt ? boolean(true) : (all_le ? boolean(false) : id);
        case BinaryOp::ge:
          return all_ge ? boolean(true) : (all_lt ? boolean(false) : id);
        case BinaryOp::eq:
          return all_lt || all_gt ? boolean(false) : (all_le && all_ge ? boolean(true) : id);
        case BinaryOp::ne:
          return all_lt || all_gt ? boolean(true) : (all_le && all_ge ? boolean(false) : id);
        default:
          return id;
        }
      }
    }
    return id;
  }
  if (const Select* select = pool.as<Select>(id)) {
    const auto condition = truth(select->condition);
    return condition ? (*condition ? select->if_true : select->if_false) : id;
  }
  if (const Call* call = pool.as<Call>(id); call != nullptr && call->op == CallOp::if_then_else) {
    const auto condition = truth(call->args[0]);
    return condition ? (*condition ? call->args[1] : call->args[2]) : id;
  }
  return id;
}

inline ExprId Emitter::value_of(ExprId id, const std::vector<std::pair<VarId, ExprId>>& env) {
  ExprPool& pool = program_.pool;
  if (holds_ != nullptr && has_item(*holds_, id)) {
    return pool.int_imm(1, DType::boolean);
  }
  if (const VarRef* ref = pool.as<VarRef>(id)) {
    for (const auto& [var, value] : env) {
      if (var == ref->var) {
        return value;
      }
    }
    return id;
  }
  if (const TensorRead* found = pool.as<TensorRead>(id)) {
    const TensorRead read = *found;
    ExprList indices;
    for (ExprId index : read.indices) {
      indices.push_back(value_of(index, env));
    }
    if (finished_.value.valid() && read.tensor == finished_.tensor) {
      for (std::size_t d = 0; d < indices.size(); ++d) {
        Affine difference = affine(indices[d]);
        difference.add(affine(finished_.point[d]), -1);
        cannot_finish_ = cannot_finish_ || !difference.is_constant() || difference.constant != 0;
      }
      return finished_.value;
    }
    const TensorInfo& info = state_.dag().tensor(read.tensor);
    const auto producer = static_cast<std::int32_t>(info.operation);
    const Operation& op = state_.operation(info.operation);
    if (!op.is_placeholder() && is_inlined(producer)) {
      std::vector<std::pair<VarId, ExprId>> inner;
      for (std::size_t d = 0; d < op.axes.size(); ++d) {
        inner.emplace_back(op.axes[d].var, indices[d]);
      }
      return value_of(op.bodies[info.output_index], inner);
    }
    if (is_gpu_ && !homes_[read.tensor.value].buffer.valid()) {
      fail(LowerErrorCode::consumer_outside_attach_point, producer);
      return is_float(info.dtype) ? pool.float_imm(0, info.dtype) : pool.int_imm(0, info.dtype);
    }
    return pool.load(homes_[read.tensor.value].buffer, info.dtype, place(read.tensor, indices));
  }
  return fold(map_children(pool, id, [&](ExprId child) { return value_of(child, env); }));
}

/// The loops of the register tile, of a promoted reduction.
inline std::vector<TileLoop> Emitter::tile_loops(const Emission& e) const {
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
