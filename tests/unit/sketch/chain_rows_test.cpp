// SPDX-License-Identifier: Apache-2.0
#include "tensorsmith/sketch/rules/chain_rows.hpp"

#include "support/catch.hpp"
#include "tensorsmith/ops/attention.hpp"
#include "tensorsmith/ops/gemm.hpp"
#include "tensorsmith/ops/row.hpp"
#include "tensorsmith/sketch/generate.hpp"
#include "tensorsmith/sketch/native_rules.hpp"
#include "unit/sketch/sketch_fixtures.hpp"

namespace tensorsmith {
namespace {

/// The sketches in which some product is computed inside of another stage's loops.
std::vector<State> chain_sketches(const Shared<const ComputeDag>& dag) {
  std::vector<State> found;
  const RuleSet<SkipPlaced, AlwaysInline, ChainRows, SkipStage> rules;
  for (const State& sketch : generate_sketches(dag, rules, SketchOptions{})) {
    if (!sketch.attach_map().stage_to_iterator.empty()) {
      found.push_back(sketch);
    }
  }
  return found;
}

std::int32_t stage_named(const State& state, std::string_view name) {
  for (std::size_t s = 0; s < state.num_stages(); ++s) {
    if (state.operation(s).name == name) {
      return static_cast<std::int32_t>(s);
    }
  }
  return -1;
}

/// Where the stage is computed: "O.2" is loop 2 of O.
std::string place_of(const State& state, std::string_view name) {
  const auto& places = state.attach_map().stage_to_iterator;
  const auto found = places.find(stage_named(state, name));
  return found == places.end()
             ? "root"
             : state.operation(static_cast<std::size_t>(found->second.stage)).name + "." +
                   std::to_string(found->second.iterator);
}

std::string loops_of(const State& state, std::string_view name) {
  std::string loops;
  for (const auto& iterator :
       state.stage(static_cast<std::size_t>(stage_named(state, name))).iterators) {
    loops += (loops.empty() ? "" : " ") + iterator.name;
  }
  return loops;
}

Shared<const ComputeDag> attention_dag() {
  ops::AttentionParams p;
  p.batch = 2;
  p.queries = 32;
  p.keys = 48;
  p.width = 16;
  return ops::attention(p).dag;
}

}  // namespace

TEST_CASE("both products of attention and the rows between them are computed by rows of queries") {
  const std::vector<State> sketches = chain_sketches(attention_dag());
  REQUIRE(sketches.size() == 2);
  CHECK(place_of(sketches.back(), "S") == "T_exp.1");  // without the second product
  CHECK(place_of(sketches.back(), "PV") == "root");
  const State& sketch = sketches.front();
  CHECK(loops_of(sketch, "O") == "b i.0 d.0 i.1 d.1");
  for (const char* name : {"S", "T_max", "T_exp", "T_sum"}) {
    CHECK(place_of(sketch, name) == "O.1");
  }
  CHECK(place_of(sketch, "PV") == "O.2");  // finished from the registers
  CHECK(loops_of(sketch, "S") == "i.0 j.0 b i.1 j.1 k.0 i.2 j.2 k.1 i.3 j.3");
  CHECK(loops_of(sketch, "PV") == "i.0 d.0 b i.1 d.1 k3.0 i.2 d.2 k3.1 i.3 d.3");
  // One choice of the rows for all: S says, the others follow.
  std::size_t num_followers = 0, num_open = 0;
  for (const Step& step : sketch.steps()) {
    num_followers += std::holds_alternative<FollowSplitStep>(step) ? 1 : 0;
    num_open += std::holds_alternative<SplitStep>(step) ? 1 : 0;
  }
  CHECK(num_followers == 3);  // i of PV; i and d of O
  CHECK(num_open == 5);       // i, j, k of S; d, k3 of PV
}

TEST_CASE("what a product and its epilogue leave is kept where several stages read it") {
  ops::GemmParams p;
  p.m = 24;
  p.n = 40;
  p.k = 8;
  p.bias = p.add = p.layernorm = true;
  const std::vector<State> sketches = chain_sketches(ops::gemm(p).dag);
  REQUIRE(sketches.size() == 1);
  const State& sketch = sketches.front();
  CHECK(loops_of(sketch, "LN") == "i.0 i.1 j");
  CHECK(place_of(sketch, "E") == "LN.0");
  CHECK(place_of(sketch, "S1") == "LN.0");
  CHECK(place_of(sketch, "S2") == "LN.0");
  CHECK(place_of(sketch, "C") == "E.1");
  CHECK(loops_of(sketch, "E") == "i.0 j.0 i.1 j.1");
  CHECK(sketch.stage(static_cast<std::size_t>(stage_named(sketch, "D"))).compute_at ==
        ComputeAt::inlined);
  CHECK(sketch.stage(static_cast<std::size_t>(stage_named(sketch, "Mean"))).compute_at ==
        ComputeAt::inlined);
}

TEST_CASE("the rule looks at accesses: two products with an activation between them") {
  te::Program p;
  auto x = p.placeholder("X", {32, 16}), w = p.placeholder("W", {16, 24}),
       u = p.placeholder("U", {24, 8});
  auto k1 = p.reduce_axis("k1", 16), k2 = p.reduce_axis("k2", 24);
  auto h =
      p.compute("H", {32, 24}, [&](auto i, auto j) { return te::sum(x(i, k1) * w(k1, j), {k1}); });
  auto a = p.compute("A", {32, 24}, [&](auto i, auto j) { return te::exp(h(i, j)); });
  auto y =
      p.compute("Y", {32, 8}, [&](auto i, auto j) { return te::sum(a(i, k2) * u(k2, j), {k2}); });
  auto z = p.compute("Z", {32, 8}, [&](auto i, auto j) { return te::exp(y(i, j)); });
  const std::vector<State> sketches = chain_sketches(p.dag({x, w, u, z}));
  REQUIRE(sketches.size() == 1);
  CHECK(place_of(sketches.front(), "A") == "Z.0");
  CHECK(place_of(sketches.front(), "H") == "A.1");
  CHECK(place_of(sketches.front(), "Y") == "Z.1");
}

TEST_CASE("what shares no rows, or only an epilogue, is no chain") {
  CHECK(chain_sketches(test::matmul_dag(16, 16, 16, true)).empty());
  CHECK(chain_sketches(test::row_sum_dag(8, 16)).empty());
  te::Program p;  // the columns of the product are what is added up
  auto x = p.placeholder("X", {32, 16}), w = p.placeholder("W", {16, 24});
  auto k1 = p.reduce_axis("k1", 16), k2 = p.reduce_axis("k2", 32);
  auto h =
      p.compute("H", {32, 24}, [&](auto i, auto j) { return te::sum(x(i, k1) * w(k1, j), {k1}); });
  auto s = p.compute("S", {24}, [&](auto j) { return te::max(h(k2, j), {k2}); });
  auto z = p.compute("Z", {32, 24}, [&](auto i, auto j) { return te::exp(h(i, j) - s(j)); });
  const std::vector<State> sketches = chain_sketches(p.dag({x, w, z}));
  REQUIRE(sketches.size() == 1);  // rows are axes that all have, the second one here
  CHECK(loops_of(sketches.front(), "Z") == "j.0 i j.1");
  auto both = p.compute("Both", {32}, [&](auto i) { return h(i, 0) + s(0); });
  CHECK(chain_sketches(p.dag({x, w, both})).empty());
}

TEST_CASE("stages that a rule has placed are left alone by the others") {
  SketchOptions options;
  options.hardware.num_cores = 1;
  options.core_cache_bytes = 0;
  std::size_t num_chains = 0, num_packed = 0;
  for (const State& sketch : generate_sketches(attention_dag(), native_cpu_rules(), options)) {
    if (place_of(sketch, "S") == "root") {
      continue;
    }
    ++num_chains;
    num_packed += stage_named(sketch, "K.packed") >= 0 ? 1 : 0;
    CHECK(loops_of(sketch, "S") == "i.0 j.0 b i.1 j.1 k.0 i.2 j.2 k.1 i.3 j.3");
  }
  CHECK(num_chains > 1);
  CHECK(num_packed > 0);
}

}  // namespace tensorsmith
