// SPDX-License-Identifier: Apache-2.0
// hoist_guards: conditions around stores move out of the loops that do not change them.
//
// Floor 4. Own design.
//     for i { for j { if (t < 49) A } }; for i { if (t < 49) B }
//         -->  if (t < 49) { for i { for j { A } }; for i { B } }
// Nothing with a barrier is moved into a condition. Conditions that read elements stay.
#pragma once

#include <utility>
#include <vector>

#include "tensorsmith/ir/loop_program.hpp"
#include "tensorsmith/ir/rewrite.hpp"
#include "tensorsmith/ir/stmt_walk.hpp"

namespace tensorsmith {
namespace detail {

class GuardHoister {
 public:
  explicit GuardHoister(LoopProgram& program) : p_(program) {}

  void run(StmtId id) {
    const Stmt stmt = p_[id];  // a copy: the program grows
    for_each_child(stmt, [&](StmtId child) { run(child); });
    if (std::holds_alternative<Seq>(stmt)) {
      merge(id);
    } else if (const For* loop = std::get_if<For>(&stmt)) {
      hoist(id, *loop);
    }
  }

 private:
  /// The condition, if the statement is nothing but what it guards.
  ExprId guard_of(StmtId id) const {
    const If* branch = p_.as<If>(id);
    return branch != nullptr && !branch->else_body.valid() && !has_load(p_.pool, branch->condition)
               ? branch->condition
               : ExprId{};
  }

  void hoist(StmtId id, const For& loop) {
    std::vector<ExprId> inner, outer;
    StmtId body = loop.body;
    for (ExprId guard = guard_of(body); guard.valid(); guard = guard_of(body)) {
      (uses_var(p_.pool, guard, loop.var) ? inner : outer).push_back(guard);
      body = p_.as<If>(body)->then_body;
    }
    if (outer.empty()) {
      return;
    }
    for (std::size_t i = inner.size(); i-- > 0;) {
      body = p_.add(If{inner[i], body, {}});
    }
    For around = loop;
    around.body = body;
    body = p_.add(around);
    for (std::size_t i = outer.size(); i-- > 1;) {
      body = p_.add(If{outer[i], body, {}});
    }
    p_.stmts[id.value] = If{outer[0], body, {}};
  }

  void merge(StmtId id) {
    const Seq seq = *p_.as<Seq>(id);
    std::vector<StmtId> items;
    for (StmtId item : seq.items) {
      if (const Seq* inner = p_.as<Seq>(item)) {
        items.insert(items.end(), inner->items.begin(), inner->items.end());
        continue;
      }
      const ExprId guard = guard_of(item);
      if (guard.valid() && !items.empty() && guard_of(items.back()) == guard) {
        const StmtId first = p_.as<If>(items.back())->then_body;
        const StmtId both = p_.add(Seq{{first, p_.as<If>(item)->then_body}});
        merge(both);
        items.back() = p_.add(If{guard, both, {}});
        continue;
      }
      items.push_back(item);
    }
    p_.stmts[id.value] = items.size() == 1 ? Stmt(p_[items[0]]) : Stmt(Seq{std::move(items)});
  }

  LoopProgram& p_;
};

}  // namespace detail

inline void hoist_guards(LoopProgram& program, StmtId body) {
  detail::GuardHoister(program).run(body);
}

}  // namespace tensorsmith
