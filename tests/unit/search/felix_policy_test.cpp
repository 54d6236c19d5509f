// SPDX-License-Identifier: Apache-2.0
#include "tensorsmith/search/felix/felix_policy.hpp"

#include <cmath>
#include <set>
#include <string>
#include <vector>

#include "support/catch.hpp"
#include "unit/search/search_fixtures.hpp"

namespace tensorsmith {
namespace {

using tensorsmith::test::Approx;
using CpuFelix = FelixPolicy<AnsorCpuPopulation>;

SearchCallbacks felix_callbacks() {
  SearchCallbacks callbacks;
  callbacks.extract = test::extents_of;
  return callbacks;
}
FelixOptions small_felix(std::uint64_t seed = 1) {
  FelixOptions options;
  options.seed = seed;
  options.num_drawn = 32;
  options.num_seeds = 3;
  options.is_trained = true;
  return options;
}
float truth_of(const State& state) { return test::ExtentModel::score(test::extents_of(state)); }

}  // namespace

TEST_CASE("a program is the rounding of its own point", "[search][felix]") {
  // A prime that no list of small primes has, too (D14).
  const SearchSpace space = test::space_of(test::matmul_dag(66, 48, 64));
  CounterRng rng(3, 0, 0, 0);
  for (std::uint32_t number = 0; number < 20; ++number) {
    const Candidate candidate = test::sample_of(space, number);
    const TilePoint tiles(space, candidate);
    REQUIRE(tiles.size() > 0);
    CHECK(tiles.rounded(tiles.start()) == candidate.state.steps());
    std::vector<double> slope(tiles.size(), 0);
    CHECK(tiles.violation(tiles.start(), slope) == Approx(0).margin(1e-9));

    std::vector<double> wild = tiles.start();
    for (double& coordinate : wild) {
      coordinate += 6 * rng.next_double() - 3;
    }
    const auto built = space.build(tiles.rounded(wild), tiles.sketch());
    REQUIRE(built.has_value());  // anything rounds to a program
    for (std::size_t c = 0; c < tiles.size(); ++c) {
      const auto up = tiles.neighbour(candidate.state.steps(), c, true);
      if (up) {
        CHECK(space.build(up->first, tiles.sketch()).has_value());
        const auto back = tiles.neighbour(up->first, c, false);
        CHECK(back.has_value());
        CHECK(up->second >= 1);
      }
    }
  }
}

TEST_CASE("the way out of the space is punished along its slope", "[search][felix]") {
  const SearchSpace space = test::space_of(test::matmul_dag(64, 48, 64));
  const TilePoint tiles(space, test::sample_of(space, 1));
  std::vector<double> point = tiles.start(), slope(tiles.size(), 0), unused(tiles.size(), 0);
  for (std::size_t c = 0; c < point.size(); ++c) {
    point[c] += c % 2 == 0 ? 2.5 : -1.5;
  }
  CHECK(tiles.violation(point, slope) > 0);
  for (std::size_t c = 0; c < point.size(); ++c) {
    std::vector<double> moved = point;
    moved[c] += 1e-5;
    const double above = tiles.violation(moved, unused);
    moved[c] -= 2e-5;
    CHECK(slope[c] == Approx((above - tiles.violation(moved, unused)) / 2e-5).margin(1e-4));
  }
}

TEST_CASE("descent proposes better programs than as many random ones", "[search][felix]") {
  // Conformance test C22, with another fixed model as the truth.
  int num_better = 0;
  for (std::uint64_t seed = 1; seed <= 10; ++seed) {
    test::ExtentModel model;
    CpuFelix policy(test::space_of(test::matmul_dag(64, 64, 64)), model, felix_callbacks(),
                    small_felix(seed));
    float best = -math::infinity, best_random = -math::infinity;
    const auto proposals = policy.propose(8);
    REQUIRE(proposals.size() == 8);
    for (const Proposal& proposal : proposals) {
      best = std::max(best, truth_of(proposal.state));
      CHECK(proposal.score == truth_of(proposal.state));  // a point keeps its own prediction
    }
    const SearchSpace space = test::space_of(test::matmul_dag(64, 64, 64));
    for (std::uint32_t number = 0; number < 200; ++number) {
      best_random = std::max(
          best_random,
          truth_of(test::sample_of(space, static_cast<std::uint32_t>(seed) * 1000 + number).state));
    }
    num_better += best >= best_random ? 1 : 0;
  }
  CHECK(num_better >= 9);
}

TEST_CASE("rounds of Felix repeat nothing and are the same on any number of threads",
          "[search][felix]") {
  std::vector<std::string> texts[2];
  for (int run = 0; run < 2; ++run) {
    test::ExtentModel model;
    SearchCallbacks callbacks = felix_callbacks();
    callbacks.parallel_for = run == 0 ? ParallelFor() : test::threads(3);
    CpuFelix policy(test::space_of(test::matmul_dag(64, 64, 64)), model, std::move(callbacks),
                    small_felix());
    for (int round = 0; round < 3; ++round) {
      std::vector<Observation> results;
      for (const Proposal& proposal : policy.propose(6)) {
        texts[run].push_back(proposal.text);
        results.push_back({proposal.state, 1.0 + truth_of(proposal.state)});
      }
      CHECK(results.size() == 6);
      policy.observe(results);
    }
    CHECK(model.num_samples == 18);
    CHECK(policy.model_rank().pairwise_accuracy() == 1);
  }
  CHECK(texts[0] == texts[1]);
  CHECK(std::set<std::string>(texts[0].begin(), texts[0].end()).size() == texts[0].size());
}

TEST_CASE("programs that may not be measured are not proposed", "[search][felix]") {
  test::ExtentModel model;
  SearchCallbacks callbacks = felix_callbacks();
  const float most =
      truth_of(test::sample_of(test::space_of(test::matmul_dag(64, 64, 64)), 5).state);
  callbacks.is_valid = [most](const ProgramView& view) { return truth_of(view.state()) <= most; };
  CpuFelix policy(test::space_of(test::matmul_dag(64, 64, 64)), model, std::move(callbacks),
                  small_felix());
  const auto proposals = policy.propose(8);
  CHECK(!proposals.empty());
  for (const Proposal& proposal : proposals) {
    CHECK(truth_of(proposal.state) <= most);
  }
}

}  // namespace tensorsmith
