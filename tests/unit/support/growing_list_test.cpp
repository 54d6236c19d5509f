// SPDX-License-Identifier: Apache-2.0
#include "tensorsmith/support/growing_list.hpp"

#include <atomic>
#include <thread>
#include <vector>

#include "support/catch.hpp"

using namespace tensorsmith;

TEST_CASE("items are made once and stay") {
  GrowingList<int> list;
  int num_made = 0;
  const auto get = [&](int wanted) -> const int& {
    return list.find_or_add([&](int item) { return item == wanted; },
                            [&] {
                              ++num_made;
                              return wanted;
                            });
  };
  const int& first = get(3);
  CHECK(get(5) == 5);
  CHECK(&get(3) == &first);
  CHECK(first == 3);
  CHECK(num_made == 2);
  CHECK(list.size() == 2);
}

TEST_CASE("threads that miss the same item at once get one") {
  constexpr int num_threads = 4, num_items = 200;
  GrowingList<int> list;
  std::vector<std::vector<const int*>> got(num_threads);
  std::atomic<int> num_ready = 0;
  std::vector<std::thread> threads;
  for (int t = 0; t < num_threads; ++t) {
    threads.emplace_back([&, t] {
      for (++num_ready; num_ready < num_threads;) {
      }
      for (int i = 0; i < num_items; ++i) {
        got[static_cast<std::size_t>(t)].push_back(
            &list.find_or_add([&](int item) { return item == i; }, [&] { return i; }));
      }
    });
  }
  for (std::thread& thread : threads) {
    thread.join();
  }
  CHECK(list.size() == num_items);
  for (const auto& items : got) {
    CHECK(items == got[0]);
  }
}
