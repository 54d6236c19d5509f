// SPDX-License-Identifier: Apache-2.0
#include "tensorsmith/graph/graph.hpp"

#include <algorithm>
#include <string>
#include <vector>

#include "support/catch.hpp"
#include "tensorsmith/graph/builder.hpp"
#include "tensorsmith/graph/lowering.hpp"
#include "tensorsmith/graph/partition.hpp"
#include "tensorsmith/graph/resolve.hpp"
#include "tensorsmith/graph/simplify.hpp"
#include "tensorsmith/support/error.hpp"

using namespace tensorsmith;
using graph::List;
using graph::Node;

namespace {

Node relu(std::string name, graph::ValueId from, graph::ValueId to) {
  Node node;
  node.op = "Relu";
  node.name = std::move(name);
  node.inputs = {from};
  node.outputs = {to};
  return node;
}

/// Two residual blocks, the first with a projection as its shortcut.
graph::Graph residual(bool is_shortcut_first, bool is_shortcut_left) {
  graph::Builder net;
  auto x = net.input("x", {1, 4, 8, 8});
  for (const std::int64_t channels : {4, 8}) {
    const auto main = [&] {
      const auto y = net.add("Relu", {net.add("Conv", {x, net.weights({8, channels, 3, 3})},
                                              {{"pads", List{1, 1, 1, 1}}})});
      return net.add("Conv", {y, net.weights({8, 8, 1, 1})});
    };
    const auto shortcut = [&] {
      return channels == 8 ? x : net.add("Conv", {x, net.weights({8, channels, 1, 1})});
    };
    graph::ValueId around, through;
    if (is_shortcut_first) {
      around = shortcut();
      through = main();
    } else {
      through = main();
      around = shortcut();
    }
    x = net.add("Relu", {is_shortcut_left ? net.add("Add", {around, through})
                                          : net.add("Add", {through, around})});
  }
  net.output("y", x);
  return net.finish();
}

std::string error_of(const Result<Done, std::string>& result) {
  return result ? std::string() : result.error();
}

}  // namespace

TEST_CASE("nodes are sorted, cycles and missing values are named", "[graph]") {
  graph::Graph net;
  const auto x = net.add_input("x", DType::f32, {4});
  graph::Value named;
  named.name = "y";
  const auto a = net.add_value({}), y = net.add_value(named);
  net.nodes = {relu("second", a, y), relu("first", x, a)};
  net.outputs = {y};
  CHECK(error_of(graph::check(net)) ==
        "node \"second\" (Relu) reads \"#1\", which nothing before it defines");
  REQUIRE(graph::sort_nodes(net).has_value());
  CHECK(net.nodes[0].name == "first");
  CHECK(error_of(graph::check(net)).empty());
  net.nodes[0].inputs = {y};
  CHECK(error_of(graph::sort_nodes(net)).find("reads, directly or not, what it computes itself") !=
        std::string::npos);
  net.nodes[0].inputs = {x};
  net.nodes.push_back(relu("again", x, a));
  CHECK(error_of(graph::check(net)) ==
        "node \"again\" (Relu) computes \"#1\", which is defined already");
}

TEST_CASE("constants have as many bytes as their shapes need", "[graph]") {
  graph::Graph net;
  auto wrong = graph::integer_constant({1, 2, 3});
  wrong.shape = {4};
  net.add_constant("three", wrong);
  CHECK(error_of(graph::check(net)) ==
        "constant \"three\" has 24 bytes; its shape [4] of i64 needs 32");
  CHECK(graph::num_elements({std::int64_t{1} << 40, std::int64_t{1} << 40}) == -1);
  CHECK(graph::num_elements({}) == 1);
}

TEST_CASE("shape arithmetic is gone when a graph is resolved", "[graph]") {
  graph::Graph net;
  const auto x = net.add_input("x", DType::f32, {2, 3, 4});
  const auto value = [&] { return net.add_value({}); };
  const auto add = [&](const char* op, std::vector<graph::ValueId> inputs,
                       std::vector<graph::Attribute> attributes = {}) {
    Node node;
    node.op = op;
    node.inputs = std::move(inputs);
    node.attributes = std::move(attributes);
    node.outputs = {value()};
    net.nodes.push_back(node);
    return node.outputs[0];
  };
  const auto rows =
      add("Gather", {add("Shape", {x}), net.add_constant("", graph::integer_constant({0}))});
  const auto rest = net.add_constant("", graph::integer_constant({-1}));
  const auto shape = add("Concat", {rows, rest}, {{"axis", std::int64_t{0}}});
  const auto y = add("Reshape", {x, shape});
  net.value(y).name = "y";
  net.outputs = {y};
  const auto resolved = graph::resolve(net);
  INFO((resolved ? "" : resolved.error()));
  REQUIRE(resolved.has_value());
  REQUIRE(net.nodes.size() == 1);
  CHECK(net.value(net.outputs[0]).shape == graph::Shape{2, 12});
}

TEST_CASE("misuse names the node", "[graph]") {
  graph::Builder net;
  const auto x = net.input("x", {2, 3});
  CHECK_THROWS_WITH(net.add("MatMul", {x, net.weights({4, 5})}),
                    "graph::Builder: node 0 (MatMul that computes \"#2\") multiplies [2, 3] by "
                    "[4, 5], whose sums have 3 and 4 terms");
  CHECK_THROWS_WITH(net.add("Frobnicate", {x}),
                    "graph::Builder: node 0 (Frobnicate that computes \"#3\") is of an operator "
                    "that is not known");
  CHECK_THROWS_AS(net.add("Reshape", {x, net.integers({4, 4})}), Error);
}

TEST_CASE("what cannot be written out step by step is told by node", "[graph]") {
  graph::Graph net;
  Node node;
  node.op = "LSTM";
  node.name = "memory";
  node.inputs = {net.add_input("x", DType::f32, {2, 1, 3}),
                 net.add_input("w", DType::f32, {1, 8, 3}),
                 net.add_input("r", DType::f32, {1, 8, 2})};
  graph::Value named;
  named.name = "y";
  node.outputs = {net.add_value(named)};
  node.set("activations", std::vector<std::string>{"Sigmoid", "Affine", "Tanh"});
  net.outputs = node.outputs;
  net.nodes = {node};
  CHECK(error_of(graph::resolve(net)) ==
        "node \"memory\" (LSTM) has an activation that is not supported, \"Affine\"");
}

TEST_CASE("results that nobody reads are not made", "[graph]") {
  for (const std::size_t read : {std::size_t{0}, std::size_t{1}}) {
    graph::Builder net("sorted");
    const auto x = net.input("x", {2, 5});
    const auto both = net.add_all("TopK", {x, net.integers({3})}, {}, 2);
    net.output("y", both[read]);
    graph::Graph made = net.finish();
    REQUIRE(graph::resolve(made).has_value());
    const auto parts = graph::partition(made);
    REQUIRE(parts.has_value());
    CHECK(parts->groups.front().program.outputs == made.outputs);
    HostArray rows(DType::f32, {2, 5});
    for (std::int64_t i = 0; i < 10; ++i) {
      rows.set_real(i, static_cast<double>(i * 3 % 5));  // 0 3 1 4 2, twice
    }
    const auto results = graph::interpret(made, {rows});
    REQUIRE(results.has_value());
    const List want = read == 0 ? List{4, 3, 2} : List{3, 1, 4};
    for (std::int64_t i = 0; i < 3; ++i) {
      CHECK((*results)[0].get_int(i) == want[static_cast<std::size_t>(i)]);
    }
  }
}

TEST_CASE("equal layers are one task, and elementwise operators join products", "[graph]") {
  graph::Builder net;
  auto x = net.input("x", {1, 4, 8, 8});
  for (int layer = 0; layer < 3; ++layer) {
    const auto y = net.add("Conv", {x, net.weights({4, 4, 3, 3}), net.uniform({4}, -1, 1)},
                           {{"pads", List{1, 1, 1, 1}}});
    x = net.add("Relu", {net.add("Add", {y, x})});
  }
  net.output("y", net.add("Flatten", {x}));
  graph::Graph made = net.finish();
  REQUIRE(graph::resolve(made).has_value());
  const auto parts = graph::partition(made);
  REQUIRE(parts.has_value());
  CHECK(parts->groups.size() == 3);
  REQUIRE(parts->tasks.size() == 1);
  CHECK(parts->tasks[0].weight == 3);
  CHECK(parts->tasks[0].title == "Conv+Add+Relu");
  CHECK(parts->storage[made.outputs[0].value] != made.outputs[0]);  // a view
}

TEST_CASE("blocks are one task wherever a file lists their shortcuts", "[graph]") {
  HostArray x(DType::f32, {1, 4, 8, 8});
  for (std::int64_t i = 0; i < x.num_elements(); ++i) {
    x.set_real(i, static_cast<double>(i * 37 % 19) * 0.1 - 0.9);
  }
  for (const bool is_first : {false, true}) {
    for (const bool is_left : {false, true}) {
      INFO(is_first << is_left);
      const graph::Graph given = residual(is_first, is_left);
      graph::Graph made = given;
      REQUIRE(graph::simplify(made).has_value());
      const auto parts = graph::partition(made);
      REQUIRE(parts.has_value());
      std::vector<std::string> tasks;
      for (const graph::NetworkTask& task : parts->tasks) {
        tasks.push_back(task.title + " " + std::to_string(static_cast<int>(task.weight)));
      }
      std::sort(tasks.begin(), tasks.end());
      CHECK(tasks ==
            std::vector<std::string>{"Conv 1", "Conv+Add+Relu 2", "Conv+Relu 1", "Conv+Relu 1"});
      const auto want = graph::interpret(given, {x}), got = graph::interpret(made, {x});
      REQUIRE(want.has_value());
      REQUIRE(got.has_value());
      for (std::int64_t i = 0; i < (*want)[0].num_elements(); ++i) {
        CHECK((*got)[0].get_real(i) == (*want)[0].get_real(i));
      }
    }
  }
}
