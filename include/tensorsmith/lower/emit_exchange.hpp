// SPDX-License-Identifier: Apache-2.0
// Reductions that the threads of a block share.
//
// Floor 4. Part of emit.hpp. Every thread reduces its part into acc; then, in shared memory,
//     red[t] = acc; barrier; if (t < 4) red[t] = red[t] + red[t + 4]; barrier; ... ; acc = red[0]
// (the barriers are placed by place_barriers.hpp). Whole groups of lanes do without:
// emit_shuffles.hpp.
#pragma once

#include "tensorsmith/lower/emit.hpp"

namespace tensorsmith::detail {

/// Loops over the accumulators, in all threads alike: there are barriers inside.
inline StmtId Emitter::emit_exchange(Emission& e, std::size_t next) {
  Nest& nest = e.nest;
  if (next == nest.num_leaves()) {
    const std::int64_t threads = shuffled_threads(e);
    return threads > 0 ? emit_shuffles(e, threads) : emit_tree(e);
  }
  const ForKind kind = bound_kind(nest.derivation.leaves[next].annotation);
  const bool is_thread = is_thread_loop(kind);
  if (nest.leaf_extent[next] == 1 || (nest.is_reduction[next] && !is_thread)) {
    if (!nest.is_reduction[next]) {
      nest.leaf_value[next] = program_.pool.int_imm(0);
    }
    const StmtId body = emit_exchange(e, next + 1);
    nest.leaf_value[next] = {};
    return body;
  }
  const std::int64_t extent = nest.leaf_extent[next];
  if (kind != ForKind::serial) {
    for (const AxisBinding& binding : kernel_.bindings) {
      if (binding.axis == kind && binding.extent == extent) {
        nest.leaf_value[next] = program_.pool.var(binding.var);
      }
    }
    const StmtId body = emit_exchange(e, next + 1);
    nest.leaf_value[next] = {};
    return body;
  }
  std::vector<std::size_t> settled;  // not here: the stores keep their conditions
  const std::int64_t most = bound_of(e, next, settled);
  if (most <= 0) {
    return program_.add(Seq{});
  }
  const VarId var = program_.pool.new_var(program_.pool.var_name(nest.leaf_var[next]));
  extents_.set(var, most);
  nest.leaf_value[next] = program_.pool.var(var);
  const StmtId body = emit_exchange(e, next + 1);
  nest.leaf_value[next] = {};
  return program_.add(For{var, program_.pool.int_imm(most), ForKind::serial, body});
}

/// Loops of the reduction over threads have no value afterwards: every thread has the result.
inline SharingThreads Emitter::settle_threads(Emission& e) {
  ExprPool& pool = program_.pool;
  Nest& nest = e.nest;
  SharingThreads found;
  found.outside = e.guards;
  for (std::size_t i = nest.num_leaves(); i-- > 0;) {
    if (nest.leaf_extent[i] == 1 ||
        !is_thread_loop(bound_kind(nest.derivation.leaves[i].annotation))) {
      continue;
    }
    const ExprId value = nest.leaf_value[i];
    const ExprId condition = pool.lt(value, pool.int_imm(nest.leaf_extent[i]));
    if (nest.is_reduction[i]) {
      found.inside.push_back(condition);
      found.number.add(value, found.count);
      found.count *= nest.leaf_extent[i];
      nest.leaf_value[i] = {};
    } else {
      if (!has_item(found.outside, condition)) {
        found.outside.push_back(condition);
      }
      found.others.push_back(value);
      found.extents.push_back(nest.leaf_extent[i]);
    }
  }
  return found;
}

/// Where the accumulators of this element of the tile are.
inline ExprList ThreadDecisions::tile_point(const Emission& e) {
  ExprList point;
  for (const std::size_t leaf : e.tile_leaves) {
    point.push_back(e.nest.leaf_value[leaf]);
  }
  if (point.empty()) {
    point.push_back(program_.pool.int_imm(0));
  }
  return point;
}

/// red[t] = acc; halves of red are combined until one element is left; result = red[0].
inline StmtId Emitter::emit_tree(Emission& e) {
  ExprPool& pool = program_.pool;
  Nest& nest = e.nest;
  const std::size_t num_outputs = e.op->outputs.size();
  ExprList place;  // of the threads that do not share this reduction
  SmallVector<std::int64_t, 6> shape;
  const auto guards = e.guards;
  const bool is_private = program_[homes_[e.op->outputs[0].value].buffer].scope == Scope::local;
  for (std::size_t axis = 3; is_private && axis-- > 0;) {
    bool shares = false;
    for (std::size_t i = 0; i < nest.num_leaves(); ++i) {
      const auto kind = static_cast<std::size_t>(bound_kind(nest.derivation.leaves[i].annotation));
      shares = shares || (nest.leaf_extent[i] > 1 &&
                          kind == static_cast<std::size_t>(ForKind::thread_x) + axis);
    }
    if (!shares) {  // all threads along it reduce for themselves; wrap_kernel knows how many
      place.push_back(pool.var(kernel_.any_thread[axis]));
      shape.push_back(1);
    }
  }
  SharingThreads threads = settle_threads(e);
  for (std::size_t i = 0; i < threads.others.size(); ++i) {
    place.push_back(threads.others[i]);
    shape.push_back(threads.extents[i]);
  }
  const Affine& number = threads.number;
  const std::int64_t count = threads.count;
  const std::vector<ExprId>& outside = threads.outside;
  std::vector<ExprId>& inside = threads.inside;
  inside.insert(inside.end(), outside.begin(), outside.end());
  shape.push_back(count);
  std::vector<BufferId> shared;
  const Reduce reduce = *pool.as<Reduce>(e.op->bodies[0]);
  const Combiner combiner = pool.combiner(reduce.combiner);
  const auto dtype_of = [&](std::size_t k) { return state_.dag().tensor(e.op->outputs[k]).dtype; };
  for (std::size_t k = 0; k < num_outputs; ++k) {
    Buffer buffer;
    buffer.name = e.op->name + ".red" + (num_outputs > 1 ? std::to_string(k) : "");
    buffer.dtype = dtype_of(k);
    buffer.scope = Scope::shared;
    buffer.shape = shape;
    shared.push_back(program_.add(std::move(buffer)));
    for (std::size_t d = 0; is_private && d + 1 < shape.size(); ++d) {
      kernel_.rows.push_back({shared.back(), d, place[d]});
    }
  }
  const auto at = [&](std::int64_t offset) {
    ExprList indices = place;
    Affine form = number;
    form.constant += offset;
    indices.push_back(expr(form));
    return indices;
  };
  const auto guarded = [&](std::vector<StmtId> items, const std::vector<ExprId>& conditions) {
    StmtId body = seq(std::move(items));
    for (ExprId condition : conditions) {
      body = program_.add(If{condition, body, {}});
    }
    return body;
  };
  const ExprList point = tile_point(e);
  std::vector<StmtId> parts, stores;
  for (std::size_t k = 0; k < num_outputs; ++k) {
    stores.push_back(
        program_.add(Store{shared[k], at(0), pool.load(e.accumulators[k], dtype_of(k), point)}));
  }
  parts.push_back(guarded(std::move(stores), inside));
  std::int64_t whole = 1;  // the largest power of two among them
  while (2 * whole <= count) {
    whole *= 2;
  }
  for (std::int64_t left = count; left > 1;) {
    // What is above a power of two is added to the elements in front of it.
    const std::int64_t half = left > whole ? left - whole : left / 2;
    const std::int64_t begin = left > whole ? whole - half : 0;
    std::vector<std::pair<VarId, ExprId>> operands;
    for (std::size_t k = 0; k < num_outputs; ++k) {
      operands.emplace_back(combiner.lhs[k], pool.load(shared[k], dtype_of(k), at(0)));
      operands.emplace_back(combiner.rhs[k], pool.load(shared[k], dtype_of(k), at(half)));
    }
    std::vector<StmtId> updates;
    for (std::size_t k = 0; k < num_outputs; ++k) {
      const ExprId value = value_of(combiner.results[k], operands);
      updates.push_back(program_.add(num_outputs > 1
                                         ? Store{e.temporaries[k], {pool.int_imm(0)}, value}
                                         : Store{shared[k], at(0), value}));
    }
    for (std::size_t k = 0; num_outputs > 1 && k < num_outputs; ++k) {
      updates.push_back(program_.add(
          Store{shared[k], at(0), pool.load(e.temporaries[k], dtype_of(k), {pool.int_imm(0)})}));
    }
    std::vector<ExprId> conditions = inside;
    conditions.push_back(pool.lt(expr(number), pool.int_imm(begin + half)));
    if (begin > 0) {
      conditions.push_back(pool.lt(pool.int_imm(begin - 1), expr(number)));
    }
    parts.push_back(guarded(std::move(updates), conditions));
    left -= half;
  }
  // Every thread has the result now; what is stored for all is stored by the first.
  ExprList first = place;
  first.push_back(pool.int_imm(0));
  std::vector<StmtId> loads, results;
  for (std::size_t k = 0; k < num_outputs; ++k) {
    loads.push_back(
        program_.add(Store{e.accumulators[k], point, pool.load(shared[k], dtype_of(k), first)}));
  }
  results.push_back(guarded(std::move(loads), outside));
  const Scope scope = program_[homes_[e.op->outputs[0].value].buffer].scope;
  if (scope != Scope::local) {
    e.guards = outside;
    e.guards.push_back(pool.eq(expr(number), pool.int_imm(0)));
  }
  results.push_back(emit_body(e));
  e.guards = guards;
  parts.push_back(seq(std::move(results)));
  StmtId result = seq(std::move(parts));
  for (BufferId buffer : shared) {
    result = program_.add(Alloc{buffer, result});
  }
  return result;
}

}  // namespace tensorsmith::detail
