// SPDX-License-Identifier: Apache-2.0
// Proves that the test programs can fail. Hidden cases, run one by one with WILL_FAIL.
#include "support/catch.hpp"

#include "tensorsmith/support/assert.hpp"

TEST_CASE("a wrong value fails", "[.][wrong_value]") { REQUIRE(1 == 2); }

TEST_CASE("an assertion that escapes fails", "[.][escaped_assertion]") {
  TENSORSMITH_ASSERT(1 == 2, "deliberate");
  SUCCEED();
}

TEST_CASE("an assertion can be expected", "[helpers]") {
  const auto violate = [] { TENSORSMITH_ASSERT(1 == 2, "deliberate"); };
  REQUIRE_THROWS_AS(violate(), tensorsmith::test::AssertionFailed);
}

TEST_CASE("the seed on the command line arrives", "[.][seed]") {
  REQUIRE(tensorsmith::test::seed() == 12345);
}
