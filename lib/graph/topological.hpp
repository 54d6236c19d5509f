// SPDX-License-Identifier: Apache-2.0
// Topological order, of nodes whatever they are.
//
// Private to lib/ (Kahn, Topological sorting of large networks, 1962).
#pragma once

#include <cstddef>
#include <functional>
#include <queue>
#include <vector>

namespace tensorsmith::graph {

/// Nodes before their readers, each as early as its number allows. `readers`: of each node, once
/// per thing they read; `waits_for`: how many things each one reads, afterwards how many of them
/// never come. Shorter than `readers` if there is a cycle.
inline std::vector<std::size_t>
topological_order(const std::vector<std::vector<std::size_t>>& readers,
                  std::vector<std::size_t>& waits_for) {
  std::priority_queue<std::size_t, std::vector<std::size_t>, std::greater<>> ready;
  for (std::size_t i = 0; i < readers.size(); ++i) {
    if (waits_for[i] == 0) {
      ready.push(i);
    }
  }
  std::vector<std::size_t> order;
  while (!ready.empty()) {
    const std::size_t next = ready.top();
    ready.pop();
    order.push_back(next);
    for (const std::size_t reader : readers[next]) {
      if (--waits_for[reader] == 0) {
        ready.push(reader);
      }
    }
  }
  return order;
}

}  // namespace tensorsmith::graph
