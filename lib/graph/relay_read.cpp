// SPDX-License-Identifier: Apache-2.0
// requires: json
#include <map>

#include <nlohmann/json.hpp>

#include "tensorsmith/graph/relay.hpp"
#include "tensorsmith/support/error.hpp"
#include "tensorsmith/support/quote.hpp"

namespace tensorsmith::graph {

namespace {

using Json = nlohmann::json;

RelayType type_of(const Json& json) {
  RelayType type;
  if (json.at(0).is_string()) {
    type.is_tuple = true;
    for (const Json& field : json.at(1)) {
      type.fields.push_back(type_of(field));
    }
    return type;
  }
  type.shape = json.at(0).get<Shape>();
  const std::string name = json.at(1).get<std::string>();
  for (const DType dtype : all_dtypes) {
    if (is_name_of(name, dtype)) {
      type.dtype = dtype;
      return type;
    }
  }
  throw Error("a type " + in_quotes(name) + " is not known");
}

AttributeValue attribute_of(const Json& json) {
  if (json.is_number_integer() || json.is_boolean()) {
    return json.is_boolean() ? std::int64_t{json.get<bool>()} : json.get<std::int64_t>();
  }
  if (json.is_number()) {
    return json.get<double>();
  }
  if (json.is_array()) {
    std::vector<std::int64_t> integers;
    for (const Json& item : json) {
      if (!item.is_number_integer()) {
        return json.dump();
      }
      integers.push_back(item.get<std::int64_t>());
    }
    return integers;
  }
  return json.is_string() ? json.get<std::string>() : json.dump();
}

class Reader {
 public:
  RelayGraph read(const Json& json) {
    for (const Json& input : json.at("inputs")) {
      given_.emplace(input.at(0).get<std::string>(), true);
    }
    has_bound_ = json.value("n_params", 0) > 0;
    for (const Json& op : json.at("operators")) {
      RelayNode node;
      node.name = op.at("op").get<std::string>();
      where_ = node.name + " " + op.at("id").dump();
      for (const Json& input : op.at("inputs")) {
        node.inputs.push_back(argument(input));
      }
      node.type = type_of(op.at("output"));
      for (const auto& [name, value] : op.at("attrs").items()) {
        node.attributes.push_back({name, attribute_of(value)});
      }
      by_id_[op.at("id").get<std::int64_t>()] = add(std::move(node));
    }
    if (graph_.nodes.empty()) {
      throw Error("there are no operators");
    }
    return std::move(graph_);
  }
  const std::string& where() const { return where_; }

 private:
  std::size_t add(RelayNode node) {
    graph_.nodes.push_back(std::move(node));
    return graph_.nodes.size() - 1;
  }
  std::size_t argument(const Json& json) {
    if (json.contains("node")) {
      const auto found = by_id_.find(json.at("node").get<std::int64_t>());
      if (found == by_id_.end()) {
        throw Error("it reads operator " + json.at("node").dump() + ", which is not before it");
      }
      return found->second;
    }
    if (json.contains("var")) {
      const auto name = json.at("var").get<std::string>();
      const auto [place, is_new] = variables_.emplace(name, graph_.nodes.size());
      if (is_new) {
        RelayNode node;
        node.kind =
            has_bound_ && given_.count(name) == 0 ? RelayKind::constant : RelayKind::variable;
        node.name = name;
        node.type = type_of(json.at("type"));
        add(std::move(node));
      }
      return place->second;
    }
    RelayNode node;
    if (json.contains("const")) {
      node.kind = RelayKind::constant;
      node.type = type_of(json.at("const"));
      if (json.contains("value")) {
        node.attributes.push_back({"value", attribute_of(json.at("value"))});
      }
      return add(std::move(node));
    }
    if (json.contains("tuple")) {
      node.kind = RelayKind::tuple;
      node.type.is_tuple = true;
      for (const Json& field : json.at("tuple")) {
        node.inputs.push_back(argument(field));
        node.type.fields.push_back(graph_.nodes[node.inputs.back()].type);
      }
      return add(std::move(node));
    }
    if (json.contains("item")) {
      node.kind = RelayKind::item;
      node.item = json.at("item").get<std::int64_t>();
      node.inputs.push_back(argument(json.at("of")));
      const RelayType& of = graph_.nodes[node.inputs[0]].type;
      if (node.item < 0 || static_cast<std::size_t>(node.item) >= of.fields.size()) {
        throw Error("it reads item " + std::to_string(node.item) + " of a tuple without it");
      }
      node.type = of.fields[static_cast<std::size_t>(node.item)];
      return add(std::move(node));
    }
    throw Error("it has an input that is neither node, variable, constant nor tuple");
  }

  RelayGraph graph_;
  std::map<std::string, bool> given_;
  std::map<std::string, std::size_t> variables_;
  std::map<std::int64_t, std::size_t> by_id_;
  std::string where_ = "the description";
  bool has_bound_ = false;
};

}  // namespace

Result<RelayGraph, std::string> read_relay_description(std::string_view json) {
  Reader reader;
  try {
    return reader.read(Json::parse(json));
  } catch (const std::exception& error) {
    return fail(reader.where() + ": " + error.what());
  }
}

}  // namespace tensorsmith::graph
