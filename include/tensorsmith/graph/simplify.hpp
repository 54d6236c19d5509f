// SPDX-License-Identifier: Apache-2.0
// simplify: the canonical form of a graph, with fewer nodes that compute the same.
//
// Floor 10; compiled in lib/graph. Own design. What exporters write in pieces becomes one operator,
// what is constant is folded into weights. Not here: which nodes share a kernel
// (graph/partition.hpp).
#pragma once

#include <cstdint>
#include <string>

#include "tensorsmith/graph/graph.hpp"
#include "tensorsmith/support/result.hpp"

namespace tensorsmith::graph {

/// How often each rule applied.
struct Simplified {
  std::int64_t batch_norms = 0;  ///< folded into the convolution or product before them
  std::int64_t pads = 0;         ///< folded into the convolution or pool behind them
  std::int64_t gelus = 0, swishes = 0, hard_swishes = 0, layer_norms = 0;
  std::int64_t views = 0;  ///< Identity, Dropout, and reshapes to the same shape
};

/// Resolves the graph, applies every rule until none applies, resolves again. An error is
/// resolve()'s.
Result<Simplified, std::string> simplify(Graph& graph);

}  // namespace tensorsmith::graph
