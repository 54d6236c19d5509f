// SPDX-License-Identifier: Apache-2.0
// SpaceOptions: what a search space contains, and the choices of the spaces that have a name.
//
// Floor 7. Ansor reference, ch. 4.1 and 5.1 (parameters); what is beyond them: own design.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "tensorsmith/ir/tensor_intrinsic.hpp"
#include "tensorsmith/target.hpp"
#include "tensorsmith/te/access_analysis.hpp"

namespace tensorsmith {

struct SpaceOptions {
  HardwareParams hardware;
  std::int64_t max_innermost_split_factor = 64;
  /// The same of a reduction. A tile is loaded and stored once per that many steps.
  std::int64_t max_innermost_reduction_factor = 64;
  std::int64_t max_vectorize_size = 16;
  std::vector<std::int32_t> auto_unroll_max_steps = {0, 16, 64, 512};
  bool change_compute_location = true;
  /// Lengths need not divide an extent: they may come from a rounder number that is at most this
  /// fraction above it (1021 is split as if it were 1024; lowering cuts off what is too much).
  /// 0 = the reference's space.
  double max_rounding = 0;
  /// GPUs: the same of the tiles of warps that multiply with tensor cores, whole ones always.
  double max_warp_rounding = 0;
  /// How many steps of the innermost reduction loop of a stage may be written out; none: one.
  /// Mutations draw it, where a stage has such a loop; at first all programs have one.
  std::vector<std::int32_t> reduction_unrolls;
  /// How many rows a reduction whose own loops come last may compute at a time; none: one.
  std::vector<std::int32_t> row_blocks;
  /// How many cache lines ahead a register tile may ask for an operand; none: prefetches are not in
  /// the space. Smaller operands than `min_prefetch_bytes` stay near the core by themselves.
  std::vector<std::int32_t> prefetch_lines;
  std::int64_t min_prefetch_bytes = 1 << 20;
  std::int64_t max_prefetch_uses = 64;  ///< per element; an operand that is used more is blocked
  /// A result of this size may be written past the caches; 0: not in the space.
  std::int64_t min_streamed_bytes = 0;
  /// Sums of products that one of these computes are computed by it, always.
  std::vector<const TensorIntrinsic*> intrinsics;
  /// GPUs: how many buffers a shared copy may have; none: one, and rows lie as they are.
  std::vector<std::int32_t> fetch_stages;
  /// GPUs: sets of registers for what a tile reads of such copies; none: one, nothing is drawn.
  std::vector<std::int32_t> load_sets;
  /// GPUs: bytes of shared memory of a block whose copies have several buffers; 0: as of others.
  std::int64_t max_buffered_bytes = 0;
  /// GPUs: of a board whose blocks may share out the sums of tiles that leave it a bad last wave
  /// (lower/stream_k.hpp); none: they do not.
  std::optional<GpuLimits> gpu;
  /// GPUs: tiles of such a board, if there are more than it holds at a time, may get their blocks
  /// in groups (search/block_groups.hpp).
  bool groups_blocks = false;
  /// GPUs: stages that are neither tiled nor reduced by several threads get as many threads in a
  /// block, and elements that a thread takes at once, as are drawn; false: a warp and one.
  bool draws_threads = false;
  /// Mutations may let packed copies keep the rows of their source, a cache line of padding behind
  /// each, instead of panels.
  bool keeps_pack_rows = false;
  /// Caches of results get a layout that follows their register tiles.
  bool lay_out_results = false;
  DataReuse reuse = DataReuse::of_producers;  ///< as of the sketches
};

/// The reference's for GPUs (ch. 5.1).
inline SpaceOptions gpu_space_options(const HardwareParams& hardware) {
  SpaceOptions options;
  options.hardware = hardware;
  options.auto_unroll_max_steps = {0, 16, 64, 512, 1024};
  return options;
}

/// The native one for GPUs.
inline SpaceOptions native_gpu_space_options(const Target& target) {
  SpaceOptions options = gpu_space_options(hardware_params(target));
  constexpr std::int32_t first_with_async_copies = 80;
  options.fetch_stages = {1};
  options.load_sets = {1, 2};
  options.draws_threads = true;
  if (target.gpu->board) {
    options.gpu = target.gpu;
    options.groups_blocks = true;
  }
  options.max_warp_rounding = 1.0 / 7;
  if (target.gpu->compute_capability >= first_with_async_copies) {
    options.fetch_stages = {1, 2, 3, 4};
    options.max_buffered_bytes = target.gpu->max_shared_memory_optin_bytes;
  }
  return options;
}

/// The space that tuning uses unless told otherwise.
inline SpaceOptions native_space_options() {
  SpaceOptions options;
  options.max_rounding = 1.0 / 7;
  options.max_innermost_reduction_factor = 512;
  options.reduction_unrolls = {2, 4};
  options.row_blocks = {2, 4, 8};
  options.prefetch_lines = {6, 12, 24};
  options.keeps_pack_rows = true;
  options.reuse = DataReuse::of_reads;
  return options;
}

}  // namespace tensorsmith
