// SPDX-License-Identifier: Apache-2.0
// packed_dimensions: how the reader of a packed copy runs along the dimensions of the copy.
//
// Floor 7. Own design. Not here: what follows for loops and layouts (schedule_packs.hpp).
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "tensorsmith/ir/tensor_intrinsic.hpp"
#include "tensorsmith/sched/derivation.hpp"
#include "tensorsmith/sched/state.hpp"
#include "tensorsmith/support/compiled.hpp"

namespace tensorsmith::detail {

/// Extents of all nodes of a stage at root.
TENSORSMITH_INLINE std::vector<std::int64_t> extents_at_root(const Operation& op,
                                                             const StageDerivation& d);

/// Per spatial axis of `op`: elements that the loops behind its last reduction loop cover.
TENSORSMITH_INLINE std::vector<std::int64_t> innermost_tile(const Operation& op,
                                                            const StageDerivation& d);

/// How the reader of a copy runs along one of its dimensions.
struct PackedDimension {
  std::int32_t axis = -1;  ///< of the reader, spatial axes first; -1 = none alone
  bool is_reduction = false;
  std::int64_t block = 0;  ///< length of the tile, 0 = not cut
  bool is_whole = true;    ///< if a reduction: no loop around the copy runs along it
  bool is_vector = false;  ///< the innermost loop of the reader runs along it
};

/// Nothing if no stage reads the copy.
TENSORSMITH_INLINE std::optional<std::vector<PackedDimension>>
packed_dimensions(const State& state, const std::vector<StageDerivation>& derivations,
                  std::size_t copy, const std::vector<const TensorIntrinsic*>& intrinsics);

}  // namespace tensorsmith::detail

#ifndef TENSORSMITH_COMPILED
#include "tensorsmith/search/packed_dimensions_body.hpp"
#endif
