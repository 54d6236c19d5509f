// SPDX-License-Identifier: Apache-2.0
#include "tensorsmith/support/result.hpp"

#include "support/catch.hpp"

#include <memory>

using namespace tensorsmith;

namespace {
enum class Reason { odd, negative };
Result<int, Reason> half(int n) {
  if (n < 0) {
    return fail(Reason::negative);
  }
  if (n % 2 != 0) {
    return fail(Reason::odd);
  }
  return n / 2;
}
}  // namespace

TEST_CASE("a result holds a value or a reason") {
  REQUIRE(half(4));
  CHECK(*half(4) == 2);
  CHECK(!half(3));
  CHECK(half(3).error() == Reason::odd);
  CHECK(half(-1).error() == Reason::negative);
}

TEST_CASE("asking for what is not there is an internal error") {
  CHECK_THROWS_AS(half(3).value(), test::AssertionFailed);
  CHECK_THROWS_AS(half(4).error(), test::AssertionFailed);
}

TEST_CASE("value and error may be of one type, and values may be movable only") {
  const Result<int, int> good = 3, bad = fail(3);
  CHECK(good);
  CHECK(!bad);
  Result<std::unique_ptr<int>, Reason> pointer = std::make_unique<int>(5);
  const std::unique_ptr<int> taken = std::move(pointer).value();
  CHECK(*taken == 5);
}
