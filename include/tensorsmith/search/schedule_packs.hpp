// SPDX-License-Identifier: Apache-2.0
// schedule_packs: loops and layouts of packed copies, from the register tiles of their readers.
//
// Floor 7. Own design (the micro-panels of GotoBLAS, for any operand). A dimension that the tile
// runs over is cut into blocks of the tile's length; blocks come first, then reductions in the
// order of the reader, innermost what one step of the tile reads:
//     C tile of 6 x 64: B.packed[j, k] stored as [j floordiv 64][k][j floormod 64]
// The copy runs in the order of its destination and writes whole vectors. If the source is
// contiguous along another dimension, one vector of that dimension is unrolled around them: a
// square that code generation can transpose in registers, unless elements are chosen on the way
// (padding of patches). The last dimensions of the source that follow each other in the destination
// as well run as one (channels and taps of a filter), so that the square finds whole vectors.
//     for j.0, k.0, j.1:  unroll k.1 (0,16):  vectorize j.2 (0,16):  B.packed = B
// A reader that is computed by a tensor intrinsic takes k reductions at once: these come last,
//     C tile of 6 x 64 as vdpbf16ps: [j floordiv 64][k floordiv 2][j floormod 64][k floormod 2]
// A copy whose reader takes one element at a time may keep the rows of the source instead, a cache
// line of padding behind each: nothing is transposed, and rows that are a power of two apart in the
// source do not share sets of a cache in the copy (population/keep_pack_rows.hpp).
//     A.packed[i, k] stored as [i][k], rows 512 + 16 elements apart
#pragma once

#include <vector>

#include "tensorsmith/search/packed_dimensions.hpp"
#include "tensorsmith/sketch/grow.hpp"
#include "tensorsmith/sketch/packs.hpp"
#include "tensorsmith/support/compiled.hpp"
#include "tensorsmith/target.hpp"

namespace tensorsmith {
namespace detail {

/// Whether a copy can keep the rows of its source: they are long, run along a reduction, and the
/// reader takes one element of them at a time.
TENSORSMITH_INLINE bool can_keep_rows(const std::vector<PackedDimension>& dimensions,
                                      const TensorInfo& tensor, const HardwareParams& hardware);

}  // namespace detail

/// A layout for every cache of a result whose tiles are visited again and again, appended to the
/// history: the columns of a tile lie together, so that a tile is one stretch of memory.
///     C.local[i, j], tile of 8 x 32  -->  stored as [j floordiv 32][i][j floormod 32]
TENSORSMITH_INLINE bool schedule_result_caches(State& state, const ResultCaches& caches);

/// Steps for every copy in `copies`, appended to the history; false if one of them is illegal. The
/// copies are as their rule made them, and their readers are complete.
TENSORSMITH_INLINE bool schedule_packs(State& state, const PackedCopies& copies,
                                       const HardwareParams& hardware,
                                       const std::vector<const TensorIntrinsic*>& intrinsics = {});

}  // namespace tensorsmith

#ifndef TENSORSMITH_COMPILED
#include "tensorsmith/search/schedule_packs_body.hpp"
#endif
