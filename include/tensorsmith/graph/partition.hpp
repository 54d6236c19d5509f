// SPDX-License-Identifier: Apache-2.0
// Partition: a graph as groups of nodes, one ComputeDag each, and the tasks that these are.
//
// Floor 10; compiled in lib/graph. Own design: views are no kernels, groups are fuse()'s, equal
// dags are one task whose weight is the number of groups. Not here: running it
// (graph/executor.hpp).
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "tensorsmith/graph/graph.hpp"
#include "tensorsmith/graph/lowering.hpp"
#include "tensorsmith/support/result.hpp"

namespace tensorsmith::graph {

/// Nodes that are computed together by one kernel.
struct Group {
  std::vector<std::size_t> nodes;  ///< in topological order
  GroupProgram program;
  std::size_t task = 0;
};

/// A computation that one or more groups are.
struct NetworkTask {
  Shared<const ComputeDag> dag;
  std::string text;   ///< in index notation (te/notation.hpp): its name in records
  std::string title;  ///< operators of its first group, for people: "Conv+Add+Relu"
  std::string kind;   ///< equal for tasks that differ in sizes alone (graph/task_kind.hpp)
  double weight = 0;  ///< number of groups
  double flop = 0;    ///< of one call; 0: not countable
};

struct Partition {
  std::vector<Group> groups;  ///< in an order in which they can run
  std::vector<NetworkTask> tasks;
  /// By ValueId: the value among whose bytes it lies, itself if it is no view, and where there.
  std::vector<ValueId> storage;
  std::vector<std::int64_t> offset;
};

struct PartitionOptions {
  std::size_t most_nodes = 64;  ///< in a group
  bool fuses = true;            ///< false: every node is a group
};

/// Of a resolved graph. An error names the node.
Result<Partition, std::string> partition(const Graph& graph, const PartitionOptions& options = {});

}  // namespace tensorsmith::graph
