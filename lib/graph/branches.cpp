// SPDX-License-Identifier: Apache-2.0
#include "graph/branches.hpp"

#include <algorithm>
#include <utility>

namespace tensorsmith::graph {

namespace {

/// By value: nodes on the longest way to it, 0 of inputs and constants.
std::vector<std::size_t> longest_ways(const Graph& graph) {
  std::vector<std::size_t> way(graph.values.size(), 0);
  for (const Node& node : graph.nodes) {
    std::size_t longest = 0;
    for (const ValueId id : node.inputs) {
      longest = id.valid() ? std::max(longest, way[id.value]) : longest;
    }
    for (const ValueId id : node.outputs) {
      if (id.valid()) {
        way[id.value] = longest + 1;
      }
    }
  }
  return way;
}

}  // namespace

std::vector<std::size_t> longest_branches_first(const Graph& graph) {
  const std::vector<std::size_t> way = longest_ways(graph);
  const std::vector<std::int32_t> producer = producers(graph);
  // What each node reads, the end of the shortest branch first: taken from the end.
  std::vector<std::vector<std::size_t>> waits_for(graph.nodes.size());
  for (std::size_t i = 0; i < graph.nodes.size(); ++i) {
    std::vector<ValueId> read;
    for (const ValueId id : graph.nodes[i].inputs) {
      if (id.valid() && producer[id.value] >= 0) {
        read.push_back(id);
      }
    }
    std::reverse(read.begin(), read.end());
    std::stable_sort(read.begin(), read.end(),
                     [&](ValueId a, ValueId b) { return way[a.value] < way[b.value]; });
    for (const ValueId id : read) {
      waits_for[i].push_back(static_cast<std::size_t>(producer[id.value]));
    }
  }
  std::vector<std::size_t> order, open;
  std::vector<bool> is_open(graph.nodes.size(), false);
  const auto visit = [&](std::size_t node) {
    if (!is_open[node]) {
      is_open[node] = true;
      open.push_back(node);
    }
  };
  const auto finish = [&] {
    while (!open.empty()) {
      const std::size_t node = open.back();
      if (waits_for[node].empty()) {
        order.push_back(node);
        open.pop_back();
        continue;
      }
      const std::size_t next = waits_for[node].back();
      waits_for[node].pop_back();
      visit(next);
    }
  };
  for (const ValueId id : graph.outputs) {
    if (producer[id.value] >= 0) {
      visit(static_cast<std::size_t>(producer[id.value]));
      finish();
    }
  }
  for (std::size_t i = 0; i < graph.nodes.size(); ++i) {
    visit(i);
    finish();
  }
  return order;
}

void order_operands(Graph& graph) {
  const std::vector<std::size_t> way = longest_ways(graph);
  for (Node& node : graph.nodes) {
    if ((node.op == "Add" || node.op == "Mul") && node.inputs.size() == 2 &&
        way[node.inputs[0].value] < way[node.inputs[1].value]) {
      std::swap(node.inputs[0], node.inputs[1]);
    }
  }
}

}  // namespace tensorsmith::graph
