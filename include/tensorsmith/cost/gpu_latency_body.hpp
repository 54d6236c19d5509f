// SPDX-License-Identifier: Apache-2.0
// The definitions of gpu_latency.hpp.
//
// Floor 6. Included by cost/gpu_latency.hpp or compiled once (support/compiled.hpp).
#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "tensorsmith/cost/gpu_latency.hpp"
#include "tensorsmith/cost/gpu_work_reader.hpp"

namespace tensorsmith {

TENSORSMITH_INLINE std::string explain(const GpuLimitExceeded& error) {
  const std::string numbers =
      " " + std::to_string(error.wanted) + ", the device has " + std::to_string(error.most);
  switch (error.kind) {
  case GpuLimitExceeded::Kind::threads:
    return "threads of a block:" + numbers;
  case GpuLimitExceeded::Kind::shared_memory:
    return "bytes of shared memory of a block:" + numbers;
  case GpuLimitExceeded::Kind::registers:
    return "registers of a block:" + numbers;
  case GpuLimitExceeded::Kind::grid:
    return "blocks of a grid:" + numbers;
  }
  return numbers;
}

namespace detail {

/// The kernels of a program: what stands at the top, without buffers around it.
inline void list_kernels(const LoopProgram& program, StmtId id, std::vector<StmtId>& kernels) {
  if (const Seq* seq = program.as<Seq>(id)) {
    for (const StmtId item : seq->items) {
      list_kernels(program, item, kernels);
    }
  } else if (const Alloc* alloc = program.as<Alloc>(id);
             alloc != nullptr && program[alloc->buffer].scope == Scope::global) {
    list_kernels(program, alloc->body, kernels);
  } else {
    kernels.push_back(id);
  }
}

class GpuTimer {
 public:
  GpuTimer(const GpuLimits& gpu, const GpuModelOptions& options)
      : gpu_(gpu), board_(*gpu.board), options_(options) {}

  /// Share of what a program touches again and again, `bytes` of it, that L2 has lost by the next
  /// time. What is written or read in the same order every time is lost at once as it grows.
  double missed(double bytes) const {
    const double room = options_.l2_usable * static_cast<double>(board_.l2_bytes);
    return larger_of(0.0, smaller_of(1.0, bytes / room - 1));
  }

  /// `first_missed`: share of what it touches first that is in DRAM.
  void time(GpuKernelTime& kernel, double first_missed) const {
    const GpuWork& work = kernel.work;
    const std::int64_t most_blocks = ceil_of(work.num_blocks, board_.num_sms);  // of one SM
    const std::int64_t at_once = smaller_of(most_blocks, work.blocks_per_sm);
    kernel.num_waves = ceil_of(work.num_blocks, board_.num_sms * work.blocks_per_sm);
    kernel.l2_bytes = work.private_l2_bytes;
    double in_background = 0;
    for (const GpuTraffic& traffic : work.traffic) {
      const double bytes = l2_bytes(work, traffic);
      kernel.l2_bytes += bytes;
      in_background += traffic.is_background ? bytes : 0;
    }
    kernel.l2_waited = 1 - in_background / larger_of(kernel.l2_bytes, 1.0);
    const double ns = 1e3 / board_.clock_mhz;
    double sm_ns = turn(kernel, at_once) * static_cast<double>(most_blocks / at_once) * ns;
    if (most_blocks % at_once != 0) {
      sm_ns += turn(kernel, most_blocks % at_once) * ns;
    }
    kernel.dram_bytes = dram_bytes(kernel, first_missed) +
                        work.private_l2_bytes * static_cast<double>(work.num_blocks) *
                            missed(work.private_bytes * board_.num_sms);
    kernel.dram_ns = kernel.dram_bytes / (board_.dram_bytes_per_ns * options_.dram_efficiency);
    kernel.start_ns = static_cast<double>(work.num_blocks) * options_.clocks_between_blocks * ns;
    const double blocks = static_cast<double>(most_blocks);
    const GpuUnitClocks all = units(kernel, blocks);
    kernel.issue_ns = all.issue * ns;
    kernel.arithmetic_ns = larger_of(all.arithmetic, all.tensor) * ns;
    kernel.shared_ns = all.shared * ns;
    kernel.l1_ns = all.l1 * ns;
    kernel.l2_ns = blocks * l2_clocks(kernel) * ns;
    kernel.waiting_ns = work.path_clocks * static_cast<double>(ceil_of(most_blocks, at_once)) * ns;
    kernel.ns = overlapped(sm_ns, kernel.dram_ns, kernel.start_ns) + options_.launch_ns;
    kernel.l2_bytes *= static_cast<double>(work.num_blocks);
  }

 private:
  static std::int64_t ceil_of(std::int64_t a, std::int64_t b) { return (a + b - 1) / b; }

  /// Of one block, on average. What all blocks read alike stays in L1 from one block of an SM to
  /// the next, if it takes no more than half of it.
  double l2_bytes(const GpuWork& work, const GpuTraffic& traffic) const {
    const double room = gpu_l1_share(gpu_, work) *
                        static_cast<double>(larger_of<std::int64_t>(1, work.blocks_per_sm));
    if (traffic.is_store || 2 * traffic.grid_bytes > room) {
      return traffic.l2_bytes;
    }
    return smaller_of(traffic.l2_bytes,
                      traffic.grid_bytes * board_.num_sms / static_cast<double>(work.num_blocks));
  }

  GpuUnitClocks units(const GpuKernelTime& kernel, double blocks) const {
    return gpu_unit_clocks(gpu_, kernel.work,
                           blocks * static_cast<double>(kernel.work.num_warps()));
  }
  double l2_clocks(const GpuKernelTime& kernel) const {
    return kernel.l2_bytes / options_.l2_bytes_per_clock;
  }
  /// Clocks of one SM for some blocks.
  double turn(const GpuKernelTime& kernel, std::int64_t num_blocks) const {
    const GpuWork& work = kernel.work;
    const double blocks = static_cast<double>(num_blocks);
    const GpuUnitClocks each = units(kernel, blocks);
    const double core = each.core(), near = each.shared + each.l1, l2 = blocks * l2_clocks(kernel);
    // What a warp waits for before it goes on: it asks one unit after the other, so a few warps
    // cannot keep all of them busy. What is loaded ahead goes on beside it.
    const double ahead =
        work.shared_passes > 0 ? each.shared * work.passes_ahead / work.shared_passes : 0;
    const double near_first = near - ahead, l2_first = l2 * kernel.l2_waited;
    const double most = larger_of(larger_of(core, near_first), l2_first);
    const double warps =
        larger_of(1.0, blocks * static_cast<double>(work.num_warps()) / gpu_schedulers);
    const double in_turn = most + (core + near_first + l2_first - most) / warps;
    return larger_of(larger_of(work.path_clocks, in_turn),
                     overlapped(larger_of(core, each.tensor), near, l2)) +
           options_.block_clocks;
  }

  /// Blocks of one wave share what they read, and what they read again; what stays in L2 serves all
  /// waves, and the next call.
  double dram_bytes(const GpuKernelTime& kernel, double first_missed) const {
    const std::vector<GpuTraffic>& traffic = kernel.work.traffic;
    const auto num_waves = static_cast<double>(kernel.num_waves);
    double whole = 0, wave = 0, waves = 0, waves_again = 0, asked = 0;
    for (std::size_t i = 0; i < traffic.size(); ++i) {
      // Several accesses to one buffer touch it once.
      double before = 0, before_in_wave = 0;
      for (std::size_t j = 0; j < i; ++j) {
        const bool is_same =
            traffic[j].buffer == traffic[i].buffer && traffic[j].is_store == traffic[i].is_store;
        before = is_same ? larger_of(before, traffic[j].grid_bytes) : before;
        before_in_wave =
            is_same ? larger_of(before_in_wave, traffic[j].wave_bytes) : before_in_wave;
      }
      whole += larger_of(0.0, traffic[i].grid_bytes - before);
      const double first = larger_of(0.0, traffic[i].wave_bytes - before_in_wave);
      wave += first;
      waves += first * traffic[i].turns * num_waves;
      waves_again += (traffic[i].wave_bytes - first) * traffic[i].turns * num_waves;
      asked += traffic[i].l2_bytes * static_cast<double>(kernel.work.num_blocks);
    }
    const double room = options_.l2_usable * static_cast<double>(board_.l2_bytes);
    const auto lost = [&](double bytes) {
      return larger_of(0.0, 1 - room / larger_of(bytes, 1.0));
    };
    const double fetched = waves + waves_again * lost(wave);
    const double again = larger_of(0.0, smaller_of(fetched, asked) - whole);
    return whole * first_missed + again * lost(whole);
  }

  const GpuLimits& gpu_;
  const GpuBoard& board_;
  GpuModelOptions options_;
};

/// Bytes of all tensors in global memory: what one call may touch.
inline double global_bytes(const LoopProgram& program) {
  double bytes = 0;
  for (std::uint32_t i = 0; i < program.buffers.size(); ++i) {
    const Buffer& buffer = program[BufferId{i}];
    bytes += buffer.scope == Scope::global ? static_cast<double>(buffer.num_bytes()) : 0;
  }
  return bytes;
}

}  // namespace detail

TENSORSMITH_INLINE Result<GpuLatency, GpuLimitExceeded>
gpu_latency(const LoopProgram& program, const Target& target, const GpuModelOptions& options) {
  TENSORSMITH_ASSERT(target.gpu && target.gpu->board, "a latency is that of a board");
  const GpuLimits& gpu = *target.gpu;
  std::vector<StmtId> kernels;
  detail::list_kernels(program, program.body, kernels);
  const detail::GpuTimer timer(gpu, options);
  const double missed = timer.missed(detail::global_bytes(program));
  GpuLatency latency;
  for (const StmtId id : kernels) {
    GpuKernelTime kernel;
    kernel.work =
        detail::GpuWorkReader(program, gpu, options.delays, missed, options.is_own_text).read(id);
    using Kind = GpuLimitExceeded::Kind;
    const GpuWork& work = kernel.work;
    if (work.num_threads > gpu.max_threads_per_block) {
      return fail(GpuLimitExceeded{Kind::threads, work.num_threads, gpu.max_threads_per_block});
    }
    if (work.shared_bytes > gpu.max_shared_memory_optin_bytes) {
      return fail(GpuLimitExceeded{Kind::shared_memory, work.shared_bytes,
                                   gpu.max_shared_memory_optin_bytes});
    }
    if (work.blocks_per_sm == 0) {
      return fail(GpuLimitExceeded{Kind::registers, work.num_threads * work.registers,
                                   gpu.registers_per_sm});
    }
    if (work.num_blocks > INT32_MAX) {
      return fail(GpuLimitExceeded{Kind::grid, work.num_blocks, INT32_MAX});
    }
    timer.time(kernel, missed);
    latency.ns += kernel.ns;
    latency.kernels.push_back(std::move(kernel));
  }
  return latency;
}

}  // namespace tensorsmith
