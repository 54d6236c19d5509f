// SPDX-License-Identifier: Apache-2.0
#include "tensorsmith/graph/fuse.hpp"

#include <algorithm>
#include <functional>
#include <numeric>

namespace tensorsmith::graph {

namespace {

constexpr std::size_t none = SIZE_MAX;

/// Immediate post-dominators: the first node through which every path from a node goes.
struct Dominators {
  std::vector<std::size_t> parent;
  std::vector<std::size_t> depth;
  std::vector<FusePattern> pattern;  ///< the hardest edge on the paths to the parent
};

Dominators post_dominators(const std::vector<FuseNode>& nodes) {
  Dominators tree;
  tree.parent.assign(nodes.size(), none);
  tree.depth.assign(nodes.size(), 1);
  tree.pattern.assign(nodes.size(), FusePattern::opaque);
  for (std::size_t i = nodes.size(); i-- > 0;) {
    if (nodes[i].is_external || nodes[i].readers.empty()) {
      continue;
    }
    FusePattern pattern = FusePattern::elementwise;
    std::size_t common = nodes[i].readers.front().reader;
    for (const FuseEdge& edge : nodes[i].readers) {
      pattern = std::max(pattern, edge.pattern);
      std::size_t a = common, b = edge.reader;
      while (a != b && a != none && b != none) {
        std::size_t& deeper = tree.depth[a] >= tree.depth[b] ? a : b;
        if (tree.depth[a] == tree.depth[b]) {
          pattern = std::max({pattern, tree.pattern[a], tree.pattern[b]});
          a = tree.parent[a];
          b = tree.parent[b];
        } else {
          pattern = std::max(pattern, tree.pattern[deeper]);
          deeper = tree.parent[deeper];
        }
      }
      common = a == b ? a : none;
      if (common == none) {
        break;
      }
    }
    tree.parent[i] = common;
    tree.pattern[i] = pattern;
    tree.depth[i] = common == none ? 1 : tree.depth[common] + 1;
  }
  return tree;
}

class Fuser {
 public:
  Fuser(const std::vector<FuseNode>& nodes, const FuseOptions& options)
      : nodes_(nodes), options_(options), tree_(post_dominators(nodes)), parent_(nodes.size()),
        size_(nodes.size(), 1) {
    std::iota(parent_.begin(), parent_.end(), std::size_t{0});
    for (const FuseNode& node : nodes) {
      pattern_.push_back(node.pattern);
    }
  }

  std::vector<std::size_t> run() {
    for (int phase = 0; phase < 3; ++phase) {
      for (std::size_t i = 0; i < nodes_.size(); ++i) {
        visit(i, phase);
      }
    }
    std::vector<std::size_t> roots;
    for (std::size_t i = 0; i < nodes_.size(); ++i) {
      roots.push_back(root(i));
    }
    return roots;
  }

 private:
  using Condition = std::function<bool(FusePattern, bool is_sink)>;

  std::size_t root(std::size_t i) const {
    while (parent_[i] != i) {
      i = parent_[i];
    }
    return i;
  }
  FusePattern root_pattern(std::size_t i) const { return pattern_[root(i)]; }

  /// Every node on the paths from a reader of `from` to `to` meets the condition.
  bool paths_allow(std::size_t from, std::size_t to, const Condition& allows) {
    std::vector<bool> seen(nodes_.size(), false);
    const std::function<bool(std::size_t)> walk = [&](std::size_t i) {
      if (seen[i]) {
        return true;
      }
      seen[i] = true;
      if (!allows(root_pattern(i), i == to)) {
        return false;
      }
      return i == to || std::all_of(nodes_[i].readers.begin(), nodes_[i].readers.end(),
                                    [&](const FuseEdge& edge) { return walk(edge.reader); });
    };
    return std::all_of(nodes_[from].readers.begin(), nodes_[from].readers.end(),
                       [&](const FuseEdge& edge) { return walk(edge.reader); });
  }

  /// The nodes from `from` up to, and without, `to`.
  std::vector<std::size_t> between(std::size_t from, std::size_t to) const {
    std::vector<std::size_t> list, open{from};
    std::vector<bool> seen(nodes_.size(), false);
    while (!open.empty()) {
      const std::size_t i = open.back();
      open.pop_back();
      if (i == to || seen[i]) {
        continue;
      }
      seen[i] = true;
      list.push_back(i);
      for (const FuseEdge& edge : nodes_[i].readers) {
        open.push_back(edge.reader);
      }
    }
    return list;
  }

  void join(std::size_t from, std::size_t to) {
    for (const std::size_t i : between(from, to)) {
      const std::size_t child = root(i), parent = root(to);
      if (child != parent) {
        parent_[child] = parent;
        size_[parent] += size_[child];
        pattern_[parent] = std::max(pattern_[parent], pattern_[child]);
      }
    }
  }

  std::size_t size_with(std::size_t from, std::size_t to) const {
    std::vector<std::size_t> roots{root(to)};
    for (const std::size_t i : between(from, to)) {
      roots.push_back(root(i));
    }
    std::sort(roots.begin(), roots.end());
    roots.erase(std::unique(roots.begin(), roots.end()), roots.end());
    return std::accumulate(roots.begin(), roots.end(), std::size_t{0},
                           [&](std::size_t sum, std::size_t i) { return sum + size_[i]; });
  }

  void visit(std::size_t i, int phase) {
    const std::size_t to = tree_.parent[i];
    const FusePattern own = pattern_[i];
    if (nodes_[i].pattern == FusePattern::opaque || to == none) {
      return;
    }
    if (size_with(i, to) > options_.most_nodes) {
      return;
    }
    if (phase == 2) {
      const FusePattern sink = root_pattern(to);
      // Of a tuple that has joined injective operators behind it.
      if (own <= FusePattern::injective && sink <= FusePattern::injective &&
          nodes_[to].pattern == FusePattern::tuple && paths_allow(i, to, is_injective)) {
        join(i, to);
      }
      return;
    }
    if (root(i) == root(to) || pattern_[to] == FusePattern::tuple) {
      return;
    }
    const FusePattern edges = tree_.pattern[i];
    if (own == FusePattern::anchor) {
      const Condition allows = [](FusePattern p, bool) { return p <= FusePattern::broadcast; };
      if (phase == 0 && edges == FusePattern::elementwise && paths_allow(i, to, allows)) {
        join(i, to);
      }
    } else if (own <= FusePattern::broadcast) {
      const Condition allows = [&](FusePattern p, bool is_sink) {
        return p <= FusePattern::injective ||
               (is_sink && (p == FusePattern::reduction || p == FusePattern::anchor));
      };
      if (edges <= FusePattern::reduction && paths_allow(i, to, allows)) {
        join(i, to);
      }
    } else if (own == FusePattern::injective || own == FusePattern::tuple) {
      if (phase == 1 && paths_allow(i, to, is_injective)) {
        join(i, to);
      }
    }
  }

  static bool is_injective(FusePattern p, bool) { return p <= FusePattern::injective; }

  const std::vector<FuseNode>& nodes_;
  FuseOptions options_;
  Dominators tree_;
  std::vector<std::size_t> parent_, size_;
  std::vector<FusePattern> pattern_;  ///< of roots; of others, as when they were joined
};

}  // namespace

std::vector<std::size_t> fuse(const std::vector<FuseNode>& nodes, const FuseOptions& options) {
  return Fuser(nodes, options).run();
}

}  // namespace tensorsmith::graph
