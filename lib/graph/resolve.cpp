// SPDX-License-Identifier: Apache-2.0
#include "tensorsmith/graph/resolve.hpp"

#include <algorithm>

#include "graph/fold.hpp"
#include "graph/operators.hpp"
#include "tensorsmith/te/eval_dag.hpp"

namespace tensorsmith::graph {

HostArray host_array(const Constant& constant, bool is_wide) {
  const DType type = is_wide && is_float(constant.dtype) ? DType::f64 : constant.dtype;
  HostArray array(type, constant.shape);
  if (type == constant.dtype) {
    std::copy(constant.bytes.begin(), constant.bytes.end(), array.data.begin());
    return array;
  }
  for (std::int64_t i = 0; i < array.num_elements(); ++i) {
    array.set_real(i, constant.real(i));
  }
  return array;
}
Constant constant_from(const HostArray& array) {
  return make_constant(array.dtype, array.shape, array.data);
}

namespace {

/// One node by the interpreter. `values`: its inputs, in the order of the program's.
std::vector<HostArray> evaluate_program(const GroupProgram& program,
                                        const std::vector<HostArray>& inputs) {
  EvalDagOptions options;
  options.wide = true;
  auto results = eval_dag(*program.dag, inputs, options);
  if (!results) {
    refuse("cannot be computed: an index lies outside, or a division is by 0");
  }
  return std::move(*results);
}

std::vector<ValueId> valid_outputs(const Node& node) {
  std::vector<ValueId> ids;
  for (const ValueId id : node.outputs) {
    if (id.valid()) {
      ids.push_back(id);
    }
  }
  return ids;
}

GroupProgram program_of(const Graph& graph, std::size_t node, bool is_wide) {
  LoweringOptions options;
  options.is_wide = is_wide;
  options.reads_scalars = true;
  options.packs_constants = false;
  Emitter emitter(graph, options);
  emitter.emit(node);
  return emitter.finish(valid_outputs(graph.nodes[node]));
}

bool all_inputs_constant(const Graph& graph, const Node& node) {
  return std::all_of(node.inputs.begin(), node.inputs.end(),
                     [&](ValueId id) { return !id.valid() || graph.is_constant(id); });
}

class Resolver {
 public:
  Resolver(Graph& graph, const ResolveOptions& options) : graph_(graph), options_(options) {}

  /// The node's results get their types and shapes, or their values. Throws Error.
  bool resolve_node(std::size_t i) {
    const Node& node = graph_.nodes[i];
    const OperatorRow* row = find_row(node.op);
    if (row == nullptr) {
      refuse("is of an operator that is not known");
    }
    const bool can_fold =
        all_inputs_constant(graph_, node) || (row->is_of_shape && node.has_input(0));
    if (row->facts.is_folded && !can_fold) {
      refuse("needs constant inputs");
    }
    if (row->evaluate != nullptr) {
      define(node, row->evaluate(graph_, node));
      return true;
    }
    infer(*row, node);
    if (row->expand != nullptr && row->emit == nullptr) {
      return false;
    }
    if (row->expand != nullptr) {  // before it is computed
      define_empty(graph_.nodes[i]);
      return false;
    }
    if (!can_fold || !is_small(node)) {
      define_empty(graph_.nodes[i]);
      return false;
    }
    define(node, evaluate_node(graph_, i));
    return true;
  }

 private:
  void infer(const OperatorRow& row, const Node& node) {
    Inference inference(graph_, node);
    row.infer(inference);
    for (std::size_t k = 0; k < node.outputs.size(); ++k) {
      if (!node.has_output(k)) {
        continue;
      }
      if (k >= inference.results().size()) {
        refuse("has more than " + std::to_string(inference.results().size()) + " results");
      }
      Value& value = graph_.value(node.outputs[k]);
      const Inference::Facts& facts = inference.results()[k];
      if (num_elements(facts.shape) < 0) {
        refuse("has a result " + shape_text(facts.shape) + " that no memory holds");
      }
      if (value.is_known && (value.shape != facts.shape || value.dtype != facts.dtype)) {
        refuse("computes " + std::string(name_of(facts.dtype)) + " " + shape_text(facts.shape) +
               "; the graph says " + std::string(name_of(value.dtype)) + " " +
               shape_text(value.shape));
      }
      value.dtype = facts.dtype;
      value.shape = facts.shape;
      value.is_known = true;
    }
  }
  /// What has no elements needs nobody to compute it.
  void define_empty(Node& node) {
    for (ValueId& id : node.outputs) {
      if (id.valid() && num_elements(graph_.value(id).shape) == 0) {
        Value& value = graph_.value(id);
        value.constant = make_constant(value.dtype, value.shape, {});
        value.is_constant = true;
        id = ValueId{};
      }
    }
  }
  bool is_small(const Node& node) const {
    return std::all_of(node.outputs.begin(), node.outputs.end(), [&](ValueId id) {
      return !id.valid() || num_elements(graph_.value(id).shape) <= options_.most_elements;
    });
  }
  void define(const Node& node, std::vector<Constant> constants) {
    for (std::size_t k = 0; k < node.outputs.size(); ++k) {
      if (!node.has_output(k)) {
        continue;
      }
      if (k >= constants.size()) {
        refuse("has more than " + std::to_string(constants.size()) + " results");
      }
      Value& value = graph_.value(node.outputs[k]);
      value.dtype = constants[k].dtype;
      value.shape = constants[k].shape;
      value.constant = std::move(constants[k]);
      value.is_known = value.is_constant = true;
    }
  }

  Graph& graph_;
  const ResolveOptions& options_;
};

/// Whether other nodes stand in the place of one now.
Result<bool, std::string> expand_nodes(Graph& graph) {
  std::vector<Node> nodes;
  bool has_expanded = false;
  for (std::size_t i = 0; i < graph.nodes.size(); ++i) {
    const OperatorRow* row = find_row(graph.nodes[i].op);
    if (row->expand == nullptr) {
      nodes.push_back(std::move(graph.nodes[i]));
      continue;
    }
    try {
      std::vector<Node> parts = row->expand(graph, graph.nodes[i]);
      has_expanded = has_expanded || !parts.empty();
      if (parts.empty()) {
        parts.push_back(std::move(graph.nodes[i]));
      }
      for (Node& part : parts) {
        nodes.push_back(std::move(part));
      }
    } catch (const Error& error) {
      return fail(describe_node(graph, i) + " " + error.what());
    }
  }
  graph.nodes = std::move(nodes);
  return has_expanded;
}

}  // namespace

std::vector<Constant> evaluate_node(const Graph& graph, std::size_t node) {
  const OperatorRow* row = find_row(graph.nodes[node].op);
  const Node& n = graph.nodes[node];
  if (row->evaluate != nullptr) {
    return row->evaluate(graph, n);
  }
  std::vector<Constant> constants(n.outputs.size());
  bool is_empty = true;
  for (std::size_t k = 0; k < n.outputs.size(); ++k) {
    if (n.has_output(k)) {
      const Value& value = graph.value(n.outputs[k]);
      constants[k] = make_constant(value.dtype, value.shape, {});
      is_empty = is_empty && num_elements(value.shape) == 0;
    }
  }
  if (is_empty) {
    return constants;
  }
  if (row->facts.is_view) {  // the same bytes, seen otherwise
    constants[0] = graph.value(n.inputs[0]).constant;
    constants[0].shape = graph.value(n.outputs[0]).shape;
    return constants;
  }
  const GroupProgram program = program_of(graph, node, false);
  std::vector<HostArray> inputs;
  for (const ValueId id : program.inputs) {
    inputs.push_back(host_array(graph.value(id).constant, false));
  }
  auto folded = fold_dag(*program.dag, inputs);
  const std::vector<HostArray> results =
      folded ? std::move(*folded) : evaluate_program(program, inputs);
  std::size_t next = 0;
  for (std::size_t k = 0; k < n.outputs.size(); ++k) {
    if (n.has_output(k)) {
      constants[k] = constant_from(results[next++]);
    }
  }
  return constants;
}

Result<Done, std::string> resolve(Graph& graph, const ResolveOptions& options) {
  if (auto sorted = sort_nodes(graph); !sorted) {
    return sorted;
  }
  if (auto checked = check(graph); !checked) {
    return checked;
  }
  Resolver resolver(graph, options);
  std::vector<bool> is_folded(graph.nodes.size(), false);
  for (std::size_t i = 0; i < graph.nodes.size(); ++i) {
    try {
      is_folded[i] = resolver.resolve_node(i);
    } catch (const Error& error) {
      return fail(describe_node(graph, i) + " " + error.what());
    }
  }
  std::vector<Node> kept;
  for (std::size_t i = 0; i < graph.nodes.size(); ++i) {
    if (!is_folded[i]) {
      kept.push_back(std::move(graph.nodes[i]));
    }
  }
  graph.nodes = std::move(kept);
  remove_unused(graph);
  const Result<bool, std::string> has_expanded = expand_nodes(graph);
  if (!has_expanded) {
    return fail(has_expanded.error());
  }
  return *has_expanded ? resolve(graph, options) : Done{};
}

Result<std::vector<HostArray>, std::string> interpret(const Graph& graph,
                                                      const std::vector<HostArray>& inputs) {
  if (inputs.size() != graph.inputs.size()) {
    return fail("the network has " + std::to_string(graph.inputs.size()) + " inputs, and " +
                std::to_string(inputs.size()) + " are given");
  }
  std::vector<HostArray> arrays(graph.values.size());
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    const Value& value = graph.value(graph.inputs[i]);
    if (inputs[i].dtype != value.dtype || inputs[i].shape != value.shape) {
      return fail("input \"" + value.name + "\" is " + std::string(name_of(value.dtype)) + " " +
                  shape_text(value.shape));
    }
    arrays[graph.inputs[i].value] =
        host_array(make_constant(value.dtype, value.shape, inputs[i].data), true);
  }
  for (std::size_t i = 0; i < graph.values.size(); ++i) {
    if (graph.values[i].is_constant) {
      arrays[i] = host_array(graph.values[i].constant, true);
    }
  }
  for (std::size_t i = 0; i < graph.nodes.size(); ++i) {
    try {
      const GroupProgram program = program_of(graph, i, true);
      std::vector<HostArray> operands;
      for (const ValueId id : program.inputs) {
        operands.push_back(arrays[id.value]);
      }
      std::vector<HostArray> results = evaluate_program(program, operands);
      for (std::size_t k = 0; k < results.size(); ++k) {
        arrays[program.outputs[k].value] = std::move(results[k]);
      }
    } catch (const Error& error) {
      return fail(describe_node(graph, i) + " " + error.what());
    }
  }
  std::vector<HostArray> outputs;
  for (const ValueId id : graph.outputs) {
    outputs.push_back(arrays[id.value]);
  }
  return outputs;
}

}  // namespace tensorsmith::graph
