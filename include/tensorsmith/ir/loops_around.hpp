// SPDX-License-Identifier: Apache-2.0
// LoopsAround: the loops around a statement, and what expressions inside of them depend on.
//
// Floor 1. Own design. Not here: what a program must not do with it (verify.hpp).
#pragma once

#include <vector>

#include "tensorsmith/ir/loop_program.hpp"
#include "tensorsmith/ir/rewrite.hpp"

namespace tensorsmith::detail {

class LoopsAround {
 public:
  struct Loop {
    VarId var;
    ForKind kind;
    bool is_tile() const { return kind == ForKind::unrolled || kind == ForKind::vectorized; }
  };

  explicit LoopsAround(const LoopProgram& program) : program_(program) {}

  void open(VarId var, ForKind kind) { loops_.push_back({var, kind}); }
  void close() { loops_.pop_back(); }

  bool empty() const { return loops_.empty(); }
  bool has(ForKind kind) const {
    for (const Loop& loop : loops_) {
      if (loop.kind == kind) {
        return true;
      }
    }
    return false;
  }
  bool has_threads() const {
    return has(ForKind::thread_x) || has(ForKind::thread_y) || has(ForKind::thread_z);
  }
  /// Null if no loop around has this variable.
  const Loop* find(VarId var) const {
    for (const Loop& loop : loops_) {
      if (loop.var == var) {
        return &loop;
      }
    }
    return nullptr;
  }
  /// Whether all loops around are blocks, or blocks and then threads.
  bool is_head(bool with_threads) const {
    for (const Loop& loop : loops_) {
      if (!is_block_loop(loop.kind) && !(with_threads && is_thread_loop(loop.kind))) {
        return false;
      }
    }
    return true;
  }

  /// Whether the value may change from one iteration of an unrolled or vectorized loop to the next.
  bool depends_on_tile(ExprId id) const {
    if (const VarRef* ref = program_.pool.as<VarRef>(id)) {
      const Loop* loop = find(ref->var);
      return loop != nullptr && loop->is_tile();
    }
    bool depends = false;
    for_each_child(program_.pool[id],
                   [&](ExprId child) { depends = depends || depends_on_tile(child); });
    return depends;
  }
  /// Whether threads of one block may disagree about the value.
  bool differs_among_threads(ExprId id) const {
    if (const VarRef* ref = program_.pool.as<VarRef>(id)) {
      const Loop* loop = find(ref->var);
      return loop != nullptr && is_thread_loop(loop->kind);
    }
    bool differs = program_.pool.as<Load>(id) != nullptr;
    for_each_child(program_.pool[id],
                   [&](ExprId child) { differs = differs || differs_among_threads(child); });
    return differs;
  }
  /// Whether the value is known once the tile is written out.
  bool is_tile_index(ExprId id) const {
    if (const VarRef* ref = program_.pool.as<VarRef>(id)) {
      const Loop* loop = find(ref->var);
      return loop == nullptr || loop->is_tile();
    }
    bool is_good = program_.pool.as<Load>(id) == nullptr;
    for_each_child(program_.pool[id],
                   [&](ExprId child) { is_good = is_good && is_tile_index(child); });
    return is_good;
  }

 private:
  const LoopProgram& program_;
  std::vector<Loop> loops_;  ///< outermost first
};

}  // namespace tensorsmith::detail
