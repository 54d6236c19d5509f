// SPDX-License-Identifier: Apache-2.0
#include "tensorsmith/search/batch_order.hpp"

#include "support/catch.hpp"
#include "tensorsmith/support/rng.hpp"

namespace tensorsmith {
namespace {

double numbers_apart(int a, int b) { return a < b ? b - a : a - b; }

}  // namespace

TEST_CASE("a batch is spread without giving up the ranking") {
  std::vector<int> list = {10, 11, 12, 20, 21, 30, 13};
  spread_out(list, 3, 5, numbers_apart);
  CHECK(list == std::vector<int>{10, 20, 30, 11, 12, 21, 13});
  list = {10, 11, 12, 20, 21, 30, 13};
  spread_out(list, 2, 5, numbers_apart);
  CHECK(list == std::vector<int>{10, 20, 11, 12, 21, 30, 13});
  spread_out(list, 5, 0, numbers_apart);
  CHECK(list == std::vector<int>{10, 20, 11, 12, 21, 30, 13});
}

TEST_CASE("random batches are spread as defined, the best first") {
  for (std::uint32_t i = 0; i < 200; ++i) {
    CounterRng rng(11, 0, i);
    std::vector<int> list(1 + rng.next_below(30));
    for (int& item : list) {
      item = static_cast<int>(rng.next_below(50)) * 100 + static_cast<int>(&item - list.data());
    }
    const std::vector<int> before = list;
    const double least = rng.next_below(1500);
    const std::size_t wanted = rng.next_below(12);
    spread_out(list, wanted, least, numbers_apart);
    REQUIRE(list.size() == before.size());
    CHECK((wanted == 0 || list.front() == before.front()));
    std::vector<int> expected, others;  // by definition
    for (int item : before) {
      const bool is_apart = expected.size() < wanted && all_items(expected, [&](int other) {
                              return numbers_apart(item, other) >= least;
                            });
      (is_apart ? expected : others).push_back(item);
    }
    expected.insert(expected.end(), others.begin(), others.end());
    CHECK(list == expected);
  }
}

TEST_CASE("those that hold come first, and no more are asked than it takes") {
  std::vector<int> list = {1, 2, 3, 4, 5, 6, 7};
  int num_asked = 0;
  put_first(list, 2, [&](int item) {
    ++num_asked;
    return item % 2 == 0;
  });
  CHECK(list == std::vector<int>{2, 4, 5, 6, 7, 1, 3});
  CHECK(num_asked == 4);
  put_first(list, 7, [](int) { return false; });
  CHECK(list == std::vector<int>{2, 4, 5, 6, 7, 1, 3});
}

}  // namespace tensorsmith
