// SPDX-License-Identifier: Apache-2.0
// What conversion and agreement of layouts have in common: axes, and one node of another layout.
//
// Private to lib/graph. Own design.
#pragma once

#include <cstddef>

#include "graph/operators.hpp"
#include "tensorsmith/graph/channels_last.hpp"

namespace tensorsmith::graph {

/// Axis d of a tensor with channels last is axis order[d] of the one as given, and the way back: as
/// the attribute of Transpose.
List to_last(std::size_t rank);
List from_last(std::size_t rank);
Shape in_order(const Shape& shape, const List& order);
/// Whether transposing leaves all bytes where they are: only axes of one element move.
bool moves_nothing(const Shape& shape, const List& order);

/// The attributes of the node, converted; inputs and results stay.
Node with_channels_last(const Graph& graph, Node node);
/// Order of the axes of the weights of a window that has some.
List weights_to_last(const Node& node, std::size_t rank);
/// The shape with axes of one element in front, as spreading sees it.
Shape with_rank(const Shape& shape, std::size_t rank);

}  // namespace tensorsmith::graph
