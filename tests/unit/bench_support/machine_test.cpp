// SPDX-License-Identifier: Apache-2.0
// requires: llvm json
#include "bench/support/machine.hpp"

#include "support/catch.hpp"

using namespace tensorsmith;
using namespace tensorsmith::bench;

TEST_CASE("machine facts name everything a result depends on", "[machine]") {
  std::vector<FoundPeer> peers;
  peers.push_back({"nolib", nullptr, "not installed"});
  const nlohmann::json facts = machine_facts(probe_host(), peers);
  for (const char* key : {"cpu", "isa", "microarchitecture", "vector_bits", "num_cores", "caches",
                          "compiler", "kernel", "libraries", "environment"}) {
    INFO(key);
    CHECK(facts.contains(key));
  }
  CHECK(facts["vector_bits"] == host_target().vector_bits);
  CHECK(facts["libraries"]["nolib"] == "not used: not installed");
}

TEST_CASE("what is not known is null", "[machine]") {
  const nlohmann::json facts = machine_facts(HostInfo{}, {});
  CHECK(facts["num_cores"].is_null());
  CHECK(facts["caches"]["l2_bytes"].is_null());
  CHECK(facts["cgroup_cpu_quota"].is_null());
  CHECK(facts["isa"] == "unknown");
  CHECK(facts["libraries"].empty());
}

TEST_CASE("a roofline as json", "[machine]") {
  Roofline r;
  r.peak_gflops = 270;
  r.source = "stated";
  CHECK(to_json(r)["peak_gflops"] == 270);
  CHECK(to_json(r)["source"] == "stated");
}
