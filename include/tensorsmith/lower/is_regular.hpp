// SPDX-License-Identifier: Apache-2.0
// is_regular: whether the inner loops of a program are plain vector loops.
//
// Floor 4. Own design. A program that is not is correct and five to fifty times slower than its
// cost model thinks, so a search measures it last.
#pragma once

#include <vector>

#include "tensorsmith/ir/loop_program.hpp"
#include "tensorsmith/ir/rewrite.hpp"
#include "tensorsmith/ir/tensor_intrinsic.hpp"
#include "tensorsmith/support/algorithm.hpp"

namespace tensorsmith {

namespace detail {

/// Whether the store adds to memory, not to a register, in one of `loops`. (A value that is only
/// replaced moves with all of them; the sum of a block of terms, added from a register, is no
/// term.)
inline bool accumulates_in_memory(const LoopProgram& program, const Store& store,
                                  const std::vector<VarId>& loops) {
  bool reads_itself = false, reads_registers = false, reads_memory = false;
  visit_nodes(program.pool, store.value, [&](ExprId id) {
    if (const Load* load = program.pool.as<Load>(id)) {
      const bool is_register = program[load->buffer].scope == Scope::register_;
      const bool is_itself = load->buffer == store.buffer;
      reads_itself = reads_itself || is_itself;
      reads_registers = reads_registers || is_register;
      reads_memory = reads_memory || (!is_itself && !is_register);
    }
  });
  const bool stays = any_item(loops, [&](VarId var) {
    return !any_item(store.indices,
                     [&](ExprId index) { return uses_var(program.pool, index, var); });
  });
  const bool is_block = reads_registers && !reads_memory;
  return reads_itself && !is_block && stays && program[store.buffer].scope != Scope::register_;
}

/// Whether a term of a register tile is chosen by a condition: padding that is not left out.
inline bool has_choice_in_tile(const LoopProgram& program, const Store& store) {
  return program[store.buffer].scope == Scope::register_ && has_choice(program.pool, store.value);
}

/// Whether stores to a register tile stand behind conditions of their own, lane by lane.
inline bool has_guard_in_tile(const LoopProgram& program, StmtId id) {
  const auto any = [&](StmtId inner) { return inner.valid() && has_guard_in_tile(program, inner); };
  if (const Seq* seq = program.as<Seq>(id)) {
    return any_item(seq->items, any);
  }
  if (const Alloc* alloc = program.as<Alloc>(id)) {
    return any(alloc->body);
  }
  if (const For* loop = program.as<For>(id)) {
    return any(loop->body);
  }
  const If* branch = program.as<If>(id);
  const Store* store = branch == nullptr ? nullptr : program.as<Store>(branch->then_body);
  return (store != nullptr && program[store->buffer].scope == Scope::register_) ||
         (branch != nullptr && (any(branch->then_body) || any(branch->else_body)));
}

/// Whether, outside of tails, a loop around a single store has an extent that varies, so that its
/// iterations are no lanes, or a reduction is summed up in memory for the same reason, or its terms
/// are chosen one by one.
inline bool has_varying_inner_loop(const LoopProgram& program, StmtId id,
                                   std::vector<VarId>& loops) {
  const auto any = [&](StmtId inner) {
    return inner.valid() && has_varying_inner_loop(program, inner, loops);
  };
  if (const Seq* seq = program.as<Seq>(id)) {
    return any_item(seq->items, any);
  }
  if (const Alloc* alloc = program.as<Alloc>(id)) {
    return any(alloc->body);
  }
  if (const If* branch = program.as<If>(id)) {
    return any(branch->then_body) || any(branch->else_body);
  }
  if (const Store* store = program.as<Store>(id)) {
    return accumulates_in_memory(program, *store, loops) || has_choice_in_tile(program, *store);
  }
  const For* loop = program.as<For>(id);
  if (loop == nullptr || loop->is_tail) {
    return false;
  }
  if (loop->intrinsic != nullptr && loop->intrinsic->has_tiles()) {
    return false;  // accumulators are in tile registers
  }
  const bool varies =
      program.as<Store>(loop->body) != nullptr && program.pool.as<IntImm>(loop->extent) == nullptr;
  loops.push_back(loop->var);
  const bool result = varies || any(loop->body);
  loops.pop_back();
  return result;
}

}  // namespace detail

/// False if, outside of tails, innermost loops have extents that vary or sum up in memory, or if,
/// anywhere, elements of a register tile are chosen or stored by conditions of their own.
inline bool is_regular(const LoopProgram& program) {
  std::vector<VarId> loops;
  return !detail::has_guard_in_tile(program, program.body) &&
         !detail::has_varying_inner_loop(program, program.body, loops);
}

}  // namespace tensorsmith
