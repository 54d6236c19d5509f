// SPDX-License-Identifier: Apache-2.0
#include "tensorsmith/support/math.hpp"

#include "support/catch.hpp"

#include <cmath>
#include <limits>

#include "tensorsmith/support/rng.hpp"

using namespace tensorsmith;

namespace {

std::uint64_t bits(double x) { return math::bit_cast<std::uint64_t>(x); }
std::uint32_t bits(float x) { return math::bit_cast<std::uint32_t>(x); }

}  // namespace

TEST_CASE("math functions give the bits of the standard library") {
  CounterRng rng(test::seed(), 23);
  for (int trial = 0; trial < 1000; ++trial) {
    const double x = std::ldexp(rng.next_double() + 0.5, static_cast<int>(rng.next_below(20)) - 10);
    const double y = (rng.next_double() - 0.5) * 8;
    CAPTURE(test::seed(), trial, x, y);
    REQUIRE(bits(math::exp(y)) == bits(std::exp(y)));
    REQUIRE(bits(math::exp2(y)) == bits(std::exp2(y)));
    REQUIRE(bits(math::log(x)) == bits(std::log(x)));
    REQUIRE(bits(math::log2(x)) == bits(std::log2(x)));
    REQUIRE(bits(math::log1p(x)) == bits(std::log1p(x)));
    REQUIRE(bits(math::pow(x, y)) == bits(std::pow(x, y)));
    REQUIRE(bits(math::tanh(y)) == bits(std::tanh(y)));
    REQUIRE(bits(math::erf(y)) == bits(std::erf(y)));
    REQUIRE(bits(math::sqrt(x)) == bits(std::sqrt(x)));
    REQUIRE(bits(math::fabs(y)) == bits(std::fabs(y)));
    REQUIRE(bits(math::trunc(y)) == bits(std::trunc(y)));
    REQUIRE(bits(math::floor(y)) == bits(std::floor(y)));
    REQUIRE(bits(math::ceil(y)) == bits(std::ceil(y)));
    REQUIRE(bits(math::nearbyint(y)) == bits(std::nearbyint(y)));
    REQUIRE(bits(math::fmod(x, y)) == bits(std::fmod(x, y)));
    REQUIRE(bits(math::fmin(x, y)) == bits(std::fmin(x, y)));
    REQUIRE(bits(math::fmax(x, y)) == bits(std::fmax(x, y)));
    const auto u = static_cast<float>(x), v = static_cast<float>(y);
    REQUIRE(bits(math::floor(v)) == bits(std::floor(v)));
    REQUIRE(bits(math::fmod(u, v)) == bits(std::fmod(u, v)));
    REQUIRE(bits(math::fmin(u, v)) == bits(std::fmin(u, v)));
    REQUIRE(bits(math::fmax(u, v)) == bits(std::fmax(u, v)));
  }
}

TEST_CASE("math recognises nan, infinity and the sign of zero") {
  const double infinity = std::numeric_limits<double>::infinity();
  const double nan = std::numeric_limits<double>::quiet_NaN();
  CHECK(math::is_nan(nan));
  CHECK_FALSE(math::is_nan(infinity));
  CHECK(math::is_infinite(infinity));
  CHECK(math::is_infinite(-infinity));
  CHECK_FALSE(math::is_infinite(nan));
  CHECK_FALSE(math::is_infinite(1e308));
  CHECK(math::is_negative(-0.0));
  for (const bool swapped : {false, true}) {
    const double x = swapped ? 0.0 : -0.0, y = -x;
    CHECK(math::is_negative(math::fmin(x, y)));
    CHECK_FALSE(math::is_negative(math::fmax(x, y)));
    const auto u = static_cast<float>(x), v = static_cast<float>(y);
    CHECK(math::is_negative(math::fmin(u, v)));
    CHECK_FALSE(math::is_negative(math::fmax(u, v)));
  }
  CHECK(math::fmin(nan, 1.0) == 1.0);
  CHECK(math::fmin(1.0, nan) == 1.0);
  CHECK(math::fmax(nan, 1.0) == 1.0);
  CHECK(math::fmax(1.0, nan) == 1.0);
  CHECK(math::is_nan(math::fmax(nan, nan)));
  CHECK_FALSE(math::is_negative(0.0));
  CHECK(math::is_negative(-1.5));
}
