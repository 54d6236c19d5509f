// Placement of stages: regions of attached stages, buffers, the whole program.
//
// Floor 4. Part of emit.hpp.
#pragma once

#include "tensorsmith/lower/emit.hpp"

namespace tensorsmith::detail {

inline void Emitter::make_home(std::int32_t stage, const std::vector<Affine>& origin,
                               const std::vector<std::int64_t>& extent, Scope scope) {
  const Operation& op = state_.operation(static_cast<std::size_t>(stage));
  const StorageLayoutStep* layout = layouts_[static_cast<std::size_t>(stage)];
  for (TensorId tensor : op.outputs) {
    if (scope == Scope::global && homes_[tensor.value].buffer.valid()) {
      continue;  // an argument
    }
    Buffer buffer;
    const TensorInfo& info = state_.dag().tensor(tensor);
    buffer.name = info.name;
    buffer.dtype = info.dtype;
    buffer.scope = scope;
    for (std::int64_t e : extent) {
      buffer.shape.push_back(e);
    }
    if (layout != nullptr) {
      std::size_t expected = extent.size();
      bool fits = layout->blocks.size() == extent.size();
      for (std::size_t d = 0; fits && d < extent.size(); ++d) {
        expected += layout->blocks[d] > 0 ? 1 : 0;
        fits = layout->blocks[d] >= 0;
      }
      if (!fits || layout->order.size() != expected) {
        fail(LowerErrorCode::unsupported_layout, stage);
        return;
      }
      buffer.shape.clear();
      for (std::int32_t piece : layout->order) {
        const auto d = static_cast<std::size_t>(piece / 2);
        const std::int64_t block = layout->blocks[d];
        buffer.shape.push_back(block == 0 ? extent[d]
                                          : (piece % 2 == 0 ? ceil_div(extent[d], block) : block));
      }
      std::int64_t stride = 1;
      buffer.strides.resize(buffer.shape.size(), 1);
      for (std::size_t d = buffer.shape.size(); d-- > 0;) {
        buffer.strides[d] = stride;
        stride *= buffer.shape[d] + (d + 1 == buffer.shape.size() ? layout->pad_elements : 0);
      }
    }
    homes_[tensor.value] = {program_.add(std::move(buffer)), origin, layout};
  }
}

/// Whether `stage` is computed inside of the innermost emitted loop of the innermost active nest.
inline bool Emitter::is_below_active(std::int32_t stage) const {
  const Nest& top = active_.back()->nest;
  for (std::int32_t at = stage; at != top.stage;) {
    const auto found = state_.attach_map().stage_to_iterator.find(at);
    if (found == state_.attach_map().stage_to_iterator.end()) {
      return false;
    }
    at = found->second.stage;
    if (at == top.stage) {
      for (std::size_t i = 0; i < top.num_leaves(); ++i) {
        if (top.derivation.leaves[i].iterator == found->second.iterator) {
          return i + 1 == top.num_leaves() || !top.leaf_value[i + 1].valid();
        }
      }
      return false;
    }
  }
  return true;
}

/// Intervals of the axes of `reader` for everything it still has to compute.
inline std::vector<SymbolicInterval> Emitter::reader_intervals(std::int32_t reader) {
  const Operation& op = state_.operation(static_cast<std::size_t>(reader));
  std::vector<SymbolicInterval> axes;
  if (active_.back()->nest.stage == reader) {
    for (std::size_t a = 0; a < op.axes.size() + op.reduce_axes.size(); ++a) {
      axes.push_back(axis_interval(program_.pool, extents_, active_.back()->nest, a));
      if (relaxes_threads_) {
        relax(axes.back());
      }
    }
    return axes;
  }
  if (!is_inlined(reader) && !is_below_active(reader)) {
    fail(LowerErrorCode::consumer_outside_attach_point, reader);
    return std::vector<SymbolicInterval>(op.axes.size() + op.reduce_axes.size());
  }
  axes = region_of(reader);
  for (const Axis& axis : op.reduce_axes) {
    SymbolicInterval whole;
    whole.width = axis.extent - 1;
    axes.push_back(whole);
  }
  return axes;
}

/// The box of `stage` that its readers touch from here on, inside of the stage's domain.
inline std::vector<SymbolicInterval> Emitter::region_of(std::int32_t stage) {
  const Operation& op = state_.operation(static_cast<std::size_t>(stage));
  ExprPool& pool = program_.pool;
  std::vector<std::optional<SymbolicInterval>> box(op.axes.size());
  for (const std::uint32_t r : readers_[static_cast<std::size_t>(stage)]) {
    if (error_) {
      break;
    }
    const Operation& reader = state_.operation(r);
    std::vector<TensorRead> reads;
    bool has_branch = false;
    for (ExprId body : reader.bodies) {
      visit_expr(pool, body, [&](ExprId id) {
        if (const TensorRead* read = pool.as<TensorRead>(id)) {
          if (static_cast<std::int32_t>(state_.dag().tensor(read->tensor).operation) == stage) {
            reads.push_back(*read);
          }
        }
        const Call* call = pool.as<Call>(id);
        has_branch = has_branch || (call != nullptr && call->op == CallOp::if_then_else) ||
                     pool.as<Select>(id) != nullptr;
      });
    }
    const std::vector<SymbolicInterval> of_axes = reader_intervals(static_cast<std::int32_t>(r));
    AxisIntervals axes;
    for (std::size_t a = 0; a < of_axes.size(); ++a) {
      const Axis& axis =
          a < reader.axes.size() ? reader.axes[a] : reader.reduce_axes[a - reader.axes.size()];
      axes.emplace_back(axis.var, of_axes[a]);
    }
    for (const TensorRead& read : reads) {
      for (std::size_t d = 0; d < box.size(); ++d) {
        SymbolicInterval touched = interval_of(pool, extents_, axes, read.indices[d]);
        touched.is_inside = touched.is_known && touched.is_inside && !has_branch;
        const bool both_inside = touched.is_inside && (!box[d] || box[d]->is_inside);
        box[d] = box[d] ? hull(*box[d], touched) : touched;
        box[d]->is_inside = box[d]->is_known && both_inside;
      }
    }
  }
  std::vector<SymbolicInterval> result;
  for (std::size_t d = 0; d < box.size(); ++d) {
    const std::int64_t extent = op.axes[d].extent;
    SymbolicInterval whole;
    whole.width = extent - 1;
    if (!box[d] || !box[d]->is_known || (box[d]->width >= extent - 1 && !keeps_box(stage))) {
      result.push_back(whole);
      continue;
    }
    SymbolicInterval clipped = *box[d];
    if (!clipped.is_inside) {
      const auto range = range_of(pool, extents_, clipped.low);
      if (!range || range->min < 0) {
        clipped.low = affine(pool.max(expr(clipped.low), pool.int_imm(0)));
      }
      clipped.is_inside = range && range->max + clipped.width < extent;
    }
    result.push_back(std::move(clipped));
  }
  return result;
}

inline StmtId Emitter::emit_attached(Emission& e, std::size_t leaf,
                                     StmtId (Emitter::*rest)(Emission&, std::size_t)) {
  const std::int32_t iterator = e.nest.derivation.leaves[leaf].iterator;
  const std::vector<std::int32_t> stages =
      state_.attach_map().iterator_to_stages.at({e.nest.stage, iterator});
  std::vector<StmtId> parts;
  std::vector<BufferId> allocated;
  const std::vector<TensorHome> saved = homes_;
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
    std::vector<Constraint> clips;
    const Scope scope = is_gpu_ ? scope_of_attached(stage) : Scope::local;
    relaxes_threads_ = scope == Scope::shared;
    const std::vector<SymbolicInterval> box = region_of(stage);
    relaxes_threads_ = false;
    for (std::size_t d = 0; d < box.size(); ++d) {
      base.push_back(box[d].low);
      extent.push_back(box[d].width + 1);
      if (!box[d].is_inside) {
        Constraint clip;
        clip.bound.constant = op.axes[d].extent;
        clip.bound.add(box[d].low, -1);
        clip.residual = clip.bound;
        clip.form.constant = static_cast<std::int64_t>(d);  // the axis; filled in by emit_stage
        clips.push_back(std::move(clip));
      }
    }
    for (TensorId argument : state_.dag().arguments()) {
      if (static_cast<std::int32_t>(state_.dag().tensor(argument).operation) == stage) {
        fail(LowerErrorCode::output_not_at_root, stage);
      }
    }
    if (!error_ && !is_gpu_ && can_finish(e, leaf, stage, box)) {
      const std::size_t num_buffers = program_.buffers.size();
      const std::size_t num_stmts = program_.stmts.size();
      cannot_finish_ = false;
      const StmtId finished = emit_stage(stage, base, extent, clips, &e);
      if (!cannot_finish_) {
        const BufferId partial = homes_[op.outputs[0].value].buffer;
        homes_ = saved;
        return partial.valid() ? program_.add(Alloc{partial, finished}) : finished;
      }
      homes_ = saved;
      program_.buffers.erase(program_.buffers.begin() + static_cast<std::ptrdiff_t>(num_buffers),
                             program_.buffers.end());
      program_.stmts.erase(program_.stmts.begin() + static_cast<std::ptrdiff_t>(num_stmts),
                           program_.stmts.end());
    }
    if (!error_ && may_share_home(e, leaf, stage, box)) {
      homes_[op.outputs[0].value] = homes_[e.op->outputs[0].value];
    } else {
      make_home(stage, base, extent, scope);
      for (TensorId tensor : op.outputs) {
        allocated.push_back(homes_[tensor.value].buffer);
      }
    }
    if (!error_) {
      parts.push_back(emit_stage(stage, std::move(base), std::move(extent), std::move(clips)));
    }
  }
  if (error_) {
    return program_.add(Seq{});
  }
  parts.push_back((this->*rest)(e, leaf + 1));
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
