// SPDX-License-Identifier: Apache-2.0
// requires: json llvm
// The whole search for a processor that is not here: lowered, and judged by the draft.
#include <algorithm>

#include "lib/tune/gpu.hpp"
#include "support/catch.hpp"
#include "tensorsmith/cost/draft_model.hpp"
#include "tensorsmith/lower/lower.hpp"
#include "tensorsmith/ops/workload.hpp"
#include "tensorsmith/sched/apply.hpp"
#include "tensorsmith/tune.hpp"

using namespace tensorsmith;

namespace {

TuneTask arm_task(const char* workload, const char* target) {
  const auto built = ops::parse_workload(workload);
  REQUIRE(built.has_value());
  return TuneTask{built->dag, *Target::from_name(target), workload, built->nominal_flop};
}

TuneOptions arm_options(std::int64_t trials) {
  TuneOptions options;
  options.budget = {0, trials};
  options.num_threads = 1;
  return options;
}

}  // namespace

TEST_CASE("programs of every kind are tuned for a processor that is not there", "[long]") {
  for (const char* target : {"sim:neoverse-n1", "sim:apple-m1"}) {
    for (const char* workload : {"gemm:96x100x64:f32", "conv2d:n=1,h=14,w=14,ci=16,co=32,k=3,p=1",
                                 "softmax:64x200", "gemm:64x64x64:i8"}) {
      INFO(target << ", " << workload);
      const TuneResult result = tune(arm_task(workload, target), arm_options(32));
      REQUIRE(result.has_best());
      CHECK(result.summary.trials == 32);
      CHECK_FALSE(result.summary.is_verified);
      const Target& used = result.task.target;
      const double cycles = draft_cycles(result.state(), used, 1);
      CHECK(result.summary.best_ns == test::Approx(1e3 * cycles / *used.clock_mhz).epsilon(0.1));
      CHECK(result.summary.curve.front().best_ns >= result.summary.curve.back().best_ns / 1.1);
      CHECK_THROWS_AS(result.kernel(), Error);
      CHECK(result.source().find("__AARCH64EL__") != std::string::npos);
    }
  }
}

TEST_CASE("twice the same search for a processor that is not there finds the same") {
  const TuneTask task = arm_task("gemm:96x100x64:f32", "sim:cortex-a72");
  const TuneResult first = tune(task, arm_options(24)), second = tune(task, arm_options(24));
  CHECK(first.state().steps() == second.state().steps());
  CHECK(first.summary.best_ns == second.summary.best_ns);
}

TEST_CASE("an instruction that found no loop is no candidate for a processor that is not there") {
  const TuneTask task = arm_task("gemm:16x16x14:u8", "sim:neoverse-n1");
  const Owned<CandidateBuilder> builder = make_drafted_builder(task.target, 1);
  // Of lengths below four there are no four products to sum up at once.
  const auto with_reduction_of = [&](std::int64_t length) {
    State tiled = State::initial(task.dag);
    const std::int32_t stage = tiled.num_stages() - 1;
    REQUIRE(!try_apply(tiled, SplitStep{stage, 1, 16, {8}, true}));
    REQUIRE(!try_apply(tiled, SplitStep{stage, 3, 14, {length}, true}));
    REQUIRE(!try_apply(tiled, ReorderStep{stage, {0, 1, 3, 4, 2}}));
    REQUIRE(!try_apply(tiled, AnnotationStep{stage, 4, Annotation::vectorize}));
    REQUIRE(!try_apply(tiled, PragmaStep{stage, 0, "tensorize$udot"}));
    return tiled;
  };
  const auto has_dot = [&](const State& tiled) {
    const auto program = lower(tiled, task.target);
    REQUIRE(program);
    return std::any_of(program->stmts.begin(), program->stmts.end(), [](const Stmt& stmt) {
      const For* loop = std::get_if<For>(&stmt);
      return loop != nullptr && loop->intrinsic != nullptr;
    });
  };
  int num_refused = 0, num_built = 0;
  for (const std::int64_t length : {2, 3, 4, 7, 8, 14}) {
    INFO(length);
    const State tiled = with_reduction_of(length);
    const auto built = builder->build(tiled);
    CHECK(built.has_value() == has_dot(tiled));
    (built ? num_built : num_refused) += 1;
    if (!built) {
      CHECK(built.error().status == MeasureStatus::instantiation_error);
    }
  }
  CHECK(num_refused > 0);
  CHECK(num_built > 0);
}
