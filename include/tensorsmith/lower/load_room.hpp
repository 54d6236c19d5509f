// SPDX-License-Identifier: Apache-2.0
// load_room: for how long a loaded value stays in a register beside the accumulators of a tile.
//
// Floor 4. Own design. Known to the CPU code generator, which loads again what would wait for
// longer, and to the draft, which counts these loads.
#pragma once

#include <cstdint>

#include "tensorsmith/support/algorithm.hpp"
#include "tensorsmith/target.hpp"

namespace tensorsmith {

/// A value is kept while at most so many others are loaded between two of its uses. One that waited
/// for longer would be kept at the price of an accumulator, stored and loaded again in every step;
/// reading it again costs less. Where a product cannot take a value that is the same in all lanes
/// from memory, that needs a register, too; and a tile that leaves none to spare is spilled all the
/// same. The vectors of a row are wanted by the next row, such a value at once or, by another tap
/// of a convolution, late.
inline std::int64_t load_room(const Target& target, std::int64_t accumulators,
                              bool is_same_in_lanes) {
  const bool has_more = target.has_masks;
  const std::int64_t least = has_more ? 6 : is_same_in_lanes ? 1 : 3;
  return larger_of(least, target.num_vector_registers - accumulators - (has_more ? 1 : 3));
}

}  // namespace tensorsmith
