// SPDX-License-Identifier: Apache-2.0
// The order in which the nodes of a graph message can be read.
//
// Private to lib/. Own design. The format asks for topological order; files that have another are
// read as well, and a cycle is an error that names one of its nodes.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "onnx/model.hpp"
#include "tensorsmith/support/result.hpp"

namespace tensorsmith::onnx {

constexpr int most_nested = 32;  ///< graphs in graphs, functions in functions

/// Indices of `nodes`, producers first, each as early as its place allows. Names that no node
/// computes are no dependences. Error: the index of a node of a cycle.
Result<std::vector<std::size_t>, std::size_t> reading_order(const std::vector<NodeMessage>& nodes);

}  // namespace tensorsmith::onnx
