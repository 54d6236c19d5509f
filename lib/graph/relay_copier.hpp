// SPDX-License-Identifier: Apache-2.0
// A pass over expressions that copies them, with some replaced on the way.
//
// Private to lib/graph. Own design.
#pragma once

#include <utility>
#include <vector>

#include "graph/relay_builder.hpp"

namespace tensorsmith::graph {

/// A copy of a graph, with nodes replaced on the way.
class RelayCopier {
 public:
  explicit RelayCopier(const RelayGraph& graph) : graph_(graph), map_(graph.nodes.size(), 0) {}
  virtual ~RelayCopier() = default;

  RelayGraph run() {
    for (std::size_t i = 0; i < graph_.nodes.size(); ++i) {
      std::vector<std::size_t> inputs;
      for (const std::size_t input : graph_.nodes[i].inputs) {
        inputs.push_back(map_[input]);
      }
      map_[i] = rewrite(i, inputs);
    }
    return out.finish(map_.back());
  }

 protected:
  virtual std::size_t rewrite(std::size_t i, const std::vector<std::size_t>& inputs) = 0;

  std::size_t copy(std::size_t i, const std::vector<std::size_t>& inputs) {
    const RelayNode& node = graph_.nodes[i];
    if (node.kind == RelayKind::call) {
      return out.call(node.name, inputs, node.type, node.attributes);
    }
    RelayNode same = node;
    same.inputs = inputs;
    return out.add(std::move(same));
  }
  std::size_t mapped(std::size_t i) const { return map_[i]; }

  const RelayGraph& graph_;
  RelayBuilder out;

 private:
  std::vector<std::size_t> map_;
};

}  // namespace tensorsmith::graph
