// SPDX-License-Identifier: Apache-2.0
// Prefetches of a register tile: the lines that a later step will read.
//
// Floor 4. Part of emit.hpp. Own design. In every step of the innermost reduction loop the lines of
// the operand are asked for that lie `lines` cache lines behind those of this step, along the
// operand's last dimension. If the loop itself runs along that dimension it is cut into lines, so
// that each is asked for once:
//     for k in 4096: tile reads A[i, k]   -->   for k.0 in 256: prefetch A[i, 16*k.0 + 128 ...]
//                                                 for k.1 in 16: tile reads A[i, 16*k.0 + k.1]
// Or, where a reduction loop runs around many tiles, each step asks for its share of what the next
// iteration of that loop reads, line after line in the order of memory:
//     for k.0 in 512: for j in 128: for k.1 in 8: prefetch B[8*k.0 + 8 + j floordiv 16, ...]
// Of fewer lines than steps the loops further out ask.
// A hint: where it cannot be said in a few instructions there is none.
#pragma once

#include "tensorsmith/lower/emit.hpp"
#include "tensorsmith/sched/reduction_blocks.hpp"

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

/// The innermost place in the run where no line of a block is asked for twice, or nearly so: lines
/// of an operand that is read with larger steps than one are counted as too few.
inline std::int32_t
NestDecisions::leaf_of_block_prefetch(const Emission& e, const TensorRead& read,
                                      const std::vector<std::int64_t>& extents) const {
  const ExprPool& pool = program_.pool;
  const StageDerivation& d = e.nest.derivation;
  const auto extent_of = [&](std::int32_t leaf) {
    return extents[static_cast<std::size_t>(d.leaves[static_cast<std::size_t>(leaf)].node)];
  };
  std::vector<std::int64_t> inside(e.op->axes.size() + e.op->reduce_axes.size(), 1);
  for (auto i = e.prefetched_block + 1; i < static_cast<std::int32_t>(d.leaves.size()); ++i) {
    const std::int32_t axis = axis_of_node(d, d.leaves[static_cast<std::size_t>(i)].node);
    if (axis >= 0) {
      inside[static_cast<std::size_t>(axis)] *= extent_of(i);
    }
  }
  std::int64_t lines = 1;
  for (const ExprId& index : read.indices) {
    std::int64_t span = 1;
    for (std::size_t a = 0; a < inside.size(); ++a) {
      const VarId var = e.op->axis_var(static_cast<std::int32_t>(a));
      span += uses_var(pool, index, var) ? inside[a] - 1 : 0;
    }
    lines *= &index == &read.indices.back()
                 ? ceil_div(span, target_.cache_line_bytes /
                                      bytes_of(state_.dag().tensor(read.tensor).dtype))
                 : span;
  }
  std::int32_t leaf = e.shape.reduction_begin;
  std::int64_t steps = 1;
  for (auto i = e.prefetched_block + 1; i < e.shape.reduction_end; ++i) {
    steps *= extent_of(i);
    leaf = i >= leaf && steps <= lines ? i + 1 : leaf;
  }
  return leaf;
}

/// Decides where the prefetches stand; may cut the innermost reduction loop.
inline void NestDecisions::place_prefetch(Emission& e) const {
  const OperandPrefetch wanted =
      operand_prefetch(state_.stage(static_cast<std::size_t>(e.nest.stage)).hints);
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
    e.prefetch_leaf = wanted.is_block ? -1 : e.shape.reduction_end;
    return;
  }
  StageDerivation& d = e.nest.derivation;
  if (wanted.is_block) {
    const std::vector<std::int64_t> extents = node_extents(d, e.nest.axis_extent);
    const std::vector<bool> reduces = node_is_reduction(d);
    const auto moves_operand = [&](std::int32_t node) {
      const std::int32_t axis = axis_of_node(d, node);
      bool moves = axis < 0;  // several axes in one loop
      for (const ExprId index : read->indices) {
        moves = moves || uses_var(pool, index, e.op->axis_var(axis));
      }
      return moves;
    };
    bool has_tiles = false;
    for (std::int32_t i = e.shape.reduction_begin; i-- > 0 && e.prefetched_block < 0;) {
      const std::int32_t node = d.leaves[static_cast<std::size_t>(i)].node;
      const auto at = static_cast<std::size_t>(node);
      has_tiles = has_tiles || (!reduces[at] && extents[at] > 1);
      const bool is_block =
          reduces[at] && extents[at] >= min_blocks_ahead && has_tiles && moves_operand(node);
      e.prefetched_block = is_block ? i : -1;
    }
    e.prefetch_leaf = e.prefetched_block < 0 ? -1
                      : e.tensor_leaf >= 0   ? e.tensor_leaf
                                             : leaf_of_block_prefetch(e, *read, extents);
    return;
  }
  const auto last = static_cast<std::size_t>(e.shape.reduction_end) - 1;
  const std::int32_t axis = axis_of_node(d, d.leaves[last].node);
  const std::int64_t extent =
      node_extents(d, e.nest.axis_extent)[static_cast<std::size_t>(d.leaves[last].node)];
  if (axis < 0 || state_.attach_map().iterator_to_stages.contains(
                      IteratorKey{e.nest.stage, d.leaves[last].iterator})) {
    return;
  }
  if (!uses_var(pool, read->indices.back(), e.op->axis_var(axis))) {
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
  const OperandPrefetch wanted =
      operand_prefetch(state_.stage(static_cast<std::size_t>(e.nest.stage)).hints);
  if (e.prefetched_block >= 0) {
    return emit_block_prefetch(e);
  }
  ExprPool& pool = program_.pool;
  const TensorRead read = *read_of(pool, *e.op, wanted.operand);
  const TensorHome& home = homes_[read.tensor.value];
  const auto first = static_cast<std::size_t>(e.prefetch_leaf);
  const std::size_t rank = read.indices.size();
  if (home.layout != nullptr) {
    return program_.add(Seq{});
  }
  for (std::size_t i = first; i < e.nest.num_leaves(); ++i) {
    e.nest.leaf_value[i] = pool.int_imm(0);
  }
  const std::vector<Affine> base = forms_of(e, read);
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
    std::vector<Affine> moved = forms_of(e, read);
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

/// The share of this step of what the next iteration of e.prefetched_block reads.
inline StmtId Emitter::emit_block_prefetch(Emission& e) {
  const OperandPrefetch wanted =
      operand_prefetch(state_.stage(static_cast<std::size_t>(e.nest.stage)).hints);
  ExprPool& pool = program_.pool;
  const TensorRead read = *read_of(pool, *e.op, wanted.operand);
  const TensorHome& home = homes_[read.tensor.value];
  if (home.layout != nullptr || !home.origin.empty()) {
    return program_.add(Seq{});
  }
  const auto block = static_cast<std::size_t>(e.prefetched_block);
  const std::vector<ExprId> values = e.nest.leaf_value;
  Affine step;  // number of this one among all steps of the block
  std::int64_t num_steps = 1;
  for (auto i = static_cast<std::size_t>(e.prefetch_leaf); i-- > block + 1;) {
    if (e.nest.leaf_extent[i] > 1) {
      step.add(affine(values[i]), num_steps);
      num_steps *= e.nest.leaf_extent[i];
    }
  }
  e.nest.leaf_value[block] = pool.add(values[block], pool.int_imm(1));
  for (std::size_t i = block + 1; i < e.nest.num_leaves(); ++i) {
    e.nest.leaf_value[i] = pool.int_imm(0);
  }
  const std::vector<Affine> base = forms_of(e, read);
  std::vector<std::int64_t> extent(base.size(), 1);
  bool is_known = true;
  for (std::size_t i = block + 1; i < e.nest.num_leaves() && is_known; ++i) {
    if (e.nest.leaf_extent[i] == 1) {
      continue;
    }
    e.nest.leaf_value[i] = pool.int_imm(1);
    std::vector<Affine> moved = forms_of(e, read);
    e.nest.leaf_value[i] = pool.int_imm(0);
    for (std::size_t d = 0; d < base.size(); ++d) {
      moved[d].add(base[d], -1);
      is_known = is_known && moved[d].is_constant() && moved[d].constant >= 0;
      extent[d] += moved[d].constant * (e.nest.leaf_extent[i] - 1);
    }
  }
  e.nest.leaf_value = values;
  const std::int64_t line =
      target_.cache_line_bytes / bytes_of(state_.dag().tensor(read.tensor).dtype);
  const std::int64_t lines_of_row = ceil_div(extent.back(), line);
  std::int64_t num_lines = lines_of_row;
  for (std::size_t d = 0; d + 1 < extent.size(); ++d) {
    num_lines *= extent[d];
  }
  const std::int64_t share = ceil_div(num_lines, num_steps);
  std::vector<StmtId> hints;
  if (is_known && share <= max_prefetches_per_step) {
    const auto divided = [&](const Affine& form, std::int64_t by) {
      return affine(pool.floordiv(expr(form), pool.int_imm(by)));
    };
    const auto rest = [&](const Affine& form, std::int64_t by) {
      return affine(pool.floormod(expr(form), pool.int_imm(by)));
    };
    const std::int64_t common = gcd(num_lines, num_steps);
    Affine first;
    first.add(step, num_lines / common);
    first = divided(first, num_steps / common);
    const auto place_of = [&](const Affine& number) {
      std::vector<Affine> at = base;
      at.back().add(rest(number, lines_of_row), line);
      Affine row = divided(number, lines_of_row);
      for (std::size_t d = extent.size() - 1; d-- > 0;) {
        at[d].add(d == 0 ? row : rest(row, extent[d]));
        row = divided(row, extent[d]);
      }
      return at;
    };
    const bool stays_in_row = num_lines % num_steps == 0 && lines_of_row % share == 0;
    std::vector<Affine> at = place_of(first);
    for (std::int64_t l = 0; l < share; ++l) {
      if (l > 0 && stays_in_row) {
        at.back().constant += line;
      } else if (l > 0) {
        ++first.constant;
        at = place_of(first);
      }
      Prefetch hint{home.buffer, {}, wanted.level};
      for (const Affine& index : at) {
        hint.indices.push_back(expr(index));
      }
      hints.push_back(program_.add(std::move(hint)));
    }
  }
  return seq(std::move(hints));
}

}  // namespace tensorsmith::detail
