// SPDX-License-Identifier: Apache-2.0
// What stands directly in a statement: most passes over loop programs look at a few kinds of
// statements and go through all others alike.
//
// Floor 1. Own design. The counterpart of rewrite.hpp for statements. A callback that lets the
// program grow needs a copy of the statement.
#pragma once

#include <utility>

#include "tensorsmith/ir/loop_program.hpp"

namespace tensorsmith {

/// Calls f(child) for every statement directly inside, in order; absent ones (no else) are left
/// out.
template <class F>
void for_each_child(const Stmt& stmt, F&& f) {
  const auto one = [&](StmtId child) {
    if (child.valid()) {
      f(child);
    }
  };
  std::visit(Overloaded{[&](const Seq& s) {
                          for (StmtId item : s.items) {
                            one(item);
                          }
                        },
                        [&](const For& s) { one(s.body); }, [&](const Alloc& s) { one(s.body); },
                        [&](const If& s) {
                          one(s.then_body);
                          one(s.else_body);
                        },
                        [](const auto&) {}},
             stmt);
}

/// Calls f(expr) for the statement's own expressions: extent, condition, value and indices.
template <class F>
void for_each_expr(const Stmt& stmt, F&& f) {
  const auto each = [&](const ExprList& list) {
    for (ExprId index : list) {
      f(index);
    }
  };
  std::visit(Overloaded{[&](const For& s) { f(s.extent); }, [&](const If& s) { f(s.condition); },
                        [&](const Store& s) {
                          f(s.value);
                          each(s.indices);
                        },
                        [&](const Prefetch& s) { each(s.indices); }, [](const auto&) {}},
             stmt);
}

/// Whether matches(child) holds for any statement directly inside.
template <class Predicate>
bool any_child(const Stmt& stmt, Predicate&& matches) {
  bool found = false;
  for_each_child(stmt, [&](StmtId child) { found = found || matches(child); });
  return found;
}

}  // namespace tensorsmith
