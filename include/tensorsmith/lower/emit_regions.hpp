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
  for (SymbolicInterval& axis : axes) {
    axis.is_exact = axis.is_exact && axis.is_inside;
  }
  if (plan_ != nullptr && !is_inlined(reader) &&
      !any_item(*plan_, [&](const PlannedBox& planned) { return planned.stage == reader; })) {
    plan_->push_back({reader, axes});
  }
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
        const ExprId index = expr(affine(read.indices[d]));
        SymbolicInterval touched = interval_of(pool, extents_, axes, index);
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
    whole.is_exact = box[d] && box[d]->is_exact;
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

/// The clips of an attached stage: where the loops over its box end. Tiles of its readers that go
/// on behind the ends of their loops make the box larger than what is needed; it is kept inside of
/// its domain, and inside of what stages that it reads were computed for at places further out.
///     for w.0 in 2: for w.1 in min(6 - 4*w.0, 4): Y[4*w.0 + w.1] reads S, which reads P of 0 .. 7:
///     of S, 4*w.0 .. 4*w.0 + 3 would read P behind its end
inline std::vector<Constraint> Emitter::clip(std::int32_t stage,
                                             std::vector<SymbolicInterval>& box) {
  const Operation& op = state_.operation(static_cast<std::size_t>(stage));
  const auto is_at_most = [&](const Affine& a, const Affine& b) {
    Affine difference = b;
    difference.add(a, -1);
    const auto range = range_of(program_.pool, extents_, difference);
    return range && range->min >= 0;
  };
  std::vector<Constraint> clips;
  for (std::size_t d = 0; d < box.size(); ++d) {
    std::vector<SymbolicInterval> limits;
    for (const PlannedBox& planned : planned_) {
      if (planned.stage == stage && !box[d].is_exact) {
        limits.push_back(planned.box[d]);
      }
    }
    Affine& low = box[d].low;
    for (const SymbolicInterval& limit : limits) {
      if (!is_at_most(limit.low, low)) {
        low = affine(program_.pool.max(expr(low), expr(limit.low)));
      }
    }
    Affine own_end = low;
    own_end.constant += box[d].width + 1;
    std::vector<Affine> ends;
    if (!box[d].is_inside) {
      ends.emplace_back();
      ends.back().constant = op.axes[d].extent;
    }
    for (const SymbolicInterval& limit : limits) {
      Affine end = limit.low;
      end.constant += limit.width + 1;
      if (!is_at_most(own_end, end) &&
          !any_item(ends, [&](const Affine& other) { return is_at_most(other, end); })) {
        std::erase_if(ends, [&](const Affine& other) { return is_at_most(end, other); });
        ends.push_back(std::move(end));
      }
    }
    for (const Affine& end : ends) {
      Constraint found;
      found.bound = end;
      found.bound.add(low, -1);
      found.residual = found.bound;
      found.form.constant = static_cast<std::int64_t>(d);  // the axis; filled in by emit_stage
      clips.push_back(std::move(found));
    }
  }
  return clips;
}

}  // namespace tensorsmith::detail
