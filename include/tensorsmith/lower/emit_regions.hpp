// SPDX-License-Identifier: Apache-2.0
// Regions of attached stages: the box of a stage that its readers touch from here on.
//
// Floor 4. Part of emit.hpp.
#pragma once

#include "tensorsmith/lower/emit.hpp"

namespace tensorsmith::detail {

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

}  // namespace tensorsmith::detail
