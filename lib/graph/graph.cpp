// SPDX-License-Identifier: Apache-2.0
#include "tensorsmith/graph/graph.hpp"

#include <algorithm>
#include <set>

#include "graph/topological.hpp"
#include "tensorsmith/ir/host_array.hpp"
#include "tensorsmith/support/quote.hpp"

namespace tensorsmith::graph {

namespace {

Scalar element(const Constant& c, std::int64_t i) {
  return load_scalar(c.bytes.data() + i * bytes_of(c.dtype), c.dtype);
}

const std::string& name_of_op(const Graph& graph, std::size_t node) { return graph.nodes[node].op; }

std::string describe_value(const Graph& graph, ValueId id) {
  return in_quotes(graph.value(id).name.empty() ? "#" + std::to_string(id.value)
                                                : graph.value(id).name);
}

}  // namespace

std::int64_t num_elements(const Shape& shape) {
  std::int64_t product = 1;
  for (const std::int64_t extent : shape) {
    if (extent < 0 || __builtin_mul_overflow(product, extent, &product)) {
      return -1;
    }
  }
  return product;
}

std::string shape_text(const Shape& shape) {
  std::string text = "[";
  for (std::size_t i = 0; i < shape.size(); ++i) {
    text += (i > 0 ? ", " : "") + std::to_string(shape[i]);
  }
  return text + "]";
}

double Constant::real(std::int64_t i) const {
  return cast_scalar(element(*this, i), dtype, DType::f64).real;
}
std::int64_t Constant::integer(std::int64_t i) const {
  return cast_scalar(element(*this, i), dtype, DType::i64).integer;
}
std::vector<std::int64_t> Constant::integers() const {
  std::vector<std::int64_t> list;
  for (std::int64_t i = 0; i < num_elements(shape); ++i) {
    list.push_back(integer(i));
  }
  return list;
}
std::vector<double> Constant::reals() const {
  std::vector<double> list;
  for (std::int64_t i = 0; i < num_elements(shape); ++i) {
    list.push_back(real(i));
  }
  return list;
}

Constant make_constant(DType dtype, Shape shape, std::vector<std::byte> bytes) {
  const auto buffer = make_shared_of<const ByteBuffer>(std::move(bytes));
  Constant made;
  made.dtype = dtype;
  made.shape = std::move(shape);
  made.bytes = buffer->bytes;
  made.owner = buffer;
  return made;
}
Constant integer_constant(const std::vector<std::int64_t>& elements) {
  return constant_of<std::int64_t>(DType::i64, {static_cast<std::int64_t>(elements.size())},
                                   elements);
}

const AttributeValue* find_attribute(const std::vector<Attribute>& attributes,
                                     std::string_view name) {
  for (const Attribute& a : attributes) {
    if (a.name == name) {
      return &a.value;
    }
  }
  return nullptr;
}
std::int64_t Node::integer(std::string_view attribute, std::int64_t otherwise) const {
  const auto* integer = attribute_of<std::int64_t>(attributes, attribute);
  return integer == nullptr ? otherwise : *integer;
}
double Node::real(std::string_view attribute, double otherwise) const {
  const auto* real = attribute_of<double>(attributes, attribute);
  return real == nullptr ? otherwise : *real;
}
std::string Node::text(std::string_view attribute, std::string_view otherwise) const {
  const auto* text = attribute_of<std::string>(attributes, attribute);
  return text == nullptr ? std::string(otherwise) : *text;
}
std::vector<std::int64_t> Node::integers(std::string_view attribute,
                                         std::vector<std::int64_t> otherwise) const {
  const auto* list = attribute_of<std::vector<std::int64_t>>(attributes, attribute);
  return list == nullptr ? std::move(otherwise) : *list;
}
void Node::set(std::string_view attribute, AttributeValue value) {
  for (Attribute& a : attributes) {
    if (a.name == attribute) {
      a.value = std::move(value);
      return;
    }
  }
  attributes.push_back({std::string(attribute), std::move(value)});
}

ValueId Graph::add_input(std::string its_name, DType dtype, Shape shape) {
  Value value;
  value.name = std::move(its_name);
  value.dtype = dtype;
  value.shape = std::move(shape);
  value.is_known = true;
  inputs.push_back(add_value(std::move(value)));
  return inputs.back();
}
ValueId Graph::add_constant(std::string its_name, Constant constant) {
  Value value;
  value.name = std::move(its_name);
  value.dtype = constant.dtype;
  value.shape = constant.shape;
  value.is_known = true;
  value.is_constant = true;
  value.constant = std::move(constant);
  return add_value(std::move(value));
}

std::string describe_node(const Graph& graph, std::size_t node) {
  const Node& n = graph.nodes[node];
  if (!n.name.empty()) {
    return "node " + in_quotes(n.name) + " (" + one_line(n.op, 100) + ")";
  }
  std::string text = "node " + std::to_string(node) + " (" + one_line(name_of_op(graph, node), 100);
  for (const ValueId id : n.outputs) {
    if (id.valid() && id.value < graph.values.size()) {
      return text + " that computes " + describe_value(graph, id) + ")";
    }
  }
  return text + ")";
}

std::vector<std::int32_t> producers(const Graph& graph) {
  std::vector<std::int32_t> by_value(graph.values.size(), -1);
  for (std::size_t i = 0; i < graph.nodes.size(); ++i) {
    for (const ValueId id : graph.nodes[i].outputs) {
      if (id.valid() && id.value < by_value.size()) {
        by_value[id.value] = static_cast<std::int32_t>(i);
      }
    }
  }
  return by_value;
}

std::vector<std::int32_t> count_uses(const Graph& graph) {
  std::vector<std::int32_t> uses(graph.values.size(), 0);
  const auto count = [&](const std::vector<ValueId>& ids) {
    for (const ValueId id : ids) {
      if (id.valid()) {
        ++uses[id.value];
      }
    }
  };
  for (const Node& node : graph.nodes) {
    count(node.inputs);
  }
  count(graph.outputs);
  return uses;
}

Result<Done, std::string> sort_nodes(Graph& graph) {
  const std::vector<std::int32_t> by_value = producers(graph);
  const std::size_t n = graph.nodes.size();
  std::vector<std::vector<std::size_t>> readers(n);
  std::vector<std::size_t> waits_for(n, 0);
  for (std::size_t i = 0; i < n; ++i) {
    for (const ValueId id : graph.nodes[i].inputs) {
      if (id.valid() && id.value < by_value.size() && by_value[id.value] >= 0) {
        readers[static_cast<std::size_t>(by_value[id.value])].push_back(i);
        ++waits_for[i];
      }
    }
  }
  const std::vector<std::size_t> order = topological_order(readers, waits_for);
  if (order.size() < n) {
    // A node that waits may only stand behind a cycle: going back from it n times ends in one.
    std::size_t at = 0;
    while (waits_for[at] == 0) {
      ++at;
    }
    for (std::size_t step = 0; step < n; ++step) {
      for (const ValueId id : graph.nodes[at].inputs) {
        const std::int32_t before =
            id.valid() && id.value < by_value.size() ? by_value[id.value] : -1;
        if (before >= 0 && waits_for[static_cast<std::size_t>(before)] > 0) {
          at = static_cast<std::size_t>(before);
          break;
        }
      }
    }
    return fail(describe_node(graph, at) + " reads, directly or not, what it computes itself");
  }
  std::vector<Node> sorted;
  sorted.reserve(n);
  for (const std::size_t i : order) {
    sorted.push_back(std::move(graph.nodes[i]));
  }
  graph.nodes = std::move(sorted);
  return Done{};
}

namespace {

/// What is wrong with a list of ids, of a node or of the graph.
class Checker {
 public:
  explicit Checker(const Graph& graph) : graph_(graph), is_defined_(graph.values.size(), false) {}

  std::string run() {
    for (std::size_t i = 0; i < graph_.values.size(); ++i) {
      const Value& value = graph_.values[i];
      if (value.is_constant) {
        is_defined_[i] = true;
        const std::string wrong = problem_of(value.constant);
        if (!wrong.empty()) {
          return "constant " + describe_value(graph_, ValueId{static_cast<std::uint32_t>(i)}) +
                 " " + wrong;
        }
      }
    }
    for (const ValueId id : graph_.inputs) {
      if (!in_range(id)) {
        return "an input of the graph is no value of it";
      }
      if (is_defined_[id.value]) {
        return "input " + describe_value(graph_, id) + " of the graph is defined twice";
      }
      if (!graph_.value(id).is_known || num_elements(graph_.value(id).shape) < 0) {
        return "input " + describe_value(graph_, id) + " of the graph has no concrete shape";
      }
      is_defined_[id.value] = true;
    }
    for (std::size_t i = 0; i < graph_.nodes.size(); ++i) {
      std::string wrong = problem_of(graph_.nodes[i]);
      if (!wrong.empty()) {
        return describe_node(graph_, i) + " " + wrong;
      }
    }
    for (const ValueId id : graph_.outputs) {
      if (!in_range(id)) {
        return "an output of the graph is no value of it";
      }
      if (!is_defined_[id.value]) {
        return "output " + describe_value(graph_, id) + " of the graph is computed by no node";
      }
    }
    return problem_of_names();
  }

 private:
  bool in_range(ValueId id) const { return id.value < graph_.values.size(); }

  static std::string problem_of(const Constant& c) {
    const std::int64_t n = num_elements(c.shape);
    std::int64_t bytes = 0;
    if (n < 0 || __builtin_mul_overflow(n, std::int64_t{bytes_of(c.dtype)}, &bytes)) {
      return "has a shape that no memory holds, " + shape_text(c.shape);
    }
    if (static_cast<std::uint64_t>(bytes) != c.bytes.size()) {
      return "has " + std::to_string(c.bytes.size()) + " bytes; its shape " + shape_text(c.shape) +
             " of " + std::string(name_of(c.dtype)) + " needs " + std::to_string(bytes);
    }
    return {};
  }

  std::string problem_of(const Node& node) {
    if (node.op.empty()) {
      return "has no operator";
    }
    for (const Attribute& a : node.attributes) {
      if (const auto* constant = std::get_if<Constant>(&a.value)) {
        const std::string wrong = problem_of(*constant);
        if (!wrong.empty()) {
          return "has an attribute " + in_quotes(a.name) + " that " + wrong;
        }
      }
    }
    for (const ValueId id : node.inputs) {
      if (id.valid() && !in_range(id)) {
        return "reads a value that the graph does not have";
      }
      if (id.valid() && !is_defined_[id.value]) {
        return "reads " + describe_value(graph_, id) + ", which nothing before it defines";
      }
    }
    for (const ValueId id : node.outputs) {
      if (id.valid() && !in_range(id)) {
        return "computes a value that the graph does not have";
      }
      if (id.valid() && is_defined_[id.value]) {
        return "computes " + describe_value(graph_, id) + ", which is defined already";
      }
      if (id.valid()) {
        is_defined_[id.value] = true;
      }
    }
    return {};
  }

  std::string problem_of_names() const {
    for (const std::vector<ValueId>* ids : {&graph_.inputs, &graph_.outputs}) {
      std::set<std::string> names;
      for (const ValueId id : *ids) {
        const std::string& name = graph_.value(id).name;
        if (name.empty() || !names.insert(name).second) {
          return std::string(ids == &graph_.inputs ? "an input" : "an output") +
                 " of the graph has " +
                 (name.empty() ? "no name" : "the name of another, " + in_quotes(name));
        }
      }
    }
    return {};
  }

  const Graph& graph_;
  std::vector<bool> is_defined_;
};

}  // namespace

Result<Done, std::string> check(const Graph& graph) {
  std::string wrong = Checker(graph).run();
  if (!wrong.empty()) {
    return fail(std::move(wrong));
  }
  return Done{};
}

void remove_unused(Graph& graph) {
  std::vector<bool> is_needed(graph.values.size(), false);
  for (const ValueId id : graph.outputs) {
    is_needed[id.value] = true;
  }
  std::vector<Node> kept;
  for (std::size_t i = graph.nodes.size(); i-- > 0;) {
    Node& node = graph.nodes[i];
    const bool is_read = std::any_of(node.outputs.begin(), node.outputs.end(),
                                     [&](ValueId id) { return id.valid() && is_needed[id.value]; });
    if (!is_read) {
      continue;
    }
    for (const ValueId id : node.inputs) {
      if (id.valid()) {
        is_needed[id.value] = true;
      }
    }
    for (ValueId& id : node.outputs) {
      id = id.valid() && is_needed[id.value] ? id : ValueId{};
    }
    kept.push_back(std::move(node));
  }
  std::reverse(kept.begin(), kept.end());
  graph.nodes = std::move(kept);
  for (const ValueId id : graph.inputs) {
    is_needed[id.value] = true;
  }
  std::vector<ValueId> renamed(graph.values.size());
  std::vector<Value> values;
  for (std::size_t i = 0; i < graph.values.size(); ++i) {
    if (is_needed[i]) {
      renamed[i] = ValueId{static_cast<std::uint32_t>(values.size())};
      values.push_back(std::move(graph.values[i]));
    }
  }
  graph.values = std::move(values);
  const auto rename = [&](std::vector<ValueId>& ids) {
    for (ValueId& id : ids) {
      id = id.valid() ? renamed[id.value] : id;
    }
  };
  rename(graph.inputs);
  rename(graph.outputs);
  for (Node& node : graph.nodes) {
    rename(node.inputs);
    rename(node.outputs);
  }
}

}  // namespace tensorsmith::graph
