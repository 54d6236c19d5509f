// SPDX-License-Identifier: Apache-2.0
#include "tensorsmith/support/algorithm.hpp"

#include "support/catch.hpp"

#include <algorithm>
#include <numeric>
#include <string>
#include <utility>
#include <vector>

#include "tensorsmith/support/factorize.hpp"
#include "tensorsmith/support/rng.hpp"
#include "tensorsmith/support/small_vector.hpp"
#include "tensorsmith/support/sort.hpp"

using namespace tensorsmith;

TEST_CASE("sort_items orders as std::stable_sort, at every length and with many equal items") {
  CounterRng rng(test::seed(), 22);
  for (std::uint32_t size = 0; size < 200; ++size) {
    CAPTURE(test::seed(), size);
    std::vector<std::pair<int, std::string>> items;
    for (std::uint32_t i = 0; i < size; ++i) {
      items.emplace_back(static_cast<int>(rng.next_below(size / 3 + 1)), std::to_string(i));
    }
    auto expected = items;
    const auto less = [](const auto& a, const auto& b) { return a.first < b.first; };
    std::stable_sort(expected.begin(), expected.end(), less);
    sort_items(items, less);
    REQUIRE(items == expected);
    rng.shuffle(items);
    std::sort(expected.begin(), expected.end());
    sort_items(items);
    REQUIRE(items == expected);
  }
}

TEST_CASE("searching a list finds the first item or none") {
  std::vector<int> items{3, 5, 4, 5};
  const auto is_five = [](int item) { return item == 5; };
  REQUIRE(find_item(items, is_five) == &items[1]);
  *find_item(items, is_five) = 6;
  CHECK(items[1] == 6);
  CHECK(find_item(items, [](int item) { return item > 6; }) == nullptr);
  CHECK(has_item(items, 4));
  CHECK_FALSE(has_item(items, 7));
  CHECK(any_item(items, is_five));
  CHECK_FALSE(all_items(items, is_five));
  CHECK(all_items(std::vector<int>{}, is_five));
  CHECK_FALSE(any_item(std::vector<int>{}, is_five));
  CHECK(count_items(items, [](int item) { return item > 3; }) == 3);
}

TEST_CASE("lists of different types are equal if their items are") {
  const std::vector<int> items{1, 2};
  CHECK(equal_items(items, SmallVector<int, 2>{1, 2}));
  CHECK_FALSE(equal_items(items, SmallVector<int, 2>{1, 3}));
  CHECK_FALSE(equal_items(items, SmallVector<int, 2>{1}));
}

TEST_CASE("smaller, larger and gcd agree with the standard library") {
  for (std::int64_t a = -12; a <= 12; ++a) {
    for (std::int64_t b = -12; b <= 12; ++b) {
      CAPTURE(a, b);
      REQUIRE(smaller_of(a, b) == std::min(a, b));
      REQUIRE(larger_of(a, b) == std::max(a, b));
      REQUIRE(gcd(a, b) == std::gcd(a, b));
    }
  }
}
