// SPDX-License-Identifier: Apache-2.0
// inject_vthreads: virtual threads become the innermost, unrolled loops of what depends on them.
//
// Floor 4. The pass of Ansor's and TVM's lowering, own code. Iterations of a vthread loop are
// independent, so the loop may be distributed over statements and moved inwards:
//     vthread v in 2: alloc L { fetch into shared; for k: L = L + S[v, k] }
//         -->  alloc L[2] { fetch into shared; for k: unrolled v in 2: L[v] = L[v] + S[v, k] }
// What does not depend on v is done once. A buffer allocated inside that some v writes for itself
// gets one more dimension in front. Linear in the program, per vthread loop.
#pragma once

#include <utility>
#include <vector>

#include "tensorsmith/ir/loop_program.hpp"
#include "tensorsmith/ir/rewrite.hpp"
#include "tensorsmith/ir/stmt_walk.hpp"

namespace tensorsmith {
namespace detail {

class VthreadInjector {
 public:
  explicit VthreadInjector(LoopProgram& program) : p_(program) {}

  /// Changes statements in place.
  void run(StmtId id) {
    const Stmt stmt = p_[id];  // a copy: the program grows
    for_each_child(stmt, [&](StmtId child) { run(child); });
    if (const For* loop = std::get_if<For>(&stmt); loop && loop->kind == ForKind::vthread) {
      inject(id, *loop);
    }
  }

 private:
  void inject(StmtId id, const For& loop) {
    var_ = loop.var;
    extent_ = loop.extent;
    count_ = p_.pool.as<IntImm>(loop.extent)->value;
    is_own_.assign(p_.buffers.size(), false);
    is_inside_.assign(p_.buffers.size(), false);
    for (bool grows = true; grows;) {
      grows = find_own(loop.body, false);
    }
    for (std::size_t b = 0; b < is_own_.size(); ++b) {
      if (is_own_[b]) {
        Buffer& buffer = p_.buffers[b];
        buffer.strides.insert(0, buffer.num_elements());
        buffer.shape.insert(0, count_);
      }
    }
    push(loop.body);
    p_.stmts[id.value] = Stmt(p_[loop.body]);
  }

  bool depends(ExprId id) const {
    if (const VarRef* ref = p_.pool.as<VarRef>(id)) {
      return ref->var == var_;
    }
    if (const Load* load = p_.pool.as<Load>(id); load != nullptr && is_own_[load->buffer.value]) {
      return true;
    }
    bool found = false;
    for_each_child(p_.pool[id], [&](ExprId child) { found = found || depends(child); });
    return found;
  }
  bool depends(const ExprList& list) const {
    for (ExprId id : list) {
      if (depends(id)) {
        return true;
      }
    }
    return false;
  }
  bool depends(const Stmt& stmt) const {
    const Store* store = std::get_if<Store>(&stmt);
    return store != nullptr &&
           (is_own_[store->buffer.value] || depends(store->indices) || depends(store->value));
  }

  /// Buffers that hold something else for each v; true if there is a new one.
  bool find_own(StmtId id, bool is_inside) {
    if (!id.valid()) {
      return false;
    }
    const Stmt& stmt = p_[id];
    if (const Seq* s = std::get_if<Seq>(&stmt)) {
      bool grows = false;
      for (StmtId item : s->items) {
        grows = find_own(item, is_inside) || grows;
      }
      return grows;
    }
    if (const If* s = std::get_if<If>(&stmt)) {
      is_inside = is_inside || depends(s->condition);
      const bool grows = find_own(s->then_body, is_inside);
      return find_own(s->else_body, is_inside) || grows;
    }
    if (const For* s = std::get_if<For>(&stmt)) {
      return find_own(s->body, is_inside || depends(s->extent));
    }
    if (const Alloc* s = std::get_if<Alloc>(&stmt)) {
      is_inside_[s->buffer.value] = true;
      return find_own(s->body, is_inside);
    }
    const Store* store = std::get_if<Store>(&stmt);
    if (store == nullptr || is_own_[store->buffer.value] || !is_inside_[store->buffer.value] ||
        !(is_inside || depends(stmt))) {
      return false;
    }
    is_own_[store->buffer.value] = true;
    return true;
  }

  void push(StmtId id) {
    if (!id.valid()) {
      return;
    }
    const Stmt stmt = p_[id];
    if (const Seq* s = std::get_if<Seq>(&stmt)) {
      for (StmtId item : s->items) {
        push(item);
      }
    } else if (const Alloc* s = std::get_if<Alloc>(&stmt)) {
      push(s->body);
    } else if (const If* s = std::get_if<If>(&stmt)) {
      if (depends(s->condition)) {
        wrap(id);
      } else {
        push(s->then_body);
        push(s->else_body);
      }
    } else if (const For* s = std::get_if<For>(&stmt)) {
      if (depends(s->extent) || s->kind == ForKind::vectorized) {
        wrap(id);
      } else {
        push(s->body);
      }
    } else if (depends(stmt)) {
      wrap(id);
    }
  }

  /// The statement once for each v.
  void wrap(StmtId id) {
    if (!subtree_depends(id)) {
      return;
    }
    const VarId own = p_.pool.new_var(p_.pool.var_name(var_));
    value_ = p_.pool.var(own);
    rewrite(id);
    const StmtId inner = p_.add(Stmt(p_[id]));
    p_.stmts[id.value] = For{own, extent_, ForKind::unrolled, inner};
  }
  bool subtree_depends(StmtId id) const {
    const Stmt& stmt = p_[id];
    const For* loop = std::get_if<For>(&stmt);
    const If* branch = std::get_if<If>(&stmt);
    return depends(stmt) || (loop != nullptr && depends(loop->extent)) ||
           (branch != nullptr && depends(branch->condition)) ||
           any_child(stmt, [&](StmtId child) { return subtree_depends(child); });
  }

  void rewrite(StmtId id) {
    if (!id.valid()) {
      return;
    }
    Stmt stmt = p_[id];
    std::visit(Overloaded{[&](Seq& s) {
                            for (StmtId item : s.items) {
                              rewrite(item);
                            }
                          },
                          [&](For& s) {
                            s.extent = expr(s.extent);
                            rewrite(s.body);
                          },
                          [&](If& s) {
                            s.condition = expr(s.condition);
                            rewrite(s.then_body);
                            rewrite(s.else_body);
                          },
                          [&](Alloc& s) { rewrite(s.body); },
                          [&](Store& s) {
                            s.value = expr(s.value);
                            s.indices = indices(s.buffer, s.indices);
                          },
                          [](Barrier&) {}, [](Prefetch&) {}},
               stmt);
    p_.stmts[id.value] = std::move(stmt);
  }
  ExprList indices(BufferId buffer, const ExprList& old) {
    ExprList list;
    if (is_own_[buffer.value]) {
      list.push_back(value_);
    }
    for (ExprId index : old) {
      list.push_back(expr(index));
    }
    return list;
  }
  ExprId expr(ExprId id) {
    if (const VarRef* ref = p_.pool.as<VarRef>(id)) {
      return ref->var == var_ ? value_ : id;
    }
    if (const Load* found = p_.pool.as<Load>(id)) {
      const Load load = *found;
      return p_.pool.load(load.buffer, p_.pool.dtype(id), indices(load.buffer, load.indices));
    }
    return map_children(p_.pool, id, [&](ExprId child) { return expr(child); });
  }

  LoopProgram& p_;
  VarId var_;
  ExprId extent_, value_;
  std::int64_t count_ = 1;
  std::vector<bool> is_inside_;  // allocated in the loop, by buffer
  std::vector<bool> is_own_;     // has something else for each v
};

}  // namespace detail

/// No vthread loop is left in `body`. Their extents are constants, and no barrier depends on them.
inline void inject_vthreads(LoopProgram& program, StmtId body) {
  detail::VthreadInjector(program).run(body);
}

}  // namespace tensorsmith
