// SPDX-License-Identifier: Apache-2.0
// What this machine's CPU is: asks CPUID, the kernel's cache table and the affinity mask.
//
// Floor 2; compiled in lib/cpu. Own design. No LLVM here: the CPU's marketing name and what the
// hypervisor lets through differ, so every feature comes from CPUID and XCR0, and LLVM is told a
// level plus an explicit feature list. Not here: measuring (bench/support), GPUs.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "tensorsmith/support/result.hpp"
#include "tensorsmith/target.hpp"

namespace tensorsmith {

/// Features that decide code generation, usable ones only (CPUID bit set and registers saved by the
/// operating system, which permits their use).
struct CpuFeatures {
  bool sse3 = false, ssse3 = false, sse4_1 = false, sse4_2 = false, popcnt = false, cx16 = false;
  bool lahf = false, lzcnt = false, bmi1 = false, bmi2 = false, movbe = false, f16c = false;
  bool avx = false, avx2 = false, fma = false, avx_vnni = false;
  bool avx512f = false, avx512bw = false, avx512cd = false, avx512dq = false, avx512vl = false;
  bool avx512_vnni = false, avx512_bf16 = false, avx512_fp16 = false, avx512_ifma = false;
  bool avx512_vbmi = false, avx512_vbmi2 = false, avx512_bitalg = false, avx512_vpopcntdq = false;
  bool amx_tile = false, amx_bf16 = false, amx_int8 = false, amx_fp16 = false;
};

struct HostInfo {
  std::string vendor;      ///< "AuthenticAMD", or "unknown"
  std::string model_name;  ///< brand string, or "unknown"
  std::int32_t family = 0, model = 0, stepping = 0;
  CpuFeatures features;
  IsaLevel isa = IsaLevel::unknown;
  std::string microarchitecture;  ///< see microarchitecture_name()
  CacheSizes caches;
  std::string caches_source;  ///< "the kernel's table", "CPUID"; empty: nothing is known
  std::int32_t cache_line_bytes = 64;
  std::vector<std::int32_t> usable_cpus;   ///< logical CPUs in this process's affinity mask
  std::optional<std::int32_t> num_cores;   ///< distinct physical cores among usable_cpus
  std::optional<double> cgroup_cpu_quota;  ///< CPUs granted by the control group, if limited
};

/// Probes once per call (well under 1 ms); nothing is cached.
HostInfo probe_host();

/// Asks the kernel once per process to let it use tile registers (AMX), which threads must not
/// touch before; whether it does. Linux; false elsewhere and on processors without them.
bool request_tiles();

/// Highest psABI level of which every feature is present.
IsaLevel isa_level(const CpuFeatures& features);

/// "+avx2,+fma,..." for every flag that is set, in a fixed order.
std::string llvm_feature_string(const CpuFeatures& features);

/// LLVM's name for a core of that family and model, with the extended ones added: "znver5". Of
/// numbers that are not known, the core of the vendor that has the same instructions; "" of others.
std::string microarchitecture_name(const std::string& vendor, std::int32_t family,
                                   std::int32_t model, std::int32_t stepping,
                                   const CpuFeatures& features);

/// A target from a probe: name "host", llvm_cpu = the level, llvm_tune = the microarchitecture.
Target make_host_target(const HostInfo& info);

/// make_host_target(probe_host()), probed once per process.
const Target& host_target();

/// "host", or a level or CPU name whose code this machine can run, or a simulated board; what the
/// name does not say (caches, instructions per cycle) is this machine's. Error: one sentence.
Result<Target, std::string> runnable_target(const std::string& name);

}  // namespace tensorsmith
