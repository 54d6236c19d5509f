// SPDX-License-Identifier: Apache-2.0
// requires: llvm json
#include "tensorsmith/tune/machine_facts.hpp"

#include <algorithm>
#include <optional>

#include "tensorsmith/cost/draft_rates.hpp"
#include "tensorsmith/host.hpp"
#include "tensorsmith/tune/calibration.hpp"

namespace tensorsmith {

std::vector<MachineFact> machine_facts(const Target& target) {
  const HostInfo host = probe_host();
  const std::string& core = detail::core_of(target);
  const std::string of_core = "of " + core;
  const CacheSizes& caches = target.caches;
  std::vector<MachineFact> facts;
  const auto add = [&](const char* name, const auto& value, const std::string& source) {
    if (value) {
      facts.push_back({name, static_cast<double>(*value), source});
    }
  };
  const auto add_cache = [&](const char* name, const auto& value, const auto& own) {
    add(name, value, value == own ? host.caches_source : of_core);
  };
  add_cache("l1_bytes", caches.l1d_bytes, host.caches.l1d_bytes);
  add_cache("l1_ways", caches.l1d_ways, host.caches.l1d_ways);
  add_cache("l2_bytes", caches.l2_bytes, host.caches.l2_bytes);
  add_cache("l2_ways", caches.l2_ways, host.caches.l2_ways);
  add_cache("l3_bytes", caches.l3_bytes, host.caches.l3_bytes);
  add_cache("l3_ways", caches.l3_ways, host.caches.l3_ways);
  add_cache("l3_sharing_cores", caches.l3_sharing_cores, host.caches.l3_sharing_cores);
  add("cores", target.num_cores, "the kernel's table");
  add("vector_bits", std::optional<std::int32_t>(target.vector_bits), "CPUID");
  add("vector_registers", std::optional<std::int32_t>(target.num_vector_registers), "CPUID");
  add("fma_per_cycle", target.fma_per_cycle, of_core);
  add("fma_latency", target.fma_latency, of_core);

  const Result<MachineRates, std::string> kept = read_rates(rates_file(target), target);
  const CoreRates believed = detail::draft_rates(target);
  const bool is_known = has_known_rates(core, target.vector_bits);
  for_each_rate(kept ? kept->rates : believed, [&](std::string_view name, double value) {
    const bool is_fitted =
        kept && std::find(kept->fitted.begin(), kept->fitted.end(), name) != kept->fitted.end();
    const bool follows =
        (name == "way_bytes_l1" && detail::way_bytes_of(caches.l1d_bytes, caches.l1d_ways)) ||
        (name == "way_bytes_l2" && detail::way_bytes_of(caches.l2_bytes, caches.l2_ways));
    facts.push_back({std::string(name), value,
                     is_fitted  ? "fitted to programs timed here"
                     : follows  ? "size and ways of the cache"
                     : is_known ? of_core
                                : "of any core"});
  });
  return facts;
}

}  // namespace tensorsmith
