// Prefetches of a register tile: the lines that a later step will read.
//
// Floor 4. Part of emit.hpp. Own design. In every step of the innermost reduction loop the lines of
// the operand are asked for that lie `lines` cache lines behind those of this step, along the
// operand's last dimension. If the loop itself runs along that dimension it is cut into lines, so
// that each is asked for once:
//     for k in 4096: tile reads A[i, k]   -->   for k.0 in 256: prefetch A[i, 16*k.0 + 128 ...]
//                                                 for k.1 in 16: tile reads A[i, 16*k.0 + k.1]
// A hint: where it cannot be said in a few instructions there is none.
#pragma once

#include "tensorsmith/lower/emit.hpp"

namespace tensorsmith::detail {

/// More prefetches in one step would keep the core from its work.
inline constexpr std::int64_t max_prefetches_per_step = 32;

/// Read number `operand` of the body; null if there is none.
inline const TensorRead* read_of(const ExprPool& pool, const Operation& op, std::int32_t operand) {
  const TensorRead* found = nullptr;
  std::int32_t next = 0;
  for (ExprId body : op.bodies) {
    visit_expr(pool, body, [&](ExprId id) {
      const TensorRead* read = pool.as<TensorRead>(id);
      if (read != nullptr && next++ == operand) {
        found = read;
      }
    });
  }
  return found;
}

/// Decides where the prefetches stand; may cut the innermost reduction loop.
inline void Emitter::place_prefetch(Emission& e) const {
  const OperandPrefetch& wanted = state_.stage(static_cast<std::size_t>(e.nest.stage)).prefetch;
  if (wanted.lines == 0 || !e.shape.is_promoted) {
    return;
  }
  const ExprPool& pool = program_.pool;
  const TensorRead* read = read_of(pool, *e.op, wanted.operand);
  if (read == nullptr || read->indices.empty() ||
      is_inlined(static_cast<std::int32_t>(state_.dag().tensor(read->tensor).operation))) {
    return;
  }
  if (e.lane_leaf >= 0) {
    e.prefetch_leaf = e.lane_leaf;
    return;
  }
  StageDerivation& d = e.nest.derivation;
  const auto last = static_cast<std::size_t>(e.shape.reduction_end) - 1;
  const std::int32_t axis = axis_of_node(d, d.leaves[last].node);
  const std::int64_t extent =
      node_extents(d, e.nest.axis_extent)[static_cast<std::size_t>(d.leaves[last].node)];
  if (axis < 0 || state_.attach_map().iterator_to_stages.contains(
                      IteratorKey{e.nest.stage, d.leaves[last].iterator})) {
    return;
  }
  const auto num_spatial = static_cast<std::int32_t>(e.op->axes.size());
  const VarId var = axis < num_spatial
                        ? e.op->axes[static_cast<std::size_t>(axis)].var
                        : e.op->reduce_axes[static_cast<std::size_t>(axis - num_spatial)].var;
  if (!uses_var(pool, read->indices.back(), var)) {
    e.prefetch_leaf = static_cast<std::int32_t>(last) + 1;
    return;
  }
  const std::int64_t line =
      target_.cache_line_bytes / bytes_of(state_.dag().tensor(read->tensor).dtype);
  if (extent <= line) {
    e.prefetch_leaf = static_cast<std::int32_t>(last);
  } else if (extent % line == 0) {
    cut_leaf(d, last, line);
    ++e.shape.reduction_end;
    e.shape.vector_leaf += e.shape.vector_leaf >= 0 ? 1 : 0;
    e.prefetch_leaf = static_cast<std::int32_t>(last) + 1;
  }
}

/// The prefetches for what the leaves from e.prefetch_leaf on read in one go.
inline StmtId Emitter::emit_prefetch(Emission& e) {
  const OperandPrefetch& wanted = state_.stage(static_cast<std::size_t>(e.nest.stage)).prefetch;
  ExprPool& pool = program_.pool;
  const TensorRead read = *read_of(pool, *e.op, wanted.operand);
  const TensorHome& home = homes_[read.tensor.value];
  const Operation& op = *e.op;
  const auto first = static_cast<std::size_t>(e.prefetch_leaf);
  const std::size_t rank = read.indices.size();
  if (home.layout != nullptr) {
    return program_.add(Seq{});
  }
  for (std::size_t i = first; i < e.nest.num_leaves(); ++i) {
    e.nest.leaf_value[i] = pool.int_imm(0);
  }
  const auto indices = [&] {
    std::vector<std::pair<VarId, ExprId>> env;
    for (std::size_t a = 0; a < op.axes.size() + op.reduce_axes.size(); ++a) {
      Affine value = with_values(pool, extents_, e.nest, e.nest.axis_value[a]);
      const bool is_spatial = a < op.axes.size();
      if (is_spatial) {
        value.add(e.nest.axis_base[a]);
      }
      env.emplace_back(is_spatial ? op.axes[a].var : op.reduce_axes[a - op.axes.size()].var,
                       expr(value));
    }
    std::vector<Affine> forms;
    for (std::size_t d = 0; d < rank; ++d) {
      forms.push_back(affine(value_of(read.indices[d], env)));
      if (!home.origin.empty()) {
        forms.back().add(home.origin[d], -1);
      }
    }
    return forms;
  };
  const std::vector<Affine> base = indices();
  const std::int64_t line =
      target_.cache_line_bytes / bytes_of(state_.dag().tensor(read.tensor).dtype);
  /// Leaves that move other dimensions than the last, with their steps; what moves only the last.
  std::vector<std::pair<std::int64_t, std::vector<std::int64_t>>> rows;
  std::int64_t span = 1, count = 1;
  bool is_known = true;
  for (std::size_t i = first; i < e.nest.num_leaves() && is_known; ++i) {
    if (e.nest.leaf_extent[i] == 1) {
      continue;
    }
    e.nest.leaf_value[i] = pool.int_imm(1);
    std::vector<Affine> moved = indices();
    e.nest.leaf_value[i] = pool.int_imm(0);
    std::vector<std::int64_t> step;
    bool is_row = false;
    for (std::size_t d = 0; d < rank; ++d) {
      moved[d].add(base[d], -1);
      is_known = is_known && moved[d].is_constant();
      step.push_back(moved[d].constant);
      is_row = is_row || (d + 1 < rank && moved[d].constant != 0);
    }
    if (is_row) {
      count *= e.nest.leaf_extent[i];
      rows.emplace_back(e.nest.leaf_extent[i], std::move(step));
    } else {
      span += step.back() > 0 ? step.back() * (e.nest.leaf_extent[i] - 1) : 0;
    }
  }
  for (std::size_t i = first; i < e.nest.num_leaves(); ++i) {
    e.nest.leaf_value[i] = {};
  }
  const std::int64_t num_lines = ceil_div(span, line);
  std::vector<StmtId> hints;
  if (is_known && count * num_lines <= max_prefetches_per_step) {
    for (std::int64_t point = 0; point < count; ++point) {
      std::vector<Affine> at = base;
      std::int64_t rest = point;
      for (const auto& [extent, step] : rows) {
        for (std::size_t d = 0; d < rank; ++d) {
          at[d].constant += rest % extent * step[d];
        }
        rest /= extent;
      }
      for (std::int64_t l = 0; l < num_lines; ++l) {
        Prefetch hint{home.buffer, {}, wanted.level};
        for (std::size_t d = 0; d < rank; ++d) {
          Affine index = at[d];
          index.constant += d + 1 == rank ? (l + wanted.lines) * line : 0;
          hint.indices.push_back(expr(index));
        }
        hints.push_back(program_.add(std::move(hint)));
      }
    }
  }
  return seq(std::move(hints));
}

}  // namespace tensorsmith::detail
