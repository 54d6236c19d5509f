// SPDX-License-Identifier: Apache-2.0
// requires: llvm
// Schedules for tile registers, lowered and compiled: tails, batches and convolutions as their
// formulas say, on tiles in software.
#include "codegen_fixture.hpp"
#include "support/dag_results.hpp"
#include "support/emulated_tiles.hpp"
#include "tensorsmith/lower/lower.hpp"
#include "tensorsmith/sched/schedule.hpp"
#include "tensorsmith/te/program.hpp"

using namespace tensorsmith;
using namespace tensorsmith::test;

namespace {

struct GroupedProduct {
  const TensorIntrinsic* intrinsic = &emulated_tdpbf16ps;
  std::int64_t batch = 1, m = 32, n = 32, k = 64;
  std::int64_t rows = 32, columns = 32, run = 0;  ///< of the tile; of the sum, 0: all of it
};

/// C[b, m, n] = sum over k of A * B, B in groups along k; loops b, m.0, n.0, k.0, k.1, m.1, n.1.
State tiled(const GroupedProduct& d) {
  const TensorIntrinsic& x = *d.intrinsic;
  const std::int64_t group = x.group();
  te::Program p;
  auto A = p.placeholder("A", {d.batch, d.m, d.k}, x.a);
  auto B = p.placeholder("B", {d.batch, (d.k + group - 1) / group, d.n, group}, x.b);
  auto k = p.reduce_axis("k", d.k);
  auto C = p.compute("C", {d.batch, d.m, d.n}, [&](auto b, auto i, auto j) {
    return te::sum(
        te::cast(x.accumulator, A(b, i, k)) *
            te::cast(x.accumulator, B(b, te::floordiv(k, group), j, te::floormod(k, group))),
        {k});
  });
  ScheduleBuilder s(p.dag({A, B, C}));
  s.split(2, 1, {d.rows});
  s.split(2, 3, {d.columns});
  s.split(2, 5, {d.run > 0 ? d.run : d.k});
  s.reorder(2, {0, 1, 3, 5, 6, 2, 4});
  State state = s.state();
  REQUIRE(!try_apply(state, PragmaStep{2, 0, "tensorize$" + std::string(x.name)}));
  return state;
}

/// What a run counts, after it gave what the formulas say.
TileCounts counts_of(const State& state, const Target& target) {
  const auto program = lower(state, target);
  REQUIRE(program);
  const ComputeDag& dag = *state.initial_dag();
  const std::vector<HostArray> inputs = whole_number_inputs(dag);
  const auto expected = eval_dag(dag, inputs);
  REQUIRE(expected);
  std::vector<HostArray> arguments = inputs;
  const TensorInfo& result = dag.tensor(dag.arguments().back());
  arguments.emplace_back(result.dtype,
                         std::vector<std::int64_t>(result.shape.begin(), result.shape.end()));
  reset_tile_counts();
  const auto got = run_compiled(*program, arguments, target);
  REQUIRE(got);
  CHECK(got->back() == (*expected)[0]);
  const TileCounts counts = tile_counts();
  CHECK(counts.fault == 0);
  CHECK(counts.configure == counts.release);
  return counts;
}

constexpr std::int64_t num_runs = 2;  // with the runtime and without it

}  // namespace

TEST_CASE("lowered products run in tiles, tails as loops") {
  const Target target = with_emulated_tiles();
  for (const TensorIntrinsic* intrinsic : emulated_tiles) {
    const std::int64_t k = intrinsic->k;
    for (const GroupedProduct& d :
         {GroupedProduct{intrinsic, 1, 64, 64, 3 * k}, GroupedProduct{intrinsic, 2, 40, 72, 2 * k},
          GroupedProduct{intrinsic, 1, 32, 32, 2 * k + 9},
          GroupedProduct{intrinsic, 1, 48, 32, 4 * k, 16, 32, 2 * k},
          GroupedProduct{intrinsic, 1, 16, 70, k + 1, 16, 64},
          GroupedProduct{intrinsic, 1, 33, 33, k, 32, 32}}) {
      INFO(intrinsic->name << ", " << d.batch << " x " << d.m << " x " << d.n << " x " << d.k);
      const TileCounts counts = counts_of(tiled(d), target);
      // Rows and columns of tiles: whole blocks, and what is left of 16 in the last one.
      const std::int64_t dots = num_runs * d.batch * (d.m / 16) * (d.n / 16) * (d.k / k);
      CHECK(counts.dot == dots);
      CHECK(counts.configure == num_runs);
    }
  }
}

TEST_CASE("a pointwise convolution runs in tiles of pixels") {
  constexpr std::int64_t width = 32, channels = 64, filters = 32;
  const auto convolution = [](std::int64_t stride) {
    te::Program p;
    auto X = p.placeholder("X", {2, (width - 1) * stride + 1, channels}, DType::i8);
    auto W = p.placeholder("W", {channels / 4, filters, 4}, DType::i8);
    auto c = p.reduce_axis("c", channels);
    auto Y = p.compute("Y", {2, width, filters}, [&](auto y, auto x, auto f) {
      return te::sum(te::cast(DType::i32, X(y, x * stride, c)) *
                         te::cast(DType::i32, W(te::floordiv(c, 4), f, te::floormod(c, 4))),
                     {c});
    });
    ScheduleBuilder s(p.dag({X, W, Y}));
    s.reorder(2, {0, 3, 1, 2});
    State state = s.state();
    REQUIRE(!try_apply(state, PragmaStep{2, 0, "tensorize$tdpbssd"}));
    return state;
  };
  for (std::int64_t stride : {1, 2}) {
    CHECK(counts_of(convolution(stride), with_emulated_tiles()).dot == num_runs * 2 * 4);
  }
}
