// SPDX-License-Identifier: Apache-2.0
// Branches: which of several ways to a node is the longest, wherever a file lists the nodes.
//
// Private to lib/. Blocks of one network are one task where the same branch takes what follows when
// branches meet; files list shortcuts before or behind them.
#pragma once

#include <cstddef>
#include <vector>

#include "tensorsmith/graph/graph.hpp"

namespace tensorsmith::graph {

/// The numbers of the nodes, each behind what it reads, of that the longest branch first.
std::vector<std::size_t> longest_branches_first(const Graph& graph);

/// Of sums and products, which may take them in any order, the operand at the end of the longer
/// branch becomes the first.
void order_operands(Graph& graph);

}  // namespace tensorsmith::graph
