// SPDX-License-Identifier: Apache-2.0
// MinimumCut: the cheapest way to put vertices on one of two sides.
//
// Private to lib/graph. Augmenting paths along levels: Dinic, 1970.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <vector>

namespace tensorsmith::graph {

class MinimumCut {
 public:
  static constexpr std::int64_t unbounded = std::numeric_limits<std::int64_t>::max() / 4;
  static constexpr std::size_t near = 0, far = 1;  ///< what stands for the sides

  MinimumCut() : edges_of_(2) {}

  std::size_t add_vertex() {
    edges_of_.emplace_back();
    return edges_of_.size() - 1;
  }
  /// Costs that much if `from` is on the near side and `to` on the far one.
  void add_edge(std::size_t from, std::size_t to, std::int64_t cost) {
    edges_of_[from].push_back(edges_.size());
    edges_.push_back({to, cost});
    edges_of_[to].push_back(edges_.size());
    edges_.push_back({from, 0});
  }

  /// Whether each vertex is on the far side; of equal cuts the one with the fewest there.
  std::vector<bool> solve() {
    while (find_levels()) {
      next_.assign(edges_of_.size(), 0);
      while (push(near, unbounded) > 0) {
      }
    }
    // Who can still reach the far side stays there.
    std::vector<bool> is_far(edges_of_.size(), false);
    std::vector<std::size_t> open{far};
    is_far[far] = true;
    while (!open.empty()) {
      const std::size_t at = open.back();
      open.pop_back();
      for (const std::size_t e : edges_of_[at]) {
        const std::size_t from = edges_[e].to;
        if (edges_[e ^ 1U].room > 0 && !is_far[from]) {
          is_far[from] = true;
          open.push_back(from);
        }
      }
    }
    return is_far;
  }

 private:
  struct Edge {
    std::size_t to;
    std::int64_t room;
  };

  bool find_levels() {
    level_.assign(edges_of_.size(), -1);
    level_[near] = 0;
    std::vector<std::size_t> open{near};
    for (std::size_t i = 0; i < open.size(); ++i) {
      for (const std::size_t e : edges_of_[open[i]]) {
        if (edges_[e].room > 0 && level_[edges_[e].to] < 0) {
          level_[edges_[e].to] = level_[open[i]] + 1;
          open.push_back(edges_[e].to);
        }
      }
    }
    return level_[far] >= 0;
  }

  /// One augmenting path, without recursion: networks are deep.
  std::int64_t push(std::size_t from, std::int64_t most) {
    std::vector<std::size_t> path;
    std::size_t at = from;
    while (at != far) {
      bool goes_on = false;
      for (std::size_t& i = next_[at]; i < edges_of_[at].size(); ++i) {
        const std::size_t e = edges_of_[at][i];
        if (edges_[e].room > 0 && level_[edges_[e].to] == level_[at] + 1) {
          path.push_back(e);
          at = edges_[e].to;
          goes_on = true;
          break;
        }
      }
      if (goes_on) {
        continue;
      }
      if (path.empty()) {
        return 0;
      }
      at = edges_[path.back() ^ 1U].to;
      path.pop_back();
      ++next_[at];
    }
    for (const std::size_t e : path) {
      most = std::min(most, edges_[e].room);
    }
    for (const std::size_t e : path) {
      edges_[e].room -= most;
      edges_[e ^ 1U].room += most;
    }
    return most;
  }

  std::vector<Edge> edges_;  // each beside its way back
  std::vector<std::vector<std::size_t>> edges_of_;
  std::vector<int> level_;
  std::vector<std::size_t> next_;
};

}  // namespace tensorsmith::graph
