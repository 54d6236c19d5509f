// SPDX-License-Identifier: Apache-2.0
// tile_block: whether the loops behind the last reduction of a stage fill tile registers.
//
// Floor 4. Own design (docs/decisions/0008-tensor-intrinsics.md). Rows and columns are one loop
// each, multiples of a tile's, and few enough that the accumulators of all of them stay in tiles:
//     for k in 8: for i in 32: for j in 32 vectorized: C += A*B     2 x 2 tiles of 16 x 16
// Not here: other registers (shape_nest.hpp).
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "tensorsmith/lower/tensor_operands.hpp"
#include "tensorsmith/sched/derivation.hpp"

namespace tensorsmith {

/// In tiles of the intrinsic's m x n.
struct TileBlock {
  std::int64_t rows = 0, columns = 0;
};

/// `extent`: of every node. `has_attached(i)`: whether stages are computed at iterator i. Nothing
/// where the intrinsic has no tiles, or the loops do not suit it.
template <class HasAttached>
std::optional<TileBlock>
tile_block(const ExprPool& pool, const Operation& op, const StageDerivation& d,
           const std::vector<std::int64_t>& extent, const TensorIntrinsic& intrinsic,
           const HasAttached& has_attached) {
  const std::vector<bool> reduces = node_is_reduction(d);
  const auto node = [&](std::size_t i) { return static_cast<std::size_t>(d.leaves[i].node); };
  const auto var_of = [&](std::size_t i) { return op.axis_var(axis_of_node(d, d.leaves[i].node)); };
  std::size_t first = d.leaves.size();  // of the tile
  while (first > 0 && !reduces[node(first - 1)]) {
    --first;
  }
  if (!intrinsic.has_tiles() || first == 0 || first + 2 > d.leaves.size()) {
    return std::nullopt;
  }
  const std::size_t columns = d.leaves.size() - 1, sum = first - 1;
  std::size_t rows = columns;
  for (std::size_t i = first; i <= columns; ++i) {
    if (has_attached(d.leaves[i].iterator) || d.leaves[i].annotation > Annotation::vectorize ||
        (i < columns && extent[node(i)] > 1 && rows != columns)) {
      return std::nullopt;
    }
    rows = i < columns && extent[node(i)] > 1 ? i : rows;
  }
  const VarId row = var_of(rows), column = var_of(columns), group = var_of(sum);
  const auto operands =
      column.valid() ? tensor_operands(pool, op, intrinsic, column) : std::nullopt;
  if (rows == columns || !operands || !row.valid() || !group.valid() ||
      has_attached(d.leaves[sum].iterator) || extent[node(sum)] < intrinsic.k ||
      !detail::reads_along(pool, *operands->a, row) ||
      detail::reads_along(pool, *operands->b, row) || extent[node(rows)] % intrinsic.m != 0 ||
      extent[node(columns)] % intrinsic.n != 0) {
    return std::nullopt;
  }
  const TileBlock block{extent[node(rows)] / intrinsic.m, extent[node(columns)] / intrinsic.n};
  return fits_tile_registers(block.rows, block.columns) ? std::optional(block) : std::nullopt;
}

}  // namespace tensorsmith
