// The one traversal: every pass over expressions stands on map_children and for_each_child.
//
// Floor 1. Own design. A rewrite that changes nothing returns the same id.
#pragma once

#include <utility>
#include <vector>

#include "tensorsmith/ir/expr_pool.hpp"

namespace tensorsmith {

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
  if (const VarRef* ref = pool.as<VarRef>(id)) {
    return ref->var == var;
  }
  bool used = false;
  for_each_child(pool[id], [&](ExprId child) { used = used || uses_var(pool, child, var); });
  return used;
}

/// Whether the expression reads a buffer.
inline bool has_load(const ExprPool& pool, ExprId id) {
  bool found = pool.as<Load>(id) != nullptr;
  for_each_child(pool[id], [&](ExprId child) { found = found || has_load(pool, child); });
  return found;
}

/// Whether some of the expression is evaluated by a condition only: an if_then_else, no select.
inline bool has_choice(const ExprPool& pool, ExprId id) {
  const Call* call = pool.as<Call>(id);
  bool found = call != nullptr && call->op == CallOp::if_then_else;
  for_each_child(pool[id], [&](ExprId child) { found = found || has_choice(pool, child); });
  return found;
}

}  // namespace tensorsmith
