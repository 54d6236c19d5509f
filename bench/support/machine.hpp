// SPDX-License-Identifier: Apache-2.0
// Facts about the machine and the software that every benchmark report starts with.
//
// Own design. Needs nlohmann/json. Not here: results.
#pragma once

#include <nlohmann/json.hpp>
#include <vector>

#include "bench/support/calibrate.hpp"
#include "bench/support/peer.hpp"

namespace tensorsmith::bench {

/// {"cpu", "vendor", "isa", "microarchitecture", "vector_bits", "features", "num_cores",
/// "usable_cpus", "cgroup_cpu_quota", "caches": {...}, "compiler", "kernel", "load_average",
/// "libraries": {name: version or reason}, "environment": {...}}; null where unknown.
nlohmann::json machine_facts(const HostInfo& host, const std::vector<FoundPeer>& peers);

/// What a report begins with: {"date", "tensorsmith", "machine"}; the day is that of UTC.
nlohmann::ordered_json report_head(const HostInfo& host, const std::vector<FoundPeer>& peers);

/// {"peak_gflops", "l1_gbps", ..., "source"}
nlohmann::json to_json(const Roofline& roofline);

}  // namespace tensorsmith::bench
