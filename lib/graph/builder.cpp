// SPDX-License-Identifier: Apache-2.0
#include "tensorsmith/graph/builder.hpp"

#include <cmath>

#include "graph/operators.hpp"
#include "tensorsmith/graph/resolve.hpp"
#include "tensorsmith/support/rng.hpp"

namespace tensorsmith::graph {

ValueId Builder::input(const std::string& name, Shape shape, DType dtype) {
  return graph_.add_input(name, dtype, std::move(shape));
}

void Builder::output(const std::string& name, ValueId value) {
  if (!value.valid() || value.value >= graph_.values.size()) {
    throw Error("graph::Builder: output \"" + name + "\" is no value of the graph");
  }
  Value& v = graph_.value(value);
  bool is_taken = v.is_constant;
  for (const std::vector<ValueId>* ids : {&graph_.inputs, &graph_.outputs}) {
    for (const ValueId id : *ids) {
      is_taken = is_taken || id == value;
    }
  }
  if (is_taken) {
    value = add("Identity", {value});
  }
  graph_.value(value).name = name;
  graph_.outputs.push_back(value);
}

ValueId Builder::constant(Shape shape, std::span<const float> elements) {
  if (num_elements(shape) != static_cast<std::int64_t>(elements.size())) {
    throw Error("graph::Builder: a constant " + shape_text(shape) + " of " +
                std::to_string(elements.size()) + " elements");
  }
  return graph_.add_constant("", constant_of<float>(DType::f32, std::move(shape), elements));
}
ValueId Builder::integers(const std::vector<std::int64_t>& elements) {
  return graph_.add_constant("", integer_constant(elements));
}
ValueId Builder::scalar(double value, DType dtype) {
  HostArray array(dtype, {});
  array.set_real(0, value);
  return graph_.add_constant("", constant_from(array));
}

ValueId Builder::uniform(Shape shape, double low, double high) {
  const std::int64_t count = num_elements(shape);
  if (count < 0) {
    throw Error("graph::Builder: a constant of shape " + shape_text(shape));
  }
  std::vector<float> elements(static_cast<std::size_t>(count));
  CounterRng rng(seed_++, 0x67726170U);
  for (float& x : elements) {
    x = static_cast<float>(low + (high - low) * rng.next_double());
  }
  return constant(std::move(shape), elements);
}
ValueId Builder::weights(Shape shape) {
  std::int64_t terms = 1;
  for (std::size_t d = 1; d < shape.size(); ++d) {
    terms *= shape[d];
  }
  const double bound = std::sqrt(3.0 / static_cast<double>(terms < 1 ? 1 : terms));
  return uniform(std::move(shape), -bound, bound);
}

ValueId Builder::add(const std::string& op, std::vector<ValueId> inputs,
                     std::vector<Attribute> attributes) {
  return add_all(op, std::move(inputs), std::move(attributes), 1)[0];
}

std::vector<ValueId> Builder::add_all(const std::string& op, std::vector<ValueId> inputs,
                                      std::vector<Attribute> attributes, std::size_t num_outputs) {
  Node node;
  node.op = op;
  node.attributes = std::move(attributes);
  node.inputs = std::move(inputs);
  for (const ValueId id : node.inputs) {
    if (id.valid() && id.value >= graph_.values.size()) {
      throw Error("graph::Builder: " + op + " reads a value of another graph");
    }
  }
  for (std::size_t k = 0; k < num_outputs; ++k) {
    node.outputs.push_back(graph_.add_value({}));
  }
  graph_.nodes.push_back(node);
  const std::size_t index = graph_.nodes.size() - 1;
  try {
    const OperatorRow* row = find_row(op);
    if (row == nullptr) {
      refuse("is of an operator that is not known");
    }
    if (row->evaluate != nullptr) {
      const std::vector<Constant> made = row->evaluate(graph_, node);
      for (std::size_t k = 0; k < num_outputs; ++k) {
        graph_.value(node.outputs[k]).dtype = made.at(k).dtype;
        graph_.value(node.outputs[k]).shape = made.at(k).shape;
        graph_.value(node.outputs[k]).is_known = true;
      }
      return node.outputs;
    }
    Inference inference(graph_, node);
    row->infer(inference);
    if (inference.results().size() < num_outputs) {
      refuse("has fewer than " + std::to_string(num_outputs) + " results");
    }
    for (std::size_t k = 0; k < num_outputs; ++k) {
      Value& value = graph_.value(node.outputs[k]);
      value.dtype = inference.results()[k].dtype;
      value.shape = inference.results()[k].shape;
      value.is_known = true;
    }
  } catch (const std::exception& error) {
    const std::string where = describe_node(graph_, index);
    graph_.nodes.pop_back();
    throw Error("graph::Builder: " + where + " " + error.what());
  }
  return node.outputs;
}

Graph Builder::finish() {
  if (auto checked = check(graph_); !checked) {
    throw Error("graph::Builder: " + checked.error());
  }
  return std::move(graph_);
}

}  // namespace tensorsmith::graph
