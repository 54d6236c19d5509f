// SPDX-License-Identifier: Apache-2.0
#include "tensorsmith/support/floor_div.hpp"

#include "support/catch.hpp"

using namespace tensorsmith;

TEST_CASE("a = floor_div(a, b) * b + floor_mod(a, b), and the remainder has the divisor's sign") {
  for (std::int64_t a = -20; a <= 20; ++a) {
    for (std::int64_t b = -6; b <= 6; ++b) {
      if (b == 0) {
        continue;
      }
      CAPTURE(a, b);
      CHECK(floor_div(a, b) * b + floor_mod(a, b) == a);
      CHECK((b > 0 ? floor_mod(a, b) >= 0 && floor_mod(a, b) < b
                   : floor_mod(a, b) <= 0 && floor_mod(a, b) > b));
    }
  }
  CHECK(floor_div(INT64_MIN, -1) == INT64_MIN);
  CHECK(floor_mod(INT64_MIN, -1) == 0);
}
