// SPDX-License-Identifier: Apache-2.0
// requires: json llvm mlp
// The policy "felix" in whole runs: on a simulated board and on this machine, in both spaces.
#include <string>

#include "support/catch.hpp"
#include "tensorsmith/ops/workload.hpp"
#include "tensorsmith/tune.hpp"

namespace tensorsmith {
namespace {

/// Without optimisation, half of them, in as many rounds: a network is trained between them.
constexpr std::int64_t num_trials = test::scaled(16) == 16 ? 16 : 8;

TuneTask felix_task(const char* workload, const Target& target) {
  const auto built = ops::parse_workload(workload);
  REQUIRE(built.has_value());
  return TuneTask{built->dag, target, workload, built->nominal_flop};
}

TuneOptions felix_run(const char* space) {
  TuneOptions options;
  options.policy = "felix";
  options.space = space;
  options.cost_model = "felix-mlp";
  options.budget = {0, num_trials};
  options.round_size = num_trials / 2;
  options.num_threads = 1;
  options.seed = 5;
  return options;
}

}  // namespace

TEST_CASE("a search by slopes on a board that is not there") {
  for (const char* space : {"ansor", "native"}) {
    INFO(space);
    const TuneResult result =
        tune(felix_task("gemm:66x128x64:f32", *Target::from_name("sim:a100")), felix_run(space));
    REQUIRE(result.has_best());
    CHECK(result.summary.trials == num_trials);
    CHECK(result.summary.statuses[static_cast<std::size_t>(MeasureStatus::ok)] == num_trials);
    CHECK(result.summary.curve.front().best_ns >= result.summary.curve.back().best_ns / 1.1);
  }
}

TEST_CASE("a search by slopes on this machine", "[long]") {
  for (const char* space : {"ansor", "native"}) {
    INFO(space);
    const TuneResult result =
        tune(felix_task("gemm:64x48x22:f32", host_target()), felix_run(space));
    REQUIRE(result.has_best());
    CHECK(result.summary.trials == num_trials);
    CHECK(result.summary.is_verified);
  }
}

}  // namespace tensorsmith
