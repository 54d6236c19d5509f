// SPDX-License-Identifier: Apache-2.0
#include "tensorsmith/sched/apply/factor_sum.hpp"

#include <string>

#include "sched_fixtures.hpp"
#include "support/catch.hpp"
#include "support/dag_results.hpp"
#include "tensorsmith/sched/bounds.hpp"
#include "tensorsmith/sched/derivation.hpp"
#include "tensorsmith/sched/print_state.hpp"
#include "tensorsmith/sched/replay.hpp"

using namespace tensorsmith;
using namespace tensorsmith::test;

namespace {

/// M[i,l] += X[i,j,k] * B[j,l] * C[k,l]. Stages 0 X, 1 B, 2 C, 3 M; axes i, l, j, k.
DagPtr mttkrp_dag(DType type = DType::f32) {
  te::Program p;
  auto X = p.placeholder("X", {3, 4, 5}, type), B = p.placeholder("B", {4, 6}, type),
       C = p.placeholder("C", {5, 6}, type);
  auto j = p.reduce_axis("j", 4), k = p.reduce_axis("k", 5);
  auto M = p.compute("M", {3, 6}, [&](auto i, auto l) {
    return te::sum(X(i, j, k) * B(j, l) * C(k, l), {j, k});
  });
  return p.dag({X, B, C, M});
}

State factored(const DagPtr& dag, const FactorSumStep& step) {
  State state = State::initial(dag);
  const StepCheck error = try_apply(state, step);
  REQUIRE(!error);
  return state;
}

void refused(const DagPtr& dag, const FactorSumStep& step,
             ScheduleErrorCode code = ScheduleErrorCode::factor_sum) {
  State state = State::initial(dag);
  const StepCheck error = try_apply(state, step);
  REQUIRE(error);
  CHECK(error->code == code);
  CHECK(state.steps().empty());
}

}  // namespace

TEST_CASE("a factored sum is two stages, the axes of the first in the order that is asked for") {
  const State state = factored(mttkrp_dag(), {3, {0, 2, 1}, {3}});
  CHECK(stage_names(state) == std::vector<std::string>{"X", "B", "C", "M.sum", "M"});
  CHECK(iterator_names(state, 3) == std::vector<std::string>{"i", "j", "l", "k"});
  CHECK(iterator_names(state, 4) == std::vector<std::string>{"i", "l", "j"});
  CHECK(state.dag().tensor(state.operation(3).outputs[0]).shape.size() == 3);
  CHECK(computes_the_same(state));
  const auto bounded = infer_bounds(state);
  REQUIRE(bounded);
  CHECK(state_text(*bounded) == "Placeholder: X, B, C\n"
                                "for i (0,3)\n"
                                "  for j (0,4)\n"
                                "    for l (0,6)\n"
                                "      for k (0,5)\n"
                                "        M.sum = ...\n"
                                "for i (0,3)\n"
                                "  for l (0,6)\n"
                                "    for j (0,4)\n"
                                "      M = ...\n");
  const std::vector<StageDerivation> loops = derive(state);
  CHECK(loops[3].num_axes == 4);
  CHECK(loops[3].num_spatial == 3);
  CHECK(loops[4].num_axes == 3);
  CHECK(loops[4].num_spatial == 2);
}

TEST_CASE("a factored sum has the same values, whatever its type and the axes that are kept") {
  for (const DType type : {DType::f32, DType::f64, DType::i32, DType::i64, DType::u8}) {
    const DagPtr dag = mttkrp_dag(type);
    CHECK(computes_the_same(factored(dag, {3, {0, 2, 1}, {3}})));
    CHECK(computes_the_same(factored(dag, {3, {1, 0, 3}, {2}})));
    State again = factored(dag, {3, {0, 2, 1}, {3}});
    CHECK(try_apply(again, FactorSumStep{4, {0, 1}, {2}}));  // its two factors both move with j
  }
}

TEST_CASE("a factor that no sum moves stands behind the sum, which is a formula then") {
  te::Program p;
  auto X = p.placeholder("X", {4, 5}), S = p.placeholder("S", {4});
  auto k = p.reduce_axis("k", 5);
  auto Y = p.compute("Y", {4}, [&](auto i) { return te::sum(X(i, k) * S(i) * 3, {k}); });
  const DagPtr dag = p.dag({X, S, Y});
  const State state = factored(dag, {2, {0}, {1}});
  CHECK(state.operation(3).reduce_axes.empty());
  CHECK(computes_the_same(state));
  refused(dag, {2, {}, {1}});      // X moves with i too
  refused(dag, {2, {0}, {}});      // nothing is summed
  refused(dag, {2, {0, 0}, {1}});  // an axis twice
  refused(dag, {2, {0}, {0}});     // no sum
  refused(dag, {2, {0}, {2}});     // no axis
  refused(dag, {2, {0, -1}, {1}});
  refused(dag, {0, {0}, {1}}, ScheduleErrorCode::stage_is_placeholder);
  State split = State::initial(dag);
  REQUIRE(!try_apply(split, SplitStep{2, 0, 4, {2}, true}));
  const StepCheck error = try_apply(split, FactorSumStep{2, {0}, {1}});
  REQUIRE(error);
  CHECK(error->code == ScheduleErrorCode::factor_sum_transformed);
}

TEST_CASE("sums of narrow floats, other reductions and other terms are not factored") {
  refused(mttkrp_dag(DType::f16), {3, {0, 2, 1}, {3}});
  te::Program p;
  auto X = p.placeholder("X", {4, 5}), S = p.placeholder("S", {4});
  auto k = p.reduce_axis("k", 5), l = p.reduce_axis("l", 5);
  auto Y = p.compute("Y", {4}, [&](auto i) { return te::max(X(i, k) * S(i), {k}); });
  auto Z = p.compute("Z", {4}, [&](auto i) { return te::sum(X(i, l) + S(i), {l}); });
  const DagPtr dag = p.dag({X, S, Y, Z});
  refused(dag, {2, {0}, {1}});
  refused(dag, {3, {0}, {1}});
}
