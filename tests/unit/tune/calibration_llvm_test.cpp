// SPDX-License-Identifier: Apache-2.0
// requires: llvm json
#include "tensorsmith/tune/calibration.hpp"

#include "support/catch.hpp"
#include "tensorsmith/host.hpp"

using namespace tensorsmith;

TEST_CASE("a calibration fits rates to programs that it timed") {
  const auto made = calibrate_machine(host_target(), 3);
  CAPTURE(made ? "" : made.error());
  REQUIRE(made.has_value());
  CHECK(made->machine == machine_name(host_target()));
  CHECK(made->num_programs >= 16);
  CHECK(made->error_after <= made->error_before);
  CHECK(made->probes.ns_per_cycle > 0);
  for_each_rate(made->rates, [](std::string_view name, double value) {
    CAPTURE(name);
    CHECK((value >= 0 && value < 1e12));
  });
}
