// SPDX-License-Identifier: Apache-2.0
// Emission: everything that is known of the nest of one stage while it is emitted.
//
// Floor 4. Own design; the data of emit.hpp.
#pragma once

#include <cstdint>
#include <optional>
#include <utility>
#include <vector>

#include "tensorsmith/lower/known_intrinsics.hpp"
#include "tensorsmith/lower/lower_error.hpp"
#include "tensorsmith/lower/region.hpp"
#include "tensorsmith/lower/shape_nest.hpp"
#include "tensorsmith/lower/share_factors.hpp"
#include "tensorsmith/lower/term_conditions.hpp"
#include "tensorsmith/sched/layouts.hpp"
#include "tensorsmith/support/factorize.hpp"
#include "tensorsmith/support/result.hpp"
#include "tensorsmith/support/sort.hpp"

namespace tensorsmith::detail {

/// Where a tensor's elements live: index - origin, cut into pieces by a storage layout.
struct TensorHome {
  BufferId buffer;
  std::vector<Affine> origin;
  const StorageLayoutStep* layout = nullptr;
};

/// What the innermost body does.
/// The last three: what an intrinsic with an offset adds too much (emit_tensor.hpp).
enum class BodyMode : std::uint8_t {
  compute,
  initialize,
  update,
  write_back,
  finish,
  offset_zero,
  offset_sum,
  take_off
};

/// The term counts where form >= 0.
struct TermForm {
  ExprId comparison;
  Affine form;  ///< over the placeholders of the leaves
};

/// Rows of a tile, begin <= row < end; end 0: all.
struct TileRange {
  std::int64_t begin = 0, end = 0;
  bool operator==(const TileRange&) const = default;
};

/// low <= outer + sum of coefficient * leaf <= high, or the terms of the run do not count.
struct PaddedAxis {
  struct Term {
    std::size_t leaf;
    std::int64_t coefficient;
    bool operator==(const Term&) const = default;
  };
  Affine outer;                 ///< of the loops around the run, which have values
  std::vector<Term> run, tile;  ///< loops of the run, outermost first; of the register tile
  std::optional<std::int64_t> low, high;
  std::vector<ExprId> comparisons;
  // With a loop of the tile:
  std::int64_t rows = 0;              ///< extent of that loop
  std::vector<std::int64_t> borders;  ///< values of outer at which padding is seen
  bool has_interior = false;          ///< there are others
  std::optional<std::int64_t> place;  ///< outer in the copy that is being emitted; none: interior

  /// The rows of the tile that are inside when everything else adds up to `sum`.
  TileRange rows_inside(std::int64_t sum) const {
    const std::int64_t c = tile.front().coefficient;
    TileRange found{rows, 0};
    for (std::int64_t row = 0; row < rows; ++row) {
      const std::int64_t at = sum + c * row;
      if ((!low || at >= *low) && (!high || at <= *high)) {
        found.begin = smaller_of(found.begin, row);
        found.end = row + 1;
      }
    }
    return found;
  }
};

struct Emission {
  Nest nest;
  NestShape shape;
  const Operation* op = nullptr;
  BodyMode mode = BodyMode::compute;
  std::vector<BufferId> accumulators;    ///< register tile; empty = accumulate in memory
  std::vector<BufferId> temporaries;     ///< for reductions with several outputs
  std::vector<std::size_t> tile_leaves;  ///< on GPUs: the dimensions of the accumulators
  std::vector<ExprId> guards;  ///< on GPUs: which threads store; innermost condition first
  std::vector<std::int32_t> padded_copies;  ///< on GPUs: it reads them behind their ends
  std::vector<Constraint> zero_ends;        ///< of a padded copy, which is zero behind them
  bool is_reading_partial = false;          ///< initialize copies the stored partial result
  bool is_tile_indexed = false;             ///< a loop of the tile stays a loop
  std::int32_t lane_leaf = -1;       ///< the tile is this part of a reduction loop (emit_lanes.hpp)
  std::int32_t sum_node = -1;        ///< the loop that lane_leaf is cut off, behind a tile
  const Emission* reader = nullptr;  ///< its elements are written in place of our own
  std::vector<TermForm> conditions;  ///< of the terms of its reduction
  std::vector<ExprId> solved;        ///< comparisons that are true by the values of loops
  // Of the run that is being emitted:
  std::vector<PaddedAxis> padded;
  std::vector<ExprId> holds;          ///< comparisons that its loops see to
  std::vector<TileRange> tile_range;  ///< per leaf
  /// Lines of an operand are asked for in front of this leaf, whenever the tile is updated; -1 =
  /// no.
  std::int32_t prefetch_leaf = -1;
  /// The reduction loop around the tiles whose next iteration they are for; -1 = of a later step.
  std::int32_t prefetched_block = -1;
  /// Computes the loop of leaf `tensor_leaf`, the last of its run, and all inside of it.
  const TensorIntrinsic* intrinsic = nullptr;
  std::int32_t tensor_leaf = -1;
  bool has_tiles = false;     ///< its accumulators are tile registers
  std::vector<bool> moves_b;  ///< per leaf: whether operand b depends on it
  bool is_a_first = true;     ///< in the product
  bool is_summing = false;    ///< the sums of this step are written
  BufferId offset_sums;       ///< a_offset * sum(b) of the run, where the intrinsic has one
};

/// One hardware axis in one kernel. Loops of several extents may be bound to it.
struct AxisBinding {
  ForKind axis;
  VarId var;
  std::int64_t extent;
};

/// A loop that has the value of a thread axis.
struct AxisUse {
  ForKind axis;
  ExprId value;
  std::int64_t extent;
};

/// Dimension `dimension` of a shared buffer is as long as the axis of a thread's placeholder.
struct ThreadRows {
  BufferId buffer;
  std::size_t dimension;
  ExprId placeholder;
};

/// What is known of a kernel (GPU targets) while its body is emitted.
struct Kernel {
  std::vector<AxisBinding> bindings;  ///< one per axis and extent
  /// Placeholders for the thread axes, for those that do not know whether the kernel has them.
  VarId any_thread[3];
  std::vector<VarId> thread_vars;  ///< of threads and virtual threads
  std::vector<ThreadRows> rows;
  std::int32_t fetch_stages = 1;   ///< buffers of a shared copy
  std::int32_t load_sets = 1;      ///< of registers, for what a tile reads of them
  std::int32_t stream_blocks = 0;  ///< share all sums out; 0: every tile has a block
  std::vector<BufferId> parts;     ///< of sums that lie in two blocks
  std::int64_t num_vthreads = 1;   ///< that the body being emitted is repeated for
  std::int64_t lanes = 1;          ///< the largest group that exchanges partial results
};

struct LaneExchange;

/// Which threads share a reduction, by its loops over threads.
struct SharingThreads {
  std::vector<ExprId> inside;            ///< conditions of those that share it
  std::vector<ExprId> outside;           ///< of the others, behind those of the stage
  Affine number;                         ///< of the thread among those that share
  std::int64_t count = 1;                ///< of those
  ExprList others;                       ///< numbers of the thread along the other loops
  SmallVector<std::int64_t, 6> extents;  ///< of those loops
};

/// What of `stage` was taken to be needed where stages that it reads were computed: outside of this
/// box they may hold nothing.
struct PlannedBox {
  std::int32_t stage;
  std::vector<SymbolicInterval> box;
};

/// A tensor that is read at one point only, where its value is known.
struct FinishedTensor {
  TensorId tensor;
  ExprList point;
  ExprId value;
};

}  // namespace tensorsmith::detail
