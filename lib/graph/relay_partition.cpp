// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <functional>
#include <map>

#include "graph/relay_builder.hpp"
#include "tensorsmith/graph/fuse.hpp"
#include "tensorsmith/te/flop.hpp"
#include "tensorsmith/te/workload_key.hpp"

namespace tensorsmith::graph {

namespace {

/// The reference's classes of operators; what is in none of the lists is opaque.
FusePattern pattern_of(const std::string& op) {
  static const std::map<std::string_view, FusePattern> patterns = [] {
    std::map<std::string_view, FusePattern> map;
    const auto put = [&](FusePattern pattern, std::initializer_list<std::string_view> ops) {
      for (const std::string_view name : ops) {
        map.emplace(name, pattern);
      }
    };
    put(FusePattern::elementwise,
        {"nn.relu",  "nn.leaky_relu", "tanh",        "sigmoid",    "exp",       "log",
         "sqrt",     "rsqrt",         "erf",         "abs",        "negative",  "cast",
         "clip",     "copy",          "floor",       "ceil",       "round",     "sign",
         "cos",      "sin",           "logical_not", "zeros_like", "ones_like", "nn.fifo_buffer",
         "fast_exp", "fast_tanh",     "fast_erf"});
    put(FusePattern::broadcast,
        {"add",         "subtract",     "multiply",          "divide",      "maximum",    "minimum",
         "power",       "mod",          "floor_divide",      "equal",       "not_equal",  "less",
         "less_equal",  "greater",      "greater_equal",     "logical_and", "logical_or", "where",
         "expand_dims", "broadcast_to", "broadcast_to_like", "nn.bias_add", "nn.prelu",   "full",
         "zeros",       "ones"});
    put(FusePattern::injective, {"reshape",
                                 "transpose",
                                 "squeeze",
                                 "nn.batch_flatten",
                                 "layout_transform",
                                 "concatenate",
                                 "split",
                                 "strided_slice",
                                 "take",
                                 "nn.pad",
                                 "repeat",
                                 "tile",
                                 "stack",
                                 "gather",
                                 "gather_nd",
                                 "reverse",
                                 "nn.upsampling",
                                 "image.resize2d",
                                 "nn.depth_to_space",
                                 "nn.space_to_depth",
                                 "reshape_like",
                                 "arange",
                                 "nn.mirror_pad",
                                 "contrib_reverse_reshape",
                                 "slice_like"});
    put(FusePattern::reduction,
        {"mean", "sum", "max", "min", "prod", "variance", "argmax", "argmin", "all", "any"});
    put(FusePattern::anchor, {"nn.conv1d",
                              "nn.conv2d",
                              "nn.conv3d",
                              "nn.conv1d_transpose",
                              "nn.conv2d_transpose",
                              "nn.conv3d_transpose",
                              "nn.dense",
                              "nn.batch_matmul",
                              "nn.matmul",
                              "nn.max_pool1d",
                              "nn.max_pool2d",
                              "nn.max_pool3d",
                              "nn.avg_pool1d",
                              "nn.avg_pool2d",
                              "nn.avg_pool3d",
                              "nn.global_avg_pool2d",
                              "nn.global_max_pool2d",
                              "nn.adaptive_avg_pool1d",
                              "nn.adaptive_avg_pool2d",
                              "nn.adaptive_max_pool2d",
                              "nn.adaptive_avg_pool3d",
                              "nn.contrib_conv2d_NCHWc",
                              "nn.contrib_depthwise_conv2d_NCHWc",
                              "nn.contrib_conv2d_winograd_without_weight_transform",
                              "nn.contrib_conv2d_winograd_weight_transform",
                              "nn.lrn"});
    return map;
  }();
  const auto found = patterns.find(op);
  return found == patterns.end() ? FusePattern::opaque : found->second;
}

FusePattern pattern_of(const RelayNode& node) {
  switch (node.kind) {
  case RelayKind::variable:
    return FusePattern::opaque;
  case RelayKind::constant:
    return node.type.shape.empty() ? FusePattern::elementwise : FusePattern::opaque;
  case RelayKind::tuple:
    return FusePattern::tuple;
  case RelayKind::item:
    return FusePattern::injective;
  case RelayKind::call:
    return pattern_of(node.name);
  }
  return FusePattern::opaque;
}

std::vector<FuseNode> fuse_nodes(const RelayGraph& graph) {
  std::vector<FuseNode> nodes(graph.nodes.size());
  for (std::size_t i = 0; i < nodes.size(); ++i) {
    const RelayNode& node = graph.nodes[i];
    nodes[i].pattern = pattern_of(node);
    nodes[i].is_external = node.kind == RelayKind::variable;
    const bool is_plain = node.kind == RelayKind::tuple || node.kind == RelayKind::item;
    for (const std::size_t input : node.inputs) {
      FusePattern edge = is_plain ? FusePattern::injective : nodes[i].pattern;
      if (edge == FusePattern::broadcast && graph.nodes[input].type.shape == node.type.shape) {
        edge = FusePattern::elementwise;
      }
      nodes[input].readers.push_back({i, edge});
    }
  }
  nodes.back().is_external = true;
  return nodes;
}

RelayGroup group_of(const RelayGraph& graph, const std::vector<std::size_t>& root_of,
                    std::size_t last) {
  RelayGroup group;
  std::vector<bool> seen(graph.nodes.size(), false);
  // As the reference makes the function: arguments from left to right, each when it is met first.
  const std::function<void(std::size_t)> visit = [&](std::size_t i) {
    if (seen[i]) {
      return;
    }
    seen[i] = true;
    if (root_of[i] != root_of[last]) {
      group.arguments.push_back(i);
      group.inputs.push_back(graph.nodes[i].type);
      return;
    }
    for (const std::size_t input : graph.nodes[i].inputs) {
      visit(input);
    }
    group.nodes.push_back(i);
    if (graph.nodes[i].kind == RelayKind::call) {
      group.operators.push_back(graph.nodes[i].name);
      group.is_complex =
          group.is_complex || pattern_of(graph.nodes[i].name) >= FusePattern::reduction;
    }
  };
  visit(last);
  group.output = graph.nodes[last].type;
  return group;
}

std::string joined(const RelayGroup& group) {
  std::string text;
  for (const std::string& op : group.operators) {
    text += (text.empty() ? "" : "_") + op;
  }
  std::replace(text.begin(), text.end(), '.', '_');
  return text;
}

}  // namespace

Result<RelayPartition, std::string> partition_relay(const RelayGraph& graph, RelayTarget target) {
  RelayPartition made;
  try {
    RelayGraph now = simplify_inference(with_usual_constants(graph));
    now = fold_scales_forward(fold_scales_backward(now));
    now = simplify_expressions(now);
    made.graph = alter_layouts(now, target);
  } catch (const Error& error) {
    return fail(std::string(error.what()));
  }
  const std::vector<std::size_t> root_of = fuse(fuse_nodes(made.graph));
  std::vector<std::size_t> last(made.graph.nodes.size(), SIZE_MAX);
  for (std::size_t i = 0; i < root_of.size(); ++i) {
    last[root_of[i]] = i;
  }
  for (std::size_t i = 0; i < root_of.size(); ++i) {
    if (last[root_of[i]] != i) {
      continue;
    }
    RelayGroup group = group_of(made.graph, root_of, i);
    if (!group.operators.empty()) {
      made.groups.push_back(std::move(group));
    }
  }
  std::map<std::string, std::size_t> known;
  for (std::size_t g = 0; g < made.groups.size(); ++g) {
    const RelayGroup& group = made.groups[g];
    if (!group.is_complex) {
      continue;
    }
    RelayTask task;
    task.operators = joined(group);
    task.group = g;
    const RelayDefinition definition = relay_definition(made.graph, group, target);
    task.dag = definition.dag;
    std::string key = task.operators;
    if (task.dag) {
      key = te::workload_key(*task.dag);
      task.is_assumed = definition.is_assumed;
      task.workload_key = definition.is_exact ? key : std::string();
      task.flop = definition.is_countable ? te::count_flop(*task.dag) : -1;
    } else {
      for (const RelayType& type : group.inputs) {
        key += shape_text(type.shape);
      }
      key += shape_text(group.output.shape);
    }
    const auto [place, is_new] = known.emplace(key, made.tasks.size());
    if (is_new) {
      made.tasks.push_back(std::move(task));
    }
    made.tasks[place->second].weight += 1;
  }
  return made;
}

}  // namespace tensorsmith::graph
