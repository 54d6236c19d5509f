// SPDX-License-Identifier: Apache-2.0
// Small networks: the importer and the interpreter against what onnxruntime computed.
#include <cmath>

#include "support/onnx_networks.hpp"
#include "tensorsmith/graph/lowering.hpp"
#include "tensorsmith/graph/resolve.hpp"
#include "tensorsmith/support/file.hpp"
#include "unit/onnx/onnx_fixtures.hpp"

namespace tensorsmith::test {
namespace {

std::string data_file(const std::string& name) {
  FileLimits limits;
  limits.is_text = false;
  auto bytes = read_file(TENSORSMITH_TEST_DATA_DIR "/onnx/" + name, limits);
  REQUIRE(bytes.has_value());
  return *std::move(bytes);
}

graph::Graph resolved_network(const TinyNetwork& one) {
  OnnxOptions options;
  if (one.options.is_open) {
    options.dims.push_back({"batch", 2});
  }
  if (one.network == "bert_layer") {
    options.dims.push_back({"seq", 6});
  }
  auto graph = read_onnx(TENSORSMITH_TEST_DATA_DIR "/onnx/" + one.file + ".onnx", options);
  INFO((graph ? std::string() : graph.error().message));
  REQUIRE(graph.has_value());
  const auto done = graph::resolve(*graph);
  INFO((done ? std::string() : done.error()));
  REQUIRE(done.has_value());
  return *std::move(graph);
}

/// Summands of one element of a node's result, as far as shapes say.
double num_summands(const graph::Graph& graph, const graph::Node& node) {
  const graph::Shape& x = graph.value(node.inputs[0]).shape;
  if (node.op == "Conv" || node.op == "ConvTranspose") {
    const graph::Shape& w = graph.value(node.inputs[1]).shape;
    const std::int64_t kept = node.op == "Conv" ? w[0] : w[1];
    return static_cast<double>(graph::num_elements(w)) / static_cast<double>(kept);
  }
  const double whole = static_cast<double>(graph::num_elements(x)) /
                       static_cast<double>(graph::num_elements(graph.value(node.outputs[0]).shape));
  return x.empty() ? 1 : std::max(whole, static_cast<double>(x.back()));
}

}  // namespace

TEST_CASE("the files of small networks are what the generator writes", "[onnx]") {
  for (const TinyNetwork& one : tiny_networks()) {
    CAPTURE(one.file);
    const std::string bytes = onnx_network(one.network, one.options);
    CHECK(bytes.size() < 100'000);
    CHECK(bytes == data_file(one.file + ".onnx"));
  }
}

TEST_CASE("small networks compute what onnxruntime computed", "[onnx]") {
  for (const TinyNetwork& one : tiny_networks()) {
    CAPTURE(one.file);
    const graph::Graph graph = resolved_network(one);
    // Rounding of f32: half a unit per summand and node, of values that are as large as the
    // results, for weights keep the deviation of what they are multiplied with. Twice, for errors
    // pass on.
    double num_roundings = 0;
    for (const graph::Node& node : graph.nodes) {
      CHECK(node.op != "Shape");
      CHECK(node.op != "Identity");
      num_roundings += num_summands(graph, node);
    }
    REQUIRE(graph.inputs.size() == 1);
    const graph::Value& input = graph.value(graph.inputs.front());
    HostArray given(input.dtype, input.shape);
    const std::string given_bytes = data_file(one.file + ".input");
    REQUIRE(given_bytes.size() == given.data.size());
    std::memcpy(given.data.data(), given_bytes.data(), given_bytes.size());
    const auto results = graph::interpret(graph, {given});
    INFO((results ? std::string() : results.error()));
    REQUIRE(results.has_value());
    const std::string wanted_bytes = data_file(one.file + ".output");
    std::vector<float> wanted(wanted_bytes.size() / sizeof(float));
    std::memcpy(wanted.data(), wanted_bytes.data(), wanted_bytes.size());
    const HostArray& result = results->front();
    REQUIRE(static_cast<std::size_t>(result.num_elements()) == wanted.size());
    double largest = 0, error = 0;
    for (std::size_t i = 0; i < wanted.size(); ++i) {
      const double exact = result.get_real(static_cast<std::int64_t>(i));
      largest = std::max(largest, std::abs(exact));
      error = std::max(error, std::abs(exact - static_cast<double>(wanted[i])));
    }
    INFO("error " << error << " of " << largest << " after " << num_roundings << " roundings");
    CHECK(largest > 0.01);
    CHECK(error <= 2 * num_roundings * 0x1p-24 * largest);
  }
}

TEST_CASE("networks of all families are written and read in several operator sets", "[onnx]") {
  for (const std::string& name : onnx_network_names()) {
    for (const std::int64_t opset : {9, 11, 13, 17, 18, 21, 23}) {
      const std::int64_t first = name == "newer_operators"     ? 23
                                 : name == "indexed_operators" ? 18
                                 : name == "recurrent"         ? 14
                                                               : 1;
      if (opset < first) {
        continue;
      }
      CAPTURE(name, opset);
      NetworkOptions options;
      options.opset = opset;
      options.divisor = 256;
      options.repeats = 1;
      options.classes = 3;
      options.size = 32;
      graph::Graph graph = read_good(onnx_network(name, options));
      const auto done = graph::resolve(graph);
      INFO((done ? std::string() : done.error()));
      REQUIRE(done.has_value());
      CHECK(graph.outputs.size() == 1);
    }
  }
}

}  // namespace tensorsmith::test
