// GpuWork: what one kernel of a lowered GPU program asks of the machine, as numbers.
//
// Floor 6. Own design. Made by gpu_work_reader.hpp, read by gpu_latency.hpp. Here as well: how many
// blocks an SM holds at a time.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "tensorsmith/gpu_devices.hpp"
#include "tensorsmith/ir/loop_program.hpp"
#include "tensorsmith/support/algorithm.hpp"

namespace tensorsmith {

/// Waiting times in clocks. Nowhere promised; orders of magnitude of published microbenchmarks (Jia
/// et al. 2019 for T4, Luo et al. 2024 for A100, RTX 4090 and H100).
struct GpuDelays {
  double global = 500, shared = 30, barrier = 20, arithmetic = 4, tensor = 33, shuffle = 25;
};

/// One load or store of global memory, all of its iterations.
struct GpuTraffic {
  BufferId buffer;
  bool is_store = false;
  double l2_bytes = 0;    ///< of one block, after L1
  double wave_bytes = 0;  ///< distinct ones of the blocks that run at the same time
  double grid_bytes = 0;  ///< distinct ones of all blocks
  double turns = 1;       ///< tiles that a block goes over, one after the other
};

/// Per kernel. "Of a warp": the average over the warps of a block.
struct GpuWork {
  std::int64_t num_blocks = 1, num_threads = 1;
  std::int64_t shared_bytes = 0;
  std::int32_t registers = 0;      ///< of a thread; an estimate, cut at the limit
  double spilled = 0;              ///< share of the registers wanted that there are not
  std::int64_t blocks_per_sm = 0;  ///< at a time; 0: none fits
  double instructions = 0;         ///< of a warp, all kinds
  double f32 = 0, f64 = 0, integer = 0, special = 0;  ///< of a warp, by the unit that does them
  double tensor = 0;         ///< products of one lane on tensor cores; of n bytes they count n / 2
  double shared_passes = 0;  ///< of a warp, see gpu_access.hpp
  double global_passes = 0;  ///< of a warp: lines, or four sectors each
  double path_clocks = 0;    ///< of one warp that is alone
  std::vector<GpuTraffic> traffic;

  std::int64_t num_warps() const { return (num_threads + 31) / 32; }
};

/// Blocks that one SM holds at a time; 0: not even one. Registers are given out to warps in units
/// of 256, shared memory in units of 1 KiB (CUDA occupancy calculator), sm_80 and later keep 1 KiB
/// of it per block.
inline std::int64_t gpu_blocks_per_sm(const GpuLimits& gpu, std::int64_t num_threads,
                                      std::int64_t shared_bytes, std::int32_t registers) {
  if (num_threads > gpu.max_threads_per_block || shared_bytes > gpu.max_shared_memory_optin_bytes) {
    return 0;
  }
  const std::int64_t num_warps = (num_threads + gpu.warp_size - 1) / gpu.warp_size;
  const std::int64_t of_warp = (std::int64_t{registers} * gpu.warp_size + 255) / 256 * 256;
  const std::int64_t reserved = gpu.compute_capability >= 80 ? 1024 : 0;
  const std::int64_t of_block = (shared_bytes + reserved + 1023) / 1024 * 1024;
  std::int64_t blocks = gpu.max_blocks_per_sm;
  blocks = smaller_of(blocks, gpu.max_threads_per_sm / (num_warps * gpu.warp_size));
  blocks =
      smaller_of(blocks, gpu.registers_per_sm / larger_of<std::int64_t>(1, of_warp * num_warps));
  return of_block > 0 ? smaller_of(blocks, gpu.shared_memory_per_sm_bytes / of_block) : blocks;
}

/// Bytes of L1 for one block; which registers it takes is not known yet.
inline double gpu_l1_share(const GpuLimits& gpu, const GpuWork& work) {
  const std::int64_t blocks =
      larger_of<std::int64_t>(1, gpu_blocks_per_sm(gpu, work.num_threads, work.shared_bytes, 32));
  const std::int64_t left = gpu.l1_and_shared_bytes - blocks * work.shared_bytes;
  return static_cast<double>(larger_of<std::int64_t>(8192, left)) / static_cast<double>(blocks);
}

}  // namespace tensorsmith
