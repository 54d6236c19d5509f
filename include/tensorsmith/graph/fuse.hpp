// SPDX-License-Identifier: Apache-2.0
// fuse: which nodes of a graph become one function, by the reference's rules.
//
// Floor 10; compiled in lib/graph. TVM (Chen et al., OSDI 2018, sec. 3): operators are injective,
// reductions, or anchors whose result elementwise operators may follow; a node joins its immediate
// post-dominator if every operator on every path between allows it. Knows patterns and edges only.
// Not here: what a node is (graph/partition.hpp, graph/relay.hpp).
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace tensorsmith::graph {

/// In the order of how hard they are to fuse; of two that are joined, the greater holds.
enum class FusePattern : std::uint8_t {
  elementwise = 0,
  broadcast = 1,
  injective = 2,
  reduction = 3,
  anchor = 4,
  tuple = 7,
  opaque = 8,
};

struct FuseEdge {
  std::size_t reader = 0;
  FusePattern pattern = FusePattern::opaque;
};
struct FuseNode {
  FusePattern pattern = FusePattern::opaque;
  /// Read from outside: an argument, or a result.
  bool is_external = false;
  std::vector<FuseEdge> readers;  ///< behind it in the list
};

struct FuseOptions {
  std::size_t most_nodes = 256;  ///< in a group
};

/// For every node the number of its group's last node. `nodes` in topological order.
std::vector<std::size_t> fuse(const std::vector<FuseNode>& nodes, const FuseOptions& options = {});

}  // namespace tensorsmith::graph
