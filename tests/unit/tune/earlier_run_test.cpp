// SPDX-License-Identifier: Apache-2.0
// requires: json
#include "tune/earlier_run.hpp"

#include <memory>

#include "support/catch.hpp"
#include "tensorsmith/record/journal.hpp"

using namespace tensorsmith;

namespace {

Record trial_of(std::uint64_t seed, std::int32_t length, double ns, double seconds) {
  Record record;
  record.workload = record.workload_key = "test";
  record.seed = seed;
  record.steps = {SplitStep{2, 0, 64, {length}, true}};
  record.status = MeasureStatus::ok;
  record.min_ns = record.median_ns = ns;
  record.seconds = seconds;
  return record;
}

std::uint64_t hash_of(std::int32_t length) { return hash_steps(trial_of(1, length, 1, 0).steps); }

}  // namespace

TEST_CASE("the clock of a run stands while an earlier one is replayed") {
  auto steady = std::make_shared<double>(100);
  RunClock clock([steady] { return *steady; }, 90);
  CHECK(clock.now() == 10);
  clock.stand();
  CHECK(clock.now() == 0);
  clock.move_to(3);
  clock.move_to(2);  // never back
  *steady = 150;
  CHECK(clock.now() == 3);
  clock.run();
  CHECK(clock.now() == 3);
  *steady = 151;
  CHECK(clock.now() == 4);
  // A trial of the earlier run that comes after a new one: what was spent on it counts, once.
  clock.move_to(3.5);
  CHECK(clock.now() == 4);
  clock.move_to(9);
  *steady = 152;
  CHECK(clock.now() == 10);
  clock.stand();  // it has run
  *steady = 153;
  CHECK(clock.now() == 11);
}

TEST_CASE("trials of the same run are known, of several the last one") {
  EarlierRun earlier(
      {trial_of(1, 2, 50, 1), trial_of(2, 4, 40, 2), trial_of(1, 8, 30, 3), trial_of(1, 2, 20, 4)});
  const KnownTrials known = earlier.trials_like(trial_of(1, 0, 0, 0));
  REQUIRE(known.size() == 2);
  CHECK(known.at(hash_of(2)).result.min_ns == 20);
  CHECK(known.at(hash_of(2)).seconds == 4);
  CHECK(known.at(hash_of(8)).result.min_ns == 30);
  CHECK(known.at(hash_of(8)).result.is_ok());
  CHECK(earlier.problem("j").find("2 of the 2 trials of this run in \"j\" were not proposed "
                                  "again") == 0);
  earlier.take(known.at(hash_of(2)));
  CHECK(earlier.problem("j").find("1 of the 2 trials") == 0);
  (void)earlier.trials_like(trial_of(1, 0, 0, 0));  // a second task of that name
  CHECK(earlier.problem("j").find("1 of the 2 trials") == 0);
  earlier.take(known.at(hash_of(8)));
  CHECK(earlier.problem("j").empty());

  EarlierRun others({trial_of(2, 4, 40, 2)});
  CHECK(others.trials_like(trial_of(1, 0, 0, 0)).empty());
  CHECK(others.problem("j").find("there was no run to go on with: \"j\" holds no trial") == 0);
  CHECK(EarlierRun(std::vector<Record>()).problem("j").find("there was no run") == 0);
  CHECK(EarlierRun().problem("j").empty());
}

TEST_CASE("a run on another processor of the same name is another run") {
  Record one = trial_of(1, 2, 50, 1);
  one.cpu = "A CPU";
  Record other = one;
  CHECK(is_of_same_run(one, other));
  other.machine = "0123456789abcdef";
  CHECK(is_of_same_run(one, other));  // older records do not say
  one.machine = "fedcba9876543210";
  CHECK_FALSE(is_of_same_run(one, other));
  one.machine = other.machine;
  CHECK(is_of_same_run(one, other));
}
