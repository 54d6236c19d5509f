// SPDX-License-Identifier: Apache-2.0
#include "tensorsmith/cost/estimate_quality.hpp"

#include "support/catch.hpp"
#include "tensorsmith/support/rng.hpp"

using namespace tensorsmith;

TEST_CASE("rank correlation: order alone counts, ties share their rank") {
  const std::vector<double> a = {1, 2, 3, 4}, squares = {1, 4, 9, 16}, down = {9, 5, 2, 1};
  CHECK(rank_correlation(a, squares) == test::Approx(1));
  CHECK(rank_correlation(a, down) == test::Approx(-1));
  const std::vector<double> constant = {3, 3, 3, 3};
  CHECK(rank_correlation(a, constant) == 0);
  CHECK(rank_correlation({}, {}) == 0);
  // Ranks 0, 1.5, 1.5, 3 against 0, 1, 2, 3: 4.5 / sqrt(4.5 * 5).
  const std::vector<double> tied = {1, 2, 2, 7};
  CHECK(rank_correlation(tied, a) == test::Approx(4.5 / std::sqrt(4.5 * 5)));
}

TEST_CASE("rank correlation is the same under any growing function, and symmetric") {
  CounterRng rng(test::seed());
  for (int round = 0; round < 20; ++round) {
    std::vector<double> a, b, grown;
    for (int i = 0; i < 50; ++i) {
      a.push_back(rng.next_double());
      b.push_back(a.back() + rng.next_double());
      grown.push_back(std::exp(3 * b.back()));
    }
    const double r = rank_correlation(a, b);
    CHECK(r == test::Approx(rank_correlation(b, a)));
    CHECK(r == test::Approx(rank_correlation(a, grown)));
    CHECK(r > 0);
    CHECK(r < 1);
  }
}

TEST_CASE("estimate quality: factors as geometric mean and quartiles") {
  const std::vector<double> measured = {1, 2, 4, 8, 16}, estimates = {2, 4, 8, 4, 8};
  const EstimateQuality q = estimate_quality(estimates, measured);
  CHECK(q.count == 5);
  CHECK(q.mean_factor == test::Approx(std::exp2(1.0 / 5)));
  CHECK(q.lower_quartile == 0.5);
  CHECK(q.median == 2);
  CHECK(q.upper_quartile == 2);
  CHECK(estimate_quality({}, {}).count == 0);
}
