// SPDX-License-Identifier: Apache-2.0
#include "cpu/host_caches.hpp"

#include <cstdio>
#include <cstdlib>
#include <set>

#if defined(__x86_64__)
#include <cpuid.h>
#endif

namespace tensorsmith {
namespace {

/// "48K", "1024K", "32M" or plain bytes.
std::optional<std::int64_t> parse_size(const std::string& text) {
  char* end = nullptr;
  const long long value = std::strtoll(text.c_str(), &end, 10);
  if (end == text.c_str() || value <= 0) {
    return std::nullopt;
  }
  const std::int64_t unit = *end == 'K' ? 1024 : *end == 'M' ? 1024 * 1024 : 1;
  return value * unit;
}

/// "0-3,8,10-11"
std::set<std::int32_t> parse_cpu_list(const std::string& text) {
  std::set<std::int32_t> cpus;
  const char* cursor = text.c_str();
  while (*cursor != '\0') {
    char* end = nullptr;
    const long first = std::strtol(cursor, &end, 10);
    if (end == cursor) {
      break;
    }
    long last = first;
    if (*end == '-') {
      cursor = end + 1;
      last = std::strtol(cursor, &end, 10);
    }
    for (long cpu = first; cpu <= last && cpu - first < 65536; ++cpu) {
      cpus.insert(static_cast<std::int32_t>(cpu));
    }
    cursor = *end == ',' ? end + 1 : end;
  }
  return cpus;
}

std::string cpu_folder(std::int32_t cpu) {
  return "/sys/devices/system/cpu/cpu" + std::to_string(cpu);
}

/// `ways`, `sharing_cores`: 0 where they are not known.
void set_cache(HostInfo& info, int level, std::int64_t bytes, std::int32_t ways,
               std::int32_t sharing_cores, const char* source) {
  CacheSizes& caches = info.caches;
  const std::optional<std::int32_t> known_ways =
      ways > 0 ? std::optional<std::int32_t>(ways) : std::nullopt;
  info.caches_source = source;
  if (level == 1) {
    caches.l1d_bytes = bytes;
    caches.l1d_ways = known_ways;
  } else if (level == 2) {
    caches.l2_bytes = bytes;
    caches.l2_ways = known_ways;
  } else if (level == 3) {
    caches.l3_bytes = bytes;
    caches.l3_ways = known_ways;
    if (sharing_cores > 0) {
      caches.l3_sharing_cores = sharing_cores;
    }
  }
}

void read_caches_from_kernel(HostInfo& info) {
  if (info.usable_cpus.empty()) {
    return;
  }
  for (int index = 0; index < 8; ++index) {
    const std::string folder =
        cpu_folder(info.usable_cpus.front()) + "/cache/index" + std::to_string(index) + "/";
    const auto level = first_line(folder + "level");
    const auto type = first_line(folder + "type");
    const auto size = first_line(folder + "size");
    if (!level || !type || !size) {
      break;
    }
    const auto bytes = parse_size(*size);
    if (*type == "Instruction" || !bytes) {
      continue;
    }
    const auto shared = first_line(folder + "shared_cpu_list");
    const std::set<std::int32_t> list = shared ? parse_cpu_list(*shared) : std::set<int>{};
    const auto cores = count_cores({list.begin(), list.end()});
    const auto ways = first_line(folder + "ways_of_associativity");
    set_cache(info, std::atoi(level->c_str()), *bytes, ways ? std::atoi(ways->c_str()) : 0,
              cores.value_or(0), "the kernel's table");
    if (const auto line = first_line(folder + "coherency_line_size")) {
      if (const auto line_bytes = parse_size(*line)) {
        info.cache_line_bytes = static_cast<std::int32_t>(*line_bytes);
      }
    }
  }
}

#if defined(__x86_64__)

/// Deterministic cache parameters: Intel leaf 4, AMD leaf 0x8000001D; both have one layout.
void read_caches_from_cpuid(HostInfo& info) {
  const unsigned leaf = info.vendor == "AuthenticAMD" ? 0x8000001DU : 4U;
  for (unsigned index = 0; index < 8; ++index) {
    unsigned eax = 0, ebx = 0, ecx = 0, edx = 0;
    const bool is_known = __get_cpuid_count(leaf, index, &eax, &ebx, &ecx, &edx) != 0;
    const unsigned type = eax & 0x1f;
    if (!is_known || type == 0) {
      break;
    }
    if (type == 2) {
      continue;
    }
    const std::int64_t line = (ebx & 0xfff) + 1;
    const std::int64_t ways = ((ebx >> 22) & 0x3ff) + 1;
    const std::int64_t bytes = line * (((ebx >> 12) & 0x3ff) + 1) * ways * (std::int64_t{ecx} + 1);
    const bool is_fully_associative = (eax >> 9 & 1) != 0;
    set_cache(info, static_cast<int>((eax >> 5) & 0x7), bytes,
              is_fully_associative ? 0 : static_cast<std::int32_t>(ways), 0, "CPUID");
    info.cache_line_bytes = static_cast<std::int32_t>(line);
  }
}

#endif

}  // namespace

std::optional<std::string> first_line(const std::string& path) {
  std::FILE* file = std::fopen(path.c_str(), "r");
  if (file == nullptr) {
    return std::nullopt;
  }
  char buffer[512];
  const bool ok = std::fgets(buffer, sizeof buffer, file) != nullptr;
  std::fclose(file);
  if (!ok) {
    return std::nullopt;
  }
  std::string line(buffer);
  while (!line.empty() && (line.back() == '\n' || line.back() == ' ')) {
    line.pop_back();
  }
  return line;
}

std::optional<std::int32_t> count_cores(const std::vector<std::int32_t>& cpus) {
  std::set<std::int32_t> first_siblings;
  for (const std::int32_t cpu : cpus) {
    const auto siblings = first_line(cpu_folder(cpu) + "/topology/thread_siblings_list");
    const std::set<std::int32_t> list = siblings ? parse_cpu_list(*siblings) : std::set<int>{};
    if (list.empty()) {
      return std::nullopt;
    }
    first_siblings.insert(*list.begin());
  }
  if (first_siblings.empty()) {
    return std::nullopt;
  }
  return static_cast<std::int32_t>(first_siblings.size());
}

void read_caches(HostInfo& info) {
#if defined(__x86_64__)
  read_caches_from_cpuid(info);
#endif
  read_caches_from_kernel(info);
}

}  // namespace tensorsmith
