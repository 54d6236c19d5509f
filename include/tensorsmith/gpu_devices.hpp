// SPDX-License-Identifier: Apache-2.0
// What is known of NVIDIA's GPUs: tables of device classes and of boards. Data only.
//
// Floor 0. Sources. Classes: CUDA C++ Programming Guide 13.0, "Compute Capabilities" (technical
// specifications, arithmetic throughput) and the tuning guides (size of L1). Boards: NVIDIA's
// whitepapers (Turing, A100, GA102, Ada, H100) and data sheets (T4, L4, H200, Jetson AGX Orin).
// Not here: latencies and bandwidths of caches, which are nowhere promised (cost/gpu_latency.hpp).
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string_view>

namespace tensorsmith {

/// What boards of one class differ in.
struct GpuBoard {
  std::int32_t num_sms = 0;
  std::int32_t clock_mhz = 0;  ///< boost clock; sustained ones are lower under a power limit
  double dram_bytes_per_ns = 0;
  std::int64_t l2_bytes = 0;

  bool operator==(const GpuBoard&) const = default;
};

/// Limits and rates of a CUDA device class. Rates are per SM and clock, dense.
struct GpuLimits {
  std::int32_t compute_capability = 0;  ///< 10 * major + minor, 90 for sm_90
  std::int32_t max_threads_per_block = 0;
  std::int32_t warp_size = 0;
  std::int64_t max_shared_memory_bytes = 0;        ///< per block, without opting in
  std::int64_t max_shared_memory_optin_bytes = 0;  ///< per block, after opting in
  std::int32_t max_registers_per_thread = 0;
  std::int32_t registers_per_sm = 0;
  std::int32_t max_threads_per_sm = 0;
  std::int32_t max_blocks_per_sm = 0;
  std::int64_t shared_memory_per_sm_bytes = 0;
  std::int64_t l1_and_shared_bytes = 0;  ///< the memory that both are parts of
  std::int32_t f32_fma_rate = 0;
  std::int32_t f64_fma_rate = 0;
  std::int32_t tensor_f16_fma_rate = 0;  ///< f16 or bf16 operands on tensor cores
  std::optional<GpuBoard> board;         ///< none: any board of the class

  bool operator==(const GpuLimits&) const = default;
};

/// One row per CUDA device class.
struct CudaModel {
  std::int32_t compute_capability;
  std::int32_t shared_optin_kib;
  std::int32_t max_threads_per_sm;
  std::int32_t max_blocks_per_sm;
  std::int32_t shared_per_sm_kib;
  std::int32_t l1_and_shared_kib;
  std::int32_t f32_fma_rate;
  std::int32_t f64_fma_rate;
  std::int32_t tensor_f16_fma_rate;
};
inline constexpr std::array<CudaModel, 7> cuda_models{{
    {70, 96, 2048, 32, 96, 128, 64, 32, 512},
    {75, 64, 1024, 16, 64, 96, 64, 2, 512},
    {80, 163, 2048, 32, 164, 192, 64, 32, 1024},
    {86, 99, 1536, 16, 100, 128, 128, 2, 512},
    {87, 163, 1536, 16, 164, 192, 128, 2, 1024},
    {89, 99, 1536, 24, 100, 128, 128, 2, 512},
    {90, 227, 2048, 32, 228, 256, 128, 64, 2048},
}};

/// One row per board that Target::from_name knows.
struct GpuModel {
  std::string_view name;
  std::string_view title;
  std::int32_t compute_capability;
  std::int32_t num_sms;
  std::int32_t clock_mhz;
  double dram_bytes_per_ns;
  std::int32_t l2_mib;
};
inline constexpr std::array<GpuModel, 9> gpu_models{{
    {"t4", "Tesla T4", 75, 40, 1590, 320, 4},
    {"a100", "A100 40 GB SXM", 80, 108, 1410, 1555, 40},
    {"rtx3080", "GeForce RTX 3080 10 GB", 86, 68, 1710, 760, 5},
    {"rtx3080-12gb", "GeForce RTX 3080 12 GB", 86, 70, 1710, 912, 6},
    {"orin", "Jetson AGX Orin 64 GB", 87, 16, 1300, 204.8, 4},
    {"l4", "L4", 89, 58, 2040, 300, 48},
    {"rtx4090", "GeForce RTX 4090", 89, 128, 2520, 1008, 72},
    {"h100", "H100 SXM", 90, 132, 1830, 3350, 50},
    {"h200", "H200 SXM", 90, 132, 1830, 4800, 50},
}};

}  // namespace tensorsmith
