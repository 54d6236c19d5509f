// SPDX-License-Identifier: Apache-2.0
#include "tensorsmith/measure/race.hpp"

#include "support/catch.hpp"

using namespace tensorsmith;

namespace {

/// Runs a race over calls of constant length; returns the number of calls, warm-ups included.
int run(Race& race, double ns) {
  int calls = 0;
  while (race.wants_warm_up()) {
    race.add_warm_up(ns);
    ++calls;
  }
  while (race.wants_sample()) {
    race.add_sample(ns);
    ++calls;
  }
  return calls;
}

}  // namespace

TEST_CASE("a candidate leaves the race as early as its time allows") {
  const RacingPolicy policy;
  const double best = 1e5;
  struct Row {
    double factor;
    int calls;
    std::size_t samples;
    RaceStage stage;
  };
  const Row rows[] = {
      {5.0, 1, 1, RaceStage::warm_up},  // the first warm-up call is its time
      {2.0, 3, 1, RaceStage::single},   // two warm-ups and one timed call
      {1.3, 6, 4, RaceStage::triple},   // and three more
      {1.05, 22, 20, RaceStage::full}, {0.5, 22, 20, RaceStage::full},
  };
  for (const Row& row : rows) {
    CAPTURE(row.factor);
    Race race(policy, best);
    CHECK(run(race, row.factor * best) == row.calls);
    CHECK(race.samples().size() == row.samples);
    CHECK(race.stage() == row.stage);
    CHECK(race.min_ns() == row.factor * best);
  }
}

TEST_CASE("without a best, everybody runs to the end of calls or of time") {
  Race brief({}, 0);
  CHECK(run(brief, 1e5) == 22);
  Race lengthy({}, 0);  // the call that warms up counts; 4 samples of 5 ms are past the 10 ms
  CHECK(run(lengthy, 5e6) == 4);
  CHECK(lengthy.samples().size() == 4);
  CHECK(lengthy.stage() == RaceStage::full);
  Race between({}, 0);
  CHECK(run(between, 1e6) == 12);
}

TEST_CASE("in instant mode a first call that takes long is the only one") {
  Race lengthy(RacingPolicy::instant(), 0);
  CHECK(run(lengthy, 6e6) == 1);
  CHECK(lengthy.stage() == RaceStage::single);
  CHECK(lengthy.median_ns() == 6e6);
  Race brief(RacingPolicy::instant(), 0);
  CHECK(run(brief, 4e6) == 2);
}

TEST_CASE("calls that take long are few: the ranking times the best ones again") {
  Race survivor({}, 8e7);
  CHECK(run(survivor, 8e7) == 2);
  CHECK(survivor.stage() == RaceStage::full);
  Race slower({}, 8e7);
  CHECK(run(slower, 1e8) == 2);
  CHECK(slower.stage() == RaceStage::single);
  Race much_slower({}, 8e7);
  CHECK(run(much_slower, 1.3e8) == 1);
  Race a_bit_slower({}, 8e7);
  CHECK(run(a_bit_slower, 9e7) == 2);  // timed twice: one slow call may be the machine's doing
  CHECK(a_bit_slower.stage() == RaceStage::single);
  for (const auto& [first, second] : {std::pair(7.5e7, 1.1e8), std::pair(1.1e8, 7.5e7)}) {
    Race disturbed({}, 8e7);
    disturbed.add_warm_up(first);
    disturbed.add_sample(second);
    CHECK_FALSE(disturbed.wants_sample());
    CHECK(disturbed.min_ns() == 7.5e7);
    CHECK(disturbed.stage() == RaceStage::full);
  }
  RacingPolicy longer;
  longer.full_budget_ns = 200'000'000;
  Race patient(longer, 0);
  CHECK(run(patient, 2.5e7) == 8);  // 200 ms
  for (const double ns : {1.2e7, 2.5e7}) {
    Race medium({}, 0);
    CHECK(run(medium, ns) == 2);
    CHECK(medium.stage() == RaceStage::full);
  }
}

TEST_CASE("the minimum of the triple decides, not the last call") {
  Race race({}, 1e5);
  race.add_warm_up(1e5);
  race.add_warm_up(1e5);
  race.add_sample(1.4e5);
  race.add_sample(1.0e5);
  race.add_sample(9e5);
  race.add_sample(9e5);
  CHECK(race.wants_sample());
  CHECK(race.min_ns() == 1.0e5);
}

TEST_CASE("short kernels are timed in groups of calls") {
  Race race({}, 0);
  CHECK(race.calls_per_sample() == 1);  // nothing known yet
  race.add_warm_up(1000);
  CHECK(race.calls_per_sample() == 21);
  race.add_warm_up(20'000);
  CHECK(race.calls_per_sample() == 1);
  race.add_sample(0.1);
  CHECK(race.calls_per_sample() <= 100'000);
}

TEST_CASE("conformance 11.7: 3 calls in 3 ms are too few for 100 ms, 101 are not") {
  Race race(RacingPolicy::reference(), 1.0);
  REQUIRE(race.wants_warm_up());
  race.add_warm_up(5e6);
  REQUIRE(!race.wants_warm_up());
  REQUIRE(race.wants_sample());  // although it is far from the best
  CHECK(race.calls_per_sample() == 3);
  race.add_sample(1e6);  // a millisecond per call
  CHECK(race.calls_per_sample() == 101);
  REQUIRE(race.wants_sample());
  CHECK(race.samples().empty());
  race.add_sample(0.98e6);                // 98.98 ms: a little too short once more
  CHECK(race.calls_per_sample() == 163);  // 101 * 1.618, more than 100 / 0.98 + 1
  race.add_sample(1e6);
  CHECK(!race.wants_sample());
  CHECK(race.samples() == std::vector<double>{1e6});
  CHECK(race.stage() == RaceStage::full);
}

TEST_CASE("degenerate policies end") {
  RacingPolicy policy;
  policy.warm_up_calls = 0;
  policy.triple_calls = 0;
  policy.full_calls = 0;
  Race race(policy, 0);
  CHECK(run(race, 10) == 1);
  policy.full_budget_ns = 0;
  policy.triple_calls = 3;
  Race other(policy, 0);
  CHECK(run(other, 10) == 4);
}

TEST_CASE("median") {
  CHECK(median_of({}) == 0);
  CHECK(median_of({3}) == 3);
  CHECK(median_of({3, 1, 2}) == 2);
  CHECK(median_of({4, 1, 3, 2}) == 2.5);
}
