// SPDX-License-Identifier: Apache-2.0
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
#include "tensorsmith/support/math.hpp"

namespace tensorsmith {

/// Waiting times in clocks. Nowhere promised: Luo et al. 2024 measured 38, 29, 262 and 466 on the
/// A100, 43, 30, 273 and 542 on the RTX 4090, 41, 29, 263 and 479 on the H100 (L1, shared memory,
/// L2, DRAM); arithmetic and tensor cores: Jia et al. 2019.
struct GpuDelays {
  double l1 = 40, shared = 29, l2 = 262, dram = 480;
  double barrier = 20, arithmetic = 4, special = 20, tensor = 33, shuffle = 25;
};

/// What one warp asks of the units of an SM.
struct GpuUse {
  double instructions = 0;                            ///< all kinds
  double f32 = 0, f64 = 0, integer = 0, special = 0;  ///< by the unit that does them
  double tensor = 0;         ///< products of one lane on tensor cores; of n bytes they count n / 2
  double shared_passes = 0;  ///< see gpu_access.hpp
  double global_passes = 0;  ///< lines, or four sectors each
  double memory = 0;         ///< instructions that go to either of these

  void add(const GpuUse& more, double times = 1) {
    instructions += more.instructions * times;
    f32 += more.f32 * times;
    f64 += more.f64 * times;
    integer += more.integer * times;
    special += more.special * times;
    tensor += more.tensor * times;
    shared_passes += more.shared_passes * times;
    global_passes += more.global_passes * times;
    memory += more.memory * times;
  }
};

/// One load or store of global memory, all of its iterations.
struct GpuTraffic {
  BufferId buffer;
  bool is_store = false;
  double l2_bytes = 0;         ///< of one block, after L1
  double wave_bytes = 0;       ///< distinct ones of the blocks that run at the same time
  double grid_bytes = 0;       ///< distinct ones of all blocks
  double turns = 1;            ///< tiles that a block goes over, one after the other
  bool is_background = false;  ///< the hardware copies by itself
};

/// Per kernel. GpuUse: the average over the warps of a block.
struct GpuWork : GpuUse {
  std::int64_t num_blocks = 1, num_threads = 1;
  std::int64_t shared_bytes = 0;
  std::int32_t registers = 0;      ///< of a thread; an estimate, cut at the limit
  double spilled = 0;              ///< share of the registers wanted that there are not
  std::int64_t blocks_per_sm = 0;  ///< at a time; 0: none fits
  double path_clocks = 0;          ///< of one block that is alone on an SM
  double passes_ahead = 0;         ///< those of shared_passes that load operands ahead
  /// Arrays of threads and spilled registers: bytes that all threads of an SM keep in memory at a
  /// time, and that a block asks L2 for because L1 does not hold those.
  double private_bytes = 0, private_l2_bytes = 0;
  std::vector<GpuTraffic> traffic;

  std::int64_t num_warps() const { return (num_threads + 31) / 32; }
};

/// Clocks of an SM, by unit, for warps that nothing keeps waiting.
struct GpuUnitClocks {
  double issue = 0, arithmetic = 0, shared = 0, l1 = 0;
  double tensor = 0;  ///< of tensor cores, which compute while the warp goes on

  double most() const {  // L1 and shared memory are one memory with one way in
    return larger_of(larger_of(core(), tensor), shared + l1);
  }
  double core() const { return larger_of(issue, arithmetic); }
};

constexpr double gpu_schedulers = 4;  ///< of an SM

/// Warps are dealt out to four schedulers, each with a quarter of the units.
inline GpuUnitClocks gpu_unit_clocks(const GpuLimits& gpu, const GpuUse& use, double num_warps) {
  constexpr double schedulers = gpu_schedulers, integer_rate = 64, special_rate = 16;
  // Instructions of loads and stores that a quarter of an SM takes: 8 lanes a clock.
  constexpr double memory_clocks = 4;
  const double of_scheduler = math::ceil(num_warps / schedulers);
  const auto of_unit = [](double count, double rate) { return 32 * schedulers * count / rate; };
  // On these classes half of the units for f32 are those for integers (GA102 whitepaper).
  const bool is_shared = gpu.compute_capability >= 86 && gpu.compute_capability < 90;
  double arithmetic = of_unit(use.f32 + (is_shared ? use.integer : 0), gpu.f32_fma_rate);
  arithmetic = larger_of(arithmetic, of_unit(use.f64, gpu.f64_fma_rate));
  arithmetic = larger_of(arithmetic, of_unit(use.integer, integer_rate));
  arithmetic = larger_of(arithmetic, of_unit(use.special, special_rate));
  double tensor = 0;
  if (gpu.tensor_f16_fma_rate > 0) {
    tensor = of_unit(use.tensor, gpu.tensor_f16_fma_rate);
  }
  return {of_scheduler * larger_of(use.instructions, memory_clocks * use.memory),
          of_scheduler * arithmetic, num_warps * use.shared_passes, num_warps * use.global_passes,
          of_scheduler * tensor};
}

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
