// SPDX-License-Identifier: Apache-2.0
#include "graph/fold.hpp"

#include "support/catch.hpp"
#include "support/exact_inputs.hpp"
#include "support/random_dags.hpp"
#include "tensorsmith/te/eval_dag.hpp"

using namespace tensorsmith;

namespace {

/// Both the interpreter's bits, or both nothing.
void check_same(const ComputeDag& dag, const std::vector<HostArray>& inputs) {
  EvalDagOptions options;
  options.wide = true;
  const auto want = eval_dag(dag, inputs, options);
  const auto got = graph::fold_dag(dag, inputs);
  REQUIRE(got.has_value() == want.has_value());
  const bool are_equal = !want || *got == *want;
  CHECK(are_equal);
}

HostArray reals(DType type, std::vector<std::int64_t> shape) {
  HostArray array(type, std::move(shape));
  for (std::int64_t i = 0; i < array.num_elements(); ++i) {
    array.set_real(i, 0.37 * static_cast<double>((i * 7919) % 23) - 3.1);
  }
  return array;
}

}  // namespace

TEST_CASE("random constants fold to the interpreter's bits", "[graph]") {
  CounterRng rng(71, 0);
  for (int i = 0; i < static_cast<int>(test::scaled(300)); ++i) {
    const auto dag = test::RandomDag(rng).make();
    check_same(*dag, test::exact_inputs(*dag, rng).inputs);
  }
}

TEST_CASE("reals fold to the interpreter's bits, over more than one block", "[graph]") {
  for (const DType type : {DType::f32, DType::f64, DType::f16, DType::bf16}) {
    te::Program p;
    const auto x = p.placeholder("x", {3, 211}, type);
    const auto y = p.compute("y", {211, 3}, [&](const te::Expr& i, const te::Expr& j) {
      const te::Expr v = x.at({j, i});
      return te::exp(v) / (te::abs(v) + te::cast(type, i)) - te::tanh(v * v);
    });
    const te::ReduceAxis k = p.reduce_axis("k", 211);
    const auto sums = p.compute("s", {3}, [&](const te::Expr& j) {
      return te::sum(y.at({k, j}), {k});
    });
    const auto padded = p.compute("p", {300}, [&](const te::Expr& i) {
      return te::if_then_else(i < 211, y.at({i, 1}), sums.at({2}));
    });
    check_same(*p.dag({x, sums, padded}), {reals(type, {3, 211})});
  }
}

TEST_CASE("constants whose indices lie outside do not fold", "[graph]") {
  te::Program p;
  const auto x = p.placeholder("x", {4}, DType::f32), at = p.placeholder("at", {2}, DType::i32);
  const auto y = p.compute("y", {2}, [&](const te::Expr& i) { return x.at({at.at({i})}); });
  const auto dag = p.dag({x, at, y});
  HostArray places(DType::i32, {2});
  places.set_int(0, 3);
  check_same(*dag, {reals(DType::f32, {4}), places});
  CHECK(graph::fold_dag(*dag, {reals(DType::f32, {4}), places}).has_value());
  places.set_int(1, 4);
  check_same(*dag, {reals(DType::f32, {4}), places});
  CHECK_FALSE(graph::fold_dag(*dag, {reals(DType::f32, {4}), places}).has_value());
}
