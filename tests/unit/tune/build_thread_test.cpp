// SPDX-License-Identifier: Apache-2.0
// requires: json
// Candidates of one round are built side by side and come out in their order.
#include "lib/tune/build_thread.hpp"

#include <atomic>

#include "support/catch.hpp"
#include "support/endless_builder.hpp"
#include "tensorsmith/ops/gemm.hpp"
#include "tensorsmith/sched/apply.hpp"

using namespace tensorsmith;

namespace {

/// The first of every four takes longest; each object says how many steps its state has.
class SlowBuilder final : public CandidateBuilder {
 public:
  explicit SlowBuilder(std::int32_t threads) : threads_(threads) {}
  std::int32_t num_threads() const override { return threads_; }
  Result<BuiltCandidate, MeasureFault> build(const State& state) override {
    const int now = ++running_;
    int most = most_running_;
    while (now > most && !most_running_.compare_exchange_weak(most, now)) {
    }
    std::this_thread::sleep_for(std::chrono::milliseconds(started_++ % 4 == 0 ? 8 : 1));
    --running_;
    if (state.steps().size() % 5 == 4) {
      return fail(MeasureFault{MeasureStatus::compile_error, "every fifth"});
    }
    BuiltCandidate built;
    built.shared_bytes = static_cast<std::int64_t>(state.steps().size());
    return built;
  }
  int most_running() const { return most_running_; }

 private:
  std::int32_t threads_;
  std::atomic<int> running_{0}, most_running_{0}, started_{0};
};

/// States of 0, 1, 2 ... steps.
std::vector<State> states_of_steps(std::int32_t count) {
  ops::GemmParams params;
  params.m = params.n = params.k = 64;
  const ops::Workload gemm = ops::gemm(params);
  std::vector<State> states;
  for (std::int32_t i = 0; i < count; ++i) {
    State state = states.empty() ? State::initial(gemm.dag) : states.back();
    if (i > 0) {
      REQUIRE_FALSE(try_apply(state, SplitStep{2, 0, 64, {1}, true}));
    }
    states.push_back(std::move(state));
  }
  return states;
}

}  // namespace

TEST_CASE("built in order by one thread and by four", "[threads]") {
  const std::vector<State> states = states_of_steps(40);
  for (const std::int32_t threads : {1, 4}) {
    SlowBuilder builder(threads);
    std::vector<std::int64_t> order;
    {
      BuilderPlace place(builder);
      BuildThread building(place, states, 5);
      while (order.size() < states.size()) {
        bool is_late = false;
        for (const BuildOutcome& built : building.take(8, 0.05, is_late)) {
          order.push_back(built ? built->shared_bytes : -1);
        }
      }
      CHECK(building.build_seconds() > 0);
    }
    for (std::size_t i = 0; i < order.size(); ++i) {
      CHECK(order[i] == (i % 5 == 4 ? -1 : static_cast<std::int64_t>(i)));
    }
    CHECK(builder.most_running() <= threads);
  }
  // A round that is left early ends without building the rest.
  SlowBuilder builder(4);
  bool is_late = false;
  BuilderPlace place(builder);
  BuildThread building(place, states, 5);
  CHECK(building.take(1, 5, is_late).size() == 1);
}

TEST_CASE("a build that does not come to its end is left behind, and the others go on",
          "[threads]") {
  const std::vector<State> states = states_of_steps(12);
  for (const std::int32_t threads : {1, 3}) {
    test::Gate gate;
    test::EndlessBuilder builder(gate.share(), threads, [](const State& state) {
      return state.steps().size() == 4 || state.steps().size() == 7;
    });
    BuilderPlace place(builder);
    std::vector<std::int64_t> order;
    BuildThread building(place, states, 1);
    while (order.size() < states.size()) {
      bool is_late = false;
      for (const BuildOutcome& built : building.take(8, 0.05, is_late)) {
        CHECK((built || built.error().status == MeasureStatus::build_timeout));
        order.push_back(built ? built->shared_bytes : -1);
      }
    }
    for (std::size_t i = 0; i < order.size(); ++i) {
      CHECK(order[i] == (i == 4 || i == 7 ? -1 : static_cast<std::int64_t>(i)));
    }
    CHECK(ThreadsLeftBehind::instance().count() == 2);
    gate.open();
    while (ThreadsLeftBehind::instance().count() > 0) {
      std::this_thread::yield();
    }
  }
}

TEST_CASE("nobody waits for a build that is wanted no more", "[threads]") {
  const std::vector<State> states = states_of_steps(12);
  test::Gate gate;
  {
    test::EndlessBuilder builder(gate.share(), 2,
                                 [](const State& state) { return state.steps().size() > 3; });
    BuilderPlace place(builder);
    BuildThread building(place, states, 1000);
    bool is_late = false;
    std::size_t num_taken = 0;
    while (num_taken < 4) {
      num_taken += building.take(8, 0.05, is_late).size();
    }
    gate.await(2);
  }  // builder and states are gone, and the builds go on
  CHECK(ThreadsLeftBehind::instance().count() == 2);
  gate.open();
  while (ThreadsLeftBehind::instance().count() > 0) {
    std::this_thread::yield();
  }
}
