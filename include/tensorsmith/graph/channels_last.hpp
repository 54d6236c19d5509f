// SPDX-License-Identifier: Apache-2.0
// channels_last: convolutions and pools of planes with their channels as the last axis.
//
// Floor 10; compiled in lib/graph. Own design. Vectors run along channels there, and weights lie as
// kernels want them. Elementwise operators between converted ones follow; transposes stay where
// other operators begin, and at inputs and outputs of the graph. Not here: other layouts, and
// whether a convolution would rather not (measured times would say).
#pragma once

#include <cstdint>
#include <string>

#include "tensorsmith/graph/graph.hpp"
#include "tensorsmith/support/result.hpp"

namespace tensorsmith::graph {

/// Of a resolved graph; resolves it again. How many convolutions and pools were converted; an error
/// is resolve()'s.
Result<std::int64_t, std::string> channels_last(Graph& graph);

}  // namespace tensorsmith::graph
