// SPDX-License-Identifier: Apache-2.0
// psa_fixed: PSA with what the released form leaves out, for boards of GPUs and for CPUs.
//
// Floor 6. Pruner, ch. 9, and own design: bytes instead of words, sectors, banks, occupancy, the
// room of shared memory, launches, epilogues, memory and arithmetic side by side; for a CPU, cores,
// vectors and caches. cost/psa.hpp is the form that is compatible with the release. Any target is a
// device. Not here: what is counted (feature/psa_kernels.hpp), the thorough models
// (cost/gpu_latency.hpp, cost/draft_model.hpp).
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "tensorsmith/cost/cost_model.hpp"
#include "tensorsmith/cost/draft_rates.hpp"
#include "tensorsmith/cost/gpu_model_options.hpp"
#include "tensorsmith/cost/model_bytes.hpp"
#include "tensorsmith/cost/model_factory.hpp"
#include "tensorsmith/feature/psa_kernels.hpp"
#include "tensorsmith/support/math.hpp"
#include "tensorsmith/target.hpp"

namespace tensorsmith {

/// Data of a target. Rates are per clock, of one SM or one core.
struct PsaFixedDevice {
  bool is_gpu = false;
  double num_units = 1;                               ///< SMs or cores
  double fma_rate = 1;                                ///< lanes of f32
  double vector_lanes = 1;                            ///< of a register of a CPU
  std::array<double, 3> bytes_per_clock{62, 28, 10};  ///< into L1, L2 and L3 of a CPU
  double launch_clocks = 0;
  double l2_bytes_per_clock = 48, l2_room = 0, dram_bytes_per_clock = 1;  ///< the last: of all SMs
  double l2_delay = 262, dram_delay = 480;
  GpuLimits limits;
};

/// Nothing for a class of GPUs that is no board.
inline std::optional<PsaFixedDevice> psa_fixed_device(const Target& target) {
  PsaFixedDevice device;
  if (target.kind == TargetKind::cpu) {
    device.num_units = target.num_cores.value_or(1);
    device.vector_lanes = larger_of(1, target.vector_lanes(32));
    device.fma_rate = device.vector_lanes * target.fma_per_cycle.value_or(2);
    device.bytes_per_clock = detail::draft_rates(target).bytes_per_cycle;
    device.launch_clocks = 5000;
    return device;
  }
  if (!target.gpu || !target.gpu->board) {
    return std::nullopt;
  }
  const GpuBoard& board = *target.gpu->board;
  const GpuModelOptions options;
  const double clocks_per_ns = 1e-3 * board.clock_mhz;
  device.is_gpu = true;
  device.limits = *target.gpu;
  device.num_units = board.num_sms;
  device.fma_rate = target.gpu->f32_fma_rate;
  device.launch_clocks = options.launch_ns * clocks_per_ns;
  device.l2_bytes_per_clock = options.l2_bytes_per_clock;
  device.l2_room = options.l2_usable * static_cast<double>(board.l2_bytes);
  device.dram_bytes_per_clock = board.dram_bytes_per_ns * options.dram_efficiency / clocks_per_ns;
  device.l2_delay = options.delays.l2;
  device.dram_delay = options.delays.dram;
  return device;
}

/// Clocks of a kernel on a board, infinite if it does not fit. `missed`: share of what the program
/// touches first that L2 does not hold.
inline double psa_kernel_clocks(const PsaKernel& kernel, const PsaFixedDevice& device,
                                double missed) {
  const double warps = math::ceil(kernel.num_threads / 32);
  constexpr double own_words = 24;  // addresses, counters
  const double wanted = kernel.register_words + own_words;
  const double most_registers =
      smaller_of(static_cast<double>(device.limits.max_registers_per_thread),
                 device.limits.registers_per_sm / (32 * warps));
  const double registers = smaller_of(wanted, most_registers);
  const std::int64_t held = gpu_blocks_per_sm(
      device.limits, static_cast<std::int64_t>(kernel.num_threads),
      static_cast<std::int64_t>(kernel.shared_bytes), static_cast<std::int32_t>(registers));
  if (held == 0) {
    return math::infinity;
  }
  const double blocks = math::ceil(kernel.num_blocks / device.num_units);  // of the busiest SM
  const double at_once = smaller_of(blocks, static_cast<double>(held));
  const double share = blocks / kernel.num_blocks;
  const double resident = at_once * warps;
  // Whole warps, dealt out to four schedulers.
  const double filled = kernel.num_threads / (32 * warps) * resident /
                        (4 * math::ceil(resident / 4)) / larger_of(1.0, wanted / most_registers);
  const double fma = kernel.ops / 2 * share / filled;
  const double loads = kernel.loads * kernel.num_threads * kernel.num_blocks * share / filled;
  const double arithmetic = larger_of(fma / device.fma_rate, (fma + loads) / 128);
  const double near = kernel.passes * share;
  const double l2 = kernel.global_bytes * share / device.l2_bytes_per_clock;
  const double delay = device.l2_delay + missed * (device.dram_delay - device.l2_delay);
  const double thread_fma = kernel.ops / 2 / kernel.num_threads / kernel.num_blocks;
  // Sums wait four clocks for themselves, and a scheduler has a quarter of the lanes.
  const double chain = thread_fma * larger_of(4 / kernel.results, 128 / device.fma_rate);
  const double path = (kernel.waits * delay + chain) * math::ceil(blocks / at_once);
  // Blocks that run together share operands, in a square of them each one with its row or column.
  const double partners = math::sqrt(smaller_of(kernel.num_blocks, device.num_units * at_once));
  const double again = larger_of(0.0, kernel.large_bytes / partners - kernel.unique_bytes);
  const double lost = larger_of(0.0, 1 - device.l2_room / larger_of(1.0, kernel.unique_bytes));
  const double dram = (kernel.unique_bytes * missed + again * lost) / device.dram_bytes_per_clock;
  return detail::overlapped(arithmetic, near, l2, path, dram, kernel.num_blocks) +
         device.launch_clocks;
}

/// Cycles of a nest on a CPU.
inline double psa_nest_clocks(const PsaKernel& kernel, const PsaFixedDevice& device) {
  const double cores = smaller_of(device.num_units, kernel.num_blocks);
  const double rounds = math::ceil(kernel.num_blocks / cores);
  const double share = rounds / kernel.num_blocks;
  const double lanes = kernel.lanes / math::ceil(kernel.lanes / device.vector_lanes);
  const double vectors = kernel.ops / 2 / lanes;
  const double at_once = device.fma_rate / device.vector_lanes;
  // Results that wait for each other in no order hide the four cycles of a sum.
  const double free = larger_of(1.0, 4 * at_once / larger_of(1.0, kernel.results / lanes));
  const double arithmetic = vectors * free / at_once;
  const double spilled = larger_of(0.0, kernel.register_words / (32 * device.vector_lanes) - 1);
  return share * detail::overlapped(arithmetic * (1 + smaller_of(1.0, spilled)),
                                    kernel.into_l1 / device.bytes_per_clock[0],
                                    kernel.into_l2 / device.bytes_per_clock[1],
                                    kernel.into_l3 / device.bytes_per_clock[2]) +
         (kernel.num_blocks > 1 ? device.launch_clocks : 0);
}

/// Of a block "psa_kernels": the sum over its kernels, in clocks of the device.
inline double psa_fixed_clocks(const FeatureBlock& kernels, const PsaFixedDevice& device) {
  double bytes = 0, clocks = 0;
  for (std::uint32_t r = 0; r < kernels.num_rows; ++r) {
    bytes += read_psa_kernel(kernels.row(r)).unique_bytes;
  }
  const double missed = larger_of(0.0, smaller_of(1.0, bytes / larger_of(1.0, device.l2_room) - 1));
  for (std::uint32_t r = 0; r < kernels.num_rows; ++r) {
    const PsaKernel kernel = read_psa_kernel(kernels.row(r));
    clocks +=
        device.is_gpu ? psa_kernel_clocks(kernel, device, missed) : psa_nest_clocks(kernel, device);
  }
  return clocks;
}

/// Scores by 1 / clocks; learns nothing.
class PsaFixedModel final : public CostModel {
 public:
  static constexpr std::uint32_t schema_version = 1;

  explicit PsaFixedModel(const PsaFixedDevice& device) : device_(device) {}

  std::string_view name() const override { return "psa-fixed"; }
  std::span<const std::string_view> wanted_blocks() const override {
    return {&psa_kernels_block_name, 1};
  }
  void update(std::span<const TrainingSample>) override {}
  void predict(std::span<const Features> programs, std::span<float> scores) const override {
    TENSORSMITH_ASSERT(programs.size() == scores.size(), "one score per program");
    for (std::size_t i = 0; i < programs.size(); ++i) {
      const FeatureBlock* rows = programs[i].find(psa_kernels_block_name);
      const double clocks = rows == nullptr ? 0 : psa_fixed_clocks(*rows, device_);
      scores[i] =
          clocks > 0 && clocks < math::infinity ? static_cast<float>(1e6 / clocks) : invalid_score;
    }
  }
  /// What it reads; a device comes from a target.
  Result<std::string, CostModelFault> save() const override {
    return frame_model(name(), schema_version, std::string(), {psa_kernels_schema()});
  }
  Result<Done, CostModelFault> load(std::string_view bytes) override {
    const Result<std::string_view, CostModelFault> payload =
        unframe_model(bytes, name(), schema_version, {psa_kernels_schema()});
    if (!payload) {
      return fail(payload.error());
    }
    return payload->empty() ? Result<Done, CostModelFault>(Done{})
                            : refuse(CostModelError::bad_payload);
  }

  const PsaFixedDevice& device() const { return device_; }

 private:
  PsaFixedDevice device_;
};

/// The row of the table of models.
inline ModelFactory psa_fixed_factory() {
  return {
      "psa-fixed",
      "PSA by bytes, with occupancy, coalescing and launches, for boards and CPUs; learns nothing",
      false,
      [](const ModelContext& context) {
        return Shared<CostModel>(make_shared_of<PsaFixedModel>(
            psa_fixed_device(context.target).value_or(PsaFixedDevice{})));
      },
      [](const ModelContext& context) -> std::string_view {
        return psa_fixed_device(context.target) ? "" : "is for boards of GPUs and for CPUs";
      }};
}

}  // namespace tensorsmith
