// SPDX-License-Identifier: Apache-2.0
// may_be_alike: whether the terms of a sum may all round the same way.
//
// Floor 4. Own design. Products of two tensors, both of which are read at other places for the next
// term, round at random in practice; a row of one number does not; a copy is what it is
// a copy of:
//     for k: acc += A[i, k] * B[k, j]             are not alike
//     for k: acc += X[i, k], (X[i, k] - M[i])^2   may be alike
//     for k: acc += X[i, k] * X.lanes[j, k]       as well, X.lanes being a copy
#pragma once

#include <cstdint>
#include <variant>
#include <vector>

#include "tensorsmith/ir/loop_program.hpp"
#include "tensorsmith/ir/rewrite.hpp"
#include "tensorsmith/support/algorithm.hpp"

namespace tensorsmith::detail {

/// By buffer: itself, or what it is a copy of, as packed operands are. Whoever else is stored there
/// makes it no copy.
inline std::vector<BufferId> sources_of_copies(const LoopProgram& program) {
  std::vector<BufferId> sources;
  for (std::uint32_t id = 0; id < program.buffers.size(); ++id) {
    sources.push_back(BufferId{id});
  }
  std::vector<bool> is_written(sources.size());
  for (const Stmt& stmt : program.stmts) {
    const Store* store = std::get_if<Store>(&stmt);
    if (store == nullptr) {
      continue;
    }
    const Cast* cast = program.pool.as<Cast>(store->value);
    const Load* load = program.pool.as<Load>(cast != nullptr ? cast->a : store->value);
    const std::uint32_t to = store->buffer.value;
    const BufferId from = load != nullptr ? load->buffer : store->buffer;
    sources[to] = !is_written[to] || sources[to] == from ? from : store->buffer;
    is_written[to] = true;
  }
  for (std::size_t copies = 0; copies < sources.size(); ++copies) {  // of copies, as many as exist
    bool has_changed = false;
    for (BufferId& source : sources) {
      has_changed = has_changed || source != sources[source.value];
      source = sources[source.value];
    }
    if (!has_changed) {
      break;
    }
  }
  return sources;
}

/// Whether terms of one element, which the loops `summed` go over, read different places; or the
/// same one of memory that a thread or a block may have put something else into.
inline bool changes(const LoopProgram& program, const Load& load,
                    const std::vector<VarId>& summed) {
  return program[load.buffer].scope != Scope::global || any_item(load.indices, [&](ExprId at) {
           return any_item(summed, [&](VarId var) { return uses_var(program.pool, at, var); });
         });
}

/// Whether `factor` reads a changing tensor that `other` does not.
inline bool reads_another(const LoopProgram& program, const std::vector<BufferId>& sources,
                          ExprId factor, ExprId other, const std::vector<VarId>& summed) {
  const ExprPool& pool = program.pool;
  const auto source_of = [&](BufferId id) {  // passes may have added buffers
    return id.value < sources.size() ? sources[id.value] : id;
  };
  return any_node(pool, factor, [&](ExprId node) {
    const Load* load = pool.as<Load>(node);
    return load != nullptr && changes(program, *load, summed) &&
           !any_node(pool, other, [&](ExprId e) {
             const Load* same = pool.as<Load>(e);
             return same != nullptr && source_of(same->buffer) == source_of(load->buffer);
           });
  });
}

/// `sources`: sources_of_copies(program).
inline bool may_be_alike(const LoopProgram& program, const std::vector<BufferId>& sources,
                         ExprId term, const std::vector<VarId>& summed) {
  return !any_node(program.pool, term, [&](ExprId node) {
    const Binary* n = program.pool.as<Binary>(node);
    return n != nullptr && n->op == BinaryOp::mul &&
           reads_another(program, sources, n->a, n->b, summed) &&
           reads_another(program, sources, n->b, n->a, summed);
  });
}

}  // namespace tensorsmith::detail
