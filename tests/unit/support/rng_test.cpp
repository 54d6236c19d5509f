// SPDX-License-Identifier: Apache-2.0
#include "tensorsmith/support/rng.hpp"

#include "support/catch.hpp"

#include <algorithm>

using namespace tensorsmith;

TEST_CASE("the generator is Philox4x32-10") {
  // Random123 1.14, examples/kat_vectors: "philox4x32 10" with counter and key of zeros.
  CounterRng rng(0);
  CHECK(rng.next_u32() == 0x6627e8d5U);
  CHECK(rng.next_u32() == 0xe169c58dU);
  CHECK(rng.next_u32() == 0xbc57ac4cU);
  CHECK(rng.next_u32() == 0x9b00dbd8U);
}

TEST_CASE("draws depend on the key only") {
  const auto first = [](std::uint64_t seed, std::uint32_t task, std::uint32_t round,
                        std::uint32_t candidate) {
    return CounterRng(seed, task, round, candidate).next_u64();
  };
  CHECK(first(1, 2, 3, 4) == first(1, 2, 3, 4));
  CHECK(first(1, 2, 3, 4) != first(2, 2, 3, 4));
  CHECK(first(1, 2, 3, 4) != first(1, 3, 3, 4));
  CHECK(first(1, 2, 3, 4) != first(1, 2, 4, 4));
  CHECK(first(1, 2, 3, 4) != first(1, 2, 3, 5));
  CHECK(first(1, 0, 0, 0) != first(std::uint64_t{1} << 32, 0, 0, 0));
}

TEST_CASE("ranges and shuffles") {
  CounterRng rng(test::seed());
  std::array<int, 5> counts{};
  for (int n = 0; n < 5000; ++n) {
    ++counts[rng.next_below(5)];
    const double d = rng.next_double();
    REQUIRE(d >= 0.0);
    REQUIRE(d < 1.0);
  }
  for (int count : counts) {
    CHECK(count > 800);
    CHECK(count < 1200);
  }
  std::vector<int> items = {1, 2, 3, 4, 5, 6, 7, 8};
  const std::vector<int> before = items;
  rng.shuffle(items);
  CHECK(std::is_permutation(items.begin(), items.end(), before.begin()));
  CHECK_THROWS_AS(rng.next_below(0), test::AssertionFailed);
}
