// SPDX-License-Identifier: Apache-2.0
// Blocks in groups of tiles: what the search draws is right in every order of blocks and threads,
// without races, and no barrier can be left out; groups of a history need not divide.
#include <utility>
#include <vector>

#include "support/catch.hpp"
#include "support/gpu_programs.hpp"
#include "support/native_gpu_space.hpp"
#include "tensorsmith/ir/print.hpp"
#include "tensorsmith/lower/lower.hpp"
#include "tensorsmith/sched/print_state.hpp"

namespace tensorsmith {
namespace {

void check_group(const State& state, const test::KnownResults& known, bool takes_barriers_out) {
  INFO(state_text(state));
  auto program = lower(state, test::small_board());
  REQUIRE(program.has_value());
  INFO(to_text(*program));
  REQUIRE(known.wrong_with(*program) == "");
  std::vector<StmtId> barriers;
  if (takes_barriers_out) {
    test::find_barriers(*program, program->body, barriers);
  }
  for (const StmtId id : barriers) {
    const Stmt barrier = std::exchange(program->stmts[id.value], Stmt(Seq{}));
    CHECK(known.wrong_with(*program, LoopOrder::forward) != "");
    program->stmts[id.value] = barrier;
  }
}

}  // namespace

TEST_CASE("drawn programs with groups of blocks: right, no races, no barrier too many",
          "[blocks]") {
  for (const char* workload : test::many_tiles) {
    INFO(workload);
    const auto dag = ops::parse_workload(workload)->dag;
    const SearchSpace space = test::native_gpu_space(dag, test::small_board(), 64, 4);
    const test::KnownResults known(*dag);
    std::uint32_t draws = 0;
    for (std::uint32_t i = 0; i < test::scaled(6); ++i) {
      const auto state = test::draw_grouped(space, 2000, draws);
      REQUIRE(state.has_value());
      check_group(*state, known, true);
    }
  }
}

TEST_CASE("groups of any length are right", "[blocks]") {
  const auto dag = ops::parse_workload("gemm:36x44x24:i32,bias,relu")->dag;
  const SearchSpace space = test::native_gpu_space(dag, test::small_board(), 64, 4);
  const test::KnownResults known(*dag);
  std::uint32_t draws = 0, num_uneven = 0;
  for (const std::int64_t length : {2, 3, 4, 5, 7, 100}) {
    const auto drawn = test::draw_grouped(space, 2000, draws);
    REQUIRE(drawn.has_value());
    std::vector<Step> steps = drawn->steps();
    const std::uint32_t sketch = space.sketch_of(steps);
    REQUIRE(sketch < space.sketches().size());
    for (const BlockLoops& loops : block_loops(steps, space.sketches()[sketch].steps().size())) {
      if (loops.is_grouped) {
        SplitStep& split = std::get<SplitStep>(steps[loops.first_step()]);
        split.lengths = {length};
        num_uneven += split.extent % length != 0 ? 1 : 0;
      }
    }
    const auto built = space.build(steps, sketch);
    REQUIRE(built.has_value());
    check_group(built->state, known, false);
  }
  CHECK(num_uneven > 2);
}

}  // namespace tensorsmith
