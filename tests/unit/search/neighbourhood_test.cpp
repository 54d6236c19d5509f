// SPDX-License-Identifier: Apache-2.0
#include "tensorsmith/search/neighbourhood.hpp"

#include <cstdio>
#include <set>

#include "support/catch.hpp"
#include "support/native_gpu_space.hpp"
#include "tensorsmith/sched/step_json.hpp"

namespace tensorsmith {
namespace {

SearchSpace board_space(const char* workload) {
  return test::native_gpu_space(ops::parse_workload(workload)->dag,
                                Target::from_name("a100").value());
}

}  // namespace

TEST_CASE("neighbours of a program are other programs one decision away") {
  Neighbourhood programs(board_space("gemm:256x128x64:f32"), {}, TargetKind::cuda);
  std::size_t num_placed = 0;
  for (std::uint32_t i = 0; i < 12; ++i) {
    CounterRng rng(test::seed(), 71, i);
    const auto drawn = draw_candidate(programs.space(), NativeGpuPopulation{}, rng);
    const auto placed = drawn ? programs.place(drawn->state.steps()) : std::nullopt;
    if (!placed) {
      continue;
    }
    ++num_placed;
    CHECK(placed->sketch == drawn->sketch);
    CHECK(programs.distance(*placed, *placed) == 0);
    std::set<std::string> histories = {steps_json(drawn->state.steps())};
    for (const State& state : programs.around(*placed)) {
      CHECK(histories.insert(steps_json(state.steps())).second);
      const auto other = programs.place(state.steps());
      REQUIRE(other.has_value());
      CHECK(programs.distance(*placed, *other) > 0);
    }
    CHECK(histories.size() > 8);
  }
  CHECK(num_placed > 4);
}

TEST_CASE("programs of a task are carried over to tasks with other extents") {
  const SearchSpace from = board_space("gemm:1024x384x96:f32,bias,relu");
  for (const char* workload : {"gemm:512x768x192:f32,bias,relu", "gemm:100x72x60:f32,bias,relu",
                               "gemm:1024x384x96:f32,bias,relu"}) {
    INFO(workload);
    Neighbourhood to(board_space(workload), {}, TargetKind::cuda);
    std::size_t num_drawn = 0, num_carried = 0, num_same = 0;
    for (std::uint32_t i = 0; i < 24; ++i) {
      CounterRng rng(test::seed(), 72, i);
      const auto drawn = draw_candidate(from, NativeGpuPopulation{}, rng);
      if (!drawn) {
        continue;
      }
      ++num_drawn;
      const std::vector<State> carried = to.nearest_to(drawn->state.steps());
      num_carried += carried.empty() ? 0 : 1;
      for (const State& state : carried) {
        CHECK(state.initial_dag() == to.space().initial().initial_dag());
        CHECK(state.is_concrete());
        CHECK(to.place(state.steps()).has_value());
        num_same += is_same_history(state.steps(), drawn->state.steps()) ? 1 : 0;
      }
    }
    std::printf("  %s: %zu of %zu programs carried over, %zu as they are\n", workload, num_carried,
                num_drawn, num_same);
    CHECK(2 * num_carried > num_drawn);
  }
  // A computation that is another one takes nothing over.
  Neighbourhood other(board_space("softmax:64x128"), {}, TargetKind::cuda);
  CounterRng rng(test::seed(), 73);
  const auto drawn = draw_candidate(from, NativeGpuPopulation{}, rng);
  CHECK((!drawn || other.nearest_to(drawn->state.steps()).empty()));
}

}  // namespace tensorsmith
