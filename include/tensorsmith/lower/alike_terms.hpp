// SPDX-License-Identifier: Apache-2.0
// may_be_alike: whether the terms of a sum may all round the same way.
//
// Floor 4. Own design. Products of two tensors, both of which are read at other places for the next
// term, round at random in practice; a row of one number does not:
//     for k: acc += A[i, k] * B[k, j]             are not alike
//     for k: acc += X[i, k], (X[i, k] - M[i])^2   may be alike
#pragma once

#include <vector>

#include "tensorsmith/ir/loop_program.hpp"
#include "tensorsmith/ir/rewrite.hpp"
#include "tensorsmith/support/algorithm.hpp"

namespace tensorsmith::detail {

/// Whether terms of one element, which the loops `summed` go over, read different places; or the
/// same one of memory that a thread or a block may have put something else into.
inline bool changes(const LoopProgram& program, const Load& load,
                    const std::vector<VarId>& summed) {
  return program[load.buffer].scope != Scope::global || any_item(load.indices, [&](ExprId at) {
           return any_item(summed, [&](VarId var) { return uses_var(program.pool, at, var); });
         });
}

/// Whether `factor` reads a changing tensor that `other` does not.
inline bool reads_another(const LoopProgram& program, ExprId factor, ExprId other,
                          const std::vector<VarId>& summed) {
  const ExprPool& pool = program.pool;
  return any_node(pool, factor, [&](ExprId node) {
    const Load* load = pool.as<Load>(node);
    return load != nullptr && changes(program, *load, summed) &&
           !any_node(pool, other, [&](ExprId e) {
             const Load* same = pool.as<Load>(e);
             return same != nullptr && same->buffer == load->buffer;
           });
  });
}

inline bool may_be_alike(const LoopProgram& program, ExprId term,
                         const std::vector<VarId>& summed) {
  return !any_node(program.pool, term, [&](ExprId node) {
    const Binary* n = program.pool.as<Binary>(node);
    return n != nullptr && n->op == BinaryOp::mul && reads_another(program, n->a, n->b, summed) &&
           reads_another(program, n->b, n->a, summed);
  });
}

}  // namespace tensorsmith::detail
