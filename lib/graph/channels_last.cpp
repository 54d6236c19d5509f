// SPDX-License-Identifier: Apache-2.0
#include "tensorsmith/graph/channels_last.hpp"

#include <algorithm>
#include <cstring>
#include <map>

#include "graph/layout_nodes.hpp"
#include "tensorsmith/graph/resolve.hpp"

namespace tensorsmith::graph {

List to_last(std::size_t rank) {
  List order{0};
  for (std::size_t d = 2; d < rank; ++d) {
    order.push_back(static_cast<std::int64_t>(d));
  }
  order.push_back(1);
  return order;
}

List from_last(std::size_t rank) {
  List order{0, static_cast<std::int64_t>(rank) - 1};
  for (std::size_t d = 1; d + 1 < rank; ++d) {
    order.push_back(static_cast<std::int64_t>(d));
  }
  return order;
}

Shape in_order(const Shape& shape, const List& order) {
  Shape made;
  for (const std::int64_t d : order) {
    made.push_back(shape[static_cast<std::size_t>(d)]);
  }
  return made;
}

bool moves_nothing(const Shape& shape, const List& order) {
  List moved;
  for (const std::int64_t d : order) {
    if (shape[static_cast<std::size_t>(d)] != 1) {
      moved.push_back(d);
    }
  }
  return std::is_sorted(moved.begin(), moved.end());
}

List weights_to_last(const Node& node, std::size_t rank) {
  List order;
  for (std::size_t d = 2; d < rank; ++d) {
    order.push_back(static_cast<std::int64_t>(d));
  }
  const bool is_transposed = node.op == "ConvTranspose";
  order.push_back(is_transposed ? 0 : 1);
  order.push_back(is_transposed ? 1 : 0);
  return order;
}

Shape with_rank(const Shape& shape, std::size_t rank) {
  Shape made(rank - shape.size(), 1);
  made.insert(made.end(), shape.begin(), shape.end());
  return made;
}

namespace {

bool is_one_of(std::string_view op, std::initializer_list<std::string_view> all) {
  return std::find(all.begin(), all.end(), op) != all.end();
}

/// Operators along one axis that an attribute names.
bool quantizes(std::string_view op) {
  return is_one_of(op, {"QuantizeLinear", "DequantizeLinear"});
}
bool has_axis(std::string_view op) {
  return quantizes(op) || is_one_of(op, {"Concat", "Softmax", "LogSoftmax", "Hardmax"});
}
std::int64_t axis_of(const Node& node) {
  return node.integer("axis", node.op == "Concat" ? 0 : quantizes(node.op) ? 1 : -1);
}

/// Operators along a list of axes.
bool reduces(std::string_view op) { return op.starts_with("Reduce"); }
bool has_axes(std::string_view op) { return reduces(op) || op == "Resize"; }
bool knows_axes(const Graph& graph, const Node& node) {
  return node.op == "Resize" || (node.integer("keepdims", 1) != 0 &&
                                 (!node.has_input(1) || graph.is_constant(node.inputs[1])) &&
                                 node.integer("noop_with_empty_axes", 0) == 0);
}

/// Whether input 0 alone has axes of planes.
bool has_one_input(const Node& node) {
  return has_axes(node.op) || quantizes(node.op) || node.op == "BatchNormalization";
}

List all_axes(std::size_t rank) {
  List axes;
  for (std::size_t d = 0; d < rank; ++d) {
    axes.push_back(static_cast<std::int64_t>(d));
  }
  return axes;
}

/// Bytes of a constant in another order of its axes.
Constant permuted(const Constant& from, const List& order) {
  const std::size_t rank = order.size();
  const auto width = static_cast<std::size_t>(bytes_of(from.dtype));
  const Shape shape = in_order(from.shape, order);
  List strides(rank, 1), steps(rank);
  for (std::size_t d = rank - 1; d-- > 0;) {
    strides[d] = strides[d + 1] * from.shape[d + 1];
  }
  for (std::size_t d = 0; d < rank; ++d) {
    steps[d] = strides[static_cast<std::size_t>(order[d])];
  }
  std::vector<std::byte> bytes(from.bytes.size());
  List at(rank, 0);
  std::int64_t place = 0;
  for (std::size_t to = 0; to < bytes.size(); to += width) {
    std::memcpy(&bytes[to], from.bytes.data() + static_cast<std::size_t>(place) * width, width);
    for (std::size_t d = rank; d-- > 0;) {
      place += steps[d];
      if (++at[d] < shape[d]) {
        break;
      }
      place -= steps[d] * shape[d];
      at[d] = 0;
    }
  }
  return make_constant(from.dtype, shape, std::move(bytes));
}

class Converter {
 public:
  explicit Converter(Graph& graph) : graph_(graph) {}

  std::int64_t run(const std::vector<bool>& is_last) {
    std::vector<Node> nodes = std::move(graph_.nodes);
    graph_.nodes.clear();
    std::int64_t count = 0;
    for (std::size_t i = 0; i < nodes.size(); ++i) {
      if (is_last[i]) {
        count += channels_last_of(graph_, nodes[i]) == ChannelsLast::window ? 1 : 0;
        convert(nodes[i]);
      } else {
        graph_.nodes.push_back(std::move(nodes[i]));
      }
    }
    return count;
  }

 private:
  std::size_t rank(ValueId id) const { return graph_.value(id).shape.size(); }

  void convert(const Node& node) {
    const std::size_t its_rank = rank(node.outputs[0]);
    const ChannelsLast kind = channels_last_of(graph_, node);
    const bool is_window = kind == ChannelsLast::window;
    Node made = with_channels_last(graph_, node);
    for (std::size_t i = 0; i < made.inputs.size(); ++i) {
      ValueId& id = made.inputs[i];
      if (!id.valid() || (i > 0 && has_one_input(node)) || (i > 1 && is_window) ||
          num_elements(graph_.value(id).shape) == 1) {
        continue;
      }
      if (!graph_.is_constant(id)) {
        id = last(id);
      } else {
        Constant constant = graph_.value(id).constant;
        constant.shape = with_rank(constant.shape, its_rank);
        const bool is_weights = is_window && i == 1;
        id = graph_.add_constant("", permuted(constant, is_weights ? weights_to_last(node, its_rank)
                                                                   : to_last(its_rank)));
      }
    }
    finish(std::move(made));
  }

  /// The result is computed with its channels last, and stands in its old place as a transpose.
  void finish(Node made) {
    const ValueId old = made.outputs[0];
    made.outputs[0] = add_value(old);
    last_[old.value] = made.outputs[0];
    const ValueId converted = made.outputs[0];
    graph_.nodes.push_back(std::move(made));
    transpose(converted, old, from_last(rank(old)));
  }

  /// Of the same tensor with its channels last.
  ValueId add_value(ValueId given) {
    Value value;
    value.dtype = graph_.value(given).dtype;
    value.shape = in_order(graph_.value(given).shape, to_last(rank(given)));
    value.is_known = true;
    return graph_.add_value(std::move(value));
  }

  void transpose(ValueId from, ValueId to, List order) {
    Node node;
    node.inputs = {from};
    node.outputs = {to};
    if (moves_nothing(graph_.value(from).shape, order)) {
      node.op = "Reshape";
      node.inputs.push_back(graph_.add_constant("", integer_constant(graph_.value(to).shape)));
      node.set("allowzero", std::int64_t{1});
    } else {
      node.op = "Transpose";
      node.set("perm", std::move(order));
    }
    graph_.nodes.push_back(std::move(node));
  }

  ValueId last(ValueId id) {
    if (const auto found = last_.find(id.value); found != last_.end()) {
      return found->second;
    }
    const ValueId made = add_value(id);
    transpose(id, made, to_last(rank(id)));
    last_[id.value] = made;
    return made;
  }

  Graph& graph_;
  std::map<std::uint32_t, ValueId> last_;  // by ValueId: the same value, channels last
};

}  // namespace

Node with_channels_last(const Graph& graph, Node node) {
  const std::size_t rank = graph.value(node.outputs[0]).shape.size();
  const List order = from_last(rank);  // where an axis goes
  const auto moved = [&](std::int64_t axis) { return order[normalized_axis(axis, rank)]; };
  if (channels_last_of(graph, node) == ChannelsLast::window || node.op == "BatchNormalization") {
    node.set("layout", std::string("NHWC"));
  } else if (has_axis(node.op)) {
    node.set("axis", moved(axis_of(node)));
  } else if (has_axes(node.op)) {
    List axes = node.op == "Resize" ? node.integers("axes") : list_of(graph, node, 1, "axes");
    if (axes.empty()) {
      axes = all_axes(rank);
    }
    for (std::int64_t& axis : axes) {
      axis = moved(axis);
    }
    if (reduces(node.op)) {
      node.inputs.resize(1);
    }
    node.set("axes", std::move(axes));
  }
  return node;
}

ChannelsLast channels_last_of(const Graph& graph, const Node& node) {
  if (node.text("layout", "NCHW") != "NCHW" || !node.has_input(0) || !node.has_output(0) ||
      std::any_of(node.outputs.begin() + 1, node.outputs.end(),
                  [](ValueId id) { return id.valid(); })) {
    return ChannelsLast::never;
  }
  const auto shape_of = [&](ValueId id) -> const Shape& { return graph.value(id).shape; };
  const std::size_t rank = shape_of(node.outputs[0]).size();
  if (rank < 3 || rank > 5) {
    return ChannelsLast::never;
  }
  const bool has_its_rank = shape_of(node.inputs[0]).size() == rank;
  if (node.op == "Conv" || (node.op == "ConvTranspose" && node.integer("group", 1) == 1)) {
    return graph.is_constant(node.inputs[1]) ? ChannelsLast::window : ChannelsLast::never;
  }
  if (is_one_of(node.op, {"MaxPool", "AveragePool", "GlobalAveragePool", "GlobalMaxPool"})) {
    return ChannelsLast::window;
  }
  if (has_one_input(node)) {
    const bool is_by_block = quantizes(node.op) && shape_of(node.inputs[1]).size() > 1;
    return has_its_rank && !is_by_block && (!has_axes(node.op) || knows_axes(graph, node))
               ? ChannelsLast::follows
               : ChannelsLast::never;
  }
  const OperatorFacts* facts = find_operator(node.op);
  const bool is_by_element =
      facts != nullptr && !facts->is_view &&
      (facts->pattern == Pattern::elementwise || facts->pattern == Pattern::broadcast);
  if (!is_by_element && !has_axis(node.op)) {
    return ChannelsLast::never;
  }
  // What is spread must be spread along the same axes: constants can be seen so.
  return std::all_of(node.inputs.begin(), node.inputs.end(),
                     [&](ValueId id) {
                       return !id.valid() || num_elements(shape_of(id)) == 1 ||
                              shape_of(id).size() == rank ||
                              (graph.is_constant(id) && shape_of(id).size() < rank);
                     })
             ? ChannelsLast::follows
             : ChannelsLast::never;
}

Result<std::int64_t, std::string> channels_last(Graph& graph, const std::vector<bool>& is_last) {
  const std::int64_t count = Converter(graph).run(is_last);
  if (auto resolved = resolve(graph); !resolved) {
    return fail(resolved.error());
  }
  return count;
}

}  // namespace tensorsmith::graph
