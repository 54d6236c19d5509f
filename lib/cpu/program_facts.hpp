// SPDX-License-Identifier: Apache-2.0
// What code generation asks about a LoopProgram before it translates it; checks ids and ranks.
//
// Private to lib/cpu. Own design. Everything is computed once per expression or statement.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "tensorsmith/ir/interval.hpp"
#include "tensorsmith/ir/loop_program.hpp"

namespace tensorsmith::llvm_codegen {

/// Facts about a statement and all below it. Lists are sorted and free of duplicates.
struct StmtFacts {
  std::vector<BufferId> stored, loaded;
  std::vector<VarId> vars;  ///< used, whether bound inside or not
  bool has_loop = false;    ///< a loop that stays a loop (not unrolled, not vectorized)
  int widest_bytes = 1;     ///< of an element in memory or in a computation, indices aside

  bool stores(BufferId buffer) const;
  bool loads(BufferId buffer) const;
};

class ProgramFacts {
 public:
  /// Throws CompileFailure if the program is malformed.
  explicit ProgramFacts(const LoopProgram& program);

  const StmtFacts& of(StmtId stmt) const { return stmts_[stmt.value]; }
  const std::vector<VarId>& vars_of(ExprId expr) const { return exprs_[expr.value].vars; }
  bool uses(ExprId expr, VarId var) const;
  /// Index arithmetic: i32, i64 and boolean operations on variables and constants, no loads.
  bool is_index(ExprId expr) const { return exprs_[expr.value].is_index; }
  bool has_load(ExprId expr) const { return !exprs_[expr.value].loads.empty(); }
  /// May be computed though it is not needed: no load, no integer division by a variable.
  bool is_speculatable(ExprId expr) const { return exprs_[expr.value].is_speculatable; }
  /// Elements between the accesses of neighbouring iterations of `var`'s loop; nothing if they are
  /// not evenly spaced.
  std::optional<std::int64_t> stride(BufferId buffer, const ExprList& indices, VarId var) const;
  /// True only if an index cannot be negative (loop variables are not).
  bool is_nonnegative(ExprId expr) const;
  /// True only if the loop's body runs at least once, wherever the loop stands.
  bool is_nonempty(const For& loop) const {
    return interval_of(program_.pool, loop.extent, ranges_).min >= 1;
  }
  /// True only if no run can make it NaN (so that min and max need one instruction).
  bool never_nan(ExprId expr) const;
  bool is_nan_free(BufferId buffer) const { return is_nan_free_[buffer.value]; }
  /// Of a streamed buffer: what it stores is soon wanted again, and should not pass the caches. It
  /// is if the buffer is loaded in the nearest sequence around, as a sum that is kept in memory.
  bool is_read_back(const Store& store) const;

 private:
  struct ExprFacts {
    bool is_known = false;
    bool is_index = false;
    bool is_speculatable = true;
    int widest_bytes = 1;
    std::vector<VarId> vars;
    std::vector<BufferId> loads;
  };
  const ExprFacts& visit_expr(ExprId expr);
  void visit_stmt(StmtId stmt);
  std::optional<std::int64_t> coefficient(ExprId index, VarId var) const;
  void check_access(BufferId buffer, const ExprList& indices);
  void find_nan_free_buffers();
  void find_read_back(StmtId stmt, const StmtFacts& nearest);
  void find_ranges();

  const LoopProgram& program_;
  std::vector<ExprFacts> exprs_;
  std::vector<StmtFacts> stmts_;
  std::vector<std::uint8_t> stmt_state_;  // 0 = new, 1 = being visited, 2 = done
  std::vector<const Store*> all_stores_;
  std::vector<const For*> all_loops_;
  VarRanges ranges_;
  std::vector<bool> is_nan_free_;  // by buffer
  std::vector<const Store*> read_back_;
};

}  // namespace tensorsmith::llvm_codegen
