// SPDX-License-Identifier: Apache-2.0
#include "tensorsmith/support/assert.hpp"

#include "support/catch.hpp"

#include "tensorsmith/support/id.hpp"
#include "tensorsmith/support/overloaded.hpp"

using namespace tensorsmith;

TEST_CASE("a failed assertion reaches the handler with its text") {
  bool was_reached = false;
  try {
    TENSORSMITH_ASSERT(1 + 1 == 3, "arithmetic");
  } catch (const test::AssertionFailed& failure) {
    was_reached = true;
    CHECK(failure.condition == "1 + 1 == 3");
    CHECK(failure.message == "arithmetic");
  }
  CHECK(was_reached);
  CHECK_NOTHROW([] { TENSORSMITH_ASSERT(true, "nothing"); }());
}

TEST_CASE("without a handler it is an error that a caller can survive") {
  const AssertHandler handler = std::exchange(assert_handler(), nullptr);
  CHECK_THROWS_WITH([] { TENSORSMITH_ASSERT(2 > 3, "order"); }(),
                    Catch::Matchers::Contains("internal error") &&
                        Catch::Matchers::Contains("order (2 > 3)"));
  CHECK_THROWS_AS([] { TENSORSMITH_ASSERT(2 > 3, "order"); }(), InternalError);
  assert_handler() = handler;
}

TEST_CASE("ids start invalid and are ordered") {
  using CatId = Id<struct CatTag>;
  CHECK(!CatId{}.valid());
  CHECK(CatId{3}.valid());
  CHECK(CatId{3} < CatId{4});
  CHECK(CatId{3} == CatId{3});
}

TEST_CASE("overloaded picks the function of the type") {
  const Overloaded pick{[](int) { return 1; }, [](double) { return 2; }};
  CHECK(std::visit(pick, std::variant<int, double>(0.5)) == 2);
  CHECK(std::visit(pick, std::variant<int, double>(7)) == 1);
}
