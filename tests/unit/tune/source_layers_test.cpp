// SPDX-License-Identifier: Apache-2.0
// requires: json
// Layers around a search: no program twice, neighbours of the best at the end, other tasks'
// programs at the beginning.
#include "tune/distinct_programs.hpp"

#include <map>
#include <set>
#include <variant>

#include "support/catch.hpp"
#include "tensorsmith/sketch/grow.hpp"
#include "tune/polish.hpp"
#include "tune/prior.hpp"
#include "unit/sketch/sketch_fixtures.hpp"

using namespace tensorsmith;

namespace {

/// A program is a number; a thousand of them lower to the same hash as their last two digits.
State numbered(std::int64_t number) {
  State state = State::initial(test::matmul_dag(4, 4, 4));
  grow(state, SplitStep{2, 0, 4, {number}, true});
  return state;
}
std::int64_t number_in(const State& state) {
  return std::get<SplitStep>(state.steps().front()).lengths.front();
}
ProgramIdentity last_digits() {
  return [](const ProgramView& view) -> std::optional<ProgramHash> {
    return ProgramHash{1, static_cast<std::uint64_t>(number_in(view.state()) % 100)};
  };
}

/// Proposes numbers from a list; keeps what it is told.
struct ListedSource final : CandidateSource {
  explicit ListedSource(std::vector<std::int64_t> all) : numbers(std::move(all)) {}
  std::vector<State> propose(std::size_t n) override {
    asked.push_back(n);
    std::vector<State> states;
    while (states.size() < n && next < numbers.size()) {
      states.push_back(numbered(numbers[next++]));
    }
    return states;
  }
  void observe(std::span<const TrialOutcome> outcomes) override {
    for (const TrialOutcome& outcome : outcomes) {
      told.emplace_back(number_in(outcome.state), outcome.result.min_ns);
    }
  }
  std::vector<std::int64_t> numbers;
  std::size_t next = 0;
  std::vector<std::size_t> asked;
  std::vector<std::pair<std::int64_t, double>> told;
};

std::vector<std::int64_t> numbers_of(const std::vector<State>& states) {
  std::vector<std::int64_t> numbers;
  for (const State& state : states) {
    numbers.push_back(number_in(state));
  }
  return numbers;
}

/// Every program takes ns(number).
template <class Time>
std::vector<TrialOutcome> measured(const std::vector<State>& states, const Time& ns) {
  std::vector<TrialOutcome> outcomes;
  for (const State& state : states) {
    TrialOutcome outcome{state, {}};
    outcome.result.status = MeasureStatus::ok;
    outcome.result.min_ns = ns(number_in(state));
    outcomes.push_back(std::move(outcome));
  }
  return outcomes;
}

constexpr auto as_numbered = [](std::int64_t number) { return static_cast<double>(number); };

struct Layered {
  ListedSource* source;  ///< owned by the layers
  std::shared_ptr<KnownPrograms> known = std::make_shared<KnownPrograms>(last_digits());
  std::unique_ptr<CandidateSource> layers;

  explicit Layered(std::vector<std::int64_t> numbers) {
    auto own = std::make_unique<ListedSource>(std::move(numbers));
    source = own.get();
    layers = std::move(own);
  }
  void add_polish(double share, Callback<std::vector<State>(const State&)> neighbours) {
    layers = std::make_unique<Polish>(std::move(layers),
                                      PolishOptions{share, 1, std::move(neighbours)}, known);
  }
  void add_prior(std::vector<std::int64_t> numbers, double share = 0.5) {
    layers = std::make_unique<Prior>(
        std::move(layers),
        [numbers] {
          std::vector<State> states;
          for (std::int64_t number : numbers) {
            states.push_back(numbered(number));
          }
          return states;
        },
        share, known);
  }
  void finish() { layers = std::make_unique<DistinctPrograms>(std::move(layers), known); }
};

/// Trials of a budget in rounds of n; every number that was a trial, in order.
template <class Time>
std::vector<std::int64_t> run_layers(CandidateSource& layers, std::int64_t trials, std::size_t n,
                                     const Time& ns) {
  std::vector<std::int64_t> all;
  while (static_cast<std::int64_t>(all.size()) < trials) {
    const auto done = static_cast<std::int64_t>(all.size());
    layers.spend({static_cast<double>(done) / static_cast<double>(trials), done, trials});
    const std::vector<State> states =
        layers.propose(std::min(n, static_cast<std::size_t>(trials - done)));
    if (states.empty()) {
      break;
    }
    for (std::int64_t number : numbers_of(states)) {
      all.push_back(number);
    }
    layers.observe(measured(states, ns));
  }
  return all;
}

}  // namespace

TEST_CASE("what lowers to a known program is no trial, and its result is told") {
  Layered f({1, 2, 101, 3, 202, 4, 5, 101});
  f.finish();
  std::vector<State> states = f.layers->propose(4);
  CHECK(numbers_of(states) == std::vector<std::int64_t>{1, 2, 3});
  f.layers->observe(measured(states, as_numbered));
  CHECK(f.source->told ==
        std::vector<std::pair<std::int64_t, double>>{{1, 1}, {2, 2}, {3, 3}, {101, 1}});
  states = f.layers->propose(3);
  CHECK(numbers_of(states) == std::vector<std::int64_t>{4, 5});
  f.layers->observe(measured(states, as_numbered));
  CHECK(f.source->told[4] == std::pair<std::int64_t, double>{4, 4});
  CHECK(f.source->told[6] == std::pair<std::int64_t, double>{202, 2});
  CHECK(f.layers->propose(3).empty());  // one left, which is known
  TuneSummary summary;
  f.layers->describe(summary);
  CHECK(summary.num_equal_programs == 3);
}

TEST_CASE("programs that lowering refuses are told apart by their steps") {
  const auto known = std::make_shared<KnownPrograms>(
      [](const ProgramView&) -> std::optional<ProgramHash> { return std::nullopt; });
  CHECK(known->insert(numbered(1)));
  CHECK(known->insert(numbered(101)));
  CHECK_FALSE(known->insert(numbered(1)));
  CHECK(known->contains(numbered(101)));
  std::vector<State> waiting{numbered(303), numbered(302), numbered(302), numbered(101)};
  const std::vector<State> taken = known->take_new(waiting, 1);
  REQUIRE(taken.size() == 1);  // 101 is known, 302 stands there twice
  CHECK(taken[0].steps() == numbered(302).steps());
  CHECK(known->take_new(waiting, 5).size() == 2);
  CHECK(waiting.empty());
  CHECK_FALSE(known->contains(numbered(2)));
}

TEST_CASE("the last tenth measures the neighbours of the best, better ones first of all") {
  std::vector<std::int64_t> numbers;
  for (std::int64_t i = 50; i < 140; ++i) {
    numbers.push_back(i == 59 ? 149 : i);
  }
  Layered f(numbers);
  // Around a number are the next lower ones and itself in another form.
  f.add_polish(0.25, [](const State& state) {
    const std::int64_t number = number_in(state);
    std::vector<State> near;
    for (std::int64_t other : {number + 100, number - 1, number - 2}) {
      near.push_back(numbered(other));
    }
    return near;
  });
  f.finish();
  const auto all = run_layers(*f.layers, 40, 32, as_numbered);
  REQUIRE(all.size() == 40);
  CHECK(f.source->asked.front() == 30);  // not beyond the part that is the search's
  std::set<std::int64_t> polished(all.begin() + 30, all.end());
  // 50 was the best: 48 comes (149 was 49), then 47 and 46 of 48, and so on.
  CHECK(polished.count(49) == 0);
  for (std::int64_t number = 48; number >= 40; --number) {
    CHECK(polished.count(number) == 1);
  }
  TuneSummary summary;
  f.layers->describe(summary);
  CHECK(summary.polish.trials == 10);
  CHECK(summary.polish.before_ns == 50);
  CHECK(summary.polish.after_ns == static_cast<double>(*polished.begin()));
  CHECK(*polished.begin() < 40);
  std::set<std::int64_t> distinct;
  for (std::int64_t number : all) {
    CHECK(distinct.insert(number % 100).second);
  }
}

TEST_CASE("without neighbours the search goes on to the end") {
  Layered f({5, 6, 7, 8, 9, 10, 11, 12, 13, 14});
  f.add_polish(0.5, [](const State&) { return std::vector<State>(); });
  f.finish();
  CHECK(run_layers(*f.layers, 10, 4, as_numbered).size() == 10);
  TuneSummary summary;
  f.layers->describe(summary);
  CHECK(summary.polish.trials == 0);
  CHECK(summary.polish.before_ns == summary.polish.after_ns);
}

TEST_CASE("by seconds the last part begins with the last trial's time") {
  Layered f({5, 6, 7, 8, 9, 10});
  f.add_polish(0.1, [](const State& state) {
    return std::vector<State>(1, numbered(number_in(state) - 1));
  });
  f.finish();
  f.layers->spend({0.5, 0, 0});
  f.layers->observe(measured(f.layers->propose(2), as_numbered));
  f.layers->spend({0.89, 2, 0});
  std::vector<State> states = f.layers->propose(2);
  CHECK(numbers_of(states) == std::vector<std::int64_t>{7, 8});
  f.layers->observe(measured(states, as_numbered));
  f.layers->spend({0.95, 4, 0});
  CHECK(numbers_of(f.layers->propose(2)) == std::vector<std::int64_t>{4});
}

TEST_CASE("programs of similar tasks that are ahead are all tried, half of a batch at most") {
  Layered f({50, 51, 52, 53, 54, 55, 56, 57, 58, 59, 60});
  f.add_prior({10, 11, 12, 13, 14});
  f.finish();
  const auto all = run_layers(*f.layers, 12, 4, as_numbered);
  CHECK(all == std::vector<std::int64_t>{50, 51, 10, 11, 52, 53, 12, 13, 54, 55, 56, 14});
  TuneSummary summary;
  f.layers->describe(summary);
  CHECK(summary.prior.trials == 5);
  CHECK(summary.prior.best_ns == 10);
  CHECK(summary.prior.others_ns == 50);
  CHECK_FALSE(summary.prior.is_dropped);
}

TEST_CASE("programs of similar tasks that are behind are dropped") {
  Layered f({10, 11, 12, 13, 14, 15, 16, 17, 18, 19, 20, 21});
  f.add_prior({50, 51, 52, 53, 54, 55});
  f.finish();
  const auto all = run_layers(*f.layers, 12, 4, as_numbered);
  CHECK(all == std::vector<std::int64_t>{10, 11, 50, 51, 12, 13, 14, 15, 16, 17, 18, 19});
  TuneSummary summary;
  f.layers->describe(summary);
  CHECK(summary.prior.trials == 2);
  CHECK(summary.prior.is_dropped);
}

TEST_CASE("a batch of one is the search's own") {
  Layered f({10, 11, 12});
  f.add_prior({5});
  f.finish();
  CHECK(numbers_of(f.layers->propose(1)) == std::vector<std::int64_t>{10});
}

namespace {

Record solved_record(const char* task, std::uint64_t seed, std::int64_t length, double ns) {
  Record record;
  record.workload = record.workload_key = task;
  record.target = "t";
  record.seed = seed;
  record.steps = {SplitStep{2, 0, length * 4, {length}, true}};
  record.status = ns > 0 ? MeasureStatus::ok : MeasureStatus::crashed;
  record.min_ns = ns;
  return record;
}

}  // namespace

TEST_CASE("a run learns from what stood in the journal in front of it") {
  std::vector<Record> records = {solved_record("a", 1, 2, 50),  solved_record("a", 1, 4, 40),
                                 solved_record("a", 1, 8, 0),   solved_record("a", 1, 16, 60),
                                 solved_record("a", 1, 32, 70), solved_record("b", 2, 64, 10),
                                 solved_record("c", 3, 2, 5),   solved_record("a", 1, 128, 1)};
  records[5].target = "another";
  const Record run = solved_record("c", 3, 0, 0);
  const auto solved = solved_before(records, std::span(&run, 1));
  REQUIRE(solved.size() == 3);  // failures, other targets and what came later are left out
  CHECK(solved[0].ns == 40);
  CHECK(solved[1].ns == 50);
  CHECK(solved[2].ns == 60);
  const auto carried = carried_over(
      solved, "c",
      [](const std::vector<Step>& steps) {
        return std::vector<State>(1,
                                  numbered(std::get<SplitStep>(steps.front()).lengths.front() * 3));
      },
      2);
  // Extents of 8, 16 and 64 beside one of 4; the nearest two.
  CHECK(numbers_of(carried) == std::vector<std::int64_t>{6, 12});
  CHECK(carried_over(
            solved, "a",
            [](const std::vector<Step>&) { return std::vector<State>(1, numbered(1)); }, 2)
            .empty());
}
