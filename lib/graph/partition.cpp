// SPDX-License-Identifier: Apache-2.0
#include "tensorsmith/graph/partition.hpp"

#include <algorithm>
#include <map>

#include "graph/branches.hpp"
#include "graph/operators.hpp"
#include "tensorsmith/graph/fuse.hpp"
#include "tensorsmith/graph/task_kind.hpp"
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

/// The sizes of the parts of a Split, also of those that nobody reads.
List split_sizes(const Graph& graph, const Node& node, std::int64_t extent) {
  if (node.has_input(1)) {
    return graph.value(node.inputs[1]).constant.integers();
  }
  const auto count = static_cast<std::int64_t>(node.outputs.size());
  return List(node.outputs.size(), (extent + count - 1) / count);
}

/// Where the results of a node begin in the bytes of its first input, in elements, if they are
/// parts of them in one piece: elements, slices and splits along the outermost axis. Else empty.
List part_offsets(const Graph& graph, const Node& node) {
  if (node.op != "Gather" && node.op != "Slice" && node.op != "Split") {
    return {};
  }
  const Shape& x = graph.value(node.inputs[0]).shape;
  if (x.empty()) {
    return {};
  }
  for (std::size_t i = 1; i < node.inputs.size(); ++i) {
    if (node.has_input(i) && !graph.is_constant(node.inputs[i])) {
      return {};
    }
  }
  std::size_t outer = 0;  // the first axis of more than one element
  while (outer + 1 < x.size() && x[outer] == 1) {
    ++outer;
  }
  const std::int64_t inner =
      num_elements(Shape(x.begin() + static_cast<std::ptrdiff_t>(outer) + 1, x.end()));
  const auto starts_at = [&](std::int64_t i) {
    return std::clamp<std::int64_t>(i < 0 ? i + x[outer] : i, 0, x[outer]) * inner;
  };
  if (node.op != "Slice") {
    const std::size_t axis = normalized_axis(node.integer("axis", 0), x.size());
    if (axis != outer) {
      return {};
    }
    const Constant* list = node.has_input(1) ? &graph.value(node.inputs[1]).constant : nullptr;
    if (node.op == "Gather") {
      return num_elements(list->shape) == 1 ? List{starts_at(list->integer(0))} : List{};
    }
    List offsets;
    std::int64_t at = 0;
    for (const std::int64_t size : split_sizes(graph, node, x[axis])) {
      offsets.push_back(at * inner);
      at += size;
    }
    return offsets;
  }
  const Shape& y = graph.value(node.outputs[0]).shape;
  const List starts = list_of(graph, node, 1, "starts"), axes = list_of(graph, node, 3, "axes"),
             steps = list_of(graph, node, 4, "steps");
  std::int64_t offset = 0;
  for (std::size_t i = 0; i < starts.size(); ++i) {
    const std::size_t axis =
        normalized_axis(node.has_input(3) ? axes[i] : static_cast<std::int64_t>(i), x.size());
    if ((i < steps.size() && steps[i] != 1) || (axis != outer && x[axis] != y[axis])) {
      return {};
    }
    offset = axis == outer ? starts_at(starts[i]) : offset;
  }
  return {offset};
}

/// Values that are views of each other up to a result, which lies with the caller.
std::vector<bool> seen_outside(const Graph& graph) {
  std::vector<bool> is_outside(graph.values.size(), false);
  for (const ValueId id : graph.outputs) {
    is_outside[id.value] = true;
  }
  for (std::size_t i = graph.nodes.size(); i-- > 0;) {
    const Node& node = graph.nodes[i];
    if (find_operator(node.op)->is_view && node.has_output(0) &&
        is_outside[node.outputs[0].value]) {
      is_outside[node.inputs[0].value] = true;
    }
  }
  return is_outside;
}

/// Nodes that need no kernel since their results are parts of a value that another group computes
/// in any case: by node, where the parts begin. Elements of time steps are such, so that all steps
/// are one task.
std::vector<List> find_parts(const Graph& graph, const std::vector<std::size_t>& last_of) {
  const std::vector<std::int32_t> producer = producers(graph);
  const std::vector<bool> is_outside = seen_outside(graph);
  std::vector<List> parts(graph.nodes.size());
  for (std::size_t i = 0; i < graph.nodes.size(); ++i) {
    const Node& node = graph.nodes[i];
    const std::int32_t from = node.has_input(0) ? producer[node.inputs[0].value] : -1;
    if (from >= 0 && last_of[static_cast<std::size_t>(from)] == last_of[i]) {
      continue;
    }
    const bool is_result = std::any_of(node.outputs.begin(), node.outputs.end(), [&](ValueId id) {
      return id.valid() && is_outside[id.value];
    });
    parts[i] = is_result ? List() : part_offsets(graph, node);
  }
  return parts;
}

/// For every node the number of its group's last node. Of branches that meet, the first one in
/// `order` takes what follows.
std::vector<std::size_t> fuse_in_order(const std::vector<std::size_t>& order,
                                       const std::vector<FuseNode>& nodes,
                                       const FuseOptions& options) {
  std::vector<std::size_t> place(order.size());
  for (std::size_t i = 0; i < order.size(); ++i) {
    place[order[i]] = i;
  }
  std::vector<FuseNode> ordered;
  for (const std::size_t node : order) {
    ordered.push_back(nodes[node]);
    for (FuseEdge& edge : ordered.back().readers) {
      edge.reader = place[edge.reader];
    }
  }
  const std::vector<std::size_t> last = fuse(ordered, options);
  std::vector<std::size_t> result(order.size());
  for (std::size_t i = 0; i < order.size(); ++i) {
    result[order[i]] = order[last[i]];  // all others lead to it, so it is the last in any order
  }
  return result;
}

/// The same groups, but for nodes that are parts.
std::vector<std::size_t> fuse_around(const std::vector<std::size_t>& order,
                                     const std::vector<List>& parts, std::vector<FuseNode> nodes,
                                     const FuseOptions& options) {
  for (FuseNode& node : nodes) {
    for (FuseEdge& edge : node.readers) {
      edge.pattern = parts[edge.reader].empty() ? edge.pattern : FusePattern::opaque;
    }
  }
  for (std::size_t i = 0; i < nodes.size(); ++i) {
    nodes[i].pattern = parts[i].empty() ? nodes[i].pattern : FusePattern::opaque;
  }
  return fuse_in_order(order, nodes, options);
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
  made.offset.assign(graph.values.size(), 0);
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
  const std::vector<std::size_t> order = longest_branches_first(graph);
  const std::vector<FuseNode> fused = fuse_nodes(graph);
  const std::vector<List> parts = find_parts(graph, fuse_in_order(order, fused, fusing));
  const std::vector<std::size_t> last_of = fuse_around(order, parts, fused, fusing);
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
    const bool is_view =
        find_operator(node.op)->is_view && node.has_output(0) && !node.has_output(1);
    if (is_view || !parts[last].empty()) {
      for (std::size_t k = 0; k < node.outputs.size(); ++k) {
        if (node.has_output(k)) {
          const std::uint32_t y = node.outputs[k].value, x = node.inputs[0].value;
          made.storage[y] = made.storage[x];
          made.offset[y] = made.offset[x];
          made.offset[y] +=
              is_view ? 0 : parts[last][k] * bytes_of(graph.value(node.outputs[k]).dtype);
        }
      }
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
      task.kind = task_kind(graph, nodes);
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
