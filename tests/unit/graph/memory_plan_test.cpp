// SPDX-License-Identifier: Apache-2.0
#include "tensorsmith/graph/memory_plan.hpp"

#include <algorithm>

#include "support/catch.hpp"
#include "tensorsmith/support/rng.hpp"

using namespace tensorsmith;

TEST_CASE("values that live at the same time do not overlap", "[graph]") {
  for (std::uint32_t number = 0; number < 200; ++number) {
    CounterRng rng(test::seed(), 0x6D, number);
    std::vector<graph::Lifetime> lives;
    std::int64_t sum = 0;
    for (std::uint32_t i = 0; i < 1 + rng.next_below(30); ++i) {
      const std::size_t first = rng.next_below(20);
      lives.push_back({1 + rng.next_below(1000), first, first + rng.next_below(8)});
      sum += (lives.back().bytes + 63) / 64 * 64;
    }
    const graph::Placement placed = graph::place(lives);
    std::int64_t peak = 0;  // no plan needs less
    for (std::size_t step = 0; step < 30; ++step) {
      std::int64_t bytes = 0;
      for (const graph::Lifetime& life : lives) {
        bytes += life.first <= step && step <= life.last ? (life.bytes + 63) / 64 * 64 : 0;
      }
      peak = std::max(peak, bytes);
    }
    INFO("case " << number);
    CHECK(placed.total_bytes >= peak);
    CHECK(placed.total_bytes <= sum);
    for (std::size_t i = 0; i < lives.size(); ++i) {
      CHECK(placed.offsets[i] % 64 == 0);
      CHECK(placed.offsets[i] + lives[i].bytes <= placed.total_bytes);
      for (std::size_t j = 0; j < i; ++j) {
        const bool both_live = lives[i].first <= lives[j].last && lives[j].first <= lives[i].last;
        const bool overlap = placed.offsets[i] < placed.offsets[j] + lives[j].bytes &&
                             placed.offsets[j] < placed.offsets[i] + lives[i].bytes;
        CHECK_FALSE((both_live && overlap));
      }
    }
  }
}
