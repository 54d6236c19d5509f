// SPDX-License-Identifier: Apache-2.0
// Reductions that the lanes of warps share: partial results go from register to register.
//
// Floor 4. Part of emit.hpp. Sums of 32 threads along x:
//     lane[tx] = acc; barrier warp; other = lane[tx xor 16]; acc = acc + other; barrier warp; ...
// (the barriers are placed by place_barriers.hpp). After the last step every lane has the result.
// More threads, a multiple of 32: the first lane of each warp puts its result into shared memory,
// and behind one barrier every warp reduces what lies there in the same way. All threads of the
// block do this, those without a part too: an accumulator begins with the identity. Other numbers
// of threads, or blocks whose rows are no whole groups of lanes, take shared memory
// (emit_exchange.hpp).
#pragma once

#include "tensorsmith/ir/lane_access.hpp"
#include "tensorsmith/lower/emit.hpp"

namespace tensorsmith::detail {

/// How many threads along x share the reduction; 0: not in groups of lanes.
inline std::int64_t ThreadDecisions::shuffled_threads(const Emission& e) const {
  std::int64_t threads = 0;
  for (std::size_t i = 0; i < e.nest.num_leaves(); ++i) {
    const ForKind kind = bound_kind(e.nest.derivation.leaves[i].annotation);
    if (!e.nest.is_reduction[i] || e.nest.leaf_extent[i] == 1 || !is_thread_loop(kind)) {
      continue;
    }
    if (kind != ForKind::thread_x || threads != 0) {
      return 0;
    }
    threads = e.nest.leaf_extent[i];
  }
  const bool is_group = threads <= lanes_of_warp ? (threads & (threads - 1)) == 0
                                                 : threads % lanes_of_warp == 0 &&
                                                       threads <= lanes_of_warp * lanes_of_warp;
  return has_shuffles_ && is_group ? threads : 0;
}

/// What the steps of an exchange use.
struct LaneExchange {
  std::vector<BufferId> lanes, others;  ///< by output: read by other lanes; what was read there
  ExprList self;                        ///< numbers of the thread along z, y and x
  ExprList tile_point;                  ///< of the accumulators
};

/// acc = combine(acc, acc of thread x xor d), for d = count / 2 to 1. Of combiners of several
/// results, which need not be commutative, the lower thread's is the left operand.
inline void Emitter::emit_lane_steps(const Emission& e, const LaneExchange& x, std::int64_t count,
                                     std::vector<StmtId>& parts) {
  ExprPool& pool = program_.pool;
  const Combiner combiner = pool.combiner(pool.as<Reduce>(e.op->bodies[0])->combiner);
  const std::size_t num_outputs = e.op->outputs.size();
  const ExprId zero = pool.int_imm(0);
  const auto load = [&](BufferId id, const ExprList& indices) {
    return pool.load(id, program_[id].dtype, indices);
  };
  for (std::int64_t distance = count / 2; distance > 0; distance /= 2) {
    ExprList there = x.self;
    there.back() = xor_index(pool, x.self.back(), distance);
    const ExprId part =
        distance > 1 ? pool.floordiv(x.self.back(), pool.int_imm(distance)) : x.self.back();
    const ExprId is_upper = pool.eq(pool.floormod(part, pool.int_imm(2)), pool.int_imm(1));
    std::vector<std::pair<VarId, ExprId>> operands;
    for (std::size_t k = 0; k < num_outputs; ++k) {
      parts.push_back(
          program_.add(Store{x.lanes[k], x.self, load(e.accumulators[k], x.tile_point)}));
    }
    for (std::size_t k = 0; k < num_outputs; ++k) {
      parts.push_back(program_.add(Store{x.others[k], {zero}, load(x.lanes[k], there)}));
      const ExprId own = load(e.accumulators[k], x.tile_point), other = load(x.others[k], {zero});
      const bool is_plain = num_outputs == 1;
      operands.emplace_back(combiner.lhs[k], is_plain ? own : pool.select(is_upper, other, own));
      operands.emplace_back(combiner.rhs[k], is_plain ? other : pool.select(is_upper, own, other));
    }
    for (std::size_t k = 0; k < num_outputs; ++k) {
      const ExprId value = value_of(combiner.results[k], operands);
      parts.push_back(program_.add(num_outputs > 1
                                       ? Store{e.temporaries[k], {zero}, value}
                                       : Store{e.accumulators[k], x.tile_point, value}));
    }
    for (std::size_t k = 0; num_outputs > 1 && k < num_outputs; ++k) {
      parts.push_back(
          program_.add(Store{e.accumulators[k], x.tile_point, load(e.temporaries[k], {zero})}));
    }
  }
}

/// The results of the warps, exchanged through shared memory: every warp gets all of them.
inline std::vector<BufferId> Emitter::emit_warp_results(const Emission& e, const LaneExchange& x,
                                                        std::int64_t threads, std::int64_t lanes,
                                                        std::vector<StmtId>& parts) {
  ExprPool& pool = program_.pool;
  const Combiner combiner = pool.combiner(pool.as<Reduce>(e.op->bodies[0])->combiner);
  const std::int64_t warps = threads / lanes_of_warp;
  const ExprId number = x.self.back();
  std::vector<BufferId> shared;
  std::vector<StmtId> stores, loads;
  ExprList own = x.self, all = x.self;
  own.back() = pool.floordiv(number, pool.int_imm(lanes_of_warp));
  all.back() = pool.floormod(number, pool.int_imm(lanes));
  for (std::size_t k = 0; k < e.op->outputs.size(); ++k) {
    Buffer buffer;
    buffer.name = e.op->name + ".red" + (e.op->outputs.size() > 1 ? std::to_string(k) : "");
    buffer.dtype = program_[e.accumulators[k]].dtype;
    buffer.scope = Scope::shared;
    buffer.shape = {1, 1, warps};
    const DType type = buffer.dtype;
    const BufferId id = program_.add(std::move(buffer));
    shared.push_back(id);
    for (std::size_t d = 0; d < 2; ++d) {
      kernel_.rows.push_back({id, d, x.self[d]});
    }
    stores.push_back(
        program_.add(Store{id, own, pool.load(e.accumulators[k], type, x.tile_point)}));
    ExprId value = pool.load(id, type, all);
    if (warps < lanes) {
      value =
          pool.if_then_else(pool.lt(all.back(), pool.int_imm(warps)), value, combiner.identity[k]);
    }
    loads.push_back(program_.add(Store{e.accumulators[k], x.tile_point, value}));
  }
  const ExprId is_first =
      pool.eq(pool.floormod(number, pool.int_imm(lanes_of_warp)), pool.int_imm(0));
  const StmtId store = program_.add(If{is_first, seq(std::move(stores)), {}});
  parts.push_back(program_.add(If{pool.lt(number, pool.int_imm(threads)), store, {}}));
  parts.insert(parts.end(), loads.begin(), loads.end());
  return shared;
}

/// `threads` along x share the reduction.
inline StmtId Emitter::emit_shuffles(Emission& e, std::int64_t threads) {
  ExprPool& pool = program_.pool;
  const auto guards = e.guards;
  const SharingThreads sharing = settle_threads(e);
  LaneExchange x;
  for (std::size_t axis = num_thread_axes; axis-- > 0;) {
    x.self.push_back(pool.var(kernel_.any_thread[axis]));
  }
  x.tile_point = tile_point(e);
  const std::size_t num_outputs = e.op->outputs.size();
  const auto make = [&](const char* name, std::size_t k, Scope scope) {
    Buffer buffer;
    buffer.name = e.op->name + name + (num_outputs > 1 ? std::to_string(k) : "");
    buffer.dtype = program_[e.accumulators[k]].dtype;
    buffer.scope = scope;
    buffer.shape.resize(scope == Scope::warp ? num_thread_axes : 1, 1);
    return program_.add(std::move(buffer));
  };
  for (std::size_t k = 0; k < num_outputs; ++k) {
    x.lanes.push_back(make(".lane", k, Scope::warp));
    x.others.push_back(make(".other", k, Scope::local));
    for (std::size_t d = 0; d < num_thread_axes; ++d) {  // wrap_kernel knows how many there are
      kernel_.rows.push_back({x.lanes.back(), d, x.self[d]});
    }
  }
  std::vector<BufferId> allocated = x.lanes;
  allocated.insert(allocated.end(), x.others.begin(), x.others.end());
  std::vector<StmtId> parts;
  kernel_.lanes = larger_of(kernel_.lanes, smaller_of(threads, lanes_of_warp));
  emit_lane_steps(e, x, smaller_of(threads, lanes_of_warp), parts);
  if (threads > lanes_of_warp) {
    std::int64_t lanes = 2;
    while (lanes * lanes_of_warp < threads) {
      lanes *= 2;
    }
    const std::vector<BufferId> shared = emit_warp_results(e, x, threads, lanes, parts);
    allocated.insert(allocated.end(), shared.begin(), shared.end());
    emit_lane_steps(e, x, lanes, parts);
  }
  // Every thread has the result now; what is stored for all is stored by the first.
  if (program_[homes_[e.op->outputs[0].value].buffer].scope != Scope::local) {
    e.guards = sharing.outside;
    e.guards.push_back(pool.eq(x.self.back(), pool.int_imm(0)));
  }
  parts.push_back(emit_body(e));
  e.guards = guards;
  StmtId result = seq(std::move(parts));
  for (BufferId buffer : allocated) {
    result = program_.add(Alloc{buffer, result});
  }
  return result;
}

}  // namespace tensorsmith::detail
