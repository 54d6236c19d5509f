// SPDX-License-Identifier: Apache-2.0
#include "onnx/importer.hpp"

#include <utility>

#include "onnx/operator_table.hpp"
#include "onnx/order.hpp"
#include "onnx/readers.hpp"
#include "tensorsmith/graph/resolve.hpp"
#include "tensorsmith/support/quote.hpp"

namespace tensorsmith::onnx {
namespace {

constexpr std::size_t most_nodes = std::size_t{1} << 20;  // with those of functions

/// node "conv1" (Conv), or, without a name, node 17 (Conv that computes "y").
std::string describe(const NodeMessage& node, std::size_t index) {
  const std::string op = one_line(operator_name(node.domain, node.op), 80);
  if (!node.name.empty()) {
    return "node " + in_quotes(node.name) + " (" + op + ")";
  }
  const bool has_output = !node.outputs.empty() && !node.outputs.front().empty();
  return "node " + std::to_string(index) + " (" + op +
         (has_output ? " that computes " + in_quotes(node.outputs.front()) : "") + ")";
}

/// The node with attributes of the call in place of references to them.
Result<NodeMessage, std::string> with_attributes(const NodeMessage& node,
                                                 const std::vector<AttributeMessage>& call,
                                                 const std::vector<AttributeMessage>& defaults) {
  NodeMessage result = node;
  result.attributes.clear();
  for (const AttributeMessage& attribute : node.attributes) {
    if (attribute.reference.empty()) {
      result.attributes.push_back(attribute);
      continue;
    }
    const AttributeMessage* given = nullptr;
    for (const auto* list : {&defaults, &call}) {
      for (const AttributeMessage& candidate : *list) {
        given = candidate.name == attribute.reference ? &candidate : given;
      }
    }
    if (given == nullptr) {
      continue;  // then the node has not got it either
    }
    if (attribute.type != AttributeType::undefined && given->type != attribute.type) {
      return fail("the attribute " + in_quotes(attribute.reference) +
                  " of the call is not of the type that the function asks for");
    }
    result.attributes.push_back(*given);
    result.attributes.back().name = attribute.name;
  }
  return result;
}

}  // namespace

const ValueId* Importer::Scope::find(std::string_view name) const {
  for (const Scope* scope = this; scope != nullptr; scope = scope->outer) {
    const auto found = scope->values.find(name);
    if (found != scope->values.end()) {
      return &found->second;
    }
  }
  return nullptr;
}

std::int64_t Importer::Scope::opset(std::string_view domain) const {
  for (const OpsetMessage& opset : *opsets) {
    if (opset.domain == domain || (is_own_domain(opset.domain) && is_own_domain(domain))) {
      return opset.version;
    }
  }
  return 0;
}

std::string Importer::function_key(std::string_view domain, std::string_view name,
                                   std::string_view overload) {
  std::string key = operator_name(domain, name);
  key += '\0';
  key += overload;
  return key;
}

std::string Importer::define(std::string_view name, ValueId value, Scope& scope) {
  if (!scope.values.emplace(name, value).second) {
    return "the value " + in_quotes(name) + " is computed twice";
  }
  return {};
}

std::optional<graph::Constant> Importer::constant_of(ValueId value) {
  if (graph_.value(value).is_constant || settle().empty()) {
    return graph_.value(value).is_constant ? std::optional(graph_.value(value).constant)
                                           : std::nullopt;
  }
  // Something else cannot be resolved: what it depends on, alone.
  graph::Graph part = graph_;
  part.outputs = {value};
  graph::remove_unused(part);
  if (!graph::resolve(part) || !part.is_constant(part.outputs.front())) {
    return std::nullopt;
  }
  return part.value(part.outputs.front()).constant;
}

std::string Importer::read_inputs(const NodeMessage& node, const std::string& name,
                                  const Scope& scope, std::vector<ValueId>& inputs) {
  for (const std::string_view input : node.inputs) {
    const ValueId* value = input.empty() ? nullptr : scope.find(input);
    if (value == nullptr && !input.empty()) {
      return name + ": it reads " + in_quotes(input) + ", which nothing computes";
    }
    inputs.push_back(value != nullptr ? *value : ValueId{});
  }
  return {};
}

std::string Importer::add_nodes(const std::vector<NodeMessage>& nodes, Scope& scope) {
  const auto order = reading_order(nodes);
  if (!order) {
    return describe(nodes[order.error()], order.error()) + scope.where +
           " depends on its own result";
  }
  for (const std::size_t i : *order) {
    if (++num_read_ > most_nodes) {
      return "it has more than " + std::to_string(most_nodes) + " nodes";
    }
    const std::string name = describe(nodes[i], i) + scope.where;
    std::string problem;
    if (scope.call_attributes == nullptr) {
      problem = add_node(nodes[i], name, scope);
    } else {
      const auto bound =
          with_attributes(nodes[i], *scope.call_attributes, *scope.default_attributes);
      problem = bound ? add_node(*bound, name, scope) : name + ": " + bound.error();
    }
    if (!problem.empty()) {
      return problem;
    }
  }
  return {};
}

std::string Importer::add_node(const NodeMessage& node, const std::string& name, Scope& scope) {
  const auto function = functions_.find(function_key(node.domain, node.op, node.overload));
  return function != functions_.end() ? add_call(*function->second, node, name, scope)
                                      : add_operator(node, name, scope);
}

std::string Importer::add_operator(const NodeMessage& node, const std::string& name, Scope& scope) {
  const std::int64_t opset = scope.opset(node.domain);
  if (opset == 0) {
    return name + ": the model imports no operators of the domain " + in_quotes(node.domain);
  }
  const OperatorRow* row = find_operator(node.domain, node.op);
  if (row == nullptr) {
    return name + ": this operator is not known";
  }
  const std::int64_t version = version_in_force(*row, opset);
  if (version == 0) {
    return name + ": operator set " + std::to_string(opset) + " of the model has no " +
           std::string(row->name) + ", which came with " +
           std::to_string(versions_of(*row).front());
  }
  if (row->reader == nullptr) {
    return name + " is not read: " + std::string(row->reason);
  }
  std::string problem = problem_of(*row, version, node);
  if (!problem.empty()) {
    return name + ": " + problem;
  }
  std::vector<ValueId> inputs;
  problem = read_inputs(node, name, scope, inputs);
  if (!problem.empty()) {
    return problem;
  }
  if (row->reader == &read_if_constant) {
    return add_branch(node, inputs.front(), name, scope);
  }
  if (row->reader == &read_loop) {
    return add_loop(node, inputs, name, scope);
  }
  if (row->reader == &read_scan) {
    return add_scan(node, version, inputs, name, scope);
  }
  if (!is_own_domain(row->domain)) {
    settle();  // their readers ask for shapes; what cannot be resolved is said later
  }
  NodeSource source(graph_, tensors_, node, version, scope.prefix + std::string(node.name),
                    std::move(inputs));
  row->reader(source);
  if (!source.problem().empty()) {
    return name + ": " + source.problem();
  }
  for (std::size_t i = 0; i < node.outputs.size() && problem.empty(); ++i) {
    if (source.has_result(i) && source.result(i).valid()) {
      problem = define(node.outputs[i], source.result(i), scope);
    }
  }
  return problem.empty() ? problem : name + ": " + problem;
}

std::string Importer::add_call(const FunctionMessage& function, const NodeMessage& node,
                               const std::string& name, Scope& scope) {
  if (scope.depth >= most_nested) {
    return name + ": functions call each other more than " + std::to_string(most_nested) + " deep";
  }
  if (node.inputs.size() > function.inputs.size() ||
      node.outputs.size() > function.outputs.size()) {
    return name + ": the function has " + std::to_string(function.inputs.size()) + " inputs and " +
           std::to_string(function.outputs.size()) + " results, the call " +
           std::to_string(node.inputs.size()) + " and " + std::to_string(node.outputs.size());
  }
  std::vector<ValueId> inputs;
  std::string problem = read_inputs(node, name, scope, inputs);
  if (!problem.empty()) {
    return problem;
  }
  inputs.resize(function.inputs.size());
  Scope inner;
  inner.opsets = &function.opsets;
  inner.prefix = scope.prefix + std::string(node.name) + "/";
  inner.where = " in function " + in_quotes(operator_name(function.domain, function.name));
  inner.depth = scope.depth + 1;
  inner.call_attributes = &node.attributes;
  inner.default_attributes = &function.defaults;
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    inner.values.emplace(function.inputs[i], inputs[i]);
  }
  problem = add_nodes(function.nodes, inner);
  for (std::size_t i = 0; i < node.outputs.size() && problem.empty(); ++i) {
    problem = export_value(function.outputs[i], node.outputs[i], name, inner, scope);
  }
  return problem;
}

std::string Importer::export_value(std::string_view inner_name, std::string_view outer_name,
                                   const std::string& name, const Scope& inner, Scope& outer) {
  const ValueId* value = inner.find(inner_name);
  if (value == nullptr || !value->valid()) {
    return name + ": its body computes no " + in_quotes(inner_name);
  }
  const std::string problem = outer_name.empty() ? "" : define(outer_name, *value, outer);
  return problem.empty() ? problem : name + ": " + problem;
}

std::string Importer::add_branch(const NodeMessage& node, ValueId decides, const std::string& name,
                                 Scope& scope) {
  const auto condition = constant_of(decides);
  if (!condition || graph::num_elements(condition->shape) != 1) {
    return name + ": its condition is not constant; bind the extents and inputs that decide it";
  }
  if (scope.depth >= most_nested) {
    return name + ": branches lie in each other more than " + std::to_string(most_nested) + " deep";
  }
  const std::string_view chosen = condition->integer(0) != 0 ? "then_branch" : "else_branch";
  std::string_view bytes;
  for (const AttributeMessage& attribute : node.attributes) {
    bytes = attribute.name == chosen ? attribute.message : bytes;
  }
  const auto branch = parse_graph(bytes, name);
  if (!branch) {
    return branch.error();
  }
  if (branch->outputs.size() < node.outputs.size()) {
    return name + ": its branch has " + std::to_string(branch->outputs.size()) + " results, not " +
           std::to_string(node.outputs.size());
  }
  Scope inner;
  inner.outer = &scope;
  inner.opsets = scope.opsets;
  inner.prefix = scope.prefix + std::string(node.name) + "/";
  inner.where = scope.where;
  inner.depth = scope.depth + 1;
  inner.call_attributes = scope.call_attributes;
  inner.default_attributes = scope.default_attributes;
  std::string problem = add_initializers(*branch, inner);
  problem = problem.empty() ? add_nodes(branch->nodes, inner) : problem;
  for (std::size_t i = 0; i < node.outputs.size() && problem.empty(); ++i) {
    problem = export_value(branch->outputs[i].name, node.outputs[i], name, inner, scope);
  }
  return problem;
}

}  // namespace tensorsmith::onnx
