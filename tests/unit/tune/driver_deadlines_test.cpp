// SPDX-License-Identifier: Apache-2.0
// requires: json
// A run ends with its budget, whatever its builder does. That these tests end is what they show.
#include "support/catch.hpp"
#include "support/endless_builder.hpp"
#include "tensorsmith/measure/simulated.hpp"
#include "tensorsmith/te/program.hpp"
#include "tensorsmith/tune/driver.hpp"
#include "tune/left_behind.hpp"

using namespace tensorsmith;

namespace {

/// States of 0, 1, 2 ... pragmas, without an end.
class GrowingSource final : public CandidateSource {
 public:
  GrowingSource() {
    te::Program p;
    const auto a = p.placeholder("A", {8});
    const auto b = p.compute("B", {8}, [&](auto i) { return a(i) + 1.0; });
    dag_ = p.dag({a, b});
  }
  std::vector<State> propose(std::size_t n) override {
    std::vector<State> states;
    for (; n > 0; --n, ++next_) {
      State state = State::initial(dag_);
      for (std::size_t i = 0; i < next_; ++i) {
        state.mutable_steps().push_back(PragmaStep{1, 0, "auto_unroll_max_step$0"});
      }
      states.push_back(std::move(state));
    }
    return states;
  }
  void observe(std::span<const TrialOutcome>) override {}

 private:
  Shared<const ComputeDag> dag_;
  std::size_t next_ = 0;
};

SimulatedMeasurer even_measurer() {
  return SimulatedMeasurer([](const CompiledCandidate&) { return 1e5; }, SimulatedDevice{});
}

struct LeftBehind {
  ~LeftBehind() {
    while (ThreadsLeftBehind::instance().count() > 0) {
      std::this_thread::yield();
    }
  }
};

DriverResult run_endless(std::size_t first_endless, double seconds, double limit) {
  const LeftBehind wait_for_them;
  test::Gate gate;
  GrowingSource source;
  test::EndlessBuilder builder(
      gate.share(), 1, [&](const State& state) { return state.steps().size() >= first_endless; });
  SimulatedMeasurer measurer = even_measurer();
  DriverOptions options;
  options.budget.seconds = seconds;
  options.build_limit_seconds = limit;
  options.ranking_seconds = 0.01;
  const double begin = steady_seconds();
  options.clock = [begin] { return steady_seconds() - begin; };
  return run_driver(source, builder, measurer, nullptr, options);
}

}  // namespace

TEST_CASE("a build that is running when the budget ends is not waited for", "[threads]") {
  const DriverResult result = run_endless(5, 1, 1000);
  REQUIRE(result.best);
  CHECK(result.summary.trials == 5);
  CHECK(result.summary.statuses[static_cast<std::size_t>(MeasureStatus::ok)] == 5);
}

TEST_CASE("a first build that does not end is given up at its limit", "[threads]") {
  const DriverResult result = run_endless(0, 0.1, 0.3);
  CHECK_FALSE(result.best);
  CHECK(result.summary.trials >= 1);
  CHECK(result.summary.statuses[static_cast<std::size_t>(MeasureStatus::build_timeout)] ==
        result.summary.trials);
  CHECK(result.summary.first_failure.find("building took") != std::string::npos);
}
