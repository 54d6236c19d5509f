// SPDX-License-Identifier: Apache-2.0
#include "tensorsmith/sched/apply/expand_reduction.hpp"

#include "sched_fixtures.hpp"
#include "support/catch.hpp"
#include "support/dag_results.hpp"
#include "tensorsmith/sched/bounds.hpp"
#include "tensorsmith/sched/derivation.hpp"
#include "tensorsmith/sched/print_state.hpp"

using namespace tensorsmith;
using namespace tensorsmith::test;

namespace {

/// Stages 0 X, 1 Y: the sum of 2 x 3 products, the second factor shifted.
DagPtr window_dag(DType type) {
  te::Program p;
  auto X = p.placeholder("X", {7, 3}, type);
  auto r = p.reduce_axis("r", 2), c = p.reduce_axis("c", 3);
  auto Y = p.compute("Y", {6}, [&](auto i) {
    return te::sum(X(i + r, c) * X(i + 1 - r, 2 - c), {r, c});
  });
  return p.dag({X, Y});
}

State expanded(const DagPtr& dag, std::int32_t stage) {
  State state = State::initial(dag);
  const StepCheck error = try_apply(state, ExpandReductionStep{stage});
  REQUIRE(!error);
  return state;
}

}  // namespace

TEST_CASE("an expanded reduction has its spatial loops only") {
  const State state = expanded(matmul_dag(4, 5, 3), 2);
  CHECK(stage_names(state) == std::vector<std::string>{"A", "B", "C"});
  CHECK(iterator_names(state, 2) == std::vector<std::string>{"i", "j"});
  CHECK(state.operation(2).reduce_axes.empty());
  const auto bounded = infer_bounds(state);
  REQUIRE(bounded);
  CHECK(state_text(*bounded) == "Placeholder: A, B\n"
                                "for i (0,4)\n"
                                "  for j (0,5)\n"
                                "    C = ...\n");
  const std::vector<StageDerivation> loops = derive(state);
  CHECK(loops[2].num_axes == 2);
  CHECK(loops[2].leaves.size() == 2);
}

TEST_CASE("an expanded reduction has the same values, whatever its combiner and type") {
  for (const DType type : {DType::f32, DType::f64, DType::i32, DType::i64, DType::u8}) {
    CHECK(computes_the_same(expanded(window_dag(type), 1)));
    CHECK(computes_the_same(expanded(matmul_dag(3, 5, 16, type), 2)));
    CHECK(computes_the_same(expanded(matmul_dag(3, 5, 1, type), 2)));
  }
  te::Program p;
  auto X = p.placeholder("X", {5, 4});
  auto k = p.reduce_axis("k", 4);
  auto Y = p.compute("Y", {5}, [&](auto i) { return te::max(3 - X(i, k), {k}); });
  CHECK(computes_the_same(expanded(p.dag({X, Y}), 1)));
}

TEST_CASE("an expanded reduction may be inlined and cached") {
  te::Program p;
  auto X = p.placeholder("X", {6, 3});
  auto k = p.reduce_axis("k", 3);
  auto L = p.compute("L", {6}, [&](auto i) { return te::sum(X(i, k) * X(i, k), {k}); });
  auto Y = p.compute("Y", {6, 3}, [&](auto i, auto j) { return X(i, j) - L(i); });
  const DagPtr dag = p.dag({X, Y});
  State inlined = expanded(dag, 1);
  CHECK(!try_apply(inlined, ComputeInlineStep{1}));
  State cached = expanded(dag, 1);
  REQUIRE(!try_apply(cached, CacheWriteStep{1, "local"}));
  CHECK(computes_the_same(cached));
  State again = expanded(dag, 1);
  const StepCheck error = try_apply(again, ExpandReductionStep{1});
  REQUIRE(error);
  CHECK(error->code == ScheduleErrorCode::expand_terms);
}
