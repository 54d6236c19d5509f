// SPDX-License-Identifier: Apache-2.0
#include "tensorsmith/measure/core_probes.hpp"

#include <algorithm>
#include <cmath>
#include <string>
#include <vector>

#include "support/catch.hpp"
#include "tensorsmith/cost/fit_rates.hpp"
#include "tensorsmith/host.hpp"

using namespace tensorsmith;

namespace {

std::vector<std::string> changed(const CoreRates& before, const CoreRates& after) {
  std::vector<std::string> names;
  for_each_change(before, after,
                  [&](std::string_view name, double, double) { names.emplace_back(name); });
  return names;
}

}  // namespace

TEST_CASE("every probe gives a number that a core can have") {
  const CoreProbes probes = probe_core(host_target());
  CHECK(probes.ns_per_cycle > 0.1);  // no core has 10 GHz: additions that are left out
  for (const auto* list : {&probes.bytes_per_cycle, &probes.latency}) {
    for (const std::optional<double>& value : *list) {
      CHECK((!value || (std::isfinite(*value) && *value > 0)));
    }
  }
  CHECK(probes.bytes_per_cycle[2].has_value());
  CHECK(probes.latency[2].has_value());
  REQUIRE(probes.page_miss[1].has_value());
  CHECK(*probes.page_miss[1] >= probes.page_miss[0].value_or(0));
  REQUIRE((probes.tracked && probes.best_streams && probes.stream_slope));
  CHECK(*probes.tracked >= *probes.best_streams);
  CHECK((*probes.stream_slope >= 0 && *probes.stream_slope <= 0.5));
}

TEST_CASE("caches that are not known are not probed, and nothing is when interrupted") {
  Target target = host_target();
  target.caches = {};
  const CoreProbes probes = probe_core(target);
  CHECK_FALSE(probes.bytes_per_cycle[0].has_value());
  CHECK_FALSE(probes.latency[1].has_value());
  CHECK(probes.bytes_per_cycle[2].has_value());
  const CoreProbes none = probe_core(host_target(), [] { return true; });
  CHECK(changed(CoreRates(), with_probes(CoreRates(), none)).empty());
  CHECK(with_probes(CoreRates(), none) == CoreRates());
}

TEST_CASE("what was measured takes the place of what was believed, and nothing else changes") {
  CoreProbes probes;
  probes.bytes_per_cycle[1] = 17;
  probes.page_miss[1] = 150;
  probes.tracked = 16;
  probes.latency[0] = std::nan("");  // nothing was measured
  const CoreRates believed = known_rates_of("znver4", 256);
  CoreRates expected = believed;
  expected.bytes_per_cycle[1] = 17;
  expected.page_miss[1] = 150;
  expected.tracked = 16;
  CHECK(with_probes(believed, probes) == expected);
  CHECK(changed(CoreRates(), with_probes(CoreRates(), probes)) ==
        std::vector<std::string>{"bytes_per_cycle_l2", "page_miss_second", "tracked"});
}
