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

/// What graphs cost: their tasks, each asked for once.
class Costs {
 public:
  /// The number of the graph.
  Result<std::size_t, std::string> add(Graph graph) {
    if (auto resolved = resolve(graph); !resolved) {
      return fail(resolved.error());
    }
    auto parts = partition(graph);
    if (!parts) {
      return fail(parts.error());
    }
    std::vector<Share> shares;
    for (NetworkTask& task : parts->tasks) {
      const double weight = task.weight;
      const auto [place, is_new] = known_.emplace(task.text, tasks_.size());
      const bool is_asked = is_new || task.text.empty();
      shares.push_back({is_asked ? tasks_.size() : place->second, weight});
      if (is_asked) {
        tasks_.push_back(std::move(task));
      }
    }
    graphs_.push_back(std::move(shares));
    return graphs_.size() - 1;
  }

  void ask(const TaskCosts& costs) { of_task_ = costs(tasks_); }
  /// Of these graphs alone.
  void ask(const TaskCosts& costs, const std::vector<std::size_t>& graphs) {
    std::vector<bool> is_asked(tasks_.size());
    std::vector<std::size_t> places;
    std::vector<NetworkTask> tasks;
    for (const std::size_t graph : graphs) {
      for (const Share& share : graphs_[graph]) {
        if (!is_asked[share.task]) {
          is_asked[share.task] = true;
          places.push_back(share.task);
          tasks.push_back(tasks_[share.task]);
        }
      }
    }
    const std::vector<double> answers = costs(tasks);
    for (std::size_t i = 0; i < places.size(); ++i) {
      of_task_[places[i]] = answers[i];
    }
  }
  double operator[](std::size_t graph) const {
    double sum = 0;
    for (const Share& share : graphs_[graph]) {
      sum += share.weight * of_task_[share.task];
    }
    return sum;
  }

 private:
  struct Share {
    std::size_t task;
    double weight;
  };
  std::vector<NetworkTask> tasks_;
  std::map<std::string, std::size_t> known_;
  std::vector<std::vector<Share>> graphs_;
  std::vector<double> of_task_;
};

/// Graphs of the windows that rough costs do not decide: both orders of those that take so much of
/// the whole and differ by less than such a factor.
std::vector<std::size_t> undecided(const Costs& costs, std::size_t num_windows) {
  constexpr double least_share = 1.0 / 32, most_apart = 2;
  double whole = 0;
  for (std::size_t w = 0; w < num_windows; ++w) {
    whole += std::min(costs[2 * w], costs[2 * w + 1]);
  }
  std::vector<std::size_t> graphs;
  for (std::size_t w = 0; w < num_windows; ++w) {
    const auto [less, more] = std::minmax({costs[2 * w], costs[2 * w + 1]});
    if (less >= least_share * whole && more < most_apart * less) {
      graphs.push_back(2 * w);
      graphs.push_back(2 * w + 1);
    }
  }
  return graphs;
}

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

/// The largest value that a window reads or writes and that changes its bytes with its order.
const Value* largest_value(const Graph& graph, const std::vector<WindowLayouts>& windows) {
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
  return largest;
}

Graph transpose_of(const Value& value, bool is_back) {
  const std::size_t rank = value.shape.size();
  Builder net("transpose");
  const ValueId x =
      net.input("x", is_back ? in_order(value.shape, to_last(rank)) : value.shape, value.dtype);
  net.output("y", net.add("Transpose", {x}, {{"perm", is_back ? from_last(rank) : to_last(rank)}}));
  return net.finish();
}

}  // namespace

Result<LayoutAgreement, std::string> agree_layouts(const Graph& graph, const TaskCosts& costs,
                                                   const TaskCosts& rough) {
  Costs asked;
  std::vector<WindowLayouts> windows;
  for (std::size_t i = 0; i < graph.nodes.size(); ++i) {
    if (channels_last_of(graph, graph.nodes[i]) == ChannelsLast::window) {
      for (const bool is_last : {false, true}) {  // numbers 2w and 2w + 1 of window w
        if (const auto added = asked.add(graph_of(graph, graph.nodes[i], is_last)); !added) {
          return fail(describe_node(graph, i) + ": " + added.error());
        }
      }
      windows.push_back({i, 0, 0});
    }
  }
  const Value* const largest = largest_value(graph, windows);
  for (const bool is_back : {false, true}) {
    if (largest != nullptr) {
      if (const auto added = asked.add(transpose_of(*largest, is_back)); !added) {
        return fail(added.error());
      }
    }
  }
  asked.ask(rough ? rough : costs);
  if (rough) {
    asked.ask(costs, undecided(asked, windows.size()));
  }
  for (std::size_t w = 0; w < windows.size(); ++w) {
    windows[w].given_ns = asked[2 * w];
    windows[w].last_ns = asked[2 * w + 1];
  }
  TransposeCost transpose;
  if (largest != nullptr) {
    const double bytes =
        static_cast<double>(num_elements(largest->shape)) * bytes_of(largest->dtype);
    transpose = {asked[2 * windows.size()] / bytes, asked[2 * windows.size() + 1] / bytes};
  }
  return Agreement(graph, std::move(windows), transpose).solve();
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
