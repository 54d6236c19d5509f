// Which vectorized loops of a thread are vectors of consecutive elements.
//
// Floor 4. Part of emit.hpp. At most 16 bytes, aligned to their size: what one instruction loads
// or stores. A copy may load a vector and store its elements one by one, in rows that are
// exchanged.
#pragma once

#include "tensorsmith/ir/stmt_walk.hpp"
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
  if (!fits) {
    program_.stmts[id.value] = For{loop->var, loop->extent, ForKind::unrolled, loop->body};
  }
}

}  // namespace tensorsmith::detail
