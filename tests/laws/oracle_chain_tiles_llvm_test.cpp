// SPDX-License-Identifier: Apache-2.0
// requires: llvm
// The oracle chain for tile registers: eval(dag) == eval(lower(state)) == compiled code, on tiles
// in software.
#include "backend/codegen_fixture.hpp"
#include "support/dag_results.hpp"
#include "support/emulated_tiles.hpp"
#include "support/full_count.hpp"
#include "support/tile_draws.hpp"
#include "tensorsmith/ir/verify.hpp"
#include "tensorsmith/lower/lower.hpp"
#include "tensorsmith/ops/workload.hpp"
#include "tensorsmith/sched/print_state.hpp"
#include "tensorsmith/sketch/generate.hpp"
#include "tensorsmith/sketch/native_rules.hpp"

using namespace tensorsmith;
using namespace tensorsmith::test;

namespace {

SearchSpace tile_space(const Shared<const ComputeDag>& dag, const Target& target, bool packs_all) {
  SketchOptions options = native_cpu_sketch_options();
  options.hardware = hardware_params(target);
  options.hardware.num_cores = 2;
  options.core_cache_bytes = packs_all ? 0 : 1 << 20;
  options.intrinsics = intrinsics_of(target);
  SpaceOptions native = native_space_options();
  native.hardware = options.hardware;
  native.intrinsics = options.intrinsics;
  return SearchSpace(generate_sketches(dag, native_cpu_rules(), options), native);
}

/// Whether the program has tiles, after it gave what the workload's formulas say.
bool check_program(const LoopProgram& program, const ComputeDag& dag, const Target& target) {
  CHECK(is_valid(verify(program)));
  const std::vector<HostArray> inputs = whole_number_inputs(dag);
  const auto expected = eval_dag(dag, inputs);
  REQUIRE(expected);
  std::vector<HostArray> arguments = inputs;
  const TensorInfo& result = dag.tensor(dag.arguments().back());
  arguments.emplace_back(result.dtype,
                         std::vector<std::int64_t>(result.shape.begin(), result.shape.end()));
  std::vector<HostArray> interpreted = arguments;
  REQUIRE(eval(program, interpreted));
  CHECK(interpreted.back() == (*expected)[0]);
  const auto compiled = run_compiled(program, arguments, target, 2);
  REQUIRE(compiled);
  CHECK(compiled->back() == (*expected)[0]);
  return any_item(program.stmts, [](const Stmt& stmt) {
    const For* loop = std::get_if<For>(&stmt);
    return loop != nullptr && loop->intrinsic != nullptr && loop->intrinsic->has_tiles();
  });
}

}  // namespace

// Whole numbers: bf16 holds them, and their sums are exact in f32 in any order.
TEST_CASE("oracle chain on tile registers: exact, tails, batches and epilogues included") {
  const Target target = with_emulated_tiles();
  const char* const workloads[] = {
      "gemm:32x64x64:bf16",
      "gemm:48x32x128:i8",
      "bmm:2x32x32x96:bf16,tb",
      "gemm:33x34x70:bf16",
      "gemm:64x32x130:u8,weights=i8",
      "gemm:32x64x64:bf16,bias,relu",
      "conv2d:h=4,w=32,ci=64,co=32,k=1,layout=free,dtype=i8,weights=i8"};
  const std::uint32_t num_workloads = std::size(workloads);
  const std::uint32_t per_space = 3 + scaled(14), count = 2 * num_workloads * per_space;
  std::uint32_t num_drawn = 0, num_checked = 0, num_with_tiles = 0;
  reset_tile_counts();
  for (std::uint32_t w = 0; w < num_workloads; ++w) {
    const Shared<const ComputeDag> dag = ops::parse_workload(workloads[w])->dag;
    for (const bool packs_all : {false, true}) {
      const SearchSpace space = tile_space(dag, target, packs_all);
      const bool is_last = w + 1 == num_workloads && packs_all;
      const std::uint32_t wanted = num_with_tiles + 1;  // at least one of each space
      const auto lacks = [&] {
        return num_with_tiles < wanted || (is_last && tile_counts().dot <= count);
      };
      for (std::uint32_t i = 0; goes_on(i, per_space, lacks()); ++i) {
        ++num_drawn;
        CounterRng rng(seed(), 93, w, i);
        const std::optional<Candidate> drawn = draw_with_tiles(space, target, rng);
        if (!drawn || has_nested_parallel(drawn->state)) {
          continue;
        }
        INFO(workloads[w] << ", seed " << seed() << ", number " << i << "\n"
                          << state_text(drawn->state));
        const auto program = lower(drawn->state, target);
        if (program) {
          ++num_checked;
          num_with_tiles += check_program(*program, *dag, target) ? 1 : 0;
        }
      }
    }
  }
  CHECK(num_checked > num_drawn * 0.4);
  CHECK(num_with_tiles >= 2 * num_workloads);
  CHECK(tile_counts().dot > count);
  CHECK(tile_counts().fault == 0);
  CHECK(tile_counts().configure >= tile_counts().release);  // again behind a parallel loop
}
