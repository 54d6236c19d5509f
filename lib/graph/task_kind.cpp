// SPDX-License-Identifier: Apache-2.0
#include "tensorsmith/graph/task_kind.hpp"

#include <algorithm>
#include <array>
#include <map>
#include <string_view>

#include "graph/attribute_text.hpp"
#include "tensorsmith/graph/lowering.hpp"

namespace tensorsmith::graph {

namespace {

constexpr std::array<std::string_view, 10> sizes{
    "kernel_shape",   "strides",      "pads",  "auto_pad",    "dilations",
    "output_padding", "output_shape", "sizes", "num_outputs", "split"};

class KindWriter {
 public:
  explicit KindWriter(const Graph& graph) : graph_(graph) {}

  std::string operator()(const std::vector<std::size_t>& nodes) {
    std::string text;
    for (const std::size_t i : nodes) {
      const Node& node = graph_.nodes[i];
      text += (text.empty() ? "" : "; ") + node.op + attributes(node) + "(";
      for (std::size_t k = 0; k < node.inputs.size(); ++k) {
        text += (k > 0 ? ", " : "") + (node.has_input(k) ? operand(node, node.inputs[k]) : "");
      }
      text += ")";
      for (const ValueId id : node.outputs) {
        if (id.valid()) {
          names_.emplace(id.value, "%" + std::to_string(num_results_++));
        }
      }
    }
    return text;
  }

 private:
  std::string attributes(const Node& node) const {
    std::vector<std::string> list;
    for (const Attribute& attribute : node.attributes) {
      if (attribute.name == "group") {
        continue;
      }
      if (std::find(sizes.begin(), sizes.end(), attribute.name) == sizes.end()) {
        list.push_back(attribute.name + "=" + attribute_text(attribute.value));
      }
    }
    const std::int64_t groups = node.integer("group", 1);
    if (groups > 1) {
      const Shape& x = graph_.value(node.inputs[0]).shape;
      const bool is_last = node.text("layout", "") == "NHWC";
      list.push_back(groups == (is_last ? x.back() : x[1]) ? "depthwise" : "grouped");
    }
    std::sort(list.begin(), list.end());
    std::string text;
    for (const std::string& one : list) {
      text += (text.empty() ? "" : ", ") + one;
    }
    return text.empty() ? text : "{" + text + "}";
  }

  std::string operand(const Node& node, ValueId id) {
    const Value& value = graph_.value(id);
    if (value.is_constant && is_integer(value.dtype) && value.shape.size() <= 1) {
      return "sizes";
    }
    if (value.is_constant && num_elements(value.shape) == 1) {
      return constant_text(value.constant);
    }
    const auto [known, is_new] = names_.emplace(id.value, "");
    if (is_new) {
      known->second = "$" + std::to_string(num_inputs_++);
      return known->second + ":" + std::string(name_of(value.dtype)) + axes(node, value.shape);
    }
    return known->second + (is_spread(node) ? axes(node, value.shape) : "");
  }
  bool is_spread(const Node& node) const {
    const OperatorFacts* facts = find_operator(node.op);
    return facts != nullptr &&
           (facts->pattern == Pattern::broadcast || facts->pattern == Pattern::elementwise);
  }
  /// An axis each; 1: all elements of the result's axis read the same.
  std::string axes(const Node& node, const Shape& shape) const {
    const Shape result = node.has_output(0) ? graph_.value(node.outputs[0]).shape : Shape();
    std::string text;
    for (std::size_t d = 0; d < shape.size(); ++d) {
      const std::size_t behind = shape.size() - d;
      const bool is_one = is_spread(node) && shape[d] == 1 && behind <= result.size() &&
                          result[result.size() - behind] != 1;
      text += is_one ? '1' : '?';
    }
    return "[" + text + "]";
  }

  const Graph& graph_;
  std::map<std::uint32_t, std::string> names_;  // by ValueId
  int num_inputs_ = 0, num_results_ = 0;
};

}  // namespace

std::string task_kind(const Graph& graph, const std::vector<std::size_t>& nodes) {
  return KindWriter(graph)(nodes);
}

}  // namespace tensorsmith::graph
