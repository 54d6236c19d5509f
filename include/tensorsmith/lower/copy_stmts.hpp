// SPDX-License-Identifier: Apache-2.0
// StmtCopier: statements once more, with loop variables of their own.
//
// Floor 4. For passes that need a statement in two places: a variable is defined once and a buffer
// is allocated once in a program.
#pragma once

#include <utility>
#include <vector>

#include "tensorsmith/ir/loop_program.hpp"
#include "tensorsmith/ir/rewrite.hpp"

namespace tensorsmith::detail {

class StmtCopier {
 public:
  explicit StmtCopier(LoopProgram& program) : p_(program) {}

  Substitution map;             ///< for variables that are defined outside
  bool renews_buffers = false;  ///< what is allocated inside gets a buffer of its own

  /// As one sequence.
  StmtId copy(const std::vector<StmtId>& items) {
    std::vector<StmtId> copies;
    for (const StmtId item : items) {
      copies.push_back(copy(item));
    }
    return p_.add(Seq{std::move(copies)});
  }
  StmtId copy(StmtId id) {
    if (!id.valid()) {
      return id;
    }
    Stmt stmt = p_[id];
    std::visit(Overloaded{[&](Seq& s) {
                            for (StmtId& item : s.items) {
                              item = copy(item);
                            }
                          },
                          [&](For& s) {
                            const VarId var = p_.pool.new_var(p_.pool.var_name(s.var));
                            map.set(s.var, p_.pool.var(var));
                            s.var = var;
                            s.extent = expr(s.extent);
                            s.body = copy(s.body);
                          },
                          [&](If& s) {
                            s.condition = expr(s.condition);
                            s.then_body = copy(s.then_body);
                            s.else_body = copy(s.else_body);
                          },
                          [&](Alloc& s) {
                            s.buffer = renews_buffers ? renew(s.buffer) : s.buffer;
                            s.body = copy(s.body);
                          },
                          [&](Store& s) {
                            s.value = expr(s.value);
                            s.buffer = renewed(s.buffer);
                            for (ExprId& index : s.indices) {
                              index = expr(index);
                            }
                          },
                          [](Barrier&) {},
                          [&](Prefetch& s) {
                            s.buffer = renewed(s.buffer);
                            for (ExprId& index : s.indices) {
                              index = expr(index);
                            }
                          }},
               stmt);
    return p_.add(std::move(stmt));
  }

  /// Copies have another buffer instead of this one; returns it.
  BufferId renew(BufferId old) {
    const Buffer buffer = p_[old];
    const BufferId fresh = p_.add(buffer);
    renewed_.emplace_back(old, fresh);
    return fresh;
  }

 private:
  ExprId expr(ExprId id) {
    if (p_.pool.as<VarRef>(id) != nullptr) {
      return map(p_.pool, id);
    }
    if (const Load* found = p_.pool.as<Load>(id)) {
      Load load = *found;
      const DType type = p_.pool.dtype(id);
      for (ExprId& index : load.indices) {
        index = expr(index);
      }
      return p_.pool.load(renewed(load.buffer), type, load.indices);
    }
    return map_children(p_.pool, id, [&](ExprId child) { return expr(child); });
  }
  BufferId renewed(BufferId id) const {
    for (const auto& [old, fresh] : renewed_) {
      if (old == id) {
        return fresh;
      }
    }
    return id;
  }

  LoopProgram& p_;
  std::vector<std::pair<BufferId, BufferId>> renewed_;
};

}  // namespace tensorsmith::detail
