// SPDX-License-Identifier: Apache-2.0
#include "tensorsmith/support/small_vector.hpp"

#include "support/catch.hpp"

#include "tensorsmith/support/rng.hpp"

using namespace tensorsmith;

namespace {
using Small = SmallVector<int, 3>;
}  // namespace

TEST_CASE("a small vector behaves as a vector on random operations") {
  CounterRng rng(test::seed(), 1);
  for (int trial = 0; trial < 200; ++trial) {
    Small small;
    std::vector<int> model;
    for (int step = 0; step < 40; ++step) {
      const int value = static_cast<int>(rng.next_below(100));
      const auto size = static_cast<std::uint32_t>(model.size());
      switch (rng.next_below(7)) {
      case 0:
      case 1:
        small.push_back(value);
        model.push_back(value);
        break;
      case 2: {
        const std::uint32_t at = rng.next_below(size + 1);
        small.insert(at, value);
        model.insert(model.begin() + at, value);
        break;
      }
      case 3:
        if (size > 0) {
          const std::uint32_t at = rng.next_below(size);
          small.erase(at);
          model.erase(model.begin() + at);
        }
        break;
      case 4: {
        const std::uint32_t count = rng.next_below(8);
        small.resize(count, value);
        model.resize(count, value);
        break;
      }
      case 5: {
        Small copy = small;
        Small moved = std::move(copy);
        small = moved;
        break;
      }
      default:
        if (size > 0) {
          small.pop_back();
          model.pop_back();
        }
        break;
      }
      CAPTURE(test::seed(), trial, step);
      REQUIRE(std::vector<int>(small.begin(), small.end()) == model);
    }
  }
}

TEST_CASE("copies are independent, moved-from vectors are empty") {
  for (std::size_t count : {2U, 9U}) {
    Small a(count, 5);
    Small b = a;
    b[0] = 7;
    CHECK(a[0] == 5);
    Small c = std::move(b);
    CHECK(c.size() == count);
    CHECK(b.empty());
    b = a;
    CHECK(b == a);
    b = std::move(c);
    CHECK(b[0] == 7);
  }
}

TEST_CASE("comparison and bounds") {
  CHECK(Small{1, 2} == Small{1, 2});
  CHECK(Small{1, 2} < Small{1, 3});
  CHECK(Small{1} < Small{1, 0});
  Small a{1, 2};
  CHECK(a.front() == 1);
  CHECK(a.back() == 2);
  CHECK_THROWS_AS(a[2], test::AssertionFailed);
  a.clear();
  CHECK_THROWS_AS(a.pop_back(), test::AssertionFailed);
}
