// SPDX-License-Identifier: Apache-2.0
#include "tensorsmith/sketch/collapse.hpp"

#include <string>
#include <variant>

#include "support/catch.hpp"
#include "tensorsmith/ops/workload.hpp"
#include "tensorsmith/sketch/generate.hpp"
#include "tensorsmith/sketch/native_rules.hpp"
#include "unit/sketch/sketch_fixtures.hpp"

namespace tensorsmith {
namespace {

State initial_of(const std::string& workload) {
  const auto parsed = ops::parse_workload(workload);
  REQUIRE(parsed);
  return State::initial(parsed->dag);
}

std::int32_t stage_called(const State& state, const std::string& name) {
  std::int32_t stage = -1;
  for (std::size_t s = 0; s < state.num_stages(); ++s) {
    stage = state.operation(s).name == name ? static_cast<std::int32_t>(s) : stage;
  }
  return stage;
}

std::vector<IdList> runs_of(const std::string& workload, const std::string& stage,
                            const std::string& consumer = "") {
  const State state = initial_of(workload);
  return collapsible_axes(state, stage_called(state, stage),
                          consumer.empty() ? -1 : stage_called(state, consumer));
}

std::size_t num_fuses(const State& sketch) {
  return count_items(sketch.steps(),
                     [](const Step& step) { return std::holds_alternative<FuseStep>(step); });
}

}  // namespace

TEST_CASE("the pixels of a 1x1 convolution are one run, in either layout") {
  CHECK(runs_of("conv2d:n=2,h=7,w=5,ci=8,co=4,k=1,s=1,p=0", "Y") == std::vector<IdList>{{0, 1, 2}});
  CHECK(runs_of("conv2d:n=2,h=7,w=5,ci=8,co=4,k=1,s=1,p=0,layout=nchw", "Y") ==
        std::vector<IdList>{{2, 3}});
}

TEST_CASE("what reads around a pixel, steps over pixels or pads them keeps the axes apart") {
  const std::string plane = "conv2d:n=1,h=7,w=5,ci=8,co=4,";
  CHECK(runs_of(plane + "k=3,s=1,p=1", "Y").empty());
  CHECK(runs_of(plane + "k=1,s=2,p=0", "Y").empty());
  CHECK(runs_of("gemm:64x48x32:f32", "C").empty());
  CHECK(runs_of("bmm:4x64x48x32:f32", "C").empty());
}

TEST_CASE("the consumer has to run through the same memory") {
  const std::string base = "conv2d:n=1,h=7,w=5,ci=8,co=4,k=1,s=1,p=0,";
  CHECK(runs_of(base + "bias,relu", "Y", "Yrelu") == std::vector<IdList>{{0, 1, 2}});
}

TEST_CASE("axes of one element alone are no run") {
  CHECK(runs_of("conv2d:n=1,h=1,w=5,ci=8,co=4,k=1,s=1,p=0", "Y").empty());
}

TEST_CASE("sketches fuse the run before they tile it, if asked to") {
  const auto parsed = ops::parse_workload("conv2d:n=1,h=7,w=7,ci=64,co=64,k=1,s=1,p=0,bias,relu");
  REQUIRE(parsed);
  for (const bool collapses : {false, true}) {
    SketchOptions options;
    options.hardware.num_cores = 4;
    options.collapse_axes = collapses;
    const auto sketches = generate_sketches(parsed->dag, native_cpu_rules(), options);
    REQUIRE(sketches.size() >= 3);
    for (const State& sketch : sketches) {
      // The tiled stage, and the consumer that it is computed in.
      const bool is_fused = count_items(sketch.steps(), [](const Step& step) {
                              return std::holds_alternative<ComputeAtStep>(step);
                            }) > 0;
      CHECK(num_fuses(sketch) == (collapses ? (is_fused ? 2U : 1U) : 0U));
    }
  }
}

}  // namespace tensorsmith
