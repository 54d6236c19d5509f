// SPDX-License-Identifier: Apache-2.0
// requires: llvm
#include "tensorsmith/host.hpp"

#include <algorithm>
#include <cstdio>
#include <set>
#include <sstream>
#include <string>

#include "support/catch.hpp"
#include "tensorsmith/lower/known_intrinsics.hpp"

using namespace tensorsmith;

namespace {

/// Flags of the first processor as the kernel prints them; empty where it does not.
std::set<std::string> kernel_flags() {
  std::set<std::string> flags;
  std::FILE* file = std::fopen("/proc/cpuinfo", "r");
  if (file == nullptr) {
    return flags;
  }
  char line[16384];
  while (std::fgets(line, sizeof line, file) != nullptr) {
    if (std::string(line).rfind("flags", 0) == 0) {
      std::istringstream words(line);
      std::string word;
      while (words >> word)
        flags.insert(word);
      break;
    }
  }
  std::fclose(file);
  return flags;
}

}  // namespace

TEST_CASE("the host target is consistent with its flags", "[host]") {
  const HostInfo info = probe_host();
  const Target& host = host_target();
  CHECK(host.name == "host");
  CHECK(host == make_host_target(info));
  CHECK(host.vector_bits == (host.has_masks ? 512 : info.features.avx ? 256 : 128));
  CHECK(host.num_vector_registers == (host.has_masks ? 32 : 16));
  CHECK(host.has_fma == info.features.fma);
  CHECK((host.llvm_features.find("+avx512f") != std::string::npos) == info.features.avx512f);
  REQUIRE_FALSE(info.usable_cpus.empty());
  if (info.num_cores) {
    CHECK(*info.num_cores >= 1);
    CHECK(*info.num_cores <= static_cast<int>(info.usable_cpus.size()));
  }
  if (info.caches.l1d_bytes && info.caches.l2_bytes) {
    CHECK(*info.caches.l1d_bytes >= 8 * 1024);
    CHECK(*info.caches.l2_bytes >= *info.caches.l1d_bytes);
    CHECK_FALSE(info.caches_source.empty());
  }
  const auto has_whole_sets = [&](const auto& bytes, const auto& ways) {
    return !bytes || !ways ||
           (*ways > 0 && *bytes % (std::int64_t{*ways} * info.cache_line_bytes) == 0);
  };
  CHECK(has_whole_sets(info.caches.l1d_bytes, info.caches.l1d_ways));
  CHECK(has_whole_sets(info.caches.l2_bytes, info.caches.l2_ways));
  CHECK(has_whole_sets(info.caches.l3_bytes, info.caches.l3_ways));
  CHECK(hardware_params(host).num_cores == info.num_cores.value_or(-1));
}

TEST_CASE("CPUID agrees with the kernel's flags", "[host]") {
  const std::set<std::string> flags = kernel_flags();
  if (flags.empty()) {
    WARN("skipped: /proc/cpuinfo has no flags line");
    return;
  }
  const CpuFeatures f = probe_host().features;
  const std::pair<const char*, bool> pairs[] = {{"ssse3", f.ssse3},
                                                {"sse4_1", f.sse4_1},
                                                {"sse4_2", f.sse4_2},
                                                {"popcnt", f.popcnt},
                                                {"cx16", f.cx16},
                                                {"lahf_lm", f.lahf},
                                                {"abm", f.lzcnt},
                                                {"bmi1", f.bmi1},
                                                {"bmi2", f.bmi2},
                                                {"movbe", f.movbe},
                                                {"f16c", f.f16c},
                                                {"avx", f.avx},
                                                {"avx2", f.avx2},
                                                {"fma", f.fma},
                                                {"avx512f", f.avx512f},
                                                {"avx512bw", f.avx512bw},
                                                {"avx512cd", f.avx512cd},
                                                {"avx512dq", f.avx512dq},
                                                {"avx512vl", f.avx512vl},
                                                {"avx_vnni", f.avx_vnni},
                                                {"avx512_vnni", f.avx512_vnni},
                                                {"avx512_bf16", f.avx512_bf16}};
  for (const auto& [name, present] : pairs) {
    INFO(name);
    CHECK((flags.count(name) == 1) == present);
  }
}

TEST_CASE("tile registers are there only if the kernel lets this process use them", "[host]") {
  const CpuFeatures f = probe_host().features;
  CHECK((!f.amx_tile || request_tiles()));
  CHECK((f.amx_tile || !(f.amx_bf16 || f.amx_int8)));
  CHECK((f.amx_bf16 || !f.amx_fp16));
  const auto named = runnable_target("sapphirerapids");
  CHECK((!named || tdpbf16ps.is_available(*named) == tdpbf16ps.is_available(host_target())));
  const auto later = runnable_target("graniterapids");
  CHECK((!later || tdpfp16ps.is_available(*later) == tdpfp16ps.is_available(host_target())));
  CHECK(tdpfp16ps.is_available(*Target::from_name("graniterapids")));
  CHECK_FALSE(tdpfp16ps.is_available(*Target::from_name("sapphirerapids")));
}

TEST_CASE("levels need every feature", "[host]") {
  CpuFeatures f;
  CHECK(isa_level(f) == IsaLevel::x86_64_v1);
  f.sse3 = f.ssse3 = f.sse4_1 = f.sse4_2 = f.popcnt = f.cx16 = f.lahf = true;
  CHECK(isa_level(f) == IsaLevel::x86_64_v2);
  f.avx = f.avx2 = f.bmi1 = f.bmi2 = f.f16c = f.fma = f.lzcnt = f.movbe = true;
  CHECK(isa_level(f) == IsaLevel::x86_64_v3);
  f.avx512f = f.avx512bw = f.avx512cd = f.avx512dq = f.avx512vl = true;
  CHECK(isa_level(f) == IsaLevel::x86_64_v4);
  f.avx512vl = false;
  CHECK(isa_level(f) == IsaLevel::x86_64_v3);
  f.movbe = false;
  CHECK(isa_level(f) == IsaLevel::x86_64_v2);
  CHECK(llvm_feature_string(CpuFeatures{}).empty());
}

TEST_CASE("a masked host is not what its name promises", "[host]") {
  HostInfo info;
  info.vendor = "AuthenticAMD";
  info.microarchitecture = "znver5";  // by family, but the hypervisor hides AVX-512
  info.isa = IsaLevel::x86_64_v3;
  info.features.avx = info.features.avx2 = info.features.fma = true;
  const Target target = make_host_target(info);
  CHECK(target.vector_bits == 256);
  CHECK_FALSE(target.has_masks);
  CHECK(target.num_vector_registers == 16);
  CHECK(target.llvm_cpu == "x86-64-v3");
  CHECK(target.llvm_tune == "znver5");
  CHECK_FALSE(target.fma_latency.has_value());
  CHECK_FALSE(target.num_cores.has_value());
}

TEST_CASE("families and models", "[host]") {
  const CpuFeatures none;
  CpuFeatures bf16;
  bf16.avx512_bf16 = true;
  CHECK(microarchitecture_name("AuthenticAMD", 0x1a, 0x02, 1, none) == "znver5");
  CHECK(microarchitecture_name("AuthenticAMD", 0x19, 0x11, 1, none) == "znver4");
  CHECK(microarchitecture_name("AuthenticAMD", 0x19, 0x01, 1, none) == "znver3");
  CHECK(microarchitecture_name("AuthenticAMD", 0x17, 0x31, 0, none) == "znver2");
  CHECK(microarchitecture_name("GenuineIntel", 6, 0x55, 4, none) == "skylake-avx512");
  CHECK(microarchitecture_name("GenuineIntel", 6, 0x55, 7, none) == "cascadelake");
  CHECK(microarchitecture_name("GenuineIntel", 6, 0x55, 11, bf16) == "cooperlake");
  CHECK(microarchitecture_name("GenuineIntel", 6, 0x8f, 8, none) == "sapphirerapids");
  CHECK(microarchitecture_name("GenuineIntel", 6, 0xa7, 1, none) == "icelake-client");
  CHECK(microarchitecture_name("GenuineIntel", 6, 0xff, 8, none).empty());
  CHECK(microarchitecture_name("SomethingElse", 6, 0x55, 4, none).empty());
  // What numbers do not name is like the nearest core that has the same instructions.
  CpuFeatures features;
  features.avx2 = true;
  CHECK(microarchitecture_name("AuthenticAMD", 0x1b, 0x02, 1, features) == "znver3");
  CHECK(microarchitecture_name("GenuineIntel", 6, 0xff, 1, features) == "skylake");
  features.avx512f = true;
  CHECK(microarchitecture_name("AuthenticAMD", 0x1b, 0x02, 1, features) == "znver4");
  CHECK(microarchitecture_name("GenuineIntel", 6, 0xff, 1, features) == "skylake-avx512");
  features.avx_vnni = features.avx512_vbmi2 = true;
  CHECK(microarchitecture_name("AuthenticAMD", 0x1b, 0x02, 1, features) == "znver5");
  CHECK(microarchitecture_name("GenuineIntel", 6, 0xff, 1, features) == "icelake-server");
  features.amx_tile = true;
  CHECK(microarchitecture_name("GenuineIntel", 6, 0xa7, 1, features) == "sapphirerapids");
  features.amx_fp16 = true;
  CHECK(microarchitecture_name("GenuineIntel", 18, 1, 1, features) == "graniterapids");
  CHECK(microarchitecture_name("SomethingElse", 6, 0x55, 4, features).empty());
}

TEST_CASE("a level that this machine runs keeps the machine's caches and core") {
  const auto host = runnable_target("host");
  REQUIRE(host.has_value());
  CHECK(host->name == "host");
  if (host->vector_bits >= 256 && host->has_fma) {
    const auto level = runnable_target("x86-64-v3");
    REQUIRE(level.has_value());
    CHECK(level->name == "x86-64-v3");
    CHECK(level->vector_bits == 256);
    CHECK(level->num_vector_registers == 16);
    CHECK(level->caches.l2_bytes == host->caches.l2_bytes);
    CHECK(level->llvm_tune == host->llvm_tune);
    CHECK(level->fma_per_cycle == (host->vector_bits > 256 ? 2 : host->fma_per_cycle));
    const auto named = runnable_target("haswell");
    REQUIRE(named.has_value());
    CHECK(named->llvm_tune.empty());
    CHECK(named->caches.l2_bytes == 256 * 1024);
  }
  CHECK_FALSE(runnable_target("sm_90").has_value());
  CHECK(runnable_target("a100").error().find("sim:a100") != std::string::npos);
  CHECK(runnable_target("sim:a100")->is_simulated);
  if (host->architecture == Architecture::x86_64) {
    CHECK(runnable_target("neoverse-n1").error().find("sim:neoverse-n1") != std::string::npos);
    CHECK(runnable_target("armv8-a").error().find("sim:") == std::string::npos);
  }
  CHECK(runnable_target("sim:neoverse-n1")->is_simulated);
  CHECK(runnable_target("abacus").error().find("abacus") != std::string::npos);
}
