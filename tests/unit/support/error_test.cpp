// SPDX-License-Identifier: Apache-2.0
#include "tensorsmith/support/error.hpp"

#include "support/catch.hpp"

using namespace tensorsmith;

TEST_CASE("misuse is an exception with a text") {
  CHECK_THROWS_WITH(throw Error("extent: expected a positive number, got -1"),
                    "extent: expected a positive number, got -1");
}
