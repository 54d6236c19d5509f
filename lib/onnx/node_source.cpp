// SPDX-License-Identifier: Apache-2.0
#include "onnx/node_source.hpp"

#include <array>
#include <cstddef>
#include <utility>

#include "tensorsmith/ir/dtype_name.hpp"
#include "tensorsmith/ir/host_array.hpp"
#include "tensorsmith/support/quote.hpp"

namespace tensorsmith::onnx {
namespace {

/// The type of a result as far as the operator alone says it; results of most have that of their
/// first input.
DType result_type(const graph::Graph& graph, const graph::Node& node) {
  constexpr std::array<std::string_view, 13> bools = {
      "Equal", "Less", "LessOrEqual", "Greater", "GreaterOrEqual", "And",
      "Or",    "Not",  "Xor",         "IsNaN",   "IsInf",          "",
      ""};
  constexpr std::array<std::string_view, 6> integers = {"Shape",  "Size",   "NonZero",
                                                        "ArgMax", "ArgMin", "NonMaxSuppression"};
  for (const std::string_view op : bools) {
    if (node.op == op) {
      return DType::boolean;
    }
  }
  for (const std::string_view op : integers) {
    if (node.op == op) {
      return DType::i64;
    }
  }
  if (node.op == "QuantizeLinear") {
    return node.has_input(2) ? graph.value(node.inputs[2]).dtype
                             : dtype_from_name(node.text("output_dtype", "")).value_or(DType::u8);
  }
  if (node.op == "EyeLike" && node.has("dtype")) {
    return dtype_from_name(node.text("dtype", "")).value_or(DType::f32);
  }
  if (node.op.ends_with("Window") || node.op == "MelWeightMatrix") {
    return dtype_from_name(node.text("output_datatype", "")).value_or(DType::f32);
  }
  if (node.op == "Cast") {
    return dtype_from_name(node.text("to", "")).value_or(DType::f32);
  }
  if (node.op == "ConstantOfShape") {
    const auto* value = node.find("value");
    const auto* constant = value != nullptr ? std::get_if<graph::Constant>(value) : nullptr;
    return constant != nullptr ? constant->dtype : DType::f32;
  }
  const std::size_t decides = node.op == "Where" || node.op == "DequantizeLinear" ? 1
                              : node.op == "OneHot"                               ? 2
                                                                                  : 0;
  return node.has_input(decides) ? graph.value(node.inputs[decides]).dtype : DType::f32;
}

}  // namespace

const AttributeMessage* NodeSource::find(std::string_view attribute) const {
  for (const AttributeMessage& candidate : message_.attributes) {
    if (candidate.name == attribute) {
      return &candidate;
    }
  }
  return nullptr;
}

std::int64_t NodeSource::integer(std::string_view attribute, std::int64_t otherwise) const {
  const AttributeMessage* found = find(attribute);
  return found != nullptr ? found->integer : otherwise;
}
double NodeSource::real(std::string_view attribute, double otherwise) const {
  const AttributeMessage* found = find(attribute);
  return found != nullptr ? static_cast<double>(found->real) : otherwise;
}
std::string NodeSource::text(std::string_view attribute, std::string_view otherwise) const {
  const AttributeMessage* found = find(attribute);
  return std::string(found != nullptr ? found->text : otherwise);
}
std::vector<std::int64_t> NodeSource::integers(std::string_view attribute) const {
  const AttributeMessage* found = find(attribute);
  return found != nullptr ? found->integers : std::vector<std::int64_t>();
}

graph::Constant NodeSource::tensor(std::string_view attribute) {
  const AttributeMessage* found = find(attribute);
  if (found == nullptr) {
    return {};
  }
  const std::string what = "its attribute " + in_quotes(attribute);
  const auto message = parse_tensor(found->message, what);
  if (!message) {
    refuse(message.error());
    return {};
  }
  auto constant = tensors_.read(*message);
  if (!constant) {
    refuse(what + ": " + constant.error());
    return {};
  }
  return *std::move(constant);
}

std::vector<graph::Attribute> NodeSource::attributes(const std::vector<std::string_view>& without) {
  std::vector<graph::Attribute> all;
  for (const AttributeMessage& attribute : message_.attributes) {
    bool is_left_out = false;
    for (const std::string_view name : without) {
      is_left_out = is_left_out || attribute.name == name;
    }
    if (is_left_out) {
      continue;
    }
    graph::AttributeValue value = std::int64_t{0};
    switch (attribute.type) {
    case AttributeType::real:
      value = static_cast<double>(attribute.real);
      break;
    case AttributeType::integer:
      value = attribute.integer;
      break;
    case AttributeType::text:
      value = std::string(attribute.text);
      break;
    case AttributeType::tensor:
      value = tensor(attribute.name);
      break;
    case AttributeType::reals:
      value = std::vector<double>(attribute.reals.begin(), attribute.reals.end());
      break;
    case AttributeType::integers:
      value = attribute.integers;
      break;
    case AttributeType::texts:
      value = std::vector<std::string>(attribute.texts.begin(), attribute.texts.end());
      break;
    default:
      refuse("its attribute " + in_quotes(attribute.name) + " is of a type that is not read");
    }
    all.push_back({std::string(attribute.name), std::move(value)});
  }
  return all;
}

ValueId NodeSource::constant(graph::Constant value) {
  return graph_.add_constant("", std::move(value));
}
ValueId NodeSource::integer_list(const std::vector<std::int64_t>& elements) {
  return constant(graph::integer_constant(elements));
}
ValueId NodeSource::scalar(double value, ValueId like) {
  const DType type = type_of(like);
  std::vector<std::byte> bytes(static_cast<std::size_t>(bytes_of(type)));
  store_scalar(bytes.data(), type, cast_scalar(scalar_of_real(value), DType::f64, type));
  return constant(graph::make_constant(type, {}, std::move(bytes)));
}

ValueId NodeSource::add_result(const graph::Node& node, std::string name) {
  graph::Value value;
  value.name = std::move(name);
  value.dtype = result_type(graph_, node);
  return graph_.add_value(std::move(value));
}

ValueId NodeSource::emit(std::string_view op, std::vector<ValueId> inputs,
                         std::vector<graph::Attribute> attributes) {
  graph::Node node;
  node.op = op;
  node.name = name_;
  node.inputs = std::move(inputs);
  node.attributes = std::move(attributes);
  node.outputs.push_back(add_result(node, ""));
  graph_.nodes.push_back(node);
  return node.outputs.front();
}

void NodeSource::finish(std::string_view op, std::vector<ValueId> inputs,
                        std::vector<graph::Attribute> attributes, std::size_t most) {
  graph::Node node;
  node.op = op;
  node.name = name_;
  node.inputs = std::move(inputs);
  node.attributes = std::move(attributes);
  while (!node.inputs.empty() && !node.inputs.back().valid()) {
    node.inputs.pop_back();
  }
  for (std::size_t i = 0; i < message_.outputs.size() && i < most; ++i) {
    node.outputs.push_back(has_result(i) ? add_result(node, std::string(message_.outputs[i]))
                                         : ValueId{});
    results_[i] = node.outputs.back();
  }
  if (node.op == "TopK" && node.has_output(1)) {
    graph_.value(node.outputs[1]).dtype = DType::i64;
  }
  graph_.nodes.push_back(std::move(node));
}

}  // namespace tensorsmith::onnx
