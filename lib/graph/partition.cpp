// SPDX-License-Identifier: Apache-2.0
#include "tensorsmith/graph/partition.hpp"

#include <algorithm>
#include <map>

#include "tensorsmith/graph/fuse.hpp"
#include "tensorsmith/te/flop.hpp"
#include "tensorsmith/te/notation.hpp"

namespace tensorsmith::graph {

namespace {

FusePattern pattern_of(const OperatorFacts& facts, const Node& node) {
  const auto computed = std::count_if(node.outputs.begin(), node.outputs.end(),
                                      [](ValueId id) { return id.valid(); });
  if (facts.is_view || computed != 1) {
    return FusePattern::opaque;
  }
  switch (facts.pattern) {
  case Pattern::elementwise:
    return FusePattern::elementwise;
  case Pattern::broadcast:
    return FusePattern::broadcast;
  case Pattern::injective:
    return FusePattern::injective;
  case Pattern::reduction:
    return FusePattern::reduction;
  case Pattern::anchor:
    return FusePattern::anchor;
  case Pattern::opaque:
    return FusePattern::opaque;
  }
  return FusePattern::opaque;
}

std::vector<FuseNode> fuse_nodes(const Graph& graph) {
  std::vector<FuseNode> nodes(graph.nodes.size());
  const std::vector<std::int32_t> producer = producers(graph);
  for (std::size_t i = 0; i < nodes.size(); ++i) {
    const Node& node = graph.nodes[i];
    const OperatorFacts* facts = find_operator(node.op);
    nodes[i].pattern = pattern_of(*facts, node);
    const ValueId result = [&] {
      for (const ValueId id : node.outputs) {
        if (id.valid()) {
          return id;
        }
      }
      return ValueId{};
    }();
    for (const ValueId id : node.inputs) {
      if (!id.valid() || producer[id.value] < 0) {
        continue;
      }
      // A broadcast of what has the result's shape already is elementwise.
      const bool is_even = nodes[i].pattern == FusePattern::broadcast && result.valid() &&
                           graph.value(id).shape == graph.value(result).shape;
      FuseNode& before = nodes[static_cast<std::size_t>(producer[id.value])];
      before.readers.push_back({i, is_even ? FusePattern::elementwise : nodes[i].pattern});
    }
  }
  for (const ValueId id : graph.outputs) {
    if (producer[id.value] >= 0) {
      nodes[static_cast<std::size_t>(producer[id.value])].is_external = true;
    }
  }
  return nodes;
}

std::string title_of(const Graph& graph, const std::vector<std::size_t>& nodes) {
  std::string title;
  for (const std::size_t i : nodes) {
    title += (title.empty() ? "" : "+") + graph.nodes[i].op;
  }
  return title;
}

/// Values of a group that nodes outside of it read, or the caller.
std::vector<ValueId> outputs_of(const Graph& graph, const std::vector<std::size_t>& nodes,
                                const std::vector<std::vector<std::size_t>>& readers,
                                const std::vector<bool>& is_result) {
  std::vector<ValueId> outputs;
  for (const std::size_t i : nodes) {
    for (const ValueId id : graph.nodes[i].outputs) {
      const bool is_needed =
          id.valid() &&
          (is_result[id.value] ||
           std::any_of(readers[id.value].begin(), readers[id.value].end(), [&](std::size_t r) {
             return !std::binary_search(nodes.begin(), nodes.end(), r);
           }));
      if (is_needed) {
        outputs.push_back(id);
      }
    }
  }
  return outputs;
}

}  // namespace

Result<Partition, std::string> partition(const Graph& graph, const PartitionOptions& options) {
  Partition made;
  for (std::size_t i = 0; i < graph.values.size(); ++i) {
    made.storage.push_back(ValueId{static_cast<std::uint32_t>(i)});
  }
  for (std::size_t i = 0; i < graph.nodes.size(); ++i) {
    const OperatorFacts* facts = find_operator(graph.nodes[i].op);
    if (facts == nullptr || facts->is_folded) {
      return fail(describe_node(graph, i) + (facts == nullptr
                                                 ? " is of an operator that is not known"
                                                 : " is only computed of constants"));
    }
  }
  FuseOptions fusing;
  fusing.most_nodes = options.fuses ? options.most_nodes : 1;
  const std::vector<std::size_t> last_of = fuse(fuse_nodes(graph), fusing);
  std::map<std::size_t, std::vector<std::size_t>> members;  // by the last node: that can run then
  for (std::size_t i = 0; i < last_of.size(); ++i) {
    members[last_of[i]].push_back(i);
  }
  std::vector<std::vector<std::size_t>> readers(graph.values.size());
  std::vector<bool> is_result(graph.values.size(), false);
  for (std::size_t i = 0; i < graph.nodes.size(); ++i) {
    for (const ValueId id : graph.nodes[i].inputs) {
      if (id.valid()) {
        readers[id.value].push_back(i);
      }
    }
  }
  for (const ValueId id : graph.outputs) {
    is_result[id.value] = true;
  }
  std::map<std::string, std::size_t> known;
  for (auto& [last, nodes] : members) {
    const Node& node = graph.nodes[last];
    if (find_operator(node.op)->is_view && node.has_output(0) && !node.has_output(1)) {
      made.storage[node.outputs[0].value] = made.storage[node.inputs[0].value];
      continue;
    }
    Group group;
    const std::vector<ValueId> outputs = outputs_of(graph, nodes, readers, is_result);
    auto program = lower_nodes(graph, nodes, outputs);
    if (!program) {
      return fail(program.error());
    }
    group.program = std::move(*program);
    auto text = te::write_notation(*group.program.dag);
    // A formula that is too long to be written stands for itself.
    const std::string key = text ? *text : "#" + std::to_string(made.tasks.size());
    const auto [place, is_new] = known.emplace(key, made.tasks.size());
    if (is_new) {
      NetworkTask task;
      task.dag = group.program.dag;
      task.text = text ? *text : std::string();
      task.title = title_of(graph, nodes);
      task.flop = std::max(0.0, te::count_flop(*task.dag));
      made.tasks.push_back(std::move(task));
    }
    group.task = place->second;
    made.tasks[group.task].weight += 1;
    group.program.dag = made.tasks[group.task].dag;
    group.nodes = std::move(nodes);
    made.groups.push_back(std::move(group));
  }
  return made;
}

}  // namespace tensorsmith::graph
