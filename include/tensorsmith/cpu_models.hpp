// SPDX-License-Identifier: Apache-2.0
// The processors that a target can be, as rows of data.
//
// Floor 1. Sources: Intel and AMD optimisation manuals; psABI for the levels; Arm's software
// optimization guides of the cores (Cortex-A72, Cortex-A76, Neoverse N1, V1, N2, V2) and its
// Architecture Reference Manual; of Apple's core what is published about it.
#pragma once

#include <array>
#include <cstdint>
#include <string_view>

namespace tensorsmith {

enum class Architecture : std::uint8_t { x86_64, aarch64 };

/// x86-64 micro-architecture levels of the System V psABI; `unknown` for anything else.
enum class IsaLevel : std::uint8_t { unknown, x86_64_v1, x86_64_v2, x86_64_v3, x86_64_v4 };

/// The level as LLVM, gcc and clang spell it; "unknown" for unknown.
inline std::string_view to_string(IsaLevel level) {
  switch (level) {
  case IsaLevel::x86_64_v1:
    return "x86-64";
  case IsaLevel::x86_64_v2:
    return "x86-64-v2";
  case IsaLevel::x86_64_v3:
    return "x86-64-v3";
  case IsaLevel::x86_64_v4:
    return "x86-64-v4";
  case IsaLevel::unknown:
    break;
  }
  return "unknown";
}

/// One row per CPU name that from_name knows. 0 in a numeric column means unknown.
struct CpuModel {
  std::string_view name;
  IsaLevel isa;
  std::int16_t vector_bits;
  bool has_fma;
  bool has_bf16_dot;
  bool has_int8_dot;
  std::int16_t l1d_kib;
  std::int16_t l2_kib;
  std::int8_t fma_per_cycle;
  std::int8_t fma_latency;
};

/// skylake-avx512 and later: parts with one 512-bit FMA unit exist below the models listed here,
/// hence unknown where they differ.
inline constexpr std::array<CpuModel, 24> cpu_models{{
    {"x86-64", IsaLevel::x86_64_v1, 128, false, false, false, 0, 0, 0, 0},
    {"x86-64-v2", IsaLevel::x86_64_v2, 128, false, false, false, 0, 0, 0, 0},
    {"x86-64-v3", IsaLevel::x86_64_v3, 256, true, false, false, 0, 0, 0, 0},
    {"x86-64-v4", IsaLevel::x86_64_v4, 512, true, false, false, 0, 0, 0, 0},
    {"nehalem", IsaLevel::x86_64_v2, 128, false, false, false, 32, 256, 0, 0},
    {"sandybridge", IsaLevel::x86_64_v2, 256, false, false, false, 32, 256, 0, 0},
    {"ivybridge", IsaLevel::x86_64_v2, 256, false, false, false, 32, 256, 0, 0},
    {"haswell", IsaLevel::x86_64_v3, 256, true, false, false, 32, 256, 2, 5},
    {"broadwell", IsaLevel::x86_64_v3, 256, true, false, false, 32, 256, 2, 5},
    {"skylake", IsaLevel::x86_64_v3, 256, true, false, false, 32, 256, 2, 4},
    {"alderlake", IsaLevel::x86_64_v3, 256, true, false, true, 48, 1280, 2, 4},
    {"skylake-avx512", IsaLevel::x86_64_v4, 512, true, false, false, 32, 1024, 0, 4},
    {"cascadelake", IsaLevel::x86_64_v4, 512, true, false, true, 32, 1024, 0, 4},
    {"cooperlake", IsaLevel::x86_64_v4, 512, true, true, true, 32, 1024, 2, 4},
    {"icelake-client", IsaLevel::x86_64_v4, 512, true, false, true, 48, 512, 1, 4},
    {"icelake-server", IsaLevel::x86_64_v4, 512, true, false, true, 48, 1280, 2, 4},
    {"sapphirerapids", IsaLevel::x86_64_v4, 512, true, true, true, 48, 2048, 2, 4},
    {"emeraldrapids", IsaLevel::x86_64_v4, 512, true, true, true, 48, 2048, 2, 4},
    {"graniterapids", IsaLevel::x86_64_v4, 512, true, true, true, 48, 2048, 2, 4},
    {"znver1", IsaLevel::x86_64_v3, 256, true, false, false, 32, 512, 1, 5},
    {"znver2", IsaLevel::x86_64_v3, 256, true, false, false, 32, 512, 2, 5},
    {"znver3", IsaLevel::x86_64_v3, 256, true, false, false, 32, 512, 2, 4},
    {"znver4", IsaLevel::x86_64_v4, 512, true, true, true, 32, 1024, 1, 4},
    {"znver5", IsaLevel::x86_64_v4, 512, true, true, true, 48, 1024, 0, 4},
}};

/// One row per 64-bit Arm processor, by the names of -mcpu. Registers are 32 of 128 bits (Advanced
/// SIMD), whatever wider ones the core has besides. Clocks are those of common products (Raspberry
/// Pi 4 and 5, Graviton 2 to 4, ...): the times of a model are told at them. 0 in a numeric column
/// means unknown.
struct ArmModel {
  std::string_view name;
  std::string_view llvm_cpu;
  bool has_int8_dot;   ///< SDOT, UDOT (FEAT_DotProd)
  bool has_mixed_dot;  ///< USDOT (FEAT_I8MM)
  std::int16_t l1d_kib;
  std::int16_t l2_kib;
  std::int8_t fma_per_cycle;
  std::int8_t fma_latency;
  std::int16_t clock_mhz;
};

inline constexpr std::array<ArmModel, 8> arm_models{{
    {"armv8-a", "generic", false, false, 0, 0, 0, 0, 0},
    {"cortex-a72", "cortex-a72", false, false, 32, 1024, 2, 7, 1500},
    {"cortex-a76", "cortex-a76", true, false, 64, 512, 2, 4, 2400},
    {"neoverse-n1", "neoverse-n1", true, false, 64, 1024, 2, 4, 2500},
    {"neoverse-v1", "neoverse-v1", true, true, 64, 1024, 4, 4, 2600},
    {"neoverse-n2", "neoverse-n2", true, true, 64, 1024, 2, 4, 2700},
    {"neoverse-v2", "neoverse-v2", true, true, 64, 2048, 4, 4, 2800},
    {"apple-m1", "apple-m1", true, false, 128, 12288, 4, 4, 3200},
}};

}  // namespace tensorsmith
