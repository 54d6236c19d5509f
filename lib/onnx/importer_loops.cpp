// SPDX-License-Identifier: Apache-2.0
// Loop and Scan, written out round by round. How often they run must turn out constant: the number
// of rounds and conditions are shape arithmetic and counters, which are evaluated on the way.
#include <algorithm>
#include <cstddef>
#include <string>
#include <unordered_set>
#include <utility>
#include <vector>

#include "onnx/importer.hpp"
#include "onnx/order.hpp"
#include "tensorsmith/graph/resolve.hpp"
#include "tensorsmith/support/quote.hpp"

namespace tensorsmith::onnx {
namespace {

constexpr std::int64_t most_rounds = 2000;  // as of recurrent operators

std::string too_many(const std::string& name) {
  return name + ": it has more than " + std::to_string(most_rounds) +
         " rounds, which is more than are written out";
}

/// Axes of values that take part by their number, 0 without a list.
std::int64_t listed(const NodeMessage& node, std::string_view attribute, std::size_t i) {
  for (const AttributeMessage& each : node.attributes) {
    if (each.name == attribute && i < each.integers.size()) {
      return each.integers[i];
    }
  }
  return 0;
}

}  // namespace

// The nodes that were added since the last time make a graph of their own, whose inputs are what
// they read from before; so the time is that of the new nodes.
std::string Importer::settle() {
  graph::Graph part;
  std::vector<ValueId> inner(graph_.values.size()), outer;
  std::unordered_set<std::string> names;
  const auto name_of = [&](ValueId id) {  // rounds have the same ones
    const std::string& name = graph_.value(id).name;
    return !name.empty() && names.insert(name).second ? name : "#" + std::to_string(id.value);
  };
  const auto known = [&](ValueId id) {
    if (id.valid() && !inner[id.value].valid()) {
      graph::Value copy = graph_.value(id);
      copy.name = name_of(id);
      inner[id.value] = part.add_value(std::move(copy));
      if (!graph_.value(id).is_constant) {
        part.inputs.push_back(inner[id.value]);
      }
    }
    return id.valid() ? inner[id.value] : id;
  };
  for (std::size_t i = num_settled_; i < graph_.nodes.size(); ++i) {
    graph::Node node = graph_.nodes[i];
    for (ValueId& id : node.inputs) {
      id = known(id);
    }
    for (ValueId& id : node.outputs) {
      if (id.valid()) {
        outer.push_back(id);
        graph::Value copy;
        copy.name = name_of(id);
        id = inner[id.value] = part.add_value(std::move(copy));
        part.outputs.push_back(id);
      }
    }
    part.nodes.push_back(std::move(node));
  }
  const auto resolved = graph::resolve(part);
  if (!resolved) {
    return resolved.error();
  }
  for (std::size_t i = 0; i < outer.size(); ++i) {
    const graph::Value& found = part.value(part.outputs[i]);
    graph::Value& value = graph_.value(outer[i]);
    value.dtype = found.dtype;
    value.shape = found.shape;
    value.is_known = found.is_known;
    value.is_constant = found.is_constant;
    value.constant = found.constant;
  }
  for (std::size_t i = num_settled_; i < graph_.nodes.size(); ++i) {
    for (ValueId& id : graph_.nodes[i].outputs) {
      id = graph_.is_constant(id) ? ValueId{} : id;
    }
  }
  num_settled_ = graph_.nodes.size();
  return {};
}

ValueId Importer::emit(std::string_view op, const std::string& name, std::vector<ValueId> inputs,
                       std::vector<graph::Attribute> attributes) {
  graph::Value value;
  value.dtype = graph_.value(inputs.front()).dtype;
  const ValueId result = graph_.add_value(std::move(value));
  graph_.nodes.push_back(
      {std::string(op), name, std::move(attributes), std::move(inputs), {result}});
  return result;
}

std::string Importer::add_round(const GraphMessage& body, const std::vector<ValueId>& inputs,
                                std::size_t round, const std::string& name, const Scope& around,
                                std::vector<ValueId>& outputs) {
  Scope inner = around;
  inner.outer = &around;
  inner.values.clear();
  inner.prefix += std::to_string(round) + "/";
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    const std::string problem = define(body.inputs[i].name, inputs[i], inner);
    if (!problem.empty()) {
      return name + ": " + problem;
    }
  }
  std::string problem = add_nodes(body.nodes, inner);
  problem = problem.empty() ? settle() : problem;
  outputs.clear();
  for (std::size_t i = 0; i < body.outputs.size() && problem.empty(); ++i) {
    const ValueId* value = inner.find(body.outputs[i].name);
    if (value == nullptr || !value->valid()) {
      return name + ": its body computes no " + in_quotes(body.outputs[i].name);
    }
    outputs.push_back(*value);
  }
  return problem;
}

Result<GraphMessage, std::string> Importer::body_of(const NodeMessage& node,
                                                    const std::string& name, const Scope& scope,
                                                    Scope& around) {
  if (scope.depth >= most_nested) {
    return fail(name + ": bodies lie in each other more than " + std::to_string(most_nested) +
                " deep");
  }
  std::string_view bytes;
  for (const AttributeMessage& attribute : node.attributes) {
    bytes = attribute.name == "body" ? attribute.message : bytes;
  }
  auto body = parse_graph(bytes, name);
  if (!body) {
    return body;
  }
  around.outer = &scope;
  around.opsets = scope.opsets;
  around.prefix = scope.prefix + std::string(node.name) + "/";
  around.where = scope.where;
  around.depth = scope.depth + 1;
  around.call_attributes = scope.call_attributes;
  around.default_attributes = scope.default_attributes;
  const std::string problem = add_initializers(*body, around);
  if (!problem.empty()) {
    return fail(problem);
  }
  return body;
}

// Loop(rounds, goes on, state...); its body: (round, goes on, state...) --> (goes on, state...,
// results of the round...).
std::string Importer::add_loop(const NodeMessage& node, const std::vector<ValueId>& inputs,
                               const std::string& name, Scope& scope) {
  Scope around;
  const auto body = body_of(node, name, scope, around);
  if (!body) {
    return body.error();
  }
  const std::size_t states = inputs.size() < 2 ? 0 : inputs.size() - 2;
  if (body->inputs.size() != states + 2 || body->outputs.size() < states + 1 ||
      node.outputs.size() + 1 > body->outputs.size()) {
    return name + ": its body has " + std::to_string(body->inputs.size()) + " inputs and " +
           std::to_string(body->outputs.size()) + " results for " + std::to_string(states) +
           " values that go from round to round";
  }
  std::string problem = settle();
  if (!problem.empty()) {
    return problem;
  }
  const auto integer_of = [&](std::size_t i,
                              std::int64_t otherwise) -> std::optional<std::int64_t> {
    if (i >= inputs.size() || !inputs[i].valid()) {
      return otherwise;
    }
    const graph::Value& value = graph_.value(inputs[i]);
    return value.is_constant && graph::num_elements(value.shape) == 1
               ? std::optional(value.constant.integer(0))
               : std::nullopt;
  };
  const auto count = integer_of(0, INT64_MAX), starts = integer_of(1, 1);
  if (!count || !starts) {
    return name + ": how many rounds it has is not constant; bind the extents and inputs that "
                  "decide it";
  }
  std::vector<ValueId> state(inputs.begin() + static_cast<std::ptrdiff_t>(inputs.size() - states),
                             inputs.end());
  std::vector<std::vector<ValueId>> results(body->outputs.size() - 1 - states);
  bool goes_on = *starts != 0;
  for (std::int64_t round = 0; goes_on && round < *count; ++round) {
    if (round >= most_rounds) {
      return too_many(name);
    }
    const std::byte yes{1};
    std::vector<ValueId> given = {
        graph_.add_constant("", graph::constant_of<std::int64_t>(DType::i64, {}, {&round, 1})),
        graph_.add_constant("", graph::make_constant(DType::boolean, {}, {yes}))};
    given.insert(given.end(), state.begin(), state.end());
    std::vector<ValueId> made;
    problem = add_round(*body, given, static_cast<std::size_t>(round), name, around, made);
    if (!problem.empty()) {
      return problem;
    }
    const graph::Value& condition = graph_.value(made[0]);
    if (!condition.is_constant || graph::num_elements(condition.shape) != 1) {
      return name + ": whether it goes on after round " + std::to_string(round) +
             " depends on what it computes";
    }
    goes_on = condition.constant.integer(0) != 0;
    const auto first_result = made.begin() + static_cast<std::ptrdiff_t>(1 + states);
    state.assign(made.begin() + 1, first_result);
    for (std::size_t i = 0; i < results.size(); ++i) {
      results[i].push_back(first_result[static_cast<std::ptrdiff_t>(i)]);
    }
  }
  for (std::size_t i = 0; i < node.outputs.size() && problem.empty(); ++i) {
    if (node.outputs[i].empty()) {
      continue;
    }
    if (i >= states && results[i - states].empty()) {
      return name + ": it has no round, so nothing says what " + in_quotes(node.outputs[i]) + " is";
    }
    problem = define(node.outputs[i], i < states ? state[i] : stacked(results[i - states], 0, name),
                     scope);
  }
  return problem.empty() ? problem : name + ": " + problem;
}

ValueId Importer::stacked(const std::vector<ValueId>& parts, std::int64_t axis,
                          const std::string& name) {
  std::vector<ValueId> slices;
  for (const ValueId part : parts) {
    const ValueId place = graph_.add_constant("", graph::integer_constant({axis}));
    slices.push_back(emit("Unsqueeze", name, {part, place}, {}));
  }
  return emit("Concat", name, std::move(slices), {{"axis", axis}});
}

// Scan(state..., sequences...); its body: (state..., elements...) --> (state..., elements...).
std::string Importer::add_scan(const NodeMessage& node, std::int64_t version,
                               const std::vector<ValueId>& inputs, const std::string& name,
                               Scope& scope) {
  if (version < 9) {
    return name + ": its form before operator set 9 is not read";
  }
  Scope around;
  const auto body = body_of(node, name, scope, around);
  if (!body) {
    return body.error();
  }
  std::int64_t given = 0;
  for (const AttributeMessage& attribute : node.attributes) {
    given = attribute.name == "num_scan_inputs" ? attribute.integer : given;
  }
  const auto sequences = static_cast<std::size_t>(std::max<std::int64_t>(given, 0));
  const std::size_t states = inputs.size() - std::min(sequences, inputs.size());
  const bool fits =
      given >= 1 && sequences <= inputs.size() && body->inputs.size() == inputs.size() &&
      body->outputs.size() >= states && node.outputs.size() <= body->outputs.size() &&
      std::all_of(inputs.begin(), inputs.end(), [](ValueId id) { return id.valid(); });
  if (!fits) {
    return name + ": it has " + std::to_string(inputs.size()) + " inputs, " +
           std::to_string(given) + " of them sequences, and its body " +
           std::to_string(body->inputs.size()) + " and " + std::to_string(body->outputs.size()) +
           " results";
  }
  std::string problem = settle();
  if (!problem.empty()) {
    return problem;
  }
  // Elements of the sequences, in the order of the rounds.
  std::vector<std::int64_t> axes(sequences);
  std::int64_t rounds = -1;
  for (std::size_t i = 0; i < sequences; ++i) {
    const graph::Shape& shape = graph_.value(inputs[states + i]).shape;
    const auto rank = static_cast<std::int64_t>(shape.size());
    axes[i] = listed(node, "scan_input_axes", i);
    axes[i] += axes[i] < 0 ? rank : 0;
    if (axes[i] < 0 || axes[i] >= rank ||
        (rounds >= 0 && shape[static_cast<std::size_t>(axes[i])] != rounds)) {
      return name + ": its sequence " + std::to_string(i) + " of shape " +
             graph::shape_text(shape) + " does not fit";
    }
    rounds = shape[static_cast<std::size_t>(axes[i])];
  }
  if (rounds > most_rounds) {
    return too_many(name);
  }
  std::vector<ValueId> state(inputs.begin(), inputs.begin() + static_cast<std::ptrdiff_t>(states));
  std::vector<std::vector<ValueId>> results(body->outputs.size() - states);
  for (std::int64_t round = 0; round < rounds; ++round) {
    std::vector<ValueId> elements = state;
    for (std::size_t i = 0; i < sequences; ++i) {
      const std::int64_t at =
          listed(node, "scan_input_directions", i) != 0 ? rounds - 1 - round : round;
      const ValueId place =
          graph_.add_constant("", graph::constant_of<std::int64_t>(DType::i64, {}, {&at, 1}));
      elements.push_back(emit("Gather", name, {inputs[states + i], place}, {{"axis", axes[i]}}));
    }
    std::vector<ValueId> made;
    problem = add_round(*body, elements, static_cast<std::size_t>(round), name, around, made);
    if (!problem.empty()) {
      return problem;
    }
    const auto first_result = made.begin() + static_cast<std::ptrdiff_t>(states);
    state.assign(made.begin(), first_result);
    for (std::size_t i = 0; i < results.size(); ++i) {
      results[i].push_back(first_result[static_cast<std::ptrdiff_t>(i)]);
    }
  }
  for (std::size_t i = 0; i < node.outputs.size() && problem.empty(); ++i) {
    if (node.outputs[i].empty()) {
      continue;
    }
    if (i < states) {
      problem = define(node.outputs[i], state[i], scope);
      continue;
    }
    std::vector<ValueId>& parts = results[i - states];
    if (parts.empty()) {
      return name + ": it has no round, so nothing says what " + in_quotes(node.outputs[i]) + " is";
    }
    if (listed(node, "scan_output_directions", i - states) != 0) {
      std::reverse(parts.begin(), parts.end());
    }
    std::int64_t axis = listed(node, "scan_output_axes", i - states);
    axis += axis < 0 ? static_cast<std::int64_t>(graph_.value(parts[0]).shape.size()) + 1 : 0;
    problem = define(node.outputs[i], stacked(parts, axis, name), scope);
  }
  return problem.empty() ? problem : name + ": " + problem;
}

}  // namespace tensorsmith::onnx
