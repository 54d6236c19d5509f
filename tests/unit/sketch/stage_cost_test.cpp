// SPDX-License-Identifier: Apache-2.0
#include "tensorsmith/sketch/stage_cost.hpp"

#include "support/catch.hpp"
#include "tensorsmith/te/program.hpp"

namespace tensorsmith {
namespace {

std::int32_t id_of_stage(const State& state, const std::string& name) {
  for (std::size_t s = 0; s < state.num_stages(); ++s) {
    if (state.operation(s).name == name) {
      return static_cast<std::int32_t>(s);
    }
  }
  FAIL("no stage " << name);
  return -1;
}

}  // namespace

TEST_CASE("a formula costs what its operations cost, what occurs twice is computed once") {
  te::Program p;
  auto a = p.placeholder("A", {8});
  auto cheap = p.compute("Cheap", {8}, [&](auto i) { return a(i) * 2.0 + 1.0; });
  auto shared = p.compute("Shared", {8}, [&](auto i) {
    const te::Expr x = cheap(i) * 3.0;
    return x * x;
  });
  auto costly = p.compute("Costly", {8}, [&](auto i) { return te::erf(shared(i)) / a(i); });
  const State state = State::initial(p.dag({a, costly}));
  CHECK(element_cost(state, id_of_stage(state, "Cheap")) == 2);
  CHECK(element_cost(state, id_of_stage(state, "Shared")) == 2);
  CHECK(element_cost(state, id_of_stage(state, "Costly")) > 20);
}

TEST_CASE("windows compute an inlined element for each of their sums, products for each tile") {
  te::Program p;
  auto a = p.placeholder("A", {10, 16}), w = p.placeholder("W", {16, 64});
  auto b = p.compute("B", {10, 16}, [&](auto i, auto j) { return a(i, j) * 2.0; });
  auto c = p.compute("C", {10, 16}, [&](auto i, auto j) { return a(i, j) * 3.0; });
  auto r = p.reduce_axis("r", 3), k = p.reduce_axis("k", 16);
  auto windows =
      p.compute("Windows", {8, 16}, [&](auto i, auto j) { return te::max(b(i + r, j), {r}); });
  auto product = p.compute("Product", {10, 64},
                           [&](auto i, auto j) { return te::sum(c(i, k) * w(k, j), {k}); });
  const auto dag = p.dag({a, w, windows, product});
  const State state = State::initial(dag);
  const AccessAnalysis analysis(*dag);
  CHECK(evaluations_if_inlined(state, analysis, id_of_stage(state, "B")) == 3.0 * 8 / 10);
  CHECK(evaluations_if_inlined(state, analysis, id_of_stage(state, "C")) == 64.0 / 8);
}

TEST_CASE("loops that do not change an inlined value do not compute it again") {
  te::Program p;
  auto a = p.placeholder("A", {10, 16});
  auto k = p.reduce_axis("k", 16), l = p.reduce_axis("l", 16);
  auto sums = p.compute("Sums", {10}, [&](auto i) { return te::sum(a(i, k), {k}); });
  auto means = p.compute("Means", {10}, [&](auto i) { return sums(i) * 0.0625; });
  auto squares = p.compute("Squares", {10}, [&](auto i) {
    return te::sum((a(i, l) - means(i)) * (a(i, l) - means(i)), {l});
  });
  auto centred = p.compute("Centred", {10, 16}, [&](auto i, auto j) { return a(i, j) - means(i); });
  auto turned = p.compute("Turned", {16, 10}, [&](auto j, auto i) { return a(i, j) * means(i); });
  const auto dag = p.dag({a, squares, centred, turned});
  const State state = State::initial(dag);
  const AccessAnalysis analysis(*dag);
  // Once for each row of Squares and of Centred, and for each element of Turned.
  CHECK(evaluations_if_inlined(state, analysis, id_of_stage(state, "Means")) == 1 + 1 + 16);
}

TEST_CASE("a stage finishes a product if it takes nothing but its elements") {
  te::Program p;
  auto a = p.placeholder("A", {8, 4}), b = p.placeholder("B", {4, 8}), c = p.placeholder("C", {8});
  auto k = p.reduce_axis("k", 4), r = p.reduce_axis("r", 8);
  auto product =
      p.compute("P", {8, 8}, [&](auto i, auto j) { return te::sum(a(i, k) * b(k, j), {k}); });
  auto biased = p.compute("Biased", {8, 8}, [&](auto i, auto j) { return product(i, j) + c(j); });
  auto relu = p.compute("Relu", {8, 8}, [&](auto i, auto j) { return te::max(biased(i, j), 0.0); });
  auto turned = p.compute("Turned", {8, 8}, [&](auto i, auto j) { return relu(j, i); });
  auto sums = p.compute("Sums", {8}, [&](auto i) { return te::sum(turned(i, r), {r}); });
  auto scaled = p.compute("Scaled", {8}, [&](auto i) { return sums(i) * 2.0; });
  const auto dag = p.dag({a, b, c, scaled});
  const State state = State::initial(dag);
  const AccessAnalysis analysis(*dag);
  CHECK(finishes_product(state, analysis, id_of_stage(state, "Biased")));
  CHECK(finishes_product(state, analysis, id_of_stage(state, "Relu")));
  CHECK_FALSE(finishes_product(state, analysis, id_of_stage(state, "Turned")));
  CHECK_FALSE(finishes_product(state, analysis, id_of_stage(state, "Scaled")));
}

}  // namespace tensorsmith
