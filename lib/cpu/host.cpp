// SPDX-License-Identifier: Apache-2.0
#include "tensorsmith/host.hpp"

#include <sched.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cstdio>
#include <cstring>

#if defined(__x86_64__)
#include <cpuid.h>
#endif

#include "cpu/host_caches.hpp"

namespace tensorsmith {
namespace {

std::vector<std::int32_t> affinity_cpus() {
  std::vector<std::int32_t> cpus;
  for (int capacity = 1024; capacity <= 65536; capacity *= 4) {
    cpu_set_t* set = CPU_ALLOC(static_cast<std::size_t>(capacity));
    const std::size_t bytes = CPU_ALLOC_SIZE(static_cast<std::size_t>(capacity));
    CPU_ZERO_S(bytes, set);
    const bool ok = sched_getaffinity(0, bytes, set) == 0;
    for (int cpu = 0; ok && cpu < capacity; ++cpu) {
      if (CPU_ISSET_S(static_cast<std::size_t>(cpu), bytes, set)) {
        cpus.push_back(cpu);
      }
    }
    CPU_FREE(set);
    if (ok) {
      break;
    }
  }
  return cpus;
}

std::optional<double> cgroup_quota() {
  if (const auto line = first_line("/sys/fs/cgroup/cpu.max")) {
    double quota = 0;
    double period = 0;
    if (std::sscanf(line->c_str(), "%lf %lf", &quota, &period) == 2 && period > 0) {
      return quota / period;
    }
  }
  return std::nullopt;
}

#if defined(__x86_64__)

struct Registers {
  unsigned eax = 0, ebx = 0, ecx = 0, edx = 0;
};

Registers cpuid(unsigned leaf, unsigned subleaf = 0) {
  Registers r;
  if (__get_cpuid_count(leaf, subleaf, &r.eax, &r.ebx, &r.ecx, &r.edx) == 0) {
    return Registers{};
  }
  return r;
}

bool bit(unsigned word, int index) { return ((word >> index) & 1U) != 0; }

std::uint64_t read_xcr0() {
  std::uint32_t low = 0;
  std::uint32_t high = 0;
  __asm__ volatile("xgetbv" : "=a"(low), "=d"(high) : "c"(0));
  return (std::uint64_t{high} << 32) | low;
}

CpuFeatures read_features() {
  CpuFeatures f;
  const Registers one = cpuid(1);
  const Registers seven = cpuid(7);
  const Registers seven_one = seven.eax >= 1 ? cpuid(7, 1) : Registers{};
  const Registers extended = cpuid(0x80000001U);
  f.sse3 = bit(one.ecx, 0);
  f.ssse3 = bit(one.ecx, 9);
  f.cx16 = bit(one.ecx, 13);
  f.sse4_1 = bit(one.ecx, 19);
  f.sse4_2 = bit(one.ecx, 20);
  f.movbe = bit(one.ecx, 22);
  f.popcnt = bit(one.ecx, 23);
  f.lahf = bit(extended.ecx, 0);
  f.lzcnt = bit(extended.ecx, 5);
  f.bmi1 = bit(seven.ebx, 3);
  f.bmi2 = bit(seven.ebx, 8);

  const std::uint64_t saved = bit(one.ecx, 27) ? read_xcr0() : 0;
  const bool saves_ymm = (saved & 0x6) == 0x6;
  const bool saves_zmm = saves_ymm && (saved & 0xe0) == 0xe0;
  const bool saves_tiles = (saved & 0x60000) == 0x60000;
  if (saves_ymm) {
    f.avx = bit(one.ecx, 28);
    f.fma = bit(one.ecx, 12);
    f.f16c = bit(one.ecx, 29);
    f.avx2 = bit(seven.ebx, 5);
    f.avx_vnni = bit(seven_one.eax, 4);
  }
  if (saves_zmm) {
    f.avx512f = bit(seven.ebx, 16);
    f.avx512dq = bit(seven.ebx, 17);
    f.avx512_ifma = bit(seven.ebx, 21);
    f.avx512cd = bit(seven.ebx, 28);
    f.avx512bw = bit(seven.ebx, 30);
    f.avx512vl = bit(seven.ebx, 31);
    f.avx512_vbmi = bit(seven.ecx, 1);
    f.avx512_vbmi2 = bit(seven.ecx, 6);
    f.avx512_vnni = bit(seven.ecx, 11);
    f.avx512_bitalg = bit(seven.ecx, 12);
    f.avx512_vpopcntdq = bit(seven.ecx, 14);
    f.avx512_fp16 = bit(seven.edx, 23);
    f.avx512_bf16 = bit(seven_one.eax, 5);
  }
  if (saves_tiles && request_tiles()) {
    f.amx_bf16 = bit(seven.edx, 22);
    f.amx_tile = bit(seven.edx, 24);
    f.amx_int8 = bit(seven.edx, 25);
    f.amx_fp16 = bit(seven_one.eax, 21);
  }
  return f;
}

void read_identity(HostInfo& info) {
  const Registers zero = cpuid(0);
  char vendor[13] = {};
  std::memcpy(vendor, &zero.ebx, 4);
  std::memcpy(vendor + 4, &zero.edx, 4);
  std::memcpy(vendor + 8, &zero.ecx, 4);
  info.vendor = vendor;
  const unsigned signature = cpuid(1).eax;
  const unsigned family = (signature >> 8) & 0xf;
  const unsigned model = (signature >> 4) & 0xf;
  info.stepping = static_cast<std::int32_t>(signature & 0xf);
  info.family =
      static_cast<std::int32_t>(family == 0xf ? family + ((signature >> 20) & 0xff) : family);
  const bool is_extended = family == 0x6 || family == 0xf;
  info.model =
      static_cast<std::int32_t>(is_extended ? model | (((signature >> 16) & 0xf) << 4) : model);
  char brand[49] = {};
  for (unsigned part = 0; part < 3; ++part) {
    const Registers r = cpuid(0x80000002U + part);
    std::memcpy(brand + 16 * part, &r, 16);
  }
  std::string name(brand);
  while (!name.empty() && name.back() == ' ') {
    name.pop_back();
  }
  name.erase(0, name.find_first_not_of(' '));
  if (!name.empty()) {
    info.model_name = name;
  }
}

#endif

/// The known core that has most in common with one of that vendor whose family and model name none:
/// a newer one, or one behind a hypervisor that numbers its own way.
std::string nearest_core(const std::string& vendor, const CpuFeatures& f) {
  if (vendor == "AuthenticAMD") {
    return f.avx512f && f.avx_vnni ? "znver5" : f.avx512f ? "znver4" : f.avx2 ? "znver3" : "";
  }
  if (vendor == "GenuineIntel") {
    return f.amx_fp16       ? "graniterapids"
           : f.amx_tile     ? "sapphirerapids"
           : f.avx512_vbmi2 ? "icelake-server"
           : f.avx512f      ? "skylake-avx512"
           : f.avx_vnni     ? "alderlake"
           : f.avx2         ? "skylake"
                            : "";
  }
  return "";
}

}  // namespace

bool request_tiles() {
#if defined(__x86_64__) && defined(__linux__) && defined(SYS_arch_prctl)
  constexpr long request_permission = 0x1023, tile_data = 18;  // ARCH_REQ_XCOMP_PERM
  static const bool is_permitted = ::syscall(SYS_arch_prctl, request_permission, tile_data) == 0;
  return is_permitted;
#else
  return false;
#endif
}

IsaLevel isa_level(const CpuFeatures& f) {
  const bool v2 = f.sse3 && f.ssse3 && f.sse4_1 && f.sse4_2 && f.popcnt && f.cx16 && f.lahf;
  const bool v3 =
      v2 && f.avx && f.avx2 && f.bmi1 && f.bmi2 && f.f16c && f.fma && f.lzcnt && f.movbe;
  const bool v4 = v3 && f.avx512f && f.avx512bw && f.avx512cd && f.avx512dq && f.avx512vl;
  return v4   ? IsaLevel::x86_64_v4
         : v3 ? IsaLevel::x86_64_v3
         : v2 ? IsaLevel::x86_64_v2
              : IsaLevel::x86_64_v1;
}

std::string llvm_feature_string(const CpuFeatures& f) {
  const struct {
    bool present;
    const char* name;
  } table[] = {
      {f.sse3, "sse3"},
      {f.ssse3, "ssse3"},
      {f.sse4_1, "sse4.1"},
      {f.sse4_2, "sse4.2"},
      {f.popcnt, "popcnt"},
      {f.cx16, "cx16"},
      {f.lahf, "sahf"},
      {f.lzcnt, "lzcnt"},
      {f.bmi1, "bmi"},
      {f.bmi2, "bmi2"},
      {f.movbe, "movbe"},
      {f.f16c, "f16c"},
      {f.avx, "avx"},
      {f.avx2, "avx2"},
      {f.fma, "fma"},
      {f.avx_vnni, "avxvnni"},
      {f.avx512f, "avx512f"},
      {f.avx512bw, "avx512bw"},
      {f.avx512cd, "avx512cd"},
      {f.avx512dq, "avx512dq"},
      {f.avx512vl, "avx512vl"},
      {f.avx512_vnni, "avx512vnni"},
      {f.avx512_bf16, "avx512bf16"},
      {f.avx512_fp16, "avx512fp16"},
      {f.avx512_ifma, "avx512ifma"},
      {f.avx512_vbmi, "avx512vbmi"},
      {f.avx512_vbmi2, "avx512vbmi2"},
      {f.avx512_bitalg, "avx512bitalg"},
      {f.avx512_vpopcntdq, "avx512vpopcntdq"},
      {f.amx_tile, "amx-tile"},
      {f.amx_bf16, "amx-bf16"},
      {f.amx_int8, "amx-int8"},
      {f.amx_fp16, "amx-fp16"},
  };
  std::string text;
  for (const auto& row : table) {
    if (row.present) {
      text.append(text.empty() ? "+" : ",+").append(row.name);
    }
  }
  if (f.avx512f) {
    text += ",-prefer-256-bit";
  }
  return text;
}

std::string microarchitecture_name(const std::string& vendor, std::int32_t family,
                                   std::int32_t model, std::int32_t stepping,
                                   const CpuFeatures& features) {
  if (vendor == "AuthenticAMD") {
    switch (family) {
    case 0x17:
      return model < 0x30 ? "znver1" : "znver2";
    case 0x19:
      return (model >= 0x10 && model <= 0x1f) || (model >= 0x60 && model <= 0x7f) ||
                     (model >= 0xa0 && model <= 0xaf)
                 ? "znver4"
                 : "znver3";
    case 0x1a:
      return "znver5";
    default:
      return nearest_core(vendor, features);
    }
  }
  if (vendor != "GenuineIntel" || family != 6) {
    return nearest_core(vendor, features);
  }
  switch (model) {
  case 0x1a:
  case 0x1e:
  case 0x2e:
    return "nehalem";
  case 0x2a:
  case 0x2d:
    return "sandybridge";
  case 0x3a:
  case 0x3e:
    return "ivybridge";
  case 0x3c:
  case 0x3f:
  case 0x45:
  case 0x46:
    return "haswell";
  case 0x3d:
  case 0x47:
  case 0x4f:
  case 0x56:
    return "broadwell";
  case 0x4e:
  case 0x5e:
  case 0x8e:
  case 0x9e:
  case 0xa5:
  case 0xa6:
    return "skylake";
  case 0x55:
    return features.avx512_bf16 ? "cooperlake" : stepping >= 5 ? "cascadelake" : "skylake-avx512";
  case 0x8c:
  case 0x8d:
  case 0xa7:  // Tiger Lake and Rocket Lake have its core; what has tile registers is neither
    if (features.amx_tile) {
      return nearest_core(vendor, features);
    }
    return "icelake-client";
  case 0x7d:
  case 0x7e:
    return "icelake-client";
  case 0x6a:
  case 0x6c:
    return "icelake-server";
  case 0x8f:
    return "sapphirerapids";
  case 0xcf:
    return "emeraldrapids";
  case 0xad:
    return "graniterapids";
  case 0x97:
  case 0x9a:
  case 0xb7:
  case 0xba:
  case 0xbf:
    return "alderlake";
  default:
    return nearest_core(vendor, features);
  }
}

HostInfo probe_host() {
  HostInfo info;
  info.vendor = "unknown";
  info.model_name = "unknown";
  info.usable_cpus = affinity_cpus();
  info.num_cores = count_cores(info.usable_cpus);
  info.cgroup_cpu_quota = cgroup_quota();
#if defined(__x86_64__)
  read_identity(info);
  info.features = read_features();
  info.isa = isa_level(info.features);
  info.microarchitecture =
      microarchitecture_name(info.vendor, info.family, info.model, info.stepping, info.features);
#endif
  read_caches(info);
  return info;
}

Target make_host_target(const HostInfo& info) {
  Target target;
  target.name = "host";
  target.isa = info.isa;
  target.llvm_cpu = info.isa == IsaLevel::unknown ? "generic" : std::string(to_string(info.isa));
  target.llvm_tune = info.microarchitecture;
  target.llvm_features = llvm_feature_string(info.features);
  const CpuFeatures& f = info.features;
  target.has_masks = info.isa == IsaLevel::x86_64_v4;
  target.num_vector_registers = target.has_masks ? 32 : 16;
  target.vector_bits = target.has_masks ? 512 : f.avx ? 256 : 128;
  target.has_fma = f.fma;
  target.has_bf16_dot = f.avx512_bf16;
  target.has_int8_dot = f.avx512_vnni || f.avx_vnni;
  target.caches = info.caches;
  target.cache_line_bytes = info.cache_line_bytes;
  target.num_cores = info.num_cores;
  if (const CpuModel* model = find_cpu_model(info.microarchitecture)) {
    const Target known = make_target(*model);
    if (known.vector_bits == target.vector_bits) {
      target.fma_per_cycle = known.fma_per_cycle;
      target.fma_latency = known.fma_latency;
    }
  }
  return target;
}

const Target& host_target() {
  static const Target target = make_host_target(probe_host());
  return target;
}

}  // namespace tensorsmith
