// SPDX-License-Identifier: Apache-2.0
#include "tune/serial_twins.hpp"

#include <variant>

#include "support/catch.hpp"
#include "tensorsmith/sketch/grow.hpp"
#include "unit/sketch/sketch_fixtures.hpp"

namespace tensorsmith {
namespace {

bool is_parallel(const State& state) {
  for (const Step& step : state.steps()) {
    const AnnotationStep* annotation = std::get_if<AnnotationStep>(&step);
    if (annotation != nullptr && annotation->annotation == Annotation::parallel) {
      return true;
    }
  }
  return false;
}

/// Parallel programs, all different, `count` in all; keeps what it is told.
class Parallel final : public CandidateSource {
 public:
  Parallel(std::int64_t count, std::vector<std::size_t>& asked, std::size_t& observed)
      : left_(count), asked_(asked), observed_(observed) {}

  std::vector<State> propose(std::size_t n) override {
    asked_.push_back(n);
    std::vector<State> states;
    for (; n > 0 && left_ > 0; --n, --left_) {
      State state = origin_.restart();
      grow(state, SplitStep{2, 0, 64, {left_}, true});
      grow(state, AnnotationStep{2, 0, Annotation::parallel});
      states.push_back(std::move(state));
    }
    return states;
  }
  void observe(std::span<const TrialOutcome> outcomes) override { observed_ += outcomes.size(); }

 private:
  State origin_ = State::initial(test::matmul_dag(64, 8, 8));
  std::int64_t left_;
  std::vector<std::size_t>& asked_;
  std::size_t& observed_;
};

struct Fixture {
  std::vector<std::size_t> asked;
  std::size_t observed = 0;
  SerialTwins twins;

  explicit Fixture(std::int64_t count, Callback<double(const State&)> draft = {})
      : twins(std::make_unique<Parallel>(count, asked, observed), std::move(draft)) {}

  /// Every program takes its `ns`.
  template <class Time>
  void observe(const std::vector<State>& states, const Time& ns) {
    std::vector<TrialOutcome> outcomes;
    for (const State& state : states) {
      TrialOutcome outcome{state, {}};
      outcome.result.status = MeasureStatus::ok;
      outcome.result.min_ns = ns(state);
      outcomes.push_back(std::move(outcome));
    }
    twins.observe(outcomes);
  }
};

std::size_t num_serial(const std::vector<State>& states) {
  std::size_t count = 0;
  for (const State& state : states) {
    count += is_parallel(state) ? 0 : 1;
  }
  return count;
}

}  // namespace

TEST_CASE("every batch has a serial program: of its first one, then of the best") {
  Fixture f(20);
  const std::vector<State> first = f.twins.propose(4);
  CHECK(f.asked == std::vector<std::size_t>{3});
  REQUIRE(first.size() == 4);
  CHECK(num_serial(first) == 1);
  f.observe(first, [](const State& state) { return is_parallel(state) ? 100.0 : 200.0; });
  CHECK(f.observed == 4);

  const std::vector<State> second = f.twins.propose(4);  // the best has its twin already
  CHECK(second.size() == 4);
  CHECK(num_serial(second) == 0);
  f.observe(second, [&](const State& state) {
    return hash_steps(state.steps()) == hash_steps(second[2].steps()) ? 50.0 : 150.0;
  });
  const std::vector<State> third = f.twins.propose(4);
  REQUIRE(third.size() == 4);
  CHECK(num_serial(third) == 1);
  CHECK(third[1].steps()[0] == second[2].steps()[0]);
  f.observe(third, [](const State& state) { return is_parallel(state) ? 90.0 : 10.0; });
  CHECK(num_serial(f.twins.propose(4)) == 0);  // the best is serial itself
}

TEST_CASE("twins do not outlive the space") {
  Fixture f(1);
  const std::vector<State> first = f.twins.propose(8);
  CHECK(first.size() == 2);
  f.observe(first, [](const State&) { return 1.0; });
  CHECK(f.twins.propose(8).empty());
}

TEST_CASE("of one program alone the shorter draft decides, the other one comes next") {
  for (bool is_serial_better : {true, false}) {
    Fixture f(5, [=](const State& state) {
      return is_parallel(state) || is_serial_better ? 10000 : 14000;
    });
    const std::vector<State> first = f.twins.propose(1);
    REQUIRE(first.size() == 1);
    CHECK(num_serial(first) == (is_serial_better ? 1 : 0));
    const std::vector<State> second = f.twins.propose(1);
    REQUIRE(second.size() == 1);
    CHECK(num_serial(second) == 0);
    CHECK((second[0].steps()[0] == first[0].steps()[0]) == is_serial_better);
  }
}

}  // namespace tensorsmith
