// SPDX-License-Identifier: Apache-2.0
// Networks to try things with: known architectures with random weights.
//
// Floor 10; compiled in lib/graph. Own design. The weights are the same on every machine.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "tensorsmith/graph/graph.hpp"
#include "tensorsmith/support/result.hpp"

namespace tensorsmith::graph {

struct ExampleNetwork {
  std::string_view name;
  std::string_view about;
};
std::vector<ExampleNetwork> example_networks();

/// Batch 1, f32. An error says which names there are.
Result<Graph, std::string> example_network(std::string_view name);

}  // namespace tensorsmith::graph
