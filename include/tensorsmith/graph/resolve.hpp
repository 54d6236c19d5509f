// SPDX-License-Identifier: Apache-2.0
// resolve: shapes and types of every value, and the values of what depends on constants alone.
//
// Floor 10; compiled in lib/graph. Own design. One pass in topological order: a node whose inputs
// are all constant is evaluated by the interpreter and vanishes, so that shape arithmetic of
// exporters (Shape, Gather, Concat, Reshape) is gone before shapes are asked for. Not here: what an
// operator means (graph/lowering.hpp).
#pragma once

#include <cstdint>
#include <string>

#include "tensorsmith/graph/graph.hpp"
#include "tensorsmith/support/result.hpp"

namespace tensorsmith::graph {

struct ResolveOptions {
  /// Constants with more elements are left to the first run of the network, as nodes.
  std::int64_t most_elements = std::int64_t{1} << 28;
};

/// Sorts, checks and resolves; takes out what nobody needs. An error is one sentence that names the
/// node: an operator that is not known, shapes that do not fit, an input that must be constant.
Result<Done, std::string> resolve(Graph& graph, const ResolveOptions& options = {});

}  // namespace tensorsmith::graph
