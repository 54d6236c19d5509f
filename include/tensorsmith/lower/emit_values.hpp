// SPDX-License-Identifier: Apache-2.0
// Where elements live, and the values of expressions inside of loops that are emitted.
//
// Floor 4. Part of emit.hpp.
#pragma once

#include "tensorsmith/lower/emit_context.hpp"

namespace tensorsmith::detail {

inline void EmitContext::make_home(std::int32_t stage, const std::vector<Affine>& origin,
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

/// `tensor` at `indices` (over loop variables) as indices into its buffer.
inline ExprList EmitContext::place(TensorId tensor, const ExprList& indices) {
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
inline ExprId EmitContext::fold(ExprId id) {
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

inline ExprId EmitContext::value_of(ExprId id, const std::vector<std::pair<VarId, ExprId>>& env) {
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

/// The indices of the read, relative to its buffer, where all leaves have values.
inline std::vector<Affine> EmitContext::forms_of(const Emission& e, const TensorRead& read) {
  const Operation& op = *e.op;
  const TensorHome& home = homes_[read.tensor.value];
  std::vector<std::pair<VarId, ExprId>> env;
  for (std::size_t a = 0; a < op.axes.size() + op.reduce_axes.size(); ++a) {
    Affine value = with_values(program_.pool, extents_, e.nest, e.nest.axis_value[a]);
    const bool is_spatial = a < op.axes.size();
    if (is_spatial) {
      value.add(e.nest.axis_base[a]);
    }
    env.emplace_back(is_spatial ? op.axes[a].var : op.reduce_axes[a - op.axes.size()].var,
                     expr(value));
  }
  std::vector<Affine> forms;
  for (std::size_t d = 0; d < read.indices.size(); ++d) {
    forms.push_back(affine(value_of(read.indices[d], env)));
    if (!home.origin.empty()) {
      forms.back().add(home.origin[d], -1);
    }
  }
  return forms;
}

}  // namespace tensorsmith::detail
