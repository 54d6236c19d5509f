// SPDX-License-Identifier: Apache-2.0
#include "tensorsmith/search/guard.hpp"

#include <vector>

#include "support/catch.hpp"
#include "tensorsmith/support/rng.hpp"

namespace tensorsmith {
namespace {

/// Batches of eight and one; `factor`: of the speed of those with the advice.
Guard after_batches(double factor, int num_batches, CounterRng& rng) {
  Guard guard("advice");
  for (int batch = 0; batch < num_batches; ++batch) {
    std::vector<double> many, one;
    for (int i = 0; i < 8; ++i) {
      many.push_back((guard.is_trusted() ? factor : 1) * (1 + rng.next_double()));
    }
    one.push_back((guard.is_trusted() ? 1 : factor) * (1 + rng.next_double()));
    guard.is_trusted() ? guard.compare(many, one) : guard.compare(one, many);
  }
  return guard;
}

}  // namespace

TEST_CASE("harmful advice is given up, good advice is not", "[search]") {
  CounterRng rng(test::seed(), 0x67756172U);
  for (int round = 0; round < 30; ++round) {
    const Guard harmful = after_batches(0.4, 6, rng), good = after_batches(2.5, 30, rng);
    CHECK(!harmful.is_trusted());
    CHECK(harmful.report().times_given_up == 1);
    CHECK(harmful.report().advantage == -1);
    CHECK(good.is_trusted());
    CHECK(good.report().times_given_up == 0);
    CHECK(good.report().advantage == 1);
    CHECK(good.report().num_with == 240);
    CHECK(good.report().num_without == 30);
  }
}

TEST_CASE("advice that has become good is taken again", "[search]") {
  Guard guard("advice");
  const std::vector<double> slow(8, 1.0), fast(8, 2.0), one_slow(1, 1.0), one_fast(1, 2.0);
  for (int batch = 0; batch < 20; ++batch) {
    guard.is_trusted() ? guard.compare(slow, one_fast) : guard.compare(one_slow, fast);
  }
  CHECK(!guard.is_trusted());
  int until = 0;
  while (!guard.is_trusted() && until < 20) {
    guard.compare(one_fast, slow);
    ++until;
  }
  CHECK(guard.is_trusted());
  CHECK(until > 1);  // not after a single batch
  CHECK(until < 12);
}

TEST_CASE("a guard says nothing of batches with one side, and of programs that are alike",
          "[search]") {
  Guard guard("advice");
  const std::vector<double> some(5, 1.0), none;
  guard.compare(some, none);
  guard.compare(none, some);
  CHECK(guard.report().advantage == 0);
  CHECK(guard.report().num_with == 5);
  CHECK(guard.report().num_without == 5);
  for (int batch = 0; batch < 50; ++batch) {
    guard.compare(some, std::vector<double>{1.0});
  }
  CHECK(guard.is_trusted());
  CHECK(guard.report().advantage == 0);
}

TEST_CASE("advice that makes no difference is seldom given up", "[search]") {
  CounterRng rng(test::seed(), 0x6775U);
  std::uint32_t times = 0;
  for (int round = 0; round < 50; ++round) {
    times += after_batches(1, 20, rng).report().times_given_up;
  }
  CHECK(times < 100);  // of 1,000 batches
}

}  // namespace tensorsmith
