// SPDX-License-Identifier: Apache-2.0
#include "tensorsmith/support/growing_table.hpp"

#include <atomic>
#include <thread>
#include <vector>

#include "support/catch.hpp"
#include "tensorsmith/support/hash.hpp"

namespace tensorsmith {
namespace {

// Of equal hashes, of hashes that share their first bits, and of mixed ones.
constexpr std::uint64_t (*hashes[])(std::uint64_t) = {
    [](std::uint64_t) -> std::uint64_t { return 7; },
    [](std::uint64_t item) -> std::uint64_t { return item << 60; }, hash_mix};

}  // namespace

TEST_CASE("items are made once and stay") {
  for (const auto hash : hashes) {
    GrowingTable<int> table;
    int num_made = 0;
    const auto get = [&](int wanted) -> const int& {
      return table.find_or_add(
          hash(static_cast<std::uint64_t>(wanted)), [&](int item) { return item == wanted; },
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
    for (int i = 0; i < 300; ++i) {
      CHECK(get(i) == i);
    }
    CHECK(&get(3) == &first);
    CHECK(num_made == 300);
    CHECK(table.size() == 300);
  }
}

TEST_CASE("threads that miss the same item at once get one") {
  constexpr int num_threads = 4, num_items = 200;
  for (const auto hash : hashes) {
    GrowingTable<int> table;
    std::vector<std::vector<const int*>> got(num_threads);
    std::atomic<int> num_ready = 0;
    std::vector<std::thread> threads;
    for (int t = 0; t < num_threads; ++t) {
      threads.emplace_back([&, t] {
        for (++num_ready; num_ready < num_threads;) {
        }
        for (int i = 0; i < num_items; ++i) {
          got[static_cast<std::size_t>(t)].push_back(&table.find_or_add(
              hash(static_cast<std::uint64_t>(i)), [&](int item) { return item == i; },
              [&] { return i; }));
        }
      });
    }
    for (std::thread& thread : threads) {
      thread.join();
    }
    CHECK(table.size() == num_items);
    for (const auto& items : got) {
      CHECK(items == got[0]);
    }
  }
}

}  // namespace tensorsmith
