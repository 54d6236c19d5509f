// SPDX-License-Identifier: Apache-2.0
// What names this machine, and with it the file of its rates.
// requires: llvm
#include <cstdio>
#include <cstring>
#include <fstream>
#include <sstream>

#if defined(__x86_64__)
#include <cpuid.h>
#endif

#include "tensorsmith/host.hpp"
#include "tensorsmith/support/hash.hpp"
#include "tensorsmith/tune/calibration.hpp"
#include "tensorsmith/tune/defaults.hpp"

namespace tensorsmith {
namespace {

/// The value of the first line of /proc/cpuinfo that begins with `key`; or nothing.
std::string cpuinfo(const std::string& key) {
  std::ifstream file("/proc/cpuinfo");
  std::string line;
  while (std::getline(file, line)) {
    const std::size_t colon = line.find(':');
    if (line.rfind(key, 0) == 0 && colon != std::string::npos) {
      const std::size_t begin = line.find_first_not_of(" \t", colon + 1);
      return begin == std::string::npos ? "" : line.substr(begin);
    }
  }
  return "";
}

std::string hypervisor() {
#if defined(__x86_64__)
  unsigned eax = 0, ebx = 0, ecx = 0, edx = 0;
  if (__get_cpuid(1, &eax, &ebx, &ecx, &edx) != 0 && (ecx >> 31) != 0) {
    __cpuid(0x40000000U, eax, ebx, ecx, edx);
    char name[13] = {};
    std::memcpy(name, &ebx, 4);
    std::memcpy(name + 4, &ecx, 4);
    std::memcpy(name + 8, &edx, 4);
    return name;
  }
#endif
  return "none";
}

}  // namespace

std::string machine_name(const Target& target) {
  static const std::string core = [] {
    const HostInfo host = probe_host();
    const std::string microcode = cpuinfo("microcode");
    std::ostringstream text;
    text << host.vendor << ' ' << host.family << '.' << host.model << '.' << host.stepping << ", "
         << host.model_name << ", microcode " << (microcode.empty() ? "unknown" : microcode)
         << ", hypervisor " << hypervisor();
    return text.str();
  }();
  return core + ", vectors of " + std::to_string(target.vector_bits) + " bits";
}

std::string machine_fingerprint(const Target& target) {
  char digits[17];
  std::snprintf(digits, sizeof(digits), "%016llx",
                static_cast<unsigned long long>(hash_text(machine_name(target))));
  return digits;
}

std::string rates_file(const Target& target) {
  const std::string folder = cache_folder();
  return folder.empty() ? folder : folder + "/rates-" + machine_fingerprint(target) + ".json";
}

Target with_kept_rates(Target target) {
#if defined(TENSORSMITH_HAS_JSON)
  const std::string path = rates_file(target);
  if (path.empty()) {
    return target;
  }
  if (const Result<MachineRates, std::string> kept = read_rates(path, target)) {
    target.rates = kept->rates;
  }
#endif
  return target;
}

}  // namespace tensorsmith
