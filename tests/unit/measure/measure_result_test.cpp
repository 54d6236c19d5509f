#include "tensorsmith/measure/measure_result.hpp"

#include "support/catch.hpp"

using namespace tensorsmith;

namespace {

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

}  // namespace

TEST_CASE("the lowest median wins, failures never do") {
  RankingResult ranking = ranking_of({30, 0, 10, 20});
  choose_winner(ranking, 0.01);
  CHECK(ranking.winner == 2);
  CHECK_FALSE(ranking.is_tie);
  ranking = ranking_of({0, 0});
  choose_winner(ranking, 0.01);
  CHECK(ranking.winner == RankingResult::no_winner);
  ranking = ranking_of({});
  choose_winner(ranking, 0.01);
  CHECK(ranking.winner == RankingResult::no_winner);
}

TEST_CASE("inside the noise the earlier candidate keeps its place, and the tie is said") {
  RankingResult ranking = ranking_of({100, 99.8, 150});
  choose_winner(ranking, 0.005);
  CHECK(ranking.winner == 0);
  CHECK(ranking.is_tie);
  choose_winner(ranking, 0.0001);
  CHECK(ranking.winner == 1);
  CHECK_FALSE(ranking.is_tie);
}
