// Iterators and stages of a loop state.
//
// Floor 3. Ansor reference, ch. 2.1. `Extent` is the type of a loop's length: std::int64_t, the
// only one that is instantiated.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "tensorsmith/sched/steps.hpp"

namespace tensorsmith {

/// Codes of the reference (ch. 2.1).
enum class IteratorKind : std::uint8_t { spatial = 0, reduction = 1, mixed = 2, special = 3 };
enum class ComputeAt : std::uint8_t { root = 0, inlined = 1, iterator = 2 };

template <class Extent>
struct BasicIterator {
  std::string name;
  /// Number of iterations; nothing while undefined (after compute_at, with an unknown split).
  std::optional<Extent> extent;
  IteratorKind kind = IteratorKind::spatial;
  Annotation annotation = Annotation::none;
  /// Names of the iterators it was fused from; empty otherwise.
  std::vector<std::string> original;
};

/// What the register tile of a stage asks the memory for ahead of its use. Off if `lines` is 0.
struct OperandPrefetch {
  std::int32_t operand = 0;  ///< of the reads in the body, in order
  std::int32_t lines = 0;    ///< how far ahead, in cache lines along the operand's last dimension
  std::int32_t level = 1;    ///< into L1, L2 or L3
  bool is_block = false;     ///< what the next block of the reduction reads, in place of `lines`
};

template <class Extent>
struct BasicStage {
  // Its operation is the one of the state's current dag with the same id.
  bool is_placeholder = false;
  ComputeAt compute_at = ComputeAt::root;
  std::vector<BasicIterator<Extent>> iterators;
  std::int32_t auto_unroll_max_step = 0;
  std::int32_t storage_offset = 0;
  OperandPrefetch prefetch;
  /// Its result is written past the caches where vectors of it lie aligned.
  bool streams_result = false;
  /// Steps of the innermost reduction loop that are written out one after the other; 0 or 1: one.
  std::int32_t reduction_unroll = 0;
  /// Rows that a reduction whose own loops come last computes at a time; 0 or 1: one.
  std::int32_t row_block = 0;
  /// Its vectors run along its reduction, whatever loops stand behind that.
  bool vectorizes_sum = false;
  /// Buffers of every shared copy in it, so that it is fetched ahead; 0 or 1: one.
  std::int32_t fetch_stages = 0;
  /// Sets of registers for what its tile reads of shared copies, loaded ahead; 0 or 1: none ahead.
  std::int32_t load_sets = 0;
  /// Blocks of its kernel, which share out all steps of the sums of all tiles; 0: a block per tile.
  std::int32_t stream_blocks = 0;
  /// Name of the tensor intrinsic that computes its innermost tile; empty: none.
  std::string intrinsic;
};

}  // namespace tensorsmith
