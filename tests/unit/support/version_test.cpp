// SPDX-License-Identifier: Apache-2.0
#include "tensorsmith/version.hpp"

#include <string>

#include "support/catch.hpp"

using namespace tensorsmith;

TEST_CASE("the version text is made of the three numbers", "[version]") {
  const std::string expected = std::to_string(version_major) + "." + std::to_string(version_minor) +
                               "." + std::to_string(version_patch);
  REQUIRE(std::string(version_string) == expected);
  REQUIRE(std::string(TENSORSMITH_VERSION) == expected);
}
