// SPDX-License-Identifier: Apache-2.0
// requires: json
#include "bench/support/machine.hpp"

#include <sys/utsname.h>

#include <cstdlib>
#include <ctime>

#include "tensorsmith/version.hpp"

namespace tensorsmith::bench {
namespace {

template <class T>
nlohmann::json or_null(const std::optional<T>& value) {
  return value ? nlohmann::json(*value) : nlohmann::json(nullptr);
}

const char* compiler() {
#if defined(__clang__)
  return "clang " __clang_version__;
#elif defined(__GNUC__)
  return "gcc " __VERSION__;
#else
  return "unknown";
#endif
}

}  // namespace

nlohmann::json machine_facts(const HostInfo& host, const std::vector<FoundPeer>& peers) {
  nlohmann::json facts;
  const Target target = make_host_target(host);
  facts["cpu"] = host.model_name;
  facts["vendor"] = host.vendor;
  facts["isa"] = std::string(to_string(host.isa));
  facts["microarchitecture"] = host.microarchitecture.empty() ? "unknown" : host.microarchitecture;
  facts["vector_bits"] = target.vector_bits;
  facts["features"] = target.llvm_features;
  facts["num_cores"] = or_null(host.num_cores);
  facts["usable_cpus"] = host.usable_cpus.size();
  facts["cgroup_cpu_quota"] = or_null(host.cgroup_cpu_quota);
  facts["caches"] = {{"l1d_bytes", or_null(host.caches.l1d_bytes)},
                     {"l2_bytes", or_null(host.caches.l2_bytes)},
                     {"l3_bytes", or_null(host.caches.l3_bytes)},
                     {"l3_sharing_cores", or_null(host.caches.l3_sharing_cores)},
                     {"line_bytes", host.cache_line_bytes}};
  facts["compiler"] = compiler();
  utsname system{};
  facts["kernel"] = uname(&system) == 0
                        ? std::string(system.sysname) + " " + system.release + " " + system.machine
                        : std::string("unknown");
  double load[3] = {};
  facts["load_average"] = getloadavg(load, 3) == 3 ? nlohmann::json{load[0], load[1], load[2]}
                                                   : nlohmann::json(nullptr);
  facts["libraries"] = nlohmann::json::object();
  for (const FoundPeer& found : peers) {
    facts["libraries"][found.name] =
        found.peer ? found.peer->library_version() : "not used: " + found.reason;
  }
  // Variables that change what a library does.
  facts["environment"] = nlohmann::json::object();
  for (const char* name :
       {"OMP_NUM_THREADS", "OMP_PROC_BIND", "OMP_PLACES", "OPENBLAS_NUM_THREADS",
        "OPENBLAS_CORETYPE", "ONEDNN_MAX_CPU_ISA", "DNNL_MAX_CPU_ISA", "ONEDNN_CPU_ISA_HINTS"}) {
    if (const char* value = std::getenv(name)) {
      facts["environment"][name] = value;
    }
  }
  return facts;
}

nlohmann::ordered_json report_head(const HostInfo& host, const std::vector<FoundPeer>& peers) {
  char date[32];
  const std::time_t now = std::time(nullptr);
  std::strftime(date, sizeof date, "%Y-%m-%d", std::gmtime(&now));
  return {{"date", date}, {"tensorsmith", version_string}, {"machine", machine_facts(host, peers)}};
}

nlohmann::json to_json(const Roofline& r) {
  return {{"peak_gflops", r.peak_gflops}, {"l1_gbps", r.l1_gbps},     {"l2_gbps", r.l2_gbps},
          {"l3_gbps", r.l3_gbps},         {"dram_gbps", r.dram_gbps}, {"l1_bytes", r.l1_bytes},
          {"l2_bytes", r.l2_bytes},       {"l3_bytes", r.l3_bytes},   {"source", r.source}};
}

}  // namespace tensorsmith::bench
