// SPDX-License-Identifier: Apache-2.0
// What one thread of a GPU kernel does: its loops and its accumulators.
//
// Floor 4. Part of emit.hpp. Control flow around barriers must be the same in all threads, so
// bounds of loops never depend on a thread: what an imperfect split leaves over becomes a condition
// around the stores. Loops over private arrays are unrolled, so that a compiler can keep the arrays
// in registers.
#pragma once

#include "tensorsmith/lower/emit.hpp"

namespace tensorsmith::detail {

/// emit_stage.hpp's last part, for GPUs. `clips`: their forms' constants are axes.
inline StmtId Emitter::emit_thread_stage(Emission& e, std::vector<Constraint> clips) {
  widen_to_tile(e, clips);
  build_nest(program_.pool, extents_, state_, e.nest);
  drop_implied(e.nest);
  pad_copy(e, clips);
  for (Constraint& clip : clips) {
    const auto axis = static_cast<std::size_t>(clip.form.constant);
    clip.form = e.nest.axis_value[axis];
    e.nest.constraints.push_back(std::move(clip));
  }
  const HintList& own = state_.stage(static_cast<std::size_t>(e.nest.stage)).hints;
  kernel_.fetch_stages = larger_of(kernel_.fetch_stages, own.get<hints::FetchAhead>().stages);
  kernel_.load_sets = larger_of(kernel_.load_sets, own.get<hints::LoadAhead>().sets);
  kernel_.stream_blocks = larger_of(kernel_.stream_blocks, own.get<hints::StreamK>().blocks);
  guard_threads(e);
  check_private_operands(e, e.nest.stage);
  place_warp_intrinsic(e);
  pad_warp_product(e);
  shape_threads(e);
  active_.push_back(&e);
  const StmtId result = emit_leaf(e, 0);
  active_.pop_back();
  return result;
}

inline StmtId Emitter::emit_thread_leaf(Emission& e, std::size_t leaf) {
  if (error_) {
    return program_.add(Seq{});
  }
  Nest& nest = e.nest;
  if (e.mode == BodyMode::compute && static_cast<std::int32_t>(leaf) == e.shape.reduction_begin) {
    return emit_thread_reduction(e);
  }
  if (leaf == nest.num_leaves()) {
    return emit_body(e);
  }
  const bool skips_reductions = e.mode == BodyMode::initialize || e.mode == BodyMode::write_back;
  if (skips_reductions && nest.is_reduction[leaf]) {
    return emit_thread_leaf(e, leaf + 1);
  }
  if (nest.leaf_extent[leaf] == 1) {
    nest.leaf_value[leaf] = program_.pool.int_imm(0);
    const StmtId body = emit_below(e, leaf);
    nest.leaf_value[leaf] = {};
    return body;
  }
  const ForKind axis = bound_kind(nest.derivation.leaves[leaf].annotation);
  return axis != ForKind::serial ? emit_bound(e, leaf, axis) : emit_thread_loop(e, leaf);
}

/// The loop's value is the variable of a hardware axis.
inline StmtId Emitter::emit_bound(Emission& e, std::size_t leaf, ForKind axis) {
  ExprPool& pool = program_.pool;
  Nest& nest = e.nest;
  const std::int64_t extent = nest.leaf_extent[leaf];
  VarId var;
  for (const AxisBinding& binding : kernel_.bindings) {
    var = binding.axis == axis && binding.extent == extent ? binding.var : var;
  }
  if (!var.valid()) {
    constexpr const char* names[] = {"bx", "by", "bz", "tx", "ty", "tz"};
    var = pool.new_var(
        names[static_cast<std::size_t>(axis) - static_cast<std::size_t>(ForKind::block_x)]);
    extents_.set(var, extent);
    kernel_.bindings.push_back({axis, var, extent});
    if (is_thread_loop(axis)) {
      kernel_.thread_vars.push_back(var);
    }
  }
  nest.leaf_value[leaf] = pool.var(var);
  const auto saved = nest.constraints;
  const auto guards = e.guards;
  if (is_thread_loop(axis)) {
    // Not folded: whether the axis is longer is known when the kernel is complete.
    e.guards.push_back(pool.lt(pool.var(var), pool.int_imm(extent)));
  }
  settle(e, leaf, -1);
  const StmtId body = emit_below(e, leaf);
  nest.constraints = saved;
  e.guards = guards;
  nest.leaf_value[leaf] = {};
  return body;
}

/// A loop with bounds that are the same for all threads.
inline StmtId Emitter::emit_thread_loop(Emission& e, std::size_t leaf) {
  ExprPool& pool = program_.pool;
  Nest& nest = e.nest;
  const auto saved = nest.constraints;
  std::vector<std::size_t> settled;
  const bool is_whole = nest.derivation.leaves[leaf].annotation == Annotation::vthread &&
                        held_instruction(nest.stage) != nullptr;  // all accumulators of a tile
  const std::int64_t most = is_whole ? nest.leaf_extent[leaf] : bound_of(e, leaf, settled);
  for (std::size_t k : settled) {
    nest.constraints[k].residual.reset();
  }
  StmtId result;
  if (most <= 0) {
    result = program_.add(Seq{});
  } else {
    ForKind kind = nest.is_tile[leaf] ? ForKind::unrolled : ForKind::serial;
    const Annotation annotation = nest.derivation.leaves[leaf].annotation;
    const bool is_of_terms = annotation == Annotation::unroll && nest.is_reduction[leaf] &&
                             e.mode == BodyMode::update && e.intrinsic == nullptr &&
                             leaf + 1 == nest.num_leaves();
    if (is_of_terms || (annotation == Annotation::vectorize && !nest.is_reduction[leaf])) {
      kind = ForKind::vectorized;  // check_vectors takes back what is none
    }
    // One that a reduction is around of is a loop like others.
    if (annotation == Annotation::vthread && e.mode == BodyMode::compute && most > 1) {
      kind = ForKind::vthread;
      const VarId var = pool.new_var("v");
      extents_.set(var, most);
      kernel_.thread_vars.push_back(var);
      kernel_.num_vthreads *= most;
      nest.leaf_value[leaf] = pool.var(var);
      settle(e, leaf, -1);
      const StmtId body = emit_below(e, leaf);
      result = program_.add(For{var, pool.int_imm(most), kind, body});
      kernel_.num_vthreads /= most;
    } else {
      result = emit_loop(e, leaf, kind, {}, pool.int_imm(most), most);
    }
  }
  nest.constraints = saved;
  nest.leaf_value[leaf] = {};
  return result;
}

/// acc = identity; all reduction loops: acc = combine(acc, ...); result = acc, after an exchange if
/// threads share the reduction. A result in a private array needs no acc.
inline StmtId Emitter::emit_thread_reduction(Emission& e) {
  Nest& nest = e.nest;
  const auto begin = static_cast<std::size_t>(e.shape.reduction_begin);
  const std::size_t num_outputs = e.op->outputs.size();
  bool is_across = false;
  for (std::size_t i = begin; i < nest.num_leaves(); ++i) {
    is_across = is_across || (nest.is_reduction[i] && nest.leaf_extent[i] > 1 &&
                              is_thread_loop(bound_kind(nest.derivation.leaves[i].annotation)));
  }
  std::int64_t elements = 1;
  for (std::size_t i = begin; i < nest.num_leaves(); ++i) {
    const ForKind kind = bound_kind(nest.derivation.leaves[i].annotation);
    if (!nest.is_reduction[i] && nest.leaf_extent[i] > 1 && kind == ForKind::serial) {
      e.tile_leaves.push_back(i);
      elements *= nest.leaf_extent[i];
    }
  }
  const Scope scope = program_[homes_[e.op->outputs[0].value].buffer].scope;
  const bool accumulates = is_across || (scope != Scope::local && elements <= 256);
  const auto make = [&](const char* name, std::size_t k, bool is_scalar) {
    Buffer buffer;
    buffer.name = e.op->name + name + (num_outputs > 1 ? std::to_string(k) : "");
    buffer.dtype = state_.dag().tensor(e.op->outputs[k]).dtype;
    buffer.scope = Scope::local;
    for (std::size_t leaf : e.tile_leaves) {
      if (!is_scalar) {
        buffer.shape.push_back(nest.leaf_extent[leaf]);
      }
    }
    if (buffer.shape.empty()) {
      buffer.shape.push_back(1);
    }
    return program_.add(std::move(buffer));
  };
  std::vector<BufferId> allocated;
  for (std::size_t k = 0; k < num_outputs; ++k) {
    if (accumulates) {
      e.accumulators.push_back(make(".acc", k, false));
      allocated.push_back(e.accumulators.back());
    }
    if (num_outputs > 1) {
      e.temporaries.push_back(make(".new", k, true));
      allocated.push_back(e.temporaries.back());
    }
  }
  std::vector<StmtId> parts;
  e.mode = BodyMode::initialize;
  parts.push_back(emit_thread_leaf(e, begin));
  e.mode = BodyMode::update;
  parts.push_back(emit_thread_leaf(e, begin));
  e.mode = BodyMode::write_back;
  if (is_across) {
    parts.push_back(emit_exchange(e, begin));
  } else if (accumulates) {
    parts.push_back(emit_thread_leaf(e, begin));
  }
  e.mode = BodyMode::compute;
  StmtId result = seq(std::move(parts));
  for (BufferId buffer : allocated) {
    result = program_.add(Alloc{buffer, result});
  }
  e.accumulators.clear();
  e.temporaries.clear();
  e.tile_leaves.clear();
  return result;
}

}  // namespace tensorsmith::detail
