// SPDX-License-Identifier: Apache-2.0
#include "onnx/order.hpp"

#include <unordered_map>
#include <utility>

#include "graph/topological.hpp"

namespace tensorsmith::onnx {
namespace {

/// What a node reads, and what the graphs among its attributes read from outside or inside.
void add_reads(const NodeMessage& node, std::vector<std::string>& reads, int depth) {
  for (const std::string_view name : node.inputs) {
    reads.emplace_back(name);
  }
  for (const AttributeMessage& attribute : node.attributes) {
    if (attribute.type != AttributeType::graph || depth >= most_nested) {
      continue;
    }
    const auto graph = parse_graph(attribute.message, "");
    if (!graph) {
      continue;  // said when it is read
    }
    for (const NodeMessage& inner : graph->nodes) {
      add_reads(inner, reads, depth + 1);
    }
    for (const ValueMessage& output : graph->outputs) {
      reads.emplace_back(output.name);
    }
  }
}

}  // namespace

Result<std::vector<std::size_t>, std::size_t> reading_order(const std::vector<NodeMessage>& nodes) {
  std::unordered_map<std::string, std::size_t> producer;
  for (std::size_t i = 0; i < nodes.size(); ++i) {
    for (const std::string_view output : nodes[i].outputs) {
      producer.emplace(output, i);
    }
  }
  producer.erase("");
  std::vector<std::vector<std::size_t>> users(nodes.size());
  std::vector<std::size_t> num_awaited(nodes.size());
  for (std::size_t i = 0; i < nodes.size(); ++i) {
    std::vector<std::string> reads;
    add_reads(nodes[i], reads, 0);
    for (const std::string& name : reads) {
      const auto found = producer.find(name);
      if (found != producer.end()) {
        users[found->second].push_back(i);
        ++num_awaited[i];
      }
    }
  }
  std::vector<std::size_t> order = graph::topological_order(users, num_awaited);
  if (order.size() == nodes.size()) {
    return order;
  }
  // Of what waits, each awaits another that waits: going back ends in a cycle.
  std::size_t at = 0;
  while (num_awaited[at] == 0) {
    ++at;
  }
  std::vector<bool> is_seen(nodes.size());
  while (!is_seen[at]) {
    is_seen[at] = true;
    std::vector<std::string> reads;
    add_reads(nodes[at], reads, 0);
    for (const std::string& name : reads) {
      const auto found = producer.find(name);
      if (found != producer.end() && num_awaited[found->second] > 0) {
        at = found->second;
        break;
      }
    }
  }
  return fail(at);
}

}  // namespace tensorsmith::onnx
