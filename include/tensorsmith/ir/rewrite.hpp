// The one traversal: every pass over expressions stands on map_children and for_each_child.
//
// Floor 1. Own design. A rewrite that changes nothing returns the same id. Expressions share what
// they have in common, so a chain of n steps that each use their operand twice has 2^n paths: what
// walks a whole expression goes to every node once (NodeSet), as far as it can be large.
#pragma once

#include <utility>
#include <vector>

#include "tensorsmith/ir/expr_pool.hpp"
#include "tensorsmith/support/hash_map.hpp"

namespace tensorsmith {

/// Nodes that a walk has been to. Small walks need no memory of their own.
class NodeSet {
 public:
  /// Whether it is new.
  bool insert(ExprId id) {
    if (num_first_ < most_first) {
      for (std::size_t i = 0; i < num_first_; ++i) {
        if (first_[i] == id.value) {
          return false;
        }
      }
      first_[num_first_++] = id.value;
      if (num_first_ == most_first) {
        for (const std::uint32_t value : first_) {
          rest_.insert(value);
        }
      }
      return true;
    }
    return rest_.insert(id.value);
  }

 private:
  static constexpr std::size_t most_first = 24;
  std::uint32_t first_[most_first];
  std::size_t num_first_ = 0;
  HashSet<std::uint32_t> rest_;
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
  NodeSet seen;
  detail::visit_nodes(pool, id, f, seen);
}

/// One visit to every node too, with the number of paths to it: f(node, paths). For counting.
template <class F>
void visit_paths(const ExprPool& pool, ExprId root, F&& f) {
  std::vector<ExprId> order;
  HashMap<std::uint32_t, std::uint32_t> places;
  visit_nodes(pool, root, [&](ExprId id) {
    places.set(id.value, static_cast<std::uint32_t>(order.size()));
    order.push_back(id);
  });
  std::vector<double> paths(order.size(), 0);
  paths.back() = 1;
  for (std::size_t i = order.size(); i-- > 0;) {
    for_each_child(pool[order[i]],
                   [&](ExprId child) { paths[*places.find(child.value)] += paths[i]; });
  }
  for (std::size_t i = 0; i < order.size(); ++i) {
    f(order[i], paths[i]);
  }
}

/// Whether f(node) holds anywhere, from the root down until it does.
template <class F>
bool any_node(const ExprPool& pool, ExprId id, F&& f) {
  NodeSet seen;
  return detail::any_node(pool, id, f, seen);
}

/// Simultaneous substitution of variables by expressions.
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
    HashMap<std::uint32_t, std::uint32_t> done;
    return replaced(pool, id, done);
  }
  bool empty() const { return map_.empty(); }

 private:
  ExprId replaced(ExprPool& pool, ExprId id, HashMap<std::uint32_t, std::uint32_t>& done) const {
    if (const VarRef* ref = pool.as<VarRef>(id)) {
      for (const auto& [key, value] : map_) {
        if (key == ref->var) {
          return value;
        }
      }
      return id;
    }
    if (pool.as<IntImm>(id) != nullptr || pool.as<FloatImm>(id) != nullptr) {
      return id;
    }
    if (const std::uint32_t* found = done.find(id.value)) {
      return ExprId{*found};
    }
    const ExprId result =
        map_children(pool, id, [&](ExprId child) { return replaced(pool, child, done); });
    done.set(id.value, result.value);
    return result;
  }

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
