// SPDX-License-Identifier: Apache-2.0
// hoist_rows: values that change along the inner loops of an elementwise pass only are computed
// once, as a row in front of the outer loop.
//
// Floor 4. Own design (loop-invariant code motion of whole loops).
//     for i: for j: Y[i, j] = X[i, j] * rsqrt(V[j] + eps)
//       -->  for j: row[j] = rsqrt(V[j] + eps);  for i: for j: Y[i, j] = X[i, j] * row[j]
//     for j: for r (vectorized): K[j, r] = A[r] * B[j, r]
//       -->  for r: row[r] = A[r] (registers);  for j: for r: K[j, r] = row[r] * B[j, r]
// What is only loaded is worth a row in registers alone; what is computed, one in memory, too, if
// it stays in the first level cache. Every element is computed by the same operations as before.
// What only one arm of a choice may read stays where it is.
#pragma once

#include <cstdint>
#include <utility>
#include <vector>

#include "tensorsmith/ir/loop_program.hpp"
#include "tensorsmith/ir/rewrite.hpp"
#include "tensorsmith/ir/stmt_walk.hpp"
#include "tensorsmith/support/algorithm.hpp"
#include "tensorsmith/target.hpp"

namespace tensorsmith {
namespace detail {

class RowHoister {
 public:
  RowHoister(LoopProgram& program, const Target& target) : p_(program), target_(target) {}

  void run(StmtId id) {
    const Stmt stmt = p_[id];  // a copy: the program grows
    const For* loop = std::get_if<For>(&stmt);
    if (loop != nullptr && loop->intrinsic != nullptr) {
      return;  // one instruction
    }
    if (loop != nullptr && repeats(*loop)) {
      outer_ = loop;
      stored_.clear();
      inner_.clear();
      if (is_plain(loop->body)) {
        hoist(id, *loop);
      }
    }
    for_each_child(stmt, [&](StmtId child) { run(child); });
  }

 private:
  static constexpr std::int64_t least_repeats = 4;
  static constexpr std::size_t most_rows = 4;

  struct Loop {
    VarId var;
    std::int64_t extent;  ///< 0: no number
    bool is_vector;
  };
  struct Row {
    ExprId source;
    std::vector<Loop> loops;
    BufferId buffer;
  };

  bool repeats(const For& loop) const {
    const IntImm* extent = p_.pool.as<IntImm>(loop.extent);
    return (loop.kind == ForKind::serial || loop.kind == ForKind::parallel) && extent != nullptr &&
           extent->value >= least_repeats;
  }

  /// Whether the statement is loops around stores to memory; notes what they change.
  bool is_plain(StmtId id) {
    if (const Seq* seq = p_.as<Seq>(id)) {
      return all_items(seq->items, [&](StmtId item) { return is_plain(item); });
    }
    if (const For* loop = p_.as<For>(id)) {
      return loop->kind != ForKind::parallel && loop->intrinsic == nullptr && is_plain(loop->body);
    }
    const Store* store = p_.as<Store>(id);
    if (store == nullptr || p_[store->buffer].scope == Scope::register_) {
      return false;
    }
    stored_.push_back(store->buffer);
    return true;
  }

  void hoist(StmtId id, const For& loop) {
    rows_.clear();
    num_vectors_ = 0;
    rewrite_stores(loop.body);
    if (rows_.empty()) {
      return;
    }
    std::vector<StmtId> parts;
    for (const Row& row : rows_) {
      parts.push_back(computed(row));
    }
    parts.push_back(p_.add(For(loop)));
    StmtId result = p_.add(Seq{std::move(parts)});
    for (std::size_t i = 1; i < rows_.size(); ++i) {
      result = p_.add(Alloc{rows_[i].buffer, result});
    }
    p_.stmts[id.value] = Alloc{rows_.front().buffer, result};
  }

  /// Loops of its own around the store of a row's elements.
  StmtId computed(const Row& row) {
    Substitution own;
    ExprList at;
    std::vector<VarId> vars;
    for (const Loop& loop : row.loops) {
      vars.push_back(p_.pool.new_var(p_.pool.var_name(loop.var)));
      at.push_back(p_.pool.var(vars.back()));
      own.set(loop.var, at.back());
    }
    StmtId body = p_.add(Store{row.buffer, at, own(p_.pool, row.source)});
    for (std::size_t i = row.loops.size(); i-- > 0;) {
      const ForKind kind = row.loops[i].is_vector ? ForKind::vectorized : ForKind::serial;
      body = p_.add(For{vars[i], p_.pool.int_imm(row.loops[i].extent), kind, body});
    }
    return body;
  }

  void rewrite_stores(StmtId id) {
    if (const Seq* found = p_.as<Seq>(id)) {
      const Seq seq = *found;
      for (StmtId item : seq.items) {
        rewrite_stores(item);
      }
    } else if (const For* found_loop = p_.as<For>(id)) {
      const For loop = *found_loop;
      const IntImm* extent = p_.pool.as<IntImm>(loop.extent);
      inner_.push_back(
          {loop.var, extent == nullptr ? 0 : extent->value, loop.kind == ForKind::vectorized});
      rewrite_stores(loop.body);
      inner_.pop_back();
    } else if (const Store* found_store = p_.as<Store>(id)) {
      Store store = *found_store;
      // A row that is stored as it is would be read for nothing.
      store.value = row_loops(store.value).empty() ? rewrite(store.value) : store.value;
      p_.stmts[id.value] = std::move(store);
    }
  }

  ExprId rewrite(ExprId id) {
    if (const ExprId value = value_of(id); value.valid()) {
      return value;
    }
    const Call* call = p_.pool.as<Call>(id);
    const bool is_choice =
        p_.pool.as<Select>(id) != nullptr || (call != nullptr && call->op == CallOp::if_then_else);
    if (p_.pool.as<Load>(id) != nullptr || is_choice) {
      return id;
    }
    return map_children(p_.pool, id, [&](ExprId child) { return rewrite(child); });
  }

  /// Of the loops inside, those that the value changes along: the vectorized one and others of
  /// known extents. None: it is no row.
  std::vector<Loop> row_loops(ExprId id) const {
    const DType type = p_.pool.dtype(id);
    std::vector<Loop> loops;
    if ((type != DType::f32 && type != DType::f64) || inner_.empty() || !inner_.back().is_vector ||
        uses_var(p_.pool, id, outer_->var) || !is_constant_outside(id)) {
      return loops;
    }
    for (const Loop& loop : inner_) {
      if (uses_var(p_.pool, id, loop.var)) {
        if (loop.extent <= 0) {
          return {};
        }
        loops.push_back(loop);
      }
    }
    return !loops.empty() && loops.back().is_vector ? loops : std::vector<Loop>{};
  }
  bool is_constant_outside(ExprId id) const {
    bool has_load = false, holds = !has_choice(p_.pool, id);
    visit_nodes(p_.pool, id, [&](ExprId node) {
      if (const Load* load = p_.pool.as<Load>(node)) {
        has_load = true;
        holds =
            holds && !has_item(stored_, load->buffer) && p_[load->buffer].scope != Scope::register_;
      }
    });
    return has_load && holds;
  }

  /// The element of its row; invalid: it is none, or not worth one.
  ExprId value_of(ExprId id) {
    const std::vector<Loop> loops = row_loops(id);
    if (loops.empty()) {
      return {};
    }
    ExprList at;
    std::int64_t elements = 1;
    for (const Loop& loop : loops) {
      at.push_back(p_.pool.var(loop.var));
      elements *= loop.extent;
    }
    const DType type = p_.pool.dtype(id);
    for (const Row& row : rows_) {
      if (row.source == id) {
        return p_.pool.load(row.buffer, type, at);
      }
    }
    const bool is_near = inner_.size() == 1 && fits_registers(elements * bytes_of(type));
    const bool is_computed = p_.pool.as<Load>(id) == nullptr;
    if (rows_.size() == most_rows || !(is_near || (is_computed && fits_cache(elements, type)))) {
      return {};
    }
    num_vectors_ += is_near ? vectors_of(elements * bytes_of(type)) : 0;
    Buffer buffer;
    buffer.name = "row";
    buffer.dtype = type;
    for (const Loop& loop : loops) {
      buffer.shape.push_back(loop.extent);
    }
    buffer.scope = is_near                             ? Scope::register_
                   : outer_->kind == ForKind::parallel ? Scope::global
                                                       : Scope::local;
    rows_.push_back({id, loops, p_.add(std::move(buffer))});
    return p_.pool.load(rows_.back().buffer, type, at);
  }

  std::int64_t vectors_of(std::int64_t bytes) const {
    const std::int64_t vector_bytes = target_.vector_bits / 8;
    return vector_bytes > 0 ? (bytes + vector_bytes - 1) / vector_bytes : bytes;
  }
  /// Whole vectors that the loop uses all the time; shorter rows are vectors along two loops.
  bool fits_registers(std::int64_t bytes) const {
    const std::int64_t vector_bytes = target_.vector_bits / 8;
    return outer_->kind == ForKind::serial && vector_bytes > 0 && bytes >= vector_bytes &&
           num_vectors_ + vectors_of(bytes) <= target_.num_vector_registers / 4;
  }
  bool fits_cache(std::int64_t elements, DType type) const {
    return 4 * elements * bytes_of(type) <= target_.caches.l1d_bytes.value_or(32768);
  }

  LoopProgram& p_;
  const Target& target_;
  const For* outer_ = nullptr;
  std::vector<BufferId> stored_;  // inside of it
  std::vector<Loop> inner_;       // from it to the store that is looked at
  std::vector<Row> rows_;
  std::int64_t num_vectors_ = 0;  // in registers
};

}  // namespace detail

/// For programs of CPUs.
inline void hoist_rows(LoopProgram& program, const Target& target) {
  detail::RowHoister(program, target).run(program.body);
}

}  // namespace tensorsmith
