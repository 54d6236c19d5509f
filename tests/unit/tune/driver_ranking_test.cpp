// SPDX-License-Identifier: Apache-2.0
// requires: json
// What the driver makes of a final ranking that finds candidates wrong.
#include <algorithm>
#include <vector>

#include "support/catch.hpp"
#include "tensorsmith/te/program.hpp"
#include "tensorsmith/tune/driver.hpp"

using namespace tensorsmith;

namespace {

class ThreeStates final : public CandidateSource {
 public:
  ThreeStates() {
    te::Program p;
    const auto a = p.placeholder("A", {8});
    dag_ = p.dag({a, p.compute("B", {8}, [&](auto i) { return a(i) + 1; })});
  }
  std::vector<State> propose(std::size_t) override {
    std::vector<State> states;
    for (; next_ < 3; ++next_) {
      State state = State::initial(dag_);
      state.mutable_steps().push_back(
          PragmaStep{1, 0, "auto_unroll_max_step$" + std::to_string(next_)});
      states.push_back(std::move(state));
    }
    return states;
  }
  void observe(std::span<const TrialOutcome>) override {}

 private:
  Shared<const ComputeDag> dag_;
  int next_ = 0;
};

class EmptyBuilder final : public CandidateBuilder {
 public:
  Result<BuiltCandidate, MeasureFault> build(const State&) override {
    BuiltCandidate built;
    built.object.resize(8);
    built.entry = "kernel";
    return built;
  }
};

/// Every candidate is right when it is measured; the ranking finds the first `num_wrong` wrong and
/// times none.
class StrictRanking final : public Measurer {
 public:
  explicit StrictRanking(std::size_t num_wrong) : num_wrong_(num_wrong) {}
  Result<Done, MeasureFault> prepare(const MeasureTask&) override { return Done{}; }
  std::vector<MeasureResult> measure(std::span<const CompiledCandidate> candidates,
                                     const MeasureContext& context) override {
    std::vector<MeasureResult> results(candidates.size());
    for (std::size_t i = 0; i < results.size(); ++i) {
      results[i].status = MeasureStatus::ok;
      results[i].is_verified = true;
      results[i].min_ns = results[i].median_ns = 100 + static_cast<double>(num_measured_++);
      context.on_result(i, results[i]);
    }
    return results;
  }
  RankingResult final_ranking(std::span<const CompiledCandidate> candidates,
                              const RankingPolicy&) override {
    RankingResult ranking;
    ranking.results.resize(candidates.size());
    for (std::size_t i = 0; i < candidates.size(); ++i) {
      ranking.results[i].status =
          i < num_wrong_ ? MeasureStatus::wrong_result : MeasureStatus::worker_lost;
      ranking.results[i].message = "element 3";
    }
    return ranking;
  }
  Result<Calibration, MeasureFault> calibrate() override { return Calibration{}; }

 private:
  std::size_t num_wrong_;
  std::int64_t num_measured_ = 0;
};

DriverResult run_with(std::size_t num_wrong) {
  ThreeStates source;
  EmptyBuilder builder;
  StrictRanking measurer(num_wrong);
  DriverOptions options;
  options.budget.seconds = 0;
  options.budget.trials = 3;
  return run_driver(source, builder, measurer, nullptr, options);
}

}  // namespace

TEST_CASE("what a final ranking finds wrong is never the best") {
  const DriverResult failed = run_with(0);
  REQUIRE(failed.best.has_value());
  CHECK(failed.best->result.min_ns == 100);
  CHECK(failed.summary.message.find("the final ranking failed (element 3)") == 0);
  const DriverResult second = run_with(1);
  REQUIRE(second.best.has_value());
  CHECK(second.best->result.min_ns == 101);
  CHECK(second.summary.message.find("found a candidate wrong: element 3") != std::string::npos);
  const DriverResult none = run_with(3);
  CHECK_FALSE(none.best.has_value());
  CHECK_FALSE(none.summary.is_verified);
}
