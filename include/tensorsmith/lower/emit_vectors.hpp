// Which vectorized loops of a thread are vectors of consecutive elements.
//
// Floor 4. Part of emit.hpp. At most 16 bytes, aligned to their size: what one instruction loads
// or stores. A copy may load a vector and store its elements one by one, in rows that are
// exchanged.
#pragma once

#include "tensorsmith/lower/emit.hpp"

namespace tensorsmith::detail {

/// Whether `id` is the same for all lanes, or an element next to the one of the lane before.
inline bool Emitter::is_vector_access(VarId lane, std::int64_t lanes, ExprId id) {
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

/// Vectorized loops that neither store nor copy 2 or more consecutive elements become unrolled
/// ones.
inline void Emitter::check_vectors(StmtId id) {
  if (!id.valid()) {
    return;
  }
  const Stmt stmt = program_[id];
  if (const Seq* s = std::get_if<Seq>(&stmt)) {
    for (StmtId item : s->items) {
      check_vectors(item);
    }
  } else if (const Alloc* s = std::get_if<Alloc>(&stmt)) {
    check_vectors(s->body);
  } else if (const If* s = std::get_if<If>(&stmt)) {
    check_vectors(s->then_body);
    check_vectors(s->else_body);
  } else if (const For* s = std::get_if<For>(&stmt)) {
    if (s->kind != ForKind::vectorized) {
      check_vectors(s->body);
      return;
    }
    const Store* found = program_.as<Store>(s->body);
    bool fits = found != nullptr;
    if (fits) {
      const Store store = *found;
      const std::int64_t lanes = program_.pool.as<IntImm>(s->extent)->value;
      const ExprId target =
          program_.pool.load(store.buffer, program_[store.buffer].dtype, store.indices);
      const bool is_copy = program_.pool.as<Load>(store.value) != nullptr &&
                           uses_var(program_.pool, store.value, s->var);
      fits = (lanes & (lanes - 1)) == 0 && uses_var(program_.pool, target, s->var) &&
             (is_copy || is_vector_access(s->var, lanes, target)) &&
             is_vector_access(s->var, lanes, store.value);
    }
    if (!fits) {
      program_.stmts[id.value] = For{s->var, s->extent, ForKind::unrolled, s->body};
    }
  }
}

}  // namespace tensorsmith::detail
