// SPDX-License-Identifier: Apache-2.0
#include "tensorsmith/graph/layouts.hpp"

#include <algorithm>
#include <map>
#include <utility>

#include "graph/layout_nodes.hpp"
#include "graph/minimum_cut.hpp"
#include "tensorsmith/graph/builder.hpp"
#include "tensorsmith/graph/resolve.hpp"

namespace tensorsmith::graph {

namespace {

/// Picoseconds, so that costs are whole numbers.
std::int64_t whole_cost(double ns) {
  return static_cast<std::int64_t>(std::clamp(1e3 * ns, 0.0, 1e15));
}

/// The node alone, its inputs arguments. Weights are a view of their bytes that has the right
/// shape: what they hold does not change what a call costs.
Graph graph_of(const Graph& graph, const Node& node, bool is_last) {
  Graph made;
  Node copy = is_last ? with_channels_last(graph, node) : node;
  for (std::size_t i = 0; i < copy.inputs.size(); ++i) {
    if (!copy.has_input(i)) {
      continue;
    }
    const Value& value = graph.value(node.inputs[i]);
    const std::size_t rank = value.shape.size();
    Shape shape = value.shape;
    if (is_last && i == 0) {
      shape = in_order(shape, to_last(rank));
    } else if (is_last && i == 1) {
      shape = in_order(shape, weights_to_last(node, rank));
    }
    if (value.is_constant) {
      Constant constant = value.constant;
      constant.shape = std::move(shape);
      copy.inputs[i] = made.add_constant("", std::move(constant));
    } else {
      copy.inputs[i] = made.add_input("x" + std::to_string(i), value.dtype, std::move(shape));
    }
  }
  copy.outputs = {made.add_value({})};
  made.outputs = copy.outputs;
  made.value(copy.outputs[0]).name = "y";
  made.nodes.push_back(std::move(copy));
  return made;
}

/// What tasks cost, each asked for once.
class Costs {
 public:
  explicit Costs(const TaskCost& cost) : cost_(cost) {}

  Result<double, std::string> of(Graph graph) {
    if (auto resolved = resolve(graph); !resolved) {
      return fail(resolved.error());
    }
    const auto parts = partition(graph);
    if (!parts) {
      return fail(parts.error());
    }
    double sum = 0;
    for (const NetworkTask& task : parts->tasks) {
      const auto [place, is_new] = known_.emplace(task.text, 0.0);
      if (is_new || task.text.empty()) {
        place->second = cost_(task);
      }
      sum += task.weight * place->second;
    }
    return sum;
  }

 private:
  const TaskCost& cost_;
  std::map<std::string, double> known_;
};

/// Nanoseconds per byte.
struct TransposeCost {
  double to_last = 0, from_last = 0;
};

class Agreement {
 public:
  Agreement(const Graph& graph, std::vector<WindowLayouts> windows, TransposeCost transpose)
      : graph_(graph), windows_(std::move(windows)), transpose_(transpose) {}

  LayoutAgreement solve() {
    vertex_of_.assign(graph_.nodes.size(), MinimumCut::near);
    for (std::size_t i = 0; i < graph_.nodes.size(); ++i) {
      if (channels_last_of(graph_, graph_.nodes[i]) != ChannelsLast::never) {
        vertex_of_[i] = cut_.add_vertex();
      }
    }
    for (const WindowLayouts& each : windows_) {
      cut_.add_edge(MinimumCut::near, vertex_of_[each.node], whole_cost(each.last_ns));
      cut_.add_edge(vertex_of_[each.node], MinimumCut::far, whole_cost(each.given_ns));
    }
    add_transposes();
    const std::vector<bool> is_far = cut_.solve();
    LayoutAgreement made;
    for (std::size_t i = 0; i < graph_.nodes.size(); ++i) {
      made.is_last.push_back(is_far[vertex_of_[i]]);
    }
    for (const WindowLayouts& each : windows_) {
      made.num_last += made.is_last[each.node] ? 1 : 0;
      made.given_ns += each.given_ns;
      made.agreed_ns += made.is_last[each.node] ? each.last_ns : each.given_ns;
    }
    for (const Transposed& each : transposed_) {
      const bool is_paid = is_far[each.to] && !is_far[each.from];
      made.transpose_ns += is_paid ? each.ns : 0;
    }
    made.agreed_ns += made.transpose_ns;
    made.windows = std::move(windows_);
    return made;
  }

 private:
  /// Paid if `from` is near and `to` is far.
  struct Transposed {
    std::size_t from, to;
    double ns;
  };

  void add_paid(std::size_t from, std::size_t to, double ns) {
    cut_.add_edge(from, to, whole_cost(ns));
    transposed_.push_back({from, to, ns});
  }

  /// A value in the order that it does not have is made once, for all who want it.
  void add_transposes() {
    const std::vector<std::int32_t> producer = producers(graph_);
    std::vector<std::vector<std::size_t>> readers(graph_.values.size());
    for (std::size_t i = 0; i < graph_.nodes.size(); ++i) {
      for (const ValueId id : graph_.nodes[i].inputs) {
        if (id.valid()) {
          readers[id.value].push_back(vertex_of_[i]);
        }
      }
    }
    for (const ValueId id : graph_.outputs) {
      readers[id.value].push_back(MinimumCut::near);
    }
    for (std::size_t v = 0; v < graph_.values.size(); ++v) {
      const Value& value = graph_.values[v];
      const std::size_t rank = value.shape.size();
      if (value.is_constant || rank < 3 || rank > 5 || readers[v].empty()) {
        continue;
      }
      const std::size_t from =
          producer[v] < 0 ? MinimumCut::near : vertex_of_[static_cast<std::size_t>(producer[v])];
      const double bytes = static_cast<double>(num_elements(value.shape)) * bytes_of(value.dtype);
      const bool is_free = moves_nothing(value.shape, to_last(rank));
      const std::size_t last = cut_.add_vertex(), given = cut_.add_vertex();
      add_paid(from, last, is_free ? 0 : bytes * transpose_.to_last);
      if (from != MinimumCut::near) {
        add_paid(given, from, is_free ? 0 : bytes * transpose_.from_last);
      }
      for (const std::size_t reader : readers[v]) {
        cut_.add_edge(reader, given, MinimumCut::unbounded);
        if (reader != MinimumCut::near) {
          cut_.add_edge(last, reader, MinimumCut::unbounded);
        }
      }
    }
  }

  const Graph& graph_;
  std::vector<WindowLayouts> windows_;
  TransposeCost transpose_;
  MinimumCut cut_;
  std::vector<std::size_t> vertex_of_;  // by node
  std::vector<Transposed> transposed_;
};

/// Of the largest value that a window reads or writes, per byte.
Result<TransposeCost, std::string>
transpose_cost(const Graph& graph, const std::vector<WindowLayouts>& windows, Costs& costs) {
  const Value* largest = nullptr;
  for (const WindowLayouts& each : windows) {
    const Node& node = graph.nodes[each.node];
    for (const ValueId id : {node.inputs[0], node.outputs[0]}) {
      const Value& value = graph.value(id);
      if (!moves_nothing(value.shape, to_last(value.shape.size())) &&
          (largest == nullptr || num_elements(value.shape) > num_elements(largest->shape))) {
        largest = &value;
      }
    }
  }
  TransposeCost made;
  if (largest == nullptr) {
    return made;
  }
  const std::size_t rank = largest->shape.size();
  const double bytes = static_cast<double>(num_elements(largest->shape)) * bytes_of(largest->dtype);
  for (const bool is_back : {false, true}) {
    Builder net("transpose");
    const ValueId x = net.input(
        "x", is_back ? in_order(largest->shape, to_last(rank)) : largest->shape, largest->dtype);
    net.output("y",
               net.add("Transpose", {x}, {{"perm", is_back ? from_last(rank) : to_last(rank)}}));
    const auto ns = costs.of(net.finish());
    if (!ns) {
      return fail(ns.error());
    }
    (is_back ? made.from_last : made.to_last) = *ns / bytes;
  }
  return made;
}

}  // namespace

Result<LayoutAgreement, std::string> agree_layouts(const Graph& graph, const TaskCost& cost) {
  Costs costs(cost);
  std::vector<WindowLayouts> windows;
  for (std::size_t i = 0; i < graph.nodes.size(); ++i) {
    if (channels_last_of(graph, graph.nodes[i]) == ChannelsLast::window) {
      const auto given = costs.of(graph_of(graph, graph.nodes[i], false));
      const auto last = costs.of(graph_of(graph, graph.nodes[i], true));
      if (!given || !last) {
        return fail(describe_node(graph, i) + ": " + (given ? last : given).error());
      }
      windows.push_back({i, *given, *last});
    }
  }
  const auto transpose = transpose_cost(graph, windows, costs);
  if (!transpose) {
    return fail(transpose.error());
  }
  return Agreement(graph, std::move(windows), *transpose).solve();
}

Result<LayoutAgreement, std::string> all_channels_last(const Graph& graph) {
  std::vector<WindowLayouts> windows;
  for (std::size_t i = 0; i < graph.nodes.size(); ++i) {
    if (channels_last_of(graph, graph.nodes[i]) == ChannelsLast::window) {
      windows.push_back({i, 1e12, 0});
    }
  }
  return Agreement(graph, std::move(windows), {1, 1}).solve();
}

}  // namespace tensorsmith::graph
