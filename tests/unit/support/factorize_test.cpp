// SPDX-License-Identifier: Apache-2.0
#include "tensorsmith/support/factorize.hpp"

#include "support/catch.hpp"

using namespace tensorsmith;

TEST_CASE("divisors are all there, ascending") {
  for (std::int64_t n = 1; n <= 300; ++n) {
    std::vector<std::int64_t> expected;
    for (std::int64_t d = 1; d <= n; ++d) {
      if (n % d == 0) {
        expected.push_back(d);
      }
    }
    REQUIRE(divisors(n) == expected);
  }
}

TEST_CASE("factorizations are all the tuples whose product divides the extent, in order") {
  for (std::int64_t extent : {1, 7, 12, 36}) {
    std::vector<std::vector<std::int64_t>> expected;
    for (std::int64_t a = 1; a <= extent; ++a) {
      for (std::int64_t b = 1; b <= extent; ++b) {
        if (extent % a == 0 && (extent / a) % b == 0 && b <= 4) {
          expected.push_back({a, b});
        }
      }
    }
    CHECK(factorizations(extent, 2, 4) == expected);
  }
  CHECK(factorizations(6, 0, 4).size() == 1);
}

TEST_CASE("ceil_div") {
  CHECK(ceil_div(7, 2) == 4);
  CHECK(ceil_div(8, 2) == 4);
  CHECK(ceil_div(0, 3) == 0);
}
