// SPDX-License-Identifier: Apache-2.0
// has_blocks_of_reduction: whether a stage's reduction is cut into blocks that tiles lie in.
//
// Floor 3. Own design. Lowering decides by the loops that it emits (lower/emit_prefetch.hpp).
#pragma once

#include "tensorsmith/sched/state.hpp"

namespace tensorsmith {

/// Fewer blocks are not asked for ahead: what is asked for in the last one is of no use.
inline constexpr std::int64_t min_blocks_ahead = 4;

/// Whether a reduction loop of the stage runs around loops along the result, and these around
/// another reduction loop: what its next iteration reads can be asked for in the meantime.
inline bool has_blocks_of_reduction(const State& state, std::size_t stage) {
  bool has_block = false, has_tiles = false;
  for (const auto& iterator : state.stage(stage).iterators) {
    const std::int64_t extent = iterator.extent.value_or(0);
    if (extent == 1) {
      continue;
    }
    const bool reduces = iterator.kind == IteratorKind::reduction;
    if (reduces && has_tiles) {
      return true;
    }
    has_block = has_block || (reduces && extent >= min_blocks_ahead);
    has_tiles = has_tiles || (has_block && !reduces);
  }
  return false;
}

}  // namespace tensorsmith
