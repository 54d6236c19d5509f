// SPDX-License-Identifier: Apache-2.0
#include "tensorsmith/sketch/rules/window_rows.hpp"

#include <string>
#include <string_view>
#include <vector>

#include "support/catch.hpp"
#include "tensorsmith/ops/workload.hpp"
#include "tensorsmith/sched/bounds.hpp"
#include "tensorsmith/sketch/generate.hpp"
#include "tensorsmith/sketch/native_rules.hpp"

namespace tensorsmith {
namespace {

/// The sketches in which windows and what they go over are computed together.
std::vector<State> window_sketches(const Shared<const ComputeDag>& dag) {
  std::vector<State> found;
  const RuleSet<SkipPlaced, AlwaysInline, WindowRows, SkipStage> rules;
  for (const State& sketch : generate_sketches(dag, rules, SketchOptions{})) {
    if (!sketch.attach_map().stage_to_iterator.empty()) {
      found.push_back(sketch);
    }
  }
  return found;
}
std::vector<State> window_sketches(const char* text) {
  const auto workload = ops::parse_workload(text);
  REQUIRE(workload.has_value());
  return window_sketches(workload->dag);
}

std::int32_t id_of(const State& state, std::string_view name) {
  for (std::size_t s = 0; s < state.num_stages(); ++s) {
    if (state.operation(s).name == name) {
      return static_cast<std::int32_t>(s);
    }
  }
  return -1;
}
const auto& stage_of_name(const State& state, std::string_view name) {
  const std::int32_t id = id_of(state, name);
  REQUIRE(id >= 0);
  return state.stage(static_cast<std::size_t>(id));
}

/// "root", "inlined", or the loop: "O.2" is loop 2 of O.
std::string where(const State& state, std::string_view name) {
  if (stage_of_name(state, name).compute_at == ComputeAt::inlined) {
    return "inlined";
  }
  const auto& places = state.attach_map().stage_to_iterator;
  const auto found = places.find(id_of(state, name));
  return found == places.end()
             ? "root"
             : state.operation(static_cast<std::size_t>(found->second.stage)).name + "." +
                   std::to_string(found->second.iterator);
}

std::string nest(const State& state, std::string_view name) {
  std::string loops;
  for (const auto& iterator : stage_of_name(state, name).iterators) {
    loops += (loops.empty() ? "" : " ") + iterator.name;
  }
  return loops;
}

/// Extents of the loops of a stage when every open split has parts of these lengths.
std::vector<std::int64_t> extents_with_blocks_of(const State& sketch, std::int64_t rows,
                                                 std::string_view name) {
  std::vector<Step> steps = sketch.steps();
  const auto last = static_cast<std::int32_t>(sketch.num_stages()) - 1;
  for (Step& step : steps) {
    if (auto* split = std::get_if<SplitStep>(&step)) {
      for (std::int64_t& length : split->lengths) {
        length = split->stage == last ? rows : 1;
      }
    }
  }
  State state = State::initial(sketch.initial_dag());
  for (const Step& step : steps) {
    REQUIRE(try_step(state, step));
  }
  const auto bounded = infer_bounds(std::move(state));
  REQUIRE(bounded);
  std::vector<std::int64_t> extents;
  for (const auto& iterator : stage_of_name(*bounded, name).iterators) {
    extents.push_back(iterator.extent.value_or(-1));
  }
  return extents;
}

}  // namespace

TEST_CASE("a convolution and the windows over it are computed by blocks of rows") {
  const std::vector<State> sketches = window_sketches(
      "conv2d:n=2,h=16,w=12,ci=3,co=8,k=3,p=1,bias,relu,max_pool=3,pool_s=2,pool_p=1");
  REQUIRE(sketches.size() == 1);
  const State& sketch = sketches.front();
  CHECK(nest(sketch, "Ypool") == "n h.0 h.1 w c py px");
  CHECK(where(sketch, "Ypad") == "inlined");
  CHECK(where(sketch, "Yrelu") == "Ypool.1");
  CHECK(where(sketch, "Ybias") == "inlined");
  CHECK(where(sketch, "Y") == "Yrelu.3");  // finished from the registers
  CHECK(where(sketch, "Pad") == "root");
  CHECK(nest(sketch, "Yrelu") == "n h w.0 c.0 w.1 c.1");
  CHECK(nest(sketch, "Y") ==
        "w.0 co.0 n h w.1 co.1 ry.0 rx.0 rc.0 w.2 co.2 ry.1 rx.1 rc.1 w.3 co.3");
  // Windows of 3 rows, every second one: blocks of 4 need 9 rows, of 1 need 3.
  CHECK(extents_with_blocks_of(sketch, 4, "Yrelu") == std::vector<std::int64_t>{1, 9, 12, 8, 1, 1});
  CHECK(extents_with_blocks_of(sketch, 1, "Yrelu") == std::vector<std::int64_t>{1, 3, 12, 8, 1, 1});
}

TEST_CASE("windows that do not overlap compute no row twice") {
  const std::vector<State> sketches =
      window_sketches("conv2d:n=1,h=16,w=12,ci=3,co=8,k=3,p=1,max_pool=2");
  REQUIRE(sketches.size() == 1);
  const State& sketch = sketches.front();
  CHECK(nest(sketch, "Ypool") == "h.0 n h.1 w c py px");
  CHECK(where(sketch, "Y") == "Ypool.0");  // nothing to finish
  CHECK(nest(sketch, "Y") ==
        "n.0 w.0 co.0 h n.1 w.1 co.1 ry.0 rx.0 rc.0 n.2 w.2 co.2 ry.1 rx.1 rc.1 n.3 w.3 co.3");
  const std::vector<std::int64_t> extents = extents_with_blocks_of(sketch, 4, "Y");
  CHECK(std::vector<std::int64_t>(extents.begin(), extents.begin() + 4) ==
        std::vector<std::int64_t>{1, 12, 8, 8});
}

TEST_CASE("averages are finished a vector at a time, channels first have their padding copied") {
  const std::vector<State> sketches = window_sketches(
      "conv2d:n=2,h=9,w=12,ci=3,co=8,k=3,layout=nchw,relu,avg_pool=3,pool_s=2,pool_p=1");
  REQUIRE(sketches.size() == 1);
  const State& sketch = sketches.front();
  CHECK(nest(sketch, "Ypool") == "n h.0 c h.1 w");  // channels belong to the block, images do not
  CHECK(where(sketch, "Ypoolsum") == "Ypool.3");
  CHECK(where(sketch, "Ypad") == "Ypool.1");
  CHECK(where(sketch, "Yrelu") == "Ypool.1");
  CHECK(where(sketch, "Y") == "Yrelu.3");
  CHECK(nest(sketch, "Yrelu") == "n h c.0 w.0 c.1 w.1");
}

TEST_CASE("a depthwise convolution behind another one: blocks of rows, and of columns too") {
  const std::vector<State> sketches = window_sketches(
      "conv2d:n=2,h=16,w=12,ci=3,co=8,k=1,layout=free,bias,relu,depthwise=3,dw_p=1");
  REQUIRE(sketches.size() == 2);
  for (const State& sketch : sketches) {
    CHECK(where(sketch, "Dbias") == "inlined");
    CHECK(where(sketch, "Ypad") == "inlined");
    CHECK(where(sketch, "Ybias") == "inlined");
    CHECK(where(sketch, "Y") == "Yrelu.3");
    CHECK(nest(sketch, "Y") ==
          "w.0 co.0 n h w.1 co.1 ry.0 rx.0 rc.0 w.2 co.2 ry.1 rx.1 rc.1 w.3 co.3");
    CHECK(nest(sketch, "D") == "w.0 c.0 n h w.1 c.1 py.0 px.0 w.2 c.2 py.1 px.1 w.3 c.3");
  }
  CHECK(nest(sketches[0], "Drelu") == "n h.0 h.1 w.0 c.0 w.1 c.1");
  CHECK(where(sketches[0], "Yrelu") == "Drelu.1");
  CHECK(where(sketches[0], "D") == "Drelu.4");
  CHECK(nest(sketches[1], "Drelu") == "n h.0 c.0 h.1 w.0 w.1 c.1");
  CHECK(where(sketches[1], "Yrelu") == "Drelu.2");
  CHECK(where(sketches[1], "D") == "Drelu.4");
  // Blocks of 4 rows need 6 of the other; of columns both have what the tiles of D have.
  CHECK(extents_with_blocks_of(sketches[0], 4, "Yrelu") ==
        std::vector<std::int64_t>{1, 6, 12, 8, 1, 1});
  CHECK(extents_with_blocks_of(sketches[1], 4, "Yrelu") ==
        std::vector<std::int64_t>{1, 6, 12, 1, 1, 1});
}

TEST_CASE("a depthwise convolution without an epilogue is tiled by blocks itself") {
  const std::vector<State> sketches =
      window_sketches("conv2d:n=2,h=16,w=12,ci=3,co=8,k=1,layout=nchw,depthwise=3,dw_s=2,dw_p=1");
  REQUIRE(sketches.size() == 2);
  CHECK(nest(sketches[0], "D") == "n h.0 c.0 w.0 h.1 c.1 w.1 py.0 px.0 c.2 w.2 py.1 px.1 c.3 w.3");
  CHECK(where(sketches[0], "Y") == "D.1");
  CHECK(where(sketches[0], "Ypad") == "D.1");  // vectors of pixels: it stays
  CHECK(nest(sketches[1], "D") == "n h.0 c.0 w.0 h.1 c.1 w.1 py.0 px.0 c.2 w.2 py.1 px.1 c.3 w.3");
  CHECK(where(sketches[1], "Y") == "D.2");
  CHECK(where(sketches[1], "Ypad") == "D.2");
}

TEST_CASE("the rule looks at accesses: sums over windows of a product's rows") {
  te::Program p;
  auto x = p.placeholder("X", {32, 16}), w = p.placeholder("W", {16, 24});
  auto k = p.reduce_axis("k", 16), r = p.reduce_axis("r", 5);
  auto h =
      p.compute("H", {32, 24}, [&](auto i, auto j) { return te::sum(x(i, k) * w(k, j), {k}); });
  auto s = p.compute("S", {28, 24}, [&](auto i, auto j) { return te::sum(h(i + r, j), {r}); });
  const std::vector<State> sketches = window_sketches(p.dag({x, w, s}));
  REQUIRE(sketches.size() == 1);
  CHECK(nest(sketches.front(), "S") == "i.0 i.1 j r");
  CHECK(where(sketches.front(), "H") == "S.0");
  CHECK(nest(sketches.front(), "H") == "j.0 i j.1 k.0 j.2 k.1 j.3");
}

TEST_CASE("what has no windows, no product, or other readers is left alone") {
  CHECK(window_sketches("max_pool:n=1,c=8,h=9,w=9,k=3,s=2,p=1").empty());
  CHECK(window_sketches("conv2d:n=1,h=9,w=9,ci=3,co=8,k=3,bias,relu").empty());
  CHECK(window_sketches("gemm:16x16x16,layernorm").empty());
  te::Program p;
  auto x = p.placeholder("X", {32, 16}), w = p.placeholder("W", {16, 24});
  auto k = p.reduce_axis("k", 16), r = p.reduce_axis("r", 5);
  auto h =
      p.compute("H", {32, 24}, [&](auto i, auto j) { return te::sum(x(i, k) * w(k, j), {k}); });
  auto s = p.compute("S", {28, 24}, [&](auto i, auto j) { return te::max(h(i + r, j), {r}); });
  CHECK(window_sketches(p.dag({x, w, h, s})).empty());  // the product is a result as well
  auto z = p.compute("Z", {28, 24}, [&](auto i, auto j) { return s(i, j) + h(i, j); });
  CHECK(window_sketches(p.dag({x, w, z})).empty());
}

TEST_CASE("the native space has these sketches beside those that keep two nests") {
  const auto workload =
      ops::parse_workload("conv2d:n=1,h=16,w=12,ci=3,co=8,k=3,p=1,bias,relu,max_pool=2");
  REQUIRE(workload.has_value());
  SketchOptions options;
  options.hardware.num_cores = 1;
  options.core_cache_bytes = 0;
  std::size_t num_together = 0, num_apart = 0;
  for (const State& sketch : generate_sketches(workload->dag, native_cpu_rules(), options)) {
    const bool is_together = where(sketch, "Yrelu") == "Ypool.0";
    num_together += is_together ? 1 : 0;
    num_apart += is_together ? 0 : 1;
  }
  CHECK(num_together > 0);
  CHECK(num_apart > 0);
}

}  // namespace tensorsmith
