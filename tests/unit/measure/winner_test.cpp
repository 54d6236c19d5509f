// SPDX-License-Identifier: Apache-2.0
#include "tensorsmith/measure/winner.hpp"

#include "support/catch.hpp"

using namespace tensorsmith;

namespace {

/// Without samples; 0: failed.
RankingResult ranking_of(const std::vector<double>& medians) {
  RankingResult ranking;
  for (const double median : medians) {
    MeasureResult result;
    result.status = median > 0 ? MeasureStatus::ok : MeasureStatus::wrong_result;
    result.median_ns = median;
    ranking.results.push_back(result);
  }
  return ranking;
}

/// Round r takes time * (1 + drift) of all candidates, and `own` per mille more of this one.
MeasureResult drifting(double time, const std::vector<double>& own) {
  MeasureResult result;
  result.status = MeasureStatus::ok;
  for (std::size_t r = 0; r < own.size(); ++r) {
    const double drift = 0.1 * static_cast<double>(r % 5);
    result.samples_ns.push_back(time * (1 + drift) * (1 + own[r] / 1000));
  }
  result.median_ns = median_of(result.samples_ns);
  return result;
}

}  // namespace

TEST_CASE("the lowest median wins, failures never do") {
  RankingResult ranking = ranking_of({30, 0, 10, 20});
  choose_winner(ranking, {});
  CHECK(ranking.winner == 2);
  CHECK(ranking.num_ties == 0);
  ranking = ranking_of({0, 0});
  choose_winner(ranking, {});
  CHECK(ranking.winner == RankingResult::no_winner);
  ranking = ranking_of({});
  choose_winner(ranking, {});
  CHECK(ranking.winner == RankingResult::no_winner);
}

TEST_CASE("among equals the simplest wins, then the first") {
  RankingResult ranking = ranking_of({100, 99.8, 150, 99.9});
  choose_winner(ranking, {});
  CHECK(ranking.winner == 0);
  CHECK(ranking.num_ties == 2);
  choose_winner(ranking, {}, std::vector<std::int64_t>{7, 9, 1, 5});
  CHECK(ranking.winner == 3);
  RankingPolicy strict;
  strict.tie_fraction = 0.0001;
  choose_winner(ranking, strict, std::vector<std::int64_t>{7, 9, 1, 5});
  CHECK(ranking.winner == 1);
  CHECK(ranking.num_ties == 0);
}

TEST_CASE("rounds are compared with each other, so drift hides no difference") {
  const std::vector<double> even(20, 0.0);
  std::vector<double> uneven;
  for (int r = 0; r < 20; ++r) {
    uneven.push_back(r % 2 == 0 ? 30 : -10);
  }
  RankingResult ranking;
  // 1 % slower in every single round, in a drift of 40 %.
  ranking.results = {drifting(101, even), drifting(100, even)};
  choose_winner(ranking, {}, std::vector<std::int64_t>{1, 2});
  CHECK(ranking.winner == 1);
  CHECK(ranking.num_ties == 0);
  // 1 % slower, now and then.
  ranking.results = {drifting(100, uneven), drifting(100, even)};
  choose_winner(ranking, {}, std::vector<std::int64_t>{1, 2});
  CHECK(ranking.winner == 0);
  CHECK(ranking.num_ties == 1);
  CHECK(ranking.interval.low_ns <= ranking.results[0].median_ns);
  CHECK(ranking.interval.high_ns >= ranking.results[0].median_ns);
}

TEST_CASE("what would cost more than the most that is given away is no tie") {
  std::vector<double> wild;
  for (int r = 0; r < 20; ++r) {
    wild.push_back(r % 2 == 0 ? 200 : -100);
  }
  RankingResult ranking;
  ranking.results = {drifting(100, wild), drifting(100, std::vector<double>(20, 0.0))};
  REQUIRE(ranking.results[0].median_ns > 1.02 * ranking.results[1].median_ns);
  choose_winner(ranking, {}, std::vector<std::int64_t>{1, 2});
  CHECK(ranking.winner == 1);
}

TEST_CASE("the interval of a median holds it and narrows with the samples") {
  std::vector<double> samples;
  for (int i = 1; i <= 5; ++i) {
    samples.push_back(i);
  }
  CHECK(median_interval(samples) == TimeInterval{});
  samples.push_back(6);
  CHECK(median_interval(samples) == TimeInterval{1, 6});
  for (int i = 7; i <= 100; ++i) {
    samples.push_back(i);
  }
  // n = 100: the 40th and the 61st of the ordered samples (tables of the binomial distribution).
  CHECK(median_interval(samples) == TimeInterval{40, 61});
}
