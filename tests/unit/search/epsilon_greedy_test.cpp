// SPDX-License-Identifier: Apache-2.0
#include "tensorsmith/search/epsilon_greedy.hpp"

#include <set>

#include "support/catch.hpp"
#include "unit/search/search_fixtures.hpp"

namespace tensorsmith {
namespace {

std::vector<Individual> individuals(const std::string& prefix, int count) {
  const State state = State::initial(test::matmul_dag(2, 2, 2));
  std::vector<Individual> list;
  for (int i = 0; i < count; ++i) {
    list.push_back(Individual{Candidate{state, 0, nullptr}, prefix + std::to_string(i), 0.0F});
  }
  return list;
}

std::vector<Picked> pick(int num_best, int num_random_states, std::size_t n, std::size_t random) {
  std::set<std::string> taken;
  return pick_epsilon_greedy(individuals("best", num_best),
                             individuals("random", num_random_states), n, random,
                             [&](const Individual& one) { return taken.insert(one.text).second; });
}

}  // namespace

TEST_CASE("conformance 11.7: 64 programs, 61 by score, then 3 at random") {
  ExplorationShare share(0.05);
  const std::size_t random = share.next(64);
  CHECK(random == 3);
  const std::vector<Picked> picked = pick(128, 9, 64, random);
  REQUIRE(picked.size() == 64);
  for (std::size_t i = 0; i < 64; ++i) {
    CHECK(picked[i].is_random == (i >= 61));
  }
}

TEST_CASE("conformance 11.7: 64 a round, 9 random states drawn, the best 128 kept") {
  ExplorationShare share(0.05, false);
  const RoundSizes sizes(64, share.next(64));
  CHECK(sizes.num_good == 61);
  CHECK(sizes.num_random == 3);
  CHECK(sizes.num_random_drawn == 9);
  CHECK(sizes.num_kept == 128);
  CHECK(RoundSizes(2, 5).num_good == 0);
}

TEST_CASE("small batches explore as well, some rounds later") {
  ExplorationShare share(0.05);
  std::size_t total = 0;
  for (int round = 0; round < 20; ++round) {
    total += share.next(8);
  }
  CHECK((total == 7 || total == 8));  // 160 * 0.05, but for rounding
}

TEST_CASE("the reference cuts off: 64 explores with 3 each time, 8 never") {
  ExplorationShare share(0.05, false);
  for (int round = 0; round < 20; ++round) {
    CHECK(share.next(8) == 0);
    CHECK(share.next(64) == 3);
  }
}

TEST_CASE("either list stands in for the other, and both may end") {
  CHECK(pick(2, 10, 5, 1).size() == 5);
  CHECK(pick(10, 0, 5, 3).size() == 5);
  CHECK(pick(2, 1, 5, 1).size() == 3);
  CHECK(pick(0, 0, 5, 1).empty());
}

TEST_CASE("a program is picked once") {
  std::set<std::string> taken = {"best0"};
  const auto claim = [&](const Individual& one) { return taken.insert(one.text).second; };
  const auto picked =
      pick_epsilon_greedy(individuals("best", 3), individuals("best", 3), 6, 2, claim);
  CHECK(picked.size() == 2);
}

}  // namespace tensorsmith
