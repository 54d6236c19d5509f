// SPDX-License-Identifier: Apache-2.0
#include <algorithm>

#include "support/catch.hpp"
#include "tensorsmith/graph/builder.hpp"
#include "tensorsmith/graph/lowering.hpp"
#include "tensorsmith/graph/resolve.hpp"
#include "unit/graph/random_graphs.hpp"

using namespace tensorsmith;
using graph::List;

namespace {

/// Whether an operator that scatters is left once the graph is resolved; its values are the same.
bool is_left(graph::Graph net) {
  const std::vector<HostArray> inputs = test::random_inputs(net, 5);
  const auto want = graph::interpret(net, inputs);
  REQUIRE(want.has_value());
  const auto resolved = graph::resolve(net);
  INFO((resolved ? "" : resolved.error()));
  REQUIRE(resolved.has_value());
  const auto got = graph::interpret(net, inputs);
  REQUIRE(got.has_value());
  const bool are_equal = *got == *want;
  CHECK(are_equal);
  return std::any_of(net.nodes.begin(), net.nodes.end(),
                     [](const graph::Node& node) { return node.op.starts_with("Scatter"); });
}

/// x [4, 3, 2] written at `indices`.
bool is_left(const char* op, const List& shape, const List& indices, const graph::Shape& updates,
             const char* reduction, std::int64_t axis = 0) {
  graph::Builder net("written");
  const auto x = net.input("x", {4, 3, 2}), u = net.input("u", updates);
  graph::ValueId places = net.integers(indices);
  places = net.add("Reshape", {places, net.integers(shape)});
  std::vector<graph::Attribute> attributes = {{"reduction", std::string(reduction)}};
  if (std::string(op) == "ScatterElements") {
    attributes.push_back({"axis", axis});
  }
  net.output("y", net.add(op, {x, places, u}, std::move(attributes)));
  return is_left(net.finish());
}

}  // namespace

TEST_CASE("updates at constant places are read through a table", "[graph]") {
  for (const char* reduction : {"none", "add", "mul", "max", "min"}) {
    INFO(reduction);
    CHECK_FALSE(is_left("ScatterND", {2, 1}, {3, -4}, {2, 3, 2}, reduction));
    CHECK_FALSE(is_left("ScatterND", {2, 2}, {3, 1, 0, -1}, {2, 2}, reduction));
    CHECK_FALSE(is_left("ScatterND", {4, 1}, {3, 1, 0, 2}, {4, 3, 2}, reduction));
    CHECK_FALSE(is_left("ScatterElements", {2, 3, 1}, {2, 0, -1, 1, 3, 2}, {2, 3, 1}, reduction));
    CHECK_FALSE(is_left("ScatterElements", {1, 3, 2}, {2, 1, 0, 2, 1, 0}, {1, 3, 2}, reduction, 1));
  }
  // Of several the last one replaces; others are combined, which no table says.
  CHECK_FALSE(is_left("ScatterND", {3, 1}, {2, 0, 2}, {3, 3, 2}, "none"));
  CHECK(is_left("ScatterND", {3, 1}, {2, 0, 2}, {3, 3, 2}, "add"));
  CHECK_FALSE(is_left("ScatterElements", {2, 1, 1}, {1, 1}, {2, 1, 1}, "none"));
  CHECK(is_left("ScatterElements", {2, 1, 1}, {1, 1}, {2, 1, 1}, "max"));
}
