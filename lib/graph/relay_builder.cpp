// SPDX-License-Identifier: Apache-2.0
#include "graph/relay_builder.hpp"

#include <algorithm>
#include <functional>

#include "graph/attribute_text.hpp"
#include "graph/operators.hpp"

namespace tensorsmith::graph {

std::int64_t RelayNode::integer(std::string_view attribute, std::int64_t otherwise) const {
  const auto* integer = attribute_of<std::int64_t>(attributes, attribute);
  return integer == nullptr ? otherwise : *integer;
}
double RelayNode::real(std::string_view attribute, double otherwise) const {
  const AttributeValue* value = find(attribute);
  const auto* real = value == nullptr ? nullptr : std::get_if<double>(value);
  return real == nullptr
             ? static_cast<double>(integer(attribute, 0)) + (value == nullptr ? otherwise : 0)
             : *real;
}
std::string RelayNode::text(std::string_view attribute) const {
  const auto* text = attribute_of<std::string>(attributes, attribute);
  return text == nullptr ? std::string() : *text;
}
std::vector<std::int64_t> RelayNode::integers(std::string_view attribute) const {
  const auto* list = attribute_of<std::vector<std::int64_t>>(attributes, attribute);
  if (list != nullptr) {
    return *list;
  }
  const auto* one = attribute_of<std::int64_t>(attributes, attribute);
  return one == nullptr ? std::vector<std::int64_t>() : std::vector<std::int64_t>{*one};
}

std::size_t RelayBuilder::add(RelayNode node) {
  if (node.kind != RelayKind::constant && node.kind != RelayKind::variable) {
    std::string key = node.name + "/" + std::to_string(static_cast<int>(node.kind)) + "/" +
                      std::to_string(node.item);
    for (const std::size_t i : node.inputs) {
      key += "," + std::to_string(i);
    }
    for (const Attribute& a : node.attributes) {
      key += ";" + a.name + "=" + attribute_text(a.value);
    }
    const auto [place, is_new] = known_.emplace(key, nodes_.size());
    if (!is_new) {
      return place->second;
    }
  }
  nodes_.push_back(std::move(node));
  return nodes_.size() - 1;
}

std::size_t RelayBuilder::constant(RelayType type) {
  RelayNode node;
  node.kind = RelayKind::constant;
  node.type = std::move(type);
  return add(std::move(node));
}

std::size_t RelayBuilder::call(std::string op, std::vector<std::size_t> inputs, RelayType type,
                               std::vector<Attribute> attributes) {
  const bool is_known =
      !inputs.empty() && !type.is_tuple &&
      std::all_of(inputs.begin(), inputs.end(), [&](std::size_t i) { return is_constant(i); });
  if (is_known) {
    return constant(std::move(type));
  }
  RelayNode node;
  node.name = std::move(op);
  node.inputs = std::move(inputs);
  node.type = std::move(type);
  node.attributes = std::move(attributes);
  return add(std::move(node));
}

std::size_t RelayBuilder::binary(const std::string& op, std::size_t a, std::size_t b) {
  RelayType type;
  type.shape = spread_shapes(shape(a), shape(b));
  type.dtype = nodes_[a].type.dtype;
  return call(op, {a, b}, std::move(type));
}
std::size_t RelayBuilder::unary(const std::string& op, std::size_t a) {
  return call(op, {a}, nodes_[a].type);
}
std::size_t RelayBuilder::reshape(std::size_t a, Shape shape) {
  RelayType type = nodes_[a].type;
  type.shape = shape;
  return call("reshape", {a}, type, {{"newshape", shape}});
}
std::size_t RelayBuilder::expand_dims(std::size_t a, std::int64_t axis, std::int64_t count) {
  RelayType type = nodes_[a].type;
  type.shape.insert(type.shape.begin() + axis, static_cast<std::size_t>(count), 1);
  return call("expand_dims", {a}, type, {{"axis", axis}, {"num_newaxis", count}});
}

RelayGraph RelayBuilder::finish(std::size_t result) const {
  RelayGraph graph;
  std::vector<std::size_t> place(nodes_.size(), SIZE_MAX);
  const std::function<void(std::size_t)> visit = [&](std::size_t i) {
    if (place[i] != SIZE_MAX) {
      return;
    }
    for (const std::size_t input : nodes_[i].inputs) {
      visit(input);
    }
    RelayNode node = nodes_[i];
    for (std::size_t& input : node.inputs) {
      input = place[input];
    }
    place[i] = graph.nodes.size();
    graph.nodes.push_back(std::move(node));
  };
  visit(result);
  return graph;
}

std::vector<std::size_t> relay_uses(const RelayGraph& graph) {
  std::vector<std::size_t> uses(graph.nodes.size(), 0);
  for (const RelayNode& node : graph.nodes) {
    for (const std::size_t input : node.inputs) {
      ++uses[input];
    }
  }
  ++uses.back();
  return uses;
}

std::int64_t axis_in(const std::string& layout, char axis) {
  const std::size_t at = layout.find(axis);
  return at == std::string::npos ? -1 : static_cast<std::int64_t>(at);
}

bool is_depthwise(const RelayNode& conv, const Shape& data) {
  const std::int64_t c = axis_in(conv.text("data_layout"), 'C');
  return c >= 0 && conv.integer("groups", 1) > 1 &&
         conv.integer("groups", 1) == data[static_cast<std::size_t>(c)];
}

}  // namespace tensorsmith::graph
