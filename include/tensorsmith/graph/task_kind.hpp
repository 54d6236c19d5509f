// SPDX-License-Identifier: Apache-2.0
// task_kind: which tasks of a network compute the same but for their sizes.
//
// Floor 10; compiled in lib/graph. Felix, ch. 1.2, which finds the operators in the formulas of a
// task; here the graph has them. Extents, kernels, strides, padding and dilations are sizes.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "tensorsmith/graph/graph.hpp"

namespace tensorsmith::graph {

/// Equal for tasks that differ in sizes alone. Numbers that are part of the formula (the bounds of
/// a Clip), ranks, types, which operands are spread along which axes, and whether a convolution is
/// dense, grouped or depthwise tell tasks apart. `nodes`: of one task, in topological order.
std::string task_kind(const Graph& graph, const std::vector<std::size_t>& nodes);

}  // namespace tensorsmith::graph
