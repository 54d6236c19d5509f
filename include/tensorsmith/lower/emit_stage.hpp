// SPDX-License-Identifier: Apache-2.0
// Placement of stages: attached ones in the loops of others, buffers, the whole program.
//
// Floor 4. Part of emit.hpp.
#pragma once

#include "tensorsmith/lower/emit.hpp"

namespace tensorsmith::detail {

inline StmtId Emitter::emit_attached(Emission& e, std::size_t leaf,
                                     StmtId (Emitter::*rest)(Emission&, std::size_t)) {
  const std::int32_t iterator = e.nest.derivation.leaves[leaf].iterator;
  const std::vector<std::int32_t> stages =
      state_.attach_map().iterator_to_stages.at({e.nest.stage, iterator});
  std::vector<StmtId> parts;
  std::vector<BufferId> allocated;
  const std::vector<TensorHome> saved = homes_;
  const std::size_t num_planned = planned_.size();
  const auto forget_plans = [&] {
    planned_.erase(planned_.begin() + static_cast<std::ptrdiff_t>(num_planned), planned_.end());
  };
  for (std::size_t i = 0; i < stages.size() && !error_; ++i) {
    // Producers first: stage ids are in topological order.
    std::int32_t stage = -1;
    for (std::int32_t candidate : stages) {
      std::size_t smaller = 0;
      for (std::int32_t other : stages) {
        smaller += other < candidate ? 1 : 0;
      }
      stage = smaller == i ? candidate : stage;
    }
    const Operation& op = state_.operation(static_cast<std::size_t>(stage));
    std::vector<Affine> base;
    std::vector<std::int64_t> extent;
    std::vector<PlannedBox> plan;
    const Scope scope = is_gpu_ ? scope_of_attached(stage) : Scope::local;
    relaxes_threads_ = scope == Scope::shared;
    plan_ = &plan;
    std::vector<SymbolicInterval> box = region_of(stage);
    plan_ = nullptr;
    relaxes_threads_ = false;
    std::vector<Constraint> clips = clip(stage, box);
    const bool is_empty = !keeps_box(stage) && any_item(clips, [&](const Constraint& end) {
      const auto range = range_of(program_.pool, extents_, end.bound);
      return range && range->max <= 0;
    });
    bool is_whole = clips.empty();
    for (std::size_t d = 0; d < box.size(); ++d) {
      base.push_back(box[d].low);
      extent.push_back(box[d].width + 1);
      is_whole = is_whole && box[d].low == Affine{} && extent.back() >= op.axes[d].extent;
    }
    for (TensorId argument : state_.dag().arguments()) {
      if (static_cast<std::int32_t>(state_.dag().tensor(argument).operation) == stage) {
        fail(LowerErrorCode::output_not_at_root, stage);
      }
    }
    if (!error_ && !is_gpu_ && !is_empty && can_finish(e, leaf, stage, box)) {
      const std::size_t num_buffers = program_.buffers.size();
      const std::size_t num_stmts = program_.stmts.size();
      cannot_finish_ = false;
      const StmtId finished = emit_stage(stage, base, extent, clips, &e);
      if (!cannot_finish_) {
        const BufferId partial = homes_[op.outputs[0].value].buffer;
        homes_ = saved;
        forget_plans();
        return partial.valid() ? program_.add(Alloc{partial, finished}) : finished;
      }
      homes_ = saved;
      program_.buffers.erase(program_.buffers.begin() + static_cast<std::ptrdiff_t>(num_buffers),
                             program_.buffers.end());
      program_.stmts.erase(program_.stmts.begin() + static_cast<std::ptrdiff_t>(num_stmts),
                           program_.stmts.end());
    }
    if (!error_ && !is_empty && may_share_home(e, leaf, stage, box)) {
      homes_[op.outputs[0].value] = homes_[e.op->outputs[0].value];
    } else {
      make_home(stage, base, extent, scope);
      for (TensorId tensor : op.outputs) {
        allocated.push_back(homes_[tensor.value].buffer);
      }
    }
    if (!error_ && !is_empty) {
      parts.push_back(emit_stage(stage, std::move(base), std::move(extent), std::move(clips)));
    }
    if (!is_whole) {  // else it holds all that they can read
      planned_.insert(planned_.end(), plan.begin(), plan.end());
    }
  }
  if (error_) {
    return program_.add(Seq{});
  }
  parts.push_back((this->*rest)(e, leaf + 1));
  forget_plans();
  homes_ = saved;
  StmtId result = seq(std::move(parts));
  for (std::size_t i = allocated.size(); i-- > 0;) {
    result = program_.add(Alloc{allocated[i], result});
  }
  return result;
}

inline StmtId Emitter::emit_stage(std::int32_t stage, std::vector<Affine> base,
                                  std::vector<std::int64_t> extent, std::vector<Constraint> clips,
                                  const Emission* reader) {
  const auto id = static_cast<std::size_t>(stage);
  Emission e;
  e.op = &state_.operation(id);
  e.reader = reader;
  e.nest.stage = stage;
  e.nest.derivation = derivations_[id];
  e.nest.axis_base = std::move(base);
  e.nest.axis_extent = std::move(extent);
  for (const Axis& axis : e.op->reduce_axes) {
    e.nest.axis_extent.push_back(axis.extent);
  }
  const auto has_attached = [&](std::int32_t iterator) {
    return iterator >= 0 && state_.attach_map().iterator_to_stages.count({stage, iterator}) != 0;
  };
  if (is_gpu_) {
    return emit_thread_stage(e, std::move(clips));
  }
  const std::vector<TermCondition> conditions = term_conditions(state_, id);
  take_solved(e, conditions);
  e.sum_node = node_of_lanes(e, conditions);
  e.shape =
      shape_nest(target_, node_is_reduction(e.nest.derivation), e.nest,
                 element_bits(state_.dag(), *e.op), static_cast<std::int64_t>(e.op->outputs.size()),
                 has_attached, fills_tile_registers(e, conditions.empty()), e.sum_node >= 0);
  place_lanes(e, conditions);
  if (e.op->outputs.size() > 1 && !e.shape.is_promoted && !e.op->reduce_axes.empty()) {
    e.shape.vector_leaf = -1;  // its temporaries are scalars
  }
  if (shaped_ != nullptr) {
    shaped_->push_back({e.nest.derivation, node_extents(e.nest.derivation, e.nest.axis_extent),
                        e.shape, stage, e.lane_leaf >= 0, e.tensor_leaf});
  }
  place_intrinsic(e);
  place_prefetch(e);
  if (conditions.empty()) {
    unroll_reduction(e);
  }
  build_nest(program_.pool, extents_, state_, e.nest);
  if (e.shape.reduction_begin >= 0) {
    for (const TermCondition& condition : conditions) {
      if (condition.modulus == 0) {
        e.conditions.push_back({condition.comparison, form_of(e.nest, condition)});
      }
    }
  }
  for (Constraint& clip : clips) {
    const auto axis = static_cast<std::size_t>(clip.form.constant);
    clip.form = e.nest.axis_value[axis];
    clear_quotient(program_.pool, extents_, clip);
    settle_solved(program_.pool, e.nest, clip);
    e.nest.constraints.push_back(std::move(clip));
  }
  if (e.shape.vector_leaf >= 0) {
    e.nest.is_tile[static_cast<std::size_t>(e.shape.vector_leaf)] = true;
  }
  mark_tile_loops(e);
  if (reader != nullptr && (!e.shape.is_promoted || e.shape.vector_leaf < 0 || e.lane_leaf >= 0)) {
    cannot_finish_ = true;  // the reader's own pass has vectors
    return program_.add(Seq{});
  }
  for (std::int32_t i = 0; reader != nullptr && i < e.shape.reduction_begin; ++i) {
    const auto leaf = static_cast<std::size_t>(i);
    if (e.nest.is_reduction[leaf] && e.nest.leaf_extent[leaf] > 1) {  // partial sums need a place
      const std::vector<std::int64_t> box(e.nest.axis_extent.begin(),
                                          e.nest.axis_extent.begin() +
                                              static_cast<std::ptrdiff_t>(e.op->axes.size()));
      make_home(stage, e.nest.axis_base, box, Scope::local);
      break;
    }
  }
  active_.push_back(&e);
  const StmtId result = emit_leaf(e, 0);
  active_.pop_back();
  return result;
}

inline Result<LoopProgram, LowerError> Emitter::run() {
  if (!state_.is_concrete()) {
    return tensorsmith::fail(LowerError{LowerErrorCode::not_concrete, -1});
  }
  for (std::size_t id = 0; id < state_.num_stages(); ++id) {
    const auto& iterators = state_.stage(id).iterators;
    const bool is_replaced = iterators.size() == 1 && iterators[0].kind == IteratorKind::special;
    if (is_replaced && !is_gpu_ && !state_.operation(id).reduce_axes.empty()) {
      return tensorsmith::fail(
          LowerError{LowerErrorCode::reduction_without_loops, static_cast<std::int32_t>(id)});
    }
  }
  derivations_ = derive(state_);
  layouts_ = storage_layouts(state_);
  const ComputeDag& dag = state_.dag();
  readers_ = readers_of_operations(dag);
  homes_.resize(dag.tensors().size());
  for (std::size_t i = 0; i < dag.arguments().size(); ++i) {
    const TensorId tensor = dag.arguments()[i];
    const TensorInfo& info = dag.tensor(tensor);
    Buffer buffer;
    buffer.name = info.name;
    buffer.dtype = info.dtype;
    buffer.shape = info.shape;
    buffer.argument = static_cast<std::int32_t>(i);
    buffer.is_streamed = state_.stage(info.operation).hints.has<hints::StreamResult>();
    const BufferId id = program_.add(std::move(buffer));
    homes_[tensor.value].buffer = id;
    program_.arguments.push_back(id);
  }
  std::vector<StmtId> parts;
  std::vector<BufferId> allocated;
  for (std::size_t s = 0; s < state_.num_stages() && !error_; ++s) {
    const auto stage = static_cast<std::int32_t>(s);
    const Operation& op = dag.operation(s);
    if (op.is_placeholder() || is_inlined(stage)) {
      continue;
    }
    bool is_argument = false;
    for (TensorId tensor : op.outputs) {
      is_argument = is_argument || homes_[tensor.value].buffer.valid();
    }
    if (state_.stage(s).compute_at == ComputeAt::iterator) {
      if (is_argument) {
        fail(LowerErrorCode::output_not_at_root, stage);
      }
      continue;
    }
    std::vector<std::int64_t> extent;
    for (const Axis& axis : op.axes) {
      extent.push_back(axis.extent);
    }
    const auto first_new = static_cast<std::uint32_t>(program_.buffers.size());
    make_home(stage, {}, extent, Scope::global);
    for (std::uint32_t b = first_new; b < program_.buffers.size(); ++b) {
      allocated.push_back(BufferId{b});
    }
    if (!error_ && is_gpu_) {
      parts.push_back(emit_kernel(stage, extent));
      allocated.insert(allocated.end(), kernel_.parts.begin(), kernel_.parts.end());
    } else if (!error_) {
      parts.push_back(emit_stage(stage, std::vector<Affine>(op.axes.size()), extent, {}));
    }
  }
  if (error_) {
    return tensorsmith::fail(*error_);
  }
  StmtId body = seq(std::move(parts));
  for (std::size_t i = allocated.size(); i-- > 0;) {
    body = program_.add(Alloc{allocated[i], body});
  }
  program_.body = body;
  return std::move(program_);
}

}  // namespace tensorsmith::detail
