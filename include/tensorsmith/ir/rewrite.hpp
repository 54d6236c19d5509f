// SPDX-License-Identifier: Apache-2.0
// The one traversal: every pass over expressions stands on map_children and for_each_child.
//
// Floor 1. Own design. A rewrite that changes nothing returns the same id. Expressions share what
// they have in common, so a chain of n steps that each use their operand twice has 2^n paths: what
// walks a whole expression goes to every node once (NodeSet), as far as it can be large.
#pragma once

#include <utility>
#include <vector>

#include "tensorsmith/ir/expr_pool.hpp"

namespace tensorsmith {

/// Nodes of one root that a walk has been to. Small walks need no memory of their own.
class NodeSet {
 public:
  explicit NodeSet(ExprId root) : root_(root.value) {}
  /// Whether it is new.
  bool insert(ExprId id) {
    for (std::size_t i = 0; i < num_first_; ++i) {
      if (first_[i] == id.value) {
        return false;
      }
    }
    if (num_first_ < most_first) {
      first_[num_first_++] = id.value;
      return true;
    }
    if (rest_.empty()) {
      rest_.resize(root_ + 1);  // operands have smaller numbers
    }
    const bool is_new = !rest_[id.value];
    rest_[id.value] = true;
    return is_new;
  }

 private:
  static constexpr std::size_t most_first = 24;
  std::uint32_t root_;
  std::uint32_t first_[most_first];
  std::size_t num_first_ = 0;
  std::vector<bool> rest_;
};

/// Calls f(child) for every operand, left to right (Reduce: its sources).
template <class F>
void for_each_child(const ExprNode& node, F&& f) {
  const auto each = [&](const ExprList& list) {
    for (ExprId id : list) {
      f(id);
    }
  };
  std::visit(Overloaded{[](const IntImm&) {}, [](const FloatImm&) {}, [](const VarRef&) {},
                        [&](const Unary& n) { f(n.a); },
                        [&](const Binary& n) {
                          f(n.a);
                          f(n.b);
                        },
                        [&](const Select& n) {
                          f(n.condition);
                          f(n.if_true);
                          f(n.if_false);
                        },
                        [&](const Cast& n) { f(n.a); }, [&](const Call& n) { each(n.args); },
                        [&](const TensorRead& n) { each(n.indices); },
                        [&](const Load& n) { each(n.indices); },
                        [&](const Reduce& n) { each(n.sources); }},
             node.op);
}

/// The node with every operand replaced by f(operand); the same id if none changes. The element
/// type of a node follows its operands only where the constructor says so.
template <class F>
ExprId map_children(ExprPool& pool, ExprId id, F&& f) {
  ExprNode node = pool[id];  // a copy: f may grow the pool
  bool changed = false;
  const auto one = [&](ExprId& child) {
    const ExprId mapped = f(child);
    changed = changed || mapped != child;
    child = mapped;
  };
  const auto each = [&](ExprList& list) {
    for (ExprId& child : list) {
      one(child);
    }
  };
  std::visit(Overloaded{[](IntImm&) {}, [](FloatImm&) {}, [](VarRef&) {},
                        [&](Unary& n) { one(n.a); },
                        [&](Binary& n) {
                          one(n.a);
                          one(n.b);
                        },
                        [&](Select& n) {
                          one(n.condition);
                          one(n.if_true);
                          one(n.if_false);
                        },
                        [&](Cast& n) { one(n.a); }, [&](Call& n) { each(n.args); },
                        [&](TensorRead& n) { each(n.indices); }, [&](Load& n) { each(n.indices); },
                        [&](Reduce& n) { each(n.sources); }},
             node.op);
  return changed ? pool.intern(std::move(node)) : id;
}

/// Post-order walk, operands first; every shared node is visited once per path.
template <class F>
void visit_expr(const ExprPool& pool, ExprId id, F&& f) {
  for_each_child(pool[id], [&](ExprId child) { visit_expr(pool, child, f); });
  f(id);
}

namespace detail {
template <class F>
void visit_nodes(const ExprPool& pool, ExprId id, F& f, NodeSet& seen) {
  for_each_child(pool[id], [&](ExprId child) {
    if (seen.insert(child)) {
      visit_nodes(pool, child, f, seen);
    }
  });
  f(id);
}
template <class F>
bool any_node(const ExprPool& pool, ExprId id, F& f, NodeSet& seen) {
  if (f(id)) {
    return true;
  }
  bool found = false;
  for_each_child(pool[id], [&](ExprId child) {
    found = found || (seen.insert(child) && any_node(pool, child, f, seen));
  });
  return found;
}
}  // namespace detail

/// The same walk with one visit to every node: what counts is whether it is there.
template <class F>
void visit_nodes(const ExprPool& pool, ExprId id, F&& f) {
  NodeSet seen(id);
  detail::visit_nodes(pool, id, f, seen);
}

/// One visit to every node too, with the number of paths to it: f(node, paths). For counting.
template <class F>
void visit_paths(const ExprPool& pool, ExprId root, F&& f) {
  std::vector<double> paths(root.value + 1, 0);
  paths[root.value] = 1;
  for (std::uint32_t value = root.value + 1; value-- > 0;) {  // operands have smaller numbers
    if (paths[value] > 0) {
      for_each_child(pool[ExprId{value}],
                     [&](ExprId child) { paths[child.value] += paths[value]; });
    }
  }
  visit_nodes(pool, root, [&](ExprId id) { f(id, paths[id.value]); });
}

/// Whether f(node) holds anywhere, from the root down until it does.
template <class F>
bool any_node(const ExprPool& pool, ExprId id, F&& f) {
  NodeSet seen(id);
  return detail::any_node(pool, id, f, seen);
}

/// Simultaneous substitution of variables by expressions. Linear in the number of paths.
class Substitution {
 public:
  void set(VarId var, ExprId value) {
    for (auto& [key, old] : map_) {
      if (key == var) {
        old = value;
        return;
      }
    }
    map_.emplace_back(var, value);
  }
  ExprId operator()(ExprPool& pool, ExprId id) const {
    if (const VarRef* ref = pool.as<VarRef>(id)) {
      for (const auto& [key, value] : map_) {
        if (key == ref->var) {
          return value;
        }
      }
      return id;
    }
    return map_children(pool, id, [&](ExprId child) { return (*this)(pool, child); });
  }
  bool empty() const { return map_.empty(); }

 private:
  std::vector<std::pair<VarId, ExprId>> map_;
};

inline bool uses_var(const ExprPool& pool, ExprId id, VarId var) {
  return any_node(pool, id, [&](ExprId node) {
    const VarRef* ref = pool.as<VarRef>(node);
    return ref != nullptr && ref->var == var;
  });
}

/// Whether the expression reads a buffer.
inline bool has_load(const ExprPool& pool, ExprId id) {
  return any_node(pool, id, [&](ExprId node) { return pool.as<Load>(node) != nullptr; });
}

/// Whether some of the expression is evaluated by a condition only: an if_then_else, no select.
inline bool has_choice(const ExprPool& pool, ExprId id) {
  return any_node(pool, id, [&](ExprId node) {
    const Call* call = pool.as<Call>(node);
    return call != nullptr && call->op == CallOp::if_then_else;
  });
}

}  // namespace tensorsmith
