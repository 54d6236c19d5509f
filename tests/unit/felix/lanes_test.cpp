// SPDX-License-Identifier: Apache-2.0
#include "tensorsmith/felix/lanes.hpp"

#include <cmath>

#include "support/catch.hpp"
#include "tensorsmith/support/rng.hpp"

namespace tensorsmith::felix::test {

TEST_CASE("functions of lanes are those of the C library", "[felix]") {
  using lanes::Two;
  CounterRng rng(4);
  for (int draw = 0; draw < 2000; ++draw) {
    const double x = std::exp(1200 * rng.next_double() - 600), y = 1400 * rng.next_double() - 700,
                 z = 1 + 1e-6 * rng.next_double();
    Two result;
    lanes::log<Two>(Two{x, z}, result);
    CHECK(std::abs(result[0] - std::log(x)) <= 1e-15 * std::abs(std::log(x)));
    CHECK(std::abs(result[1] - std::log(z)) <= 1e-15 * std::abs(std::log(z)));
    lanes::exp<Two>(Two{y, z}, result);
    CHECK(std::abs(result[0] - std::exp(y)) <= 1e-15 * std::exp(y));
    CHECK(std::abs(result[1] - std::exp(z)) <= 1e-15 * std::exp(z));
    const double large = 1 + std::exp(y < 0 ? -y / 2 : y / 2);
    lanes::inverse_root<Two>(Two{large, z}, result);
    CHECK(std::abs(result[0] * std::sqrt(large) - 1) <= 1e-15);
    CHECK(std::abs(result[1] * std::sqrt(z) - 1) <= 1e-15);
  }
}

TEST_CASE("functions of lanes know where there is no number", "[felix]") {
  using lanes::Two;
  const double infinity = INFINITY, none = NAN;
  Two result;
  lanes::log<Two>(Two{0, -1}, result);
  CHECK(result[0] == -infinity);
  CHECK(std::isnan(result[1]));
  lanes::log<Two>(Two{infinity, none}, result);
  CHECK(result[0] == infinity);
  CHECK(std::isnan(result[1]));
  lanes::exp<Two>(Two{1000, -1000}, result);
  CHECK(result[0] == infinity);
  CHECK(result[1] == 0);
  lanes::exp<Two>(Two{none, -infinity}, result);
  CHECK(std::isnan(result[0]));
  CHECK(result[1] == 0);
  lanes::choose<Two>(Two{1, 2} < Two{2, 1}, Two{3, 4}, Two{5, 6}, result);
  CHECK(result[0] == 3);
  CHECK(result[1] == 6);
}

}  // namespace tensorsmith::felix::test
