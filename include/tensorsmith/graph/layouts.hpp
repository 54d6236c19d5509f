// SPDX-License-Identifier: Apache-2.0
// agree_layouts: which operators of planes have their channels last.
//
// Floor 10; compiled in lib/graph. Own design. Every convolution and pool costs something either
// way, a value that somebody wants in the other order costs a transpose, once; operators between
// follow. Of all choices the cheapest is a minimum cut. Not here: the conversion
// (graph/channels_last.hpp), what a program costs (graph/executor.hpp has estimates).
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "tensorsmith/graph/graph.hpp"
#include "tensorsmith/graph/partition.hpp"
#include "tensorsmith/support/callback.hpp"
#include "tensorsmith/support/result.hpp"

namespace tensorsmith::graph {

/// Of each task the nanoseconds of a call of the best program, as far as that is known.
using TaskCosts = Callback<std::vector<double>(std::span<const NetworkTask>)>;

/// A convolution or pool, alone, in both orders.
struct WindowLayouts {
  std::size_t node = 0;
  double given_ns = 0, last_ns = 0;
};

struct LayoutAgreement {
  std::vector<bool> is_last;  ///< by node
  std::vector<WindowLayouts> windows;
  std::int64_t num_last = 0;  ///< of the windows
  double given_ns = 0;        ///< of all windows as they were given
  double agreed_ns = 0;       ///< of all windows as agreed, and of transposes
  double transpose_ns = 0;
};

/// Of a resolved graph, which stays as it is. `costs` is asked once, and for equal programs once;
/// where `rough` ones are given, which may be off by half, only for windows that take a part of the
/// whole and whose orders are that close. An error names the node.
Result<LayoutAgreement, std::string> agree_layouts(const Graph& graph, const TaskCosts& costs,
                                                   const TaskCosts& rough = {});

/// As agree_layouts() with windows that cost nothing with channels last.
Result<LayoutAgreement, std::string> all_channels_last(const Graph& graph);

}  // namespace tensorsmith::graph
