// SPDX-License-Identifier: Apache-2.0
// Blocks that share the steps of all tiles out: what the search draws is right in every order of
// blocks and threads, without races, and no barrier can be left out.
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

/// Draws until so many programs share their sums out, and checks them.
void check_shared_sums(const Shared<const ComputeDag>& dag, const SearchSpace& space,
                       std::uint32_t wanted, bool takes_barriers_out) {
  const test::KnownResults known(*dag);
  std::uint32_t shared = 0, draws = 0;
  while (shared < wanted) {
    const auto state = test::draw_stream_k(space, 400, draws);
    REQUIRE(state.has_value());
    INFO(state_text(*state));
    auto program = lower(*state, test::small_board());
    REQUIRE(program.has_value());
    INFO(to_text(*program));
    REQUIRE(known.wrong_with(*program) == "");
    if (!test::shares_sums(*program)) {
      continue;
    }
    ++shared;
    std::vector<StmtId> barriers;
    if (takes_barriers_out) {
      test::find_barriers(*program, program->body, barriers);
      CHECK(!barriers.empty());
    }
    for (const StmtId id : barriers) {
      const Stmt barrier = std::exchange(program->stmts[id.value], Stmt(Seq{}));
      CHECK(known.wrong_with(*program, LoopOrder::forward) != "");
      program->stmts[id.value] = barrier;
    }
  }
}

}  // namespace

TEST_CASE("drawn programs whose blocks share the sums out: right, no races, no barrier too many",
          "[blocks]") {
  for (const char* workload : test::odd_tiles) {
    INFO(workload);
    const auto dag = ops::parse_workload(workload)->dag;
    check_shared_sums(dag, test::native_gpu_space(dag, test::small_board(), 64, 4), test::scaled(6),
                      true);
  }
}

TEST_CASE("the same with tensor cores", "[blocks]") {
  std::vector<const char*> workloads = {"gemm:80x80x96:i8,tb", "gemm:96x80x64:f16"};
  workloads.resize(test::scaled(2));
  for (const char* workload : workloads) {
    INFO(workload);
    const auto dag = ops::parse_workload(workload)->dag;
    check_shared_sums(dag, test::native_gpu_space(dag, test::small_board(), 128), test::scaled(2),
                      false);
  }
}

}  // namespace tensorsmith
