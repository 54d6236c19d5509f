// SPDX-License-Identifier: Apache-2.0
// Models of a few nodes, and graphs as text.
//
// Test support for tests/unit/onnx and tests/fuzz.
#pragma once

#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "support/catch.hpp"
#include "support/onnx_writer.hpp"
#include "tensorsmith/graph/resolve.hpp"
#include "tensorsmith/onnx.hpp"
#include "tensorsmith/support/text_writer.hpp"

namespace tensorsmith::test {

/// "2.0" of whole numbers, six digits of others.
inline std::string short_text(double value) {
  return value == static_cast<double>(static_cast<std::int64_t>(value)) ? text_of_real(value)
                                                                        : text_of_real(value, 6);
}

/// "[1, 2]" of up to eight elements, "f32[3, 4]" of more.
inline std::string constant_text(const graph::Constant& constant) {
  const std::int64_t count = graph::num_elements(constant.shape);
  if (count > 8) {
    return std::string(name_of(constant.dtype)) + graph::shape_text(constant.shape);
  }
  const bool is_real = is_float(constant.dtype);
  std::vector<std::string> items;
  for (std::int64_t i = 0; i < count; ++i) {
    items.push_back(is_real ? short_text(constant.real(i)) : std::to_string(constant.integer(i)));
  }
  return constant.shape.empty() ? items.front()
                                : bracketed(items, [](const std::string& item) { return item; });
}

inline std::string attribute_text(const graph::AttributeValue& value) {
  const auto list = [](const auto& items) {
    return bracketed(items, [](const auto& item) {
      if constexpr (std::is_same_v<std::decay_t<decltype(item)>, std::string>) {
        return item;
      } else {
        return std::to_string(item);
      }
    });
  };
  if (const auto* integer = std::get_if<std::int64_t>(&value)) {
    return std::to_string(*integer);
  }
  if (const auto* real = std::get_if<double>(&value)) {
    return short_text(*real);
  }
  if (const auto* text = std::get_if<std::string>(&value)) {
    return *text;
  }
  if (const auto* integers = std::get_if<std::vector<std::int64_t>>(&value)) {
    return list(*integers);
  }
  if (const auto* reals = std::get_if<std::vector<double>>(&value)) {
    return list(*reals);
  }
  if (const auto* texts = std::get_if<std::vector<std::string>>(&value)) {
    return list(*texts);
  }
  return constant_text(std::get<graph::Constant>(value));
}

/// One line per node: "y = Clip(x, 0, 6) axis=1". Results without a name are %0, %1 ... in order.
inline std::string graph_text(const graph::Graph& graph) {
  std::vector<std::string> names(graph.values.size());
  std::size_t unnamed = 0;
  const auto name = [&](graph::ValueId id) -> std::string {
    if (!id.valid()) {
      return "-";
    }
    const graph::Value& value = graph.value(id);
    if (value.is_constant) {
      return constant_text(value.constant);
    }
    std::string& known = names[id.value];
    if (known.empty()) {
      known = value.name.empty() ? "%" + std::to_string(unnamed++) : value.name;
    }
    return known;
  };
  std::string text;
  for (const graph::Node& node : graph.nodes) {
    std::string inputs, results;
    for (const graph::ValueId id : node.inputs) {
      inputs += (inputs.empty() ? "" : ", ") + name(id);
    }
    for (const graph::ValueId id : node.outputs) {
      results += (results.empty() ? "" : ", ") + name(id);
    }
    text += results + " = " + node.op + "(" + inputs + ")";
    for (const graph::Attribute& attribute : node.attributes) {
      text += " " + attribute.name + "=" + attribute_text(attribute.value);
    }
    text += "\n";
  }
  return text;
}

/// Of a model that must be readable.
inline graph::Graph read_good(const std::string& bytes, const OnnxOptions& options = {}) {
  auto graph = read_onnx_bytes(bytes, options);
  INFO((graph ? std::string() : graph.error().message));
  REQUIRE(graph.has_value());
  return *std::move(graph);
}
/// What is wrong with one that must not be.
inline std::string problem_with(const std::string& bytes, const OnnxOptions& options = {}) {
  const auto graph = read_onnx_bytes(bytes, options);
  REQUIRE_FALSE(graph.has_value());
  return graph.error().message;
}

/// A model with operators of onnxruntime's own domain.
inline std::string contributed_model(const OnnxGraph& graph) {
  return onnx_model(graph, 17, {}, {"com.microsoft"});
}
/// What one computes whose inputs are all constant.
inline std::vector<double> contributed_results(const OnnxGraph& graph) {
  graph::Graph net = read_good(contributed_model(graph));
  const auto resolved = graph::resolve(net);
  INFO((resolved ? "" : resolved.error()));
  REQUIRE(resolved.has_value());
  REQUIRE(net.is_constant(net.outputs[0]));
  return net.value(net.outputs[0]).constant.reals();
}

/// x [2, 3, 8, 8] -> y through one node; what it reads besides x is written by the caller.
struct OneNode {
  OnnxGraph graph;
  explicit OneNode(const WireMessage& node, const std::vector<WireMessage>& weights = {},
                   const OnnxNames& outputs = {"y"}) {
    graph.input("x", {2, 3, 8, 8});
    for (const std::string& output : outputs) {
      graph.output(output, {});
    }
    for (const WireMessage& tensor : weights) {
      graph.weights(tensor);
    }
    graph.node(node);
  }
  std::string text(std::int64_t opset) const {
    std::string text = graph_text(read_good(onnx_model(graph, opset)));
    if (!text.empty()) {
      text.pop_back();  // the end of the last line
    }
    return text;
  }
  std::string problem(std::int64_t opset) const { return problem_with(onnx_model(graph, opset)); }
};

}  // namespace tensorsmith::test
