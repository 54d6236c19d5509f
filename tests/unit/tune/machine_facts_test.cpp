// SPDX-License-Identifier: Apache-2.0
// requires: llvm json
#include "tensorsmith/tune/machine_facts.hpp"

#include <cstdlib>
#include <map>

#include "support/catch.hpp"
#include "support/temporary_folder.hpp"
#include "tensorsmith/cost/draft_rates.hpp"
#include "tensorsmith/host.hpp"
#include "tensorsmith/tune/calibration.hpp"

using namespace tensorsmith;

namespace {

std::map<std::string, MachineFact> facts_of(const Target& target) {
  std::map<std::string, MachineFact> facts;
  for (const MachineFact& fact : machine_facts(target)) {
    CAPTURE(fact.name);
    CHECK_FALSE(fact.source.empty());
    CHECK(facts.emplace(fact.name, fact).second);
  }
  return facts;
}

}  // namespace

TEST_CASE("every number of a machine is told once, with its source") {
  const test::TemporaryFolder folder;
  ::setenv("XDG_CACHE_HOME", folder.path().c_str(), 1);
  Target target = Target::x86_64_v3();
  target.llvm_tune = "znver3";
  target.caches.l1d_bytes = 48 << 10;
  target.caches.l1d_ways = 12;
  target.caches.l2_bytes = 2 << 20;
  auto facts = facts_of(target);
  CHECK(facts.at("l1_ways").value == 12);
  CHECK(facts.at("way_bytes_l1").value == 4096);
  CHECK(facts.at("way_bytes_l1").source == "size and ways of the cache");
  CHECK(facts.count("l2_ways") == 0);
  CHECK(facts.at("way_bytes_l2").source == "of any core");
  CHECK(facts.at("streams").source == "of any core");
  CHECK(facts.at("vector_bits").value == 256);

  MachineRates kept;
  kept.machine = machine_name(target);
  kept.rates = detail::draft_rates(target);
  kept.rates.streams = 21;
  kept.fitted = {"streams"};
  CHECK(rates_file(target).find(machine_fingerprint(target)) != std::string::npos);
  REQUIRE(write_rates(rates_file(target), kept).has_value());
  facts = facts_of(target);
  CHECK(facts.at("streams").value == 21);
  CHECK(facts.at("streams").source == "fitted to programs timed here");
  CHECK(facts.at("hidden").source == "of any core");
}

TEST_CASE("a fingerprint tells processors and widths of vectors apart") {
  Target narrow = host_target();
  narrow.vector_bits = 128;
  CHECK(machine_fingerprint(host_target()) == machine_fingerprint(host_target()));
  CHECK(machine_fingerprint(host_target()).size() == 16);
  if (host_target().vector_bits != 128) {
    CHECK(machine_fingerprint(narrow) != machine_fingerprint(host_target()));
  }
}
