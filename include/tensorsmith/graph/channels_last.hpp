// SPDX-License-Identifier: Apache-2.0
// channels_last: operators of planes with their channels as the last axis.
//
// Floor 10; compiled in lib/graph. Own design. Vectors run along channels there, and weights lie as
// kernels want them. Transposes stay where other operators begin, and at inputs and outputs of the
// graph. Not here: which operators gain by it (graph/layouts.hpp).
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "tensorsmith/graph/graph.hpp"
#include "tensorsmith/support/result.hpp"

namespace tensorsmith::graph {

/// Whether a node can compute with its channels last.
enum class ChannelsLast : std::uint8_t {
  never,    ///< a result or an input has other axes, or the node mixes them
  follows,  ///< element by element, or along axes that it names: the same program but for indices
  window,   ///< a convolution with constant weights, or a pool: another program
};
/// Of a resolved graph; one to three spatial axes.
ChannelsLast channels_last_of(const Graph& graph, const Node& node);

/// Converts the nodes, by number, of a resolved graph that `is_last` names, each of which must be
/// able to, and resolves it again. How many windows were converted; an error is resolve()'s.
Result<std::int64_t, std::string> channels_last(Graph& graph, const std::vector<bool>& is_last);

}  // namespace tensorsmith::graph
