#include "tensorsmith/cost/draft_model.hpp"

#include "support/catch.hpp"
#include "tensorsmith/ops/workload.hpp"
#include "tensorsmith/sched/apply.hpp"
#include "tensorsmith/sched/bounds.hpp"

using namespace tensorsmith;

namespace {

State bounded(State state, std::vector<Step> steps) {
  for (Step& step : steps) {
    REQUIRE_FALSE(try_apply(state, std::move(step)));
  }
  const auto result = infer_bounds(state);
  REQUIRE(result);
  return *result;
}

/// C[i, j] in tiles of rows x columns, k outside of the tile.
State tiled(const State& initial, std::int64_t rows, std::int64_t columns) {
  return bounded(initial, {SplitStep{2, 0, 64, {rows}, true}, SplitStep{2, 2, 64, {columns}, true},
                           ReorderStep{2, {0, 2, 4, 1, 3}}});
}

Target avx512() {
  Target target = Target::x86_64_v4();
  target.fma_per_cycle = 2;
  target.fma_latency = 4;
  return target;
}

Shared<const ComputeDag> dag_of(const char* text) {
  const auto workload = ops::parse_workload(text);
  REQUIRE(workload);
  return workload->dag;
}

}  // namespace

TEST_CASE("the draft prefers register tiles that hide latency and need few loads") {
  const State initial = State::initial(dag_of("gemm:64x64x64:f32"));
  const auto cycles = [&](std::int64_t rows, std::int64_t columns) {
    return draft_cycles(tiled(initial, rows, columns), avx512());
  };
  // 64^3 multiply-adds at 2 x 16 lanes per cycle take 8192 cycles; nothing is estimated below that.
  CHECK(cycles(8, 32) >= 8192);
  CHECK(cycles(8, 32) < 1.5 * 8192);
  CHECK(cycles(1, 16) > 4 * cycles(8, 32));   // one accumulator waits for itself
  CHECK(cycles(8, 4) > 2 * cycles(8, 32));    // 4 of 16 lanes
  CHECK(cycles(64, 64) < 2 * cycles(8, 32));  // too many accumulators: lowering cuts the tile
}

TEST_CASE("the draft knows reductions inside, gathers, idle cores and attached stages") {
  const State initial = State::initial(dag_of("gemm:64x64x64:f32"));
  const double tile = draft_cycles(tiled(initial, 8, 32), avx512());
  CHECK(draft_cycles(bounded(initial, {}), avx512()) > 10 * tile);  // k innermost: no vectors

  const State transposed = State::initial(dag_of("gemm:64x64x64:f32,tb"));
  CHECK(draft_cycles(tiled(transposed, 8, 32), avx512()) > 4 * tile);  // B[j, k] along j

  State shared = tiled(initial, 8, 32);
  REQUIRE_FALSE(try_apply(shared, AnnotationStep{2, 0, Annotation::parallel}));
  CHECK(draft_cycles(shared, avx512(), 8) == test::Approx(tile / 8));
  CHECK(draft_cycles(shared, avx512(), 5) == test::Approx(tile * 2 / 8));  // two turns of eight
  CHECK(draft_cycles(tiled(initial, 8, 32), avx512(), 8) == test::Approx(tile));

  const State chain = State::initial(dag_of("gemm:64x64x64:f32,relu"));
  const double apart = draft_cycles(bounded(chain, {}), avx512());
  const double attached = draft_cycles(bounded(chain, {ComputeAtStep{2, 3, 1}}), avx512());
  CHECK(attached > 0.5 * apart);  // one run per element of what was one run for all
  CHECK(attached < 4 * apart);
}

TEST_CASE("the draft reads a packed copy as it lies in memory") {
  const State transposed = State::initial(dag_of("gemm:64x64x64:f32,tb"));
  const std::vector<Step> copied = {CacheReadStep{1, "packed", {2}}, SplitStep{3, 0, 64, {8}, true},
                                    SplitStep{3, 2, 64, {32}, true},
                                    ReorderStep{3, {0, 2, 4, 1, 3}}};
  std::vector<Step> packed = copied;
  packed.emplace_back(StorageLayoutStep{2, {32, 0}, {0, 2, 1}, 0});
  const double as_it_was = draft_cycles(bounded(transposed, copied), avx512());
  const double in_blocks = draft_cycles(bounded(transposed, packed), avx512());
  CHECK(as_it_was > 3 * in_blocks);
  CHECK(in_blocks > draft_cycles(tiled(State::initial(dag_of("gemm:64x64x64:f32")), 8, 32),
                                 avx512()));  // the copy is not free
}
