// SPDX-License-Identifier: Apache-2.0
// Which vectorized loops of a thread are vectors of consecutive elements.
//
// Floor 4. Part of emit.hpp. At most 16 bytes, aligned to their size: what one instruction loads
// or stores. A copy may load a vector and store its elements one by one, in rows that are
// exchanged. A sum of neighbours loads a vector of them and adds up its elements in order:
//     for v in 4: acc = acc + A[4*t + v]
//         -->  for v in 4 vectorized: A.lanes[v] = A[4*t + v]
//              for v in 4 unrolled: acc = acc + A.lanes[v]
#pragma once

#include "tensorsmith/ir/stmt_walk.hpp"
#include "tensorsmith/lower/emit.hpp"

namespace tensorsmith::detail {

/// Whether `id` is the same for all lanes, or an element next to the one of the lane before.
inline bool ThreadDecisions::is_vector_access(VarId lane, std::int64_t lanes, ExprId id) {
  ExprPool& pool = program_.pool;
  if (!uses_var(pool, id, lane)) {
    return true;
  }
  if (const Load* found = pool.as<Load>(id)) {
    const Load load = *found;
    const Buffer& buffer = program_[load.buffer];
    Affine flat;
    for (std::size_t d = 0; d < load.indices.size(); ++d) {
      flat.add(affine(load.indices[d]), buffer.strides[d]);
    }
    bool fits = flat.constant % lanes == 0;
    for (const AffineTerm& term : flat.terms) {
      const VarRef* ref = pool.as<VarRef>(term.atom);
      const bool is_lane = ref != nullptr && ref->var == lane;
      fits = fits && (is_lane ? term.coefficient == 1
                              : term.coefficient % lanes == 0 && !uses_var(pool, term.atom, lane));
    }
    return fits && lanes * bytes_of(buffer.dtype) <= 16;
  }
  if (pool.as<VarRef>(id) != nullptr) {
    return false;
  }
  if (const Call* call = pool.as<Call>(id);
      call != nullptr && call->op == CallOp::if_then_else && uses_var(pool, call->args[0], lane)) {
    return false;
  }
  std::vector<ExprId> children;
  for_each_child(pool[id], [&](ExprId child) { children.push_back(child); });
  bool fits = true;
  for (ExprId child : children) {
    fits = fits && is_vector_access(lane, lanes, child);
  }
  return fits;
}

/// The loads of `id` that are vectors; not those that a condition may leave out.
inline void ThreadDecisions::find_vector_terms(VarId lane, std::int64_t lanes, ExprId id,
                                               std::vector<ExprId>& found) {
  ExprPool& pool = program_.pool;
  const Call* call = pool.as<Call>(id);
  if (call != nullptr && call->op == CallOp::if_then_else) {
    return;
  }
  if (const Load* load = pool.as<Load>(id)) {
    const Scope scope = program_[load->buffer].scope;
    if ((scope == Scope::global || scope == Scope::shared) && uses_var(pool, id, lane) &&
        !has_item(found, id) && is_vector_access(lane, lanes, id)) {
      found.push_back(id);
    }
    return;
  }
  std::vector<ExprId> children;
  for_each_child(pool[id], [&](ExprId child) { children.push_back(child); });
  for (ExprId child : children) {
    find_vector_terms(lane, lanes, child, found);
  }
}

/// Of a loop whose iterations all store to the same private elements; false if it is none, or loads
/// no vectors.
inline bool Emitter::fetch_vector_terms(StmtId id, const For& loop) {
  ExprPool& pool = program_.pool;
  const std::int64_t lanes = pool.as<IntImm>(loop.extent)->value;
  std::vector<StmtId> stores{loop.body};
  if (const Seq* seq = program_.as<Seq>(loop.body)) {
    stores = seq->items;
  }
  std::vector<ExprId> terms;
  for (StmtId item : stores) {
    const Store* found = program_.as<Store>(item);
    if (found == nullptr || program_[found->buffer].scope != Scope::local ||
        any_item(found->indices, [&](ExprId at) { return uses_var(pool, at, loop.var); })) {
      return false;
    }
    find_vector_terms(loop.var, lanes, ExprId{found->value}, terms);
  }
  if (terms.empty() || (lanes & (lanes - 1)) != 0) {
    return false;
  }
  std::vector<StmtId> parts;
  std::vector<BufferId> vectors;
  for (ExprId term : terms) {
    const BufferId source = pool.as<Load>(term)->buffer;
    Buffer vector;
    vector.name = program_[source].name + ".lanes";
    vector.dtype = program_[source].dtype;
    vector.scope = Scope::local;
    vector.shape.push_back(lanes);
    vectors.push_back(program_.add(std::move(vector)));
    const VarId lane = pool.new_var(pool.var_name(loop.var));
    Substitution map;
    map.set(loop.var, pool.var(lane));
    const StmtId load = program_.add(Store{vectors.back(), {pool.var(lane)}, map(pool, term)});
    parts.push_back(program_.add(For{lane, loop.extent, ForKind::vectorized, load}));
  }
  const auto replaced = [&](const auto& self, ExprId at) -> ExprId {
    for (std::size_t i = 0; i < terms.size(); ++i) {
      if (terms[i] == at) {
        return pool.load(vectors[i], program_[vectors[i]].dtype, {pool.var(loop.var)});
      }
    }
    return map_children(pool, at, [&](ExprId child) { return self(self, child); });
  };
  for (StmtId item : stores) {
    Store store = *program_.as<Store>(item);
    store.value = replaced(replaced, store.value);
    program_.stmts[item.value] = std::move(store);
  }
  parts.push_back(program_.add(For{loop.var, loop.extent, ForKind::unrolled, loop.body}));
  StmtId result = program_.add(Seq{std::move(parts)});
  for (BufferId vector : vectors) {
    result = program_.add(Alloc{vector, result});
  }
  program_.stmts[id.value] = Stmt(program_[result]);
  return true;
}

/// Vectorized loops that neither store nor copy 2 or more consecutive elements, nor add some
/// up, become unrolled ones.
inline void Emitter::check_vectors(StmtId id) {
  const Stmt stmt = program_[id];  // a copy: the program grows
  const For* loop = std::get_if<For>(&stmt);
  if (loop == nullptr || loop->kind != ForKind::vectorized) {
    for_each_child(stmt, [&](StmtId child) { check_vectors(child); });
    return;
  }
  const Store* found = program_.as<Store>(loop->body);
  bool fits = found != nullptr;
  if (fits) {
    const Store store = *found;
    const std::int64_t lanes = program_.pool.as<IntImm>(loop->extent)->value;
    const ExprId target =
        program_.pool.load(store.buffer, program_[store.buffer].dtype, store.indices);
    const bool is_copy = program_.pool.as<Load>(store.value) != nullptr &&
                         uses_var(program_.pool, store.value, loop->var);
    fits = (lanes & (lanes - 1)) == 0 && uses_var(program_.pool, target, loop->var) &&
           (is_copy || is_vector_access(loop->var, lanes, target)) &&
           is_vector_access(loop->var, lanes, store.value);
  }
  if (!fits && !fetch_vector_terms(id, *loop)) {
    program_.stmts[id.value] = For{loop->var, loop->extent, ForKind::unrolled, loop->body};
    check_vectors(loop->body);
  }
}

}  // namespace tensorsmith::detail
