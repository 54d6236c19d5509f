// SPDX-License-Identifier: Apache-2.0
// psa: the analytic draft of Pruner, a few products and quotients per stored buffer.
//
// Floor 6. Pruner, ch. 2.4, as released ("version 6"), and the table of devices of ch. 2.5; any
// board is a device as well. Not here: what is counted (feature/psa_rows.hpp), the thorough model
// of boards (cost/gpu_latency.hpp).
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <span>
#include <string_view>

#include "tensorsmith/cost/cost_model.hpp"
#include "tensorsmith/cost/model_factory.hpp"
#include "tensorsmith/feature/psa_rows.hpp"
#include "tensorsmith/support/math.hpp"
#include "tensorsmith/target.hpp"

namespace tensorsmith {

struct PsaDevice {
  double peak_gflops = 0, dram_gb_per_s = 0;
  double active_blocks_per_sm = 1, num_sms = 1;
  double partitions_per_sm = 4, warp_size = 32;
  double most_register_words = 128;  ///< of a thread, before it slows down
};

/// The reference's table by its keys. "k80" stands for both of its dies.
struct PsaDeviceRow {
  std::string_view key;
  PsaDevice device;
};
inline constexpr std::array<PsaDeviceRow, 6> psa_devices{{
    {"k80", {8226, 480, 1, 26, 4, 32, 128}},
    {"t4", {8141, 320, 1, 40, 4, 32, 128}},
    {"titanv", {14900, 651, 1, 80, 4, 32, 128}},
    {"orin", {2660, 204, 1, 16, 4, 32, 128}},
    {"a100", {19490, 1935, 1, 108, 4, 32, 128}},
    {"a100_40", {19490, 1555, 1, 108, 4, 32, 128}},
}};

inline std::optional<PsaDevice> psa_device(std::string_view key) {
  for (const PsaDeviceRow& row : psa_devices) {
    if (row.key == key) {
      return row.device;
    }
  }
  return std::nullopt;
}

/// Nothing for what is no board of a GPU.
inline std::optional<PsaDevice> psa_device(const Target& target) {
  if (!target.gpu || !target.gpu->board) {
    return std::nullopt;
  }
  const GpuBoard& board = *target.gpu->board;
  PsaDevice device;
  device.peak_gflops = 2e-3 * target.gpu->f32_fma_rate * board.num_sms * board.clock_mhz;
  device.dram_gb_per_s = board.dram_bytes_per_ns;
  device.num_sms = board.num_sms;
  device.warp_size = target.gpu->warp_size;
  return device;
}

/// What multiplies or divides the peak for one buffer; all 1 where nothing is lost.
struct PsaPenalties {
  double warp = 1;       ///< lanes of the last warp that idle
  double reuse = 1;      ///< operands that come from beyond the registers; >= 1, multiplies time
  double wave = 1;       ///< multiprocessors that idle
  double register_ = 1;  ///< registers that spill; >= 1, divides the peak
};

inline PsaPenalties psa_penalties(const PsaRow& row, const PsaDevice& device) {
  PsaPenalties penalties;
  const double warps = row.num_threads / device.warp_size;
  const double whole_warps = math::ceil(warps);
  penalties.warp = warps / whole_warps;
  penalties.reuse = 1 + 1 / row.reuse;
  const bool is_small = row.num_blocks < device.active_blocks_per_sm * device.num_sms;
  const double units = is_small ? row.num_blocks * smaller_of(whole_warps, device.partitions_per_sm)
                                : row.num_blocks;
  const double at_once =
      (is_small ? device.partitions_per_sm : device.active_blocks_per_sm) * device.num_sms;
  penalties.wave = units / (math::ceil(units / at_once) * at_once);
  penalties.register_ = larger_of(1.0, row.register_words / device.most_register_words);
  return penalties;
}

/// Milliseconds of one buffer: arithmetic or memory, whichever takes longer.
inline double psa_row_ms(const PsaRow& row, const PsaDevice& device) {
  const PsaPenalties penalties = psa_penalties(row, device);
  const double gflops = device.peak_gflops * penalties.wave * penalties.warp / penalties.register_;
  const double arithmetic = row.total_ops * penalties.reuse / gflops / 1e6;
  const double memory = row.dram_words / device.dram_gb_per_s * 1000 / 0x1p30;
  return larger_of(arithmetic, memory);
}

/// Of a block "psa"; the sum over its rows.
inline double psa_latency_ms(const FeatureBlock& rows, const PsaDevice& device) {
  double latency = 0;
  for (std::uint32_t r = 0; r < rows.num_rows; ++r) {
    latency += psa_row_ms(read_psa_row(rows.row(r)), device);
  }
  return latency;
}

/// Scores by 1 / milliseconds; learns nothing.
class PsaModel final : public CostModel {
 public:
  static constexpr std::uint32_t schema_version = 1;

  explicit PsaModel(const PsaDevice& device) : device_(device) {}

  std::string_view name() const override { return "psa"; }
  std::span<const std::string_view> wanted_blocks() const override { return {&psa_block_name, 1}; }
  void update(std::span<const TrainingSample>) override {}

  void predict(std::span<const Features> programs, std::span<float> scores) const override {
    TENSORSMITH_ASSERT(programs.size() == scores.size(), "one score per program");
    for (std::size_t i = 0; i < programs.size(); ++i) {
      const FeatureBlock* rows = programs[i].find(psa_block_name);
      const double latency = rows == nullptr ? 0 : psa_latency_ms(*rows, device_);
      scores[i] =
          latency > 0 && latency < math::infinity ? static_cast<float>(1 / latency) : invalid_score;
    }
  }

  /// The device.
  Result<std::string, CostModelFault> save() const override {
    ByteWriter payload;
    for (const double value : values()) {
      payload.f64(value);
    }
    return frame_model(name(), schema_version, payload.take(), {psa_schema()});
  }
  Result<Done, CostModelFault> load(std::string_view bytes) override {
    const Result<std::string_view, CostModelFault> payload =
        unframe_model(bytes, name(), schema_version, {psa_schema()});
    if (!payload) {
      return fail(payload.error());
    }
    ByteReader in(*payload);
    std::array<double, 7> read{};
    bool is_device = true;
    for (double& value : read) {
      value = in.f64();
      is_device = is_device && value > 0 && value < math::infinity;
    }
    if (!in.ok() || !in.rest().empty() || !is_device) {
      return refuse(CostModelError::bad_payload);
    }
    device_ = {read[0], read[1], read[2], read[3], read[4], read[5], read[6]};
    return Done{};
  }

  const PsaDevice& device() const { return device_; }

 private:
  std::array<double, 7> values() const {
    return {device_.peak_gflops,          device_.dram_gb_per_s,
            device_.active_blocks_per_sm, device_.num_sms,
            device_.partitions_per_sm,    device_.warp_size,
            device_.most_register_words};
  }
  PsaDevice device_;
};

/// The row of the table of models.
inline ModelFactory psa_factory() {
  return {"psa", "Pruner's analytic draft, for boards of GPUs; learns nothing", false,
          [](const ModelContext& context) {
            return Shared<CostModel>(
                make_shared_of<PsaModel>(psa_device(context.target).value_or(PsaDevice{})));
          },
          [](const ModelContext& context) -> std::string_view {
            return psa_device(context.target) ? "" : "is for boards of GPUs";
          }};
}

}  // namespace tensorsmith
