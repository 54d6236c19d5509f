// SPDX-License-Identifier: Apache-2.0
#include "tensorsmith/sketch/rules/tile_maps.hpp"

#include <string>
#include <vector>

#include "support/catch.hpp"
#include "tensorsmith/ops/workload.hpp"
#include "tensorsmith/sketch/native_rules.hpp"
#include "tensorsmith/te/program.hpp"

namespace tensorsmith {
namespace {

/// The loops of the last stage, one text per sketch.
std::vector<std::string> loops_of(const Shared<const ComputeDag>& dag) {
  SketchOptions options;
  options.hardware.num_cores = 2;
  options.collapse_axes = true;
  std::vector<std::string> texts;
  for (const State& sketch : generate_sketches(dag, native_cpu_rules(), options)) {
    std::string text;
    for (const auto& it : sketch.stage(sketch.num_stages() - 1).iterators) {
      text += (text.empty() ? "" : " ") + it.name;
    }
    texts.push_back(text);
  }
  return texts;
}

Shared<const ComputeDag> dag_of(const std::string& text) {
  const auto workload = ops::parse_workload(text);
  REQUIRE(workload);
  return workload->dag;
}

}  // namespace

TEST_CASE("a transposition is tiled, in the orders in which blocks are exchanged in registers") {
  const std::vector<std::string> loops = loops_of(dag_of("pointwise:64x96:f32,perm=1x0"));
  CHECK(loops == std::vector<std::string>{"j.0 i.0 j.1 i.1", "j.0 i.0 i.1 j.1", "j i"});
}

TEST_CASE("a flat transposition becomes loops without quotients") {
  te::Program p;
  auto a = p.placeholder("A", {64 * 512});
  auto o = p.compute("O", {64 * 512}, [&](auto i) { return a(i % 64 * 512 + i / 64); });
  CHECK(loops_of(p.dag({a, o})) ==
        std::vector<std::string>{"i.0.0 i.1.0 i.0.1 i.1.1", "i.0.0 i.1.0 i.1.1 i.0.1", "i"});
}

TEST_CASE("short digits are not cut, and axes that run as one are one") {
  te::Program p;
  auto a = p.placeholder("A", {4 * 64, 32, 32});
  auto o = p.compute("O", {64, 64, 64}, [&](auto c, auto h, auto w) {
    return a(c * 4 + h % 2 * 2 + w % 2, h / 2, w / 2);
  });
  const std::vector<std::string> loops = loops_of(p.dag({a, o}));
  REQUIRE(!loops.empty());
  CHECK(loops[0] == "i.0 j.0.0 k.0.0 i.1 j.0.1 j.1 k.0.1 k.1");
  // Rows of a plane: [n, c, h, w] --> [n, h, w, c].
  CHECK(loops_of(dag_of("pointwise:2x18x7x9:f32,perm=0x2x3x1"))[0] == "k@l@.0 j.0 i k@l@.1 j.1");
}

TEST_CASE("a stencil is tiled as it is; plain chains and products are left alone") {
  te::Program p;
  auto a = p.placeholder("A", {66, 66});
  auto o = p.compute("O", {64, 64},
                     [&](auto i, auto j) { return a(i, j + 1) + a(i + 1, j) + a(i + 2, j + 1); });
  CHECK(loops_of(p.dag({a, o})) == std::vector<std::string>{"i.0 j.0 i.1 j.1", "i j"});
  CHECK(loops_of(dag_of("pointwise:64x96:f32,add,relu")) == std::vector<std::string>{"i j"});
  CHECK(loops_of(dag_of("pointwise:64x96:f32,mul_per_row,add_per_column")) ==
        std::vector<std::string>{"i j"});
  for (const std::string& loops : loops_of(dag_of("softmax:64x96"))) {
    CHECK(loops.find("j.0") == std::string::npos);
  }
  for (const std::string& loops : loops_of(dag_of("conv2d:h=9,w=9,ci=16,co=16,k=3,winograd=2"))) {
    CHECK(loops.find("h.0.0") == std::string::npos);
  }
}

}  // namespace tensorsmith
