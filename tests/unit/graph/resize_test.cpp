// SPDX-License-Identifier: Apache-2.0
#include <cmath>

#include "support/catch.hpp"
#include "tensorsmith/graph/builder.hpp"
#include "tensorsmith/graph/lowering.hpp"
#include "tensorsmith/graph/resolve.hpp"
#include "tensorsmith/te/eval_dag.hpp"

using namespace tensorsmith;

TEST_CASE("weights between resized elements have the bits of their type", "[graph]") {
  for (const char* places : {"align_corners", "half_pixel", "asymmetric"}) {
    constexpr std::int64_t from = 997, to = 1733;  // no period is short
    graph::Builder net("resized");
    const auto x = net.input("x", {from});
    net.output("y", net.add("Resize", {x, {}, {}, net.integers({to})},
                            {{"mode", std::string("linear")},
                             {"coordinate_transformation_mode", std::string(places)}}));
    graph::Graph made = net.finish();
    REQUIRE(graph::resolve(made).has_value());
    const std::size_t node = 0;
    const auto program = graph::lower_nodes(made, {&node, 1}, made.outputs);
    REQUIRE(program.has_value());
    HostArray values(DType::f32, {from});
    for (std::int64_t i = 0; i < from; ++i) {
      values.set_real(i, i % 2 == 0 ? 1 : -1);
    }
    const auto narrow = eval_dag(*program->dag, {values});
    EvalDagOptions options;
    options.wide = true;
    const auto wide = eval_dag(*program->dag, {values}, options);
    REQUIRE((narrow && wide));
    double worst = 0;
    for (std::int64_t i = 0; i < to; ++i) {
      worst = std::max(worst, std::abs((*narrow)[0].get_real(i) - (*wide)[0].get_real(i)));
    }
    CHECK(worst < 8 * 0x1p-24);  // a weight beside i * step would be 997 * 2^-24 off
  }
}
