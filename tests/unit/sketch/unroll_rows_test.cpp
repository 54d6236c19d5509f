// SPDX-License-Identifier: Apache-2.0
#include "tensorsmith/sketch/rules/unroll_rows.hpp"

#include "support/catch.hpp"
#include "tensorsmith/ops/workload.hpp"
#include "tensorsmith/sched/print_state.hpp"
#include "tensorsmith/sketch/generate.hpp"
#include "tensorsmith/sketch/native_rules.hpp"
#include "unit/sketch/sketch_fixtures.hpp"

namespace tensorsmith {
namespace {

std::vector<State> winograd_sketches() {
  const auto workload =
      ops::parse_workload("conv2d:n=1,h=8,w=8,ci=32,co=16,k=3,p=1,winograd=2,layout=free");
  REQUIRE(workload);
  SketchOptions options;
  options.hardware.num_cores = 4;
  return generate_sketches(workload->dag, native_cpu_rules(), options);
}

}  // namespace

TEST_CASE("rows of Winograd's transforms are unrolled around the vectors, halves inside") {
  const std::vector<State> sketches = winograd_sketches();
  REQUIRE(!sketches.empty());
  for (const State& sketch : sketches) {
    const std::string text = state_text(sketch);
    INFO(text);
    CHECK(text.find("for p.0 (None)\n"
                    "  for ci.0 (None)\n"
                    "    for p.1 (None)\n"
                    "      for p (None)\n"
                    "        unroll e (None)\n"
                    "          unroll j (None)\n"
                    "            for ci (None)\n"
                    "              Xt0 = ...\n"
                    "      unroll e (0,4)\n"
                    "        unroll f (0,4)\n"
                    "          for ci.1 (None)\n"
                    "            Xt = ...\n") != std::string::npos);
  }
}

TEST_CASE("stages with a sum over a constant matrix keep the reference's form") {
  te::Program p;
  const auto in = p.placeholder("A", {4, 32});
  const auto r = p.reduce_axis("r", 4);
  te::ComputeOptions options;
  options.axes = {"e", "c"};
  options.attrs.simplify_const_tensor_indices = {"e", "r"};
  const auto out = p.compute(
      "B", {4, 32},
      [&](auto e, auto c) { return te::sum(te::if_then_else(e == r, in(r, c), in(0, c)), {r}); },
      std::move(options));
  const std::vector<State> sketches =
      generate_sketches(p.dag({in, out}), native_cpu_rules(), SketchOptions{});
  REQUIRE(sketches.size() == 1);
  CHECK(state_text(sketches[0]) == "Placeholder: A\n"
                                   "for c.0 (None)\n"
                                   "  for c.1 (None)\n"
                                   "    unroll e (0,4)\n"
                                   "      unroll r (0,4)\n"
                                   "        B = ...\n");
}

}  // namespace tensorsmith
