// SPDX-License-Identifier: Apache-2.0
#include "tensorsmith/graph/lowering.hpp"
#include "tensorsmith/graph/resolve.hpp"
#include "unit/onnx/onnx_fixtures.hpp"

namespace tensorsmith::test {
namespace {

/// What the model gives for rows of 1, 2, 3 ...
std::vector<std::vector<double>> results_of(const OnnxGraph& graph, std::int64_t opset,
                                            const OnnxOptions& options = {}) {
  graph::Graph net = read_good(onnx_model(graph, opset), options);
  const auto resolved = graph::resolve(net);
  INFO((resolved ? "" : resolved.error()));
  REQUIRE(resolved.has_value());
  std::vector<HostArray> inputs;
  for (const graph::ValueId id : net.inputs) {
    inputs.emplace_back(net.value(id).dtype, net.value(id).shape);
    for (std::int64_t i = 0; i < inputs.back().num_elements(); ++i) {
      inputs.back().set_real(i, static_cast<double>(i + 1));
    }
  }
  const auto results = graph::interpret(net, inputs);
  REQUIRE(results.has_value());
  std::vector<std::vector<double>> lists;
  for (const HostArray& result : *results) {
    lists.emplace_back();
    for (std::int64_t i = 0; i < result.num_elements(); ++i) {
      lists.back().push_back(result.get_real(i));
    }
  }
  return lists;
}

/// state --> state * x[round], which is also the round's result; the round counts down `left`.
OnnxGraph product_body() {
  OnnxGraph body;
  body.input("round", {}, onnx_i64);
  body.input("before", {}, onnx_bool);
  body.input("left", {}, onnx_i64);
  body.input("state", {});
  body.output("goes_on", {}, onnx_bool);
  body.output("fewer", {}, onnx_i64);
  body.output("product", {});
  body.output("seen", {});
  body.weights(onnx_integers("one", {}, {1}));
  body.weights(onnx_integers("none", {}, {0}));
  body.node("Sub", {"left", "one"}, {"fewer"});
  body.node("Greater", {"fewer", "none"}, {"goes_on"});
  body.node("Gather", {"x", "round"}, {"element"});
  body.node("Mul", {"state", "element"}, {"product"});
  body.node("Identity", {"product"}, {"seen"});
  return body;
}

/// x [n] through a Loop of that body; `left` at first is that of the shape.
OnnxGraph product_loop(const std::string& rounds, const OnnxGraph& body) {
  OnnxGraph graph;
  graph.input("x", {"n"});
  graph.output("left_over", {}, onnx_i64);
  graph.output("y", {});
  graph.output("all", {"m"});
  graph.weights(onnx_integers("three", {}, {3}));
  graph.weights(onnx_integers("zero", {}, {0}));
  graph.weights(onnx_tensor("first", {}, {1}));
  graph.node("Shape", {"x"}, {"shape"});
  graph.node("Gather", {"shape", "zero"}, {"n"});
  graph.node("Loop", {rounds, "", "n", "first"}, {"left_over", "y", "all"},
             {{"body", body.message(), true}}, "turn");
  return graph;
}

/// (sum, x) --> sum + x, which is also its result.
OnnxGraph running_sum() {
  OnnxGraph body;
  body.input("sum", {std::int64_t{2}});
  body.input("element", {std::int64_t{2}});
  body.output("more", {std::int64_t{2}});
  body.output("seen", {std::int64_t{2}});
  body.node("Add", {"sum", "element"}, {"more"});
  body.node("Mul", {"more", "scale"}, {"seen"});
  return body;
}

}  // namespace

TEST_CASE("loops are written out as often as they run", "[onnx]") {
  OnnxOptions options;
  options.dims = {{"n", 4}};
  // By the condition, that a counter from the shape decides; by the number of rounds.
  CHECK(results_of(product_loop("", product_body()), 13, options) ==
        std::vector<std::vector<double>>{{0}, {24}, {1, 2, 6, 24}});
  CHECK(results_of(product_loop("three", product_body()), 13, options) ==
        std::vector<std::vector<double>>{{1}, {6}, {1, 2, 6}});
  options.dims = {{"n", 1}};
  CHECK(results_of(product_loop("", product_body()), 13, options) ==
        std::vector<std::vector<double>>{{0}, {1}, {1}});
}

TEST_CASE("loops whose number of rounds is open are refused", "[onnx]") {
  OnnxOptions options;
  options.dims = {{"n", 3000}};
  CHECK(problem_with(onnx_model(product_loop("", product_body()), 13), options) ==
        "node \"turn\" (Loop): it has more than 2000 rounds, which is more than are written out");
  options.dims = {{"n", 4}};
  CHECK(problem_with(onnx_model(product_loop("zero", product_body()), 13), options) ==
        "node \"turn\" (Loop): it has no round, so nothing says what \"all\" is");
  OnnxGraph graph = product_loop("rounds", product_body());
  graph.input("rounds", {}, onnx_i64);
  CHECK(problem_with(onnx_model(graph, 13), options) ==
        "node \"turn\" (Loop): how many rounds it has is not constant; bind the extents and inputs "
        "that decide it");
  options.inputs = {{"rounds", {2}}};
  CHECK(results_of(graph, 13, options)[1] == std::vector<double>{2});
}

TEST_CASE("a loop that its results end is refused", "[onnx]") {
  OnnxGraph body, graph;
  body.input("round", {}, onnx_i64);
  body.input("before", {}, onnx_bool);
  body.input("state", {});
  body.output("is_small", {}, onnx_bool);
  body.output("more", {});
  body.weights(onnx_tensor("limit", {}, {10}));
  body.node("Add", {"state", "state"}, {"more"});
  body.node("Less", {"more", "limit"}, {"is_small"});
  graph.input("x", {});
  graph.output("y", {});
  graph.node("Loop", {"", "", "x"}, {"y"}, {{"body", body.message(), true}}, "turn");
  CHECK(problem_with(onnx_model(graph, 13)) ==
        "node \"turn\" (Loop): whether it goes on after round 0 depends on what it computes");
}

TEST_CASE("scans are written out over their sequences, forwards and backwards", "[onnx]") {
  OnnxGraph graph;
  graph.input("x", {std::int64_t{2}, std::int64_t{3}});  // 1 2 3; 4 5 6
  graph.output("last", {});
  graph.output("all", {});
  graph.weights(onnx_tensor("first", {2}, {0, 0}));
  graph.weights(onnx_tensor("scale", {}, {10}));
  const auto scan = [&](const std::vector<OnnxAttribute>& more) {
    OnnxGraph made = graph;
    std::vector<OnnxAttribute> attributes = {{"body", running_sum().message(), true},
                                             {"num_scan_inputs", std::int64_t{1}},
                                             {"scan_input_axes", std::vector<std::int64_t>{1}}};
    attributes.insert(attributes.end(), more.begin(), more.end());
    made.node("Scan", {"first", "x"}, {"last", "all"}, attributes);
    return results_of(made, 13);
  };
  CHECK(scan({}) == std::vector<std::vector<double>>{{6, 15}, {10, 40, 30, 90, 60, 150}});
  CHECK(scan({{"scan_output_axes", std::vector<std::int64_t>{-1}}}) ==
        std::vector<std::vector<double>>{{6, 15}, {10, 30, 60, 40, 90, 150}});
  CHECK(scan({{"scan_input_directions", std::vector<std::int64_t>{1}},
              {"scan_output_directions", std::vector<std::int64_t>{1}}}) ==
        std::vector<std::vector<double>>{{6, 15}, {60, 150, 50, 110, 30, 60}});
}

}  // namespace tensorsmith::test
