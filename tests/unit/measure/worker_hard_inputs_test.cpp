// SPDX-License-Identifier: Apache-2.0
// requires: llvm
// Workers ask who may become the best for hard inputs too.
#include "measure/session_parts.hpp"

#include "support/catch.hpp"
#include "tensorsmith/measure/hard_fill.hpp"
#include "worker_fixture.hpp"

using namespace tensorsmith;
using namespace tensorsmith::test;

namespace {

constexpr std::int64_t num_hard = 1000;

/// affine_task with hard inputs and their results.
MeasureTask hard_affine_task() {
  MeasureTask task = affine_task(num_hard);
  task.arguments[0].fill.row_elements = 10;
  task.arguments[0].fill.num_rows = 100;
  task.arguments[0].fill.is_main = true;
  for (const HardDraw draw : {HardDraw::finite, HardDraw::special}) {
    std::vector<std::byte> input(num_hard * sizeof(float));
    fill_hard_input(task, 0, draw, {}, input);
    HardReference hard;
    hard.draw = draw;
    hard.values.resize(num_hard * sizeof(float));
    hard.bounds.resize(num_hard * sizeof(double));
    for (std::size_t i = 0; i < num_hard; ++i) {
      float x = 0;
      std::memcpy(&x, input.data() + i * sizeof(float), sizeof(float));
      const float y = static_cast<float>(2.0 * static_cast<double>(x) + 1.0);
      const double bound = std::isfinite(y) ? 1e-6 * std::abs(static_cast<double>(y)) : 0;
      std::memcpy(hard.values.data() + i * sizeof(float), &y, sizeof(float));
      std::memcpy(hard.bounds.data() + i * sizeof(double), &bound, sizeof(double));
    }
    task.arguments[1].hard.push_back(std::move(hard));
  }
  return task;
}

/// Right for what kernels are timed with.
const std::vector<std::byte>& kernels() {
  static const std::vector<std::byte> object = compile_c(
      "KERNEL(good) { " + loop(num_hard, "B[i] = 2 * A[i] + 1;") + " }\n" + "KERNEL(clamps) { " +
      loop(num_hard, "float x = A[i] > 1000 ? 1000 : A[i]; B[i] = 2 * x + 1;") + " }\n" +
      "KERNEL(drops_nan) { " + loop(num_hard, "B[i] = A[i] != A[i] ? 0 : 2 * A[i] + 1;") + " }\n" +
      "KERNEL(hangs) { " +
      loop(num_hard, "while (A[i] > 1000) { __asm__ volatile(\"\"); } B[i] = 2 * "
                     "A[i] + 1;") +
      " }\n");
  return object;
}

MeasureResult measured(Measurer& measurer, const char* entry, double best_ns) {
  const CompiledCandidate candidate = candidate_of(kernels(), entry);
  MeasureContext context;
  context.best_ns = best_ns;
  context.racing.first_timeout_ns = 300'000'000;
  const auto results = measurer.measure(std::span(&candidate, 1), context);
  REQUIRE(results.size() == 1);
  return results[0];
}

}  // namespace

TEST_CASE("who may become the best must be right for hard inputs") {
  TENSORSMITH_NEEDS(!kernels().empty(), "no C compiler");
  WorkerMeasurer measurer(worker_options());
  REQUIRE(measurer.prepare(hard_affine_task()).has_value());
  const MeasureResult clamps = measured(measurer, "clamps", 0);
  CHECK(name_of(clamps.status) == "wrong_result");
  CHECK(clamps.message.find("with hard inputs (finite): output 'B'") == 0);
  CHECK_FALSE(clamps.is_verified);
  const MeasureResult drops = measured(measurer, "drops_nan", 0);
  CHECK(name_of(drops.status) == "wrong_result");
  CHECK(drops.message.find("with hard inputs (infinities and NaN)") == 0);
  CHECK(name_of(measured(measurer, "hangs", 0).status) == "run_timeout");
  // The inputs are the task's own again.
  for (int repeat = 0; repeat < 2; ++repeat) {
    const MeasureResult good = measured(measurer, "good", 0);
    CAPTURE(good.message);
    CHECK(good.is_ok());
    CHECK(good.is_verified);
    CHECK(good.is_hard_verified);
  }
}

TEST_CASE("who loses a race is not asked, and a final ranking asks who would win it") {
  TENSORSMITH_NEEDS(!kernels().empty(), "no C compiler");
  WorkerMeasurer measurer(worker_options());
  REQUIRE(measurer.prepare(hard_affine_task()).has_value());
  constexpr double unreachable_ns = 0.5;
  const MeasureResult lost = measured(measurer, "clamps", unreachable_ns);
  CHECK(lost.is_ok());
  CHECK_FALSE(lost.is_hard_verified);
  // The complexities order them, whatever their times: within the tie all are alike.
  std::vector<CompiledCandidate> candidates;
  for (const char* entry : {"clamps", "drops_nan", "good", "clamps"}) {
    candidates.push_back(candidate_of(kernels(), entry));
    candidates.back().complexity = static_cast<std::int64_t>(candidates.size());
  }
  RankingPolicy policy;
  policy.budget_ns = 20'000'000;
  policy.tie_fraction = 1e6;
  RankingResult ranking = measurer.final_ranking(candidates, policy);
  REQUIRE(ranking.results.size() == 4);
  CHECK(ranking.winner == 2);
  CHECK(name_of(ranking.results[0].status) == "wrong_result");
  CHECK(ranking.results[0].message.find("with hard inputs (finite)") == 0);
  CHECK(name_of(ranking.results[1].status) == "wrong_result");
  CHECK(ranking.results[2].is_hard_verified);
  CHECK(ranking.results[3].is_ok());  // it could not win, so that nobody asked
  CHECK_FALSE(ranking.results[3].is_hard_verified);
  candidates[0].is_hard_verified = true;  // whoever says so was asked before
  ranking = measurer.final_ranking(candidates, policy);
  CHECK(ranking.winner == 0);
  CHECK_FALSE(ranking.results[1].is_hard_verified);
}

TEST_CASE("a ranking takes on candidates while it has time to tell them apart") {
  RankingPolicy policy;
  const auto started = [&policy](std::int64_t each_ns) {
    RankingClock clock(policy, 1000);
    int count = 0;
    while (count < 100 && clock.has_time(1000 + count * each_ns)) {
      ++count;
    }
    return count;
  };
  CHECK(started(1'000'000'000) == 100);  // it may take as long as it wants
  policy.max_wall_ns = 1'000'000'000;
  // Starts, as much again for the rounds, and two more starts for the winner's hard inputs.
  CHECK(started(100'000'000) == 4);
  CHECK(started(10'000'000) == 49);
  CHECK(started(2'000'000'000) == 1);
}

TEST_CASE("references of hard inputs that do not fit the task are refused") {
  MeasureTask task = hard_affine_task();
  task.arguments[1].hard[0].rows = {10, 7, 0, 1, 7};
  CHECK(check_task(task).find("hard inputs") != std::string::npos);
  WorkerMeasurer measurer(worker_options());
  MeasureTask shorter = hard_affine_task();
  shorter.arguments[1].hard[1].bounds.pop_back();
  const auto prepared = measurer.prepare(shorter);
  REQUIRE_FALSE(prepared.has_value());
  CHECK(prepared.error().message.find("hard references of argument 'B'") != std::string::npos);
}
