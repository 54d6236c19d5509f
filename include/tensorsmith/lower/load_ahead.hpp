// SPDX-License-Identifier: Apache-2.0
// load_ahead: operands of the next steps of a sum lie in registers before they are needed.
//
// Floor 4. Own design (register double buffering, as in CUTLASS's main loops). A loop of a thread
// that adds products of shared elements to a private tile gets `sets` sets of registers for what it
// reads; the loads of a step are `sets` - 1 steps in front of their use:
//     for k in 8: for i: for j: acc[i, j] += A[k, i]*B[k, j]
//         -->  a[0, i] = A[0, i]; b[0, j] = B[0, j]
//              for k.o in 4: unrolled k.i in 2:
//                if (k + 1 < 8) { a[(k.i + 1) % 2, i] = A[k + 1, i]; b[(k.i + 1) % 2, j] = .. }
//                for i: for j: acc[i, j] += a[k.i, i]*b[k.i, j]
// The loop is cut by the number of sets, so that every index of a set is a constant and the sets
// stay registers. Where tensor cores do the loop inside, their fragments are such a set: the loop
// is marked, and code generation does the same with them. Nothing is stored to shared memory in
// between, so no barrier moves. A loop of another form stays as it is.
#pragma once

#include <cstdint>
#include <utility>
#include <vector>

#include "tensorsmith/ir/loop_program.hpp"
#include "tensorsmith/ir/rewrite.hpp"
#include "tensorsmith/ir/stmt_walk.hpp"
#include "tensorsmith/support/algorithm.hpp"

namespace tensorsmith {
namespace detail {

class LoadPipeliner {
 public:
  LoadPipeliner(LoopProgram& program, std::int32_t sets) : p_(program), sets_(sets) {}

  void walk(StmtId id) {
    const Stmt stmt = p_[id];  // a copy: the program grows
    const For* loop = std::get_if<For>(&stmt);
    if (loop == nullptr || (!mark_fragments(id, *loop) && !pipeline(id, *loop))) {
      for_each_child(stmt, [&](StmtId child) { walk(child); });
    }
  }

 private:
  /// More elements of one set than that are no help: they leave no room for the tile.
  static constexpr std::int64_t most_elements = 64;

  struct TileLoop {
    VarId var;
    std::int64_t extent;
  };
  /// One operand: what is loaded, and the loops of the tile that it moves along.
  struct Operand {
    ExprId load;
    std::vector<TileLoop> loops;
    BufferId registers;
  };

  std::int64_t extent_of(const For& loop) const {
    const IntImm* extent = p_.pool.as<IntImm>(loop.extent);
    return extent != nullptr ? extent->value : 0;
  }
  bool can_run_ahead(const For& loop) const {
    const std::int64_t extent = extent_of(loop);
    return extent >= sets_ && loop.intrinsic == nullptr &&
           (loop.kind == ForKind::unrolled ||
            (loop.kind == ForKind::serial && extent % sets_ == 0));
  }

  bool mark_fragments(StmtId id, const For& loop) {
    const For* inner = p_.as<For>(loop.body);
    if (loop.intrinsic != nullptr || inner == nullptr || inner->intrinsic == nullptr) {
      return loop.intrinsic != nullptr;
    }
    constexpr std::int64_t most_steps = 8;  // all of them are in the text
    StmtId at = loop.body;
    for (const For* next = inner; next != nullptr; next = p_.as<For>(at)) {
      at = next->body;
    }
    const Store* store = p_.as<Store>(at);
    const bool is_sum = store != nullptr && !any_item(store->indices, [&](ExprId index) {
                          return uses_var(p_.pool, index, loop.var);
                        });
    if (is_sum && extent_of(loop) >= sets_ && extent_of(loop) <= most_steps &&
        (loop.kind == ForKind::serial || loop.kind == ForKind::unrolled)) {
      For marked = loop;
      marked.load_sets = sets_;
      p_.stmts[id.value] = marked;
    }
    return true;
  }

  /// The operands of `loop`, if it is a sum over a tile of a thread; else nothing.
  std::vector<Operand> operands_of(const For& loop, const Store*& store) const {
    std::vector<TileLoop> tile;
    StmtId at = loop.body;
    while (const For* inner = p_.as<For>(at)) {
      const bool is_expanded =
          inner->kind == ForKind::unrolled || inner->kind == ForKind::vectorized;
      if (!is_expanded || inner->intrinsic != nullptr || extent_of(*inner) < 1) {
        return {};
      }
      tile.push_back({inner->var, extent_of(*inner)});
      at = inner->body;
    }
    store = p_.as<Store>(at);
    if (store == nullptr || p_[store->buffer].scope != Scope::local ||
        any_item(store->indices,
                 [&](ExprId index) { return uses_var(p_.pool, index, loop.var); })) {
      return {};
    }
    std::vector<Operand> operands;
    bool fits = true, is_conditional = false;
    visit_nodes(p_.pool, store->value, [&](ExprId id) {
      const Call* call = p_.pool.as<Call>(id);
      is_conditional = is_conditional || (call != nullptr && call->op == CallOp::if_then_else);
      const Load* load = p_.pool.as<Load>(id);
      if (load == nullptr || load->buffer == store->buffer) {
        return;
      }
      fits = fits && p_[load->buffer].scope == Scope::shared;
      if (!uses_var(p_.pool, id, loop.var) ||
          any_item(operands, [&](const Operand& known) { return same(known.load, id); })) {
        return;
      }
      Operand operand{id, {}, {}};
      std::int64_t elements = 1;
      for (const TileLoop& inner : tile) {
        if (uses_var(p_.pool, id, inner.var)) {
          operand.loops.push_back(inner);
          elements *= inner.extent;
        }
      }
      fits = fits && elements <= most_elements;
      operands.push_back(std::move(operand));
    });
    return fits && !is_conditional ? operands : std::vector<Operand>{};
  }
  bool same(ExprId a, ExprId b) const {
    const Load* x = p_.pool.as<Load>(a);
    const Load* y = p_.pool.as<Load>(b);
    return x->buffer == y->buffer && x->indices == y->indices;
  }

  bool pipeline(StmtId id, const For& loop) {
    const Store* found = nullptr;
    if (!can_run_ahead(loop)) {
      return false;
    }
    std::vector<Operand> operands = operands_of(loop, found);
    if (operands.empty()) {
      return false;
    }
    ExprPool& pool = p_.pool;
    for (Operand& operand : operands) {
      const Load load = *pool.as<Load>(operand.load);
      Buffer set;
      set.name = p_[load.buffer].name + ".ahead";
      set.dtype = p_[load.buffer].dtype;
      set.scope = Scope::local;
      set.shape.push_back(sets_);
      for (const TileLoop& inner : operand.loops) {
        set.shape.push_back(inner.extent);
      }
      operand.registers = p_.add(std::move(set));
    }
    const std::int64_t extent = extent_of(loop);
    const ExprId sets = pool.int_imm(sets_);
    std::vector<StmtId> parts;
    for (std::int64_t step = 0; step + 1 < sets_; ++step) {
      add_loads(operands, loop.var, pool.int_imm(step), pool.int_imm(step), parts);
    }
    // The step, and the set that it uses.
    const VarId inner = pool.new_var(pool.var_name(loop.var));
    VarId outer;
    ExprId step = pool.var(inner), slot = step;
    if (loop.kind == ForKind::serial && extent > sets_) {
      outer = pool.new_var(pool.var_name(loop.var));
      step = pool.add(pool.mul(pool.var(outer), sets), slot);
    } else if (extent > sets_) {
      slot = pool.floormod(step, sets);
    }
    const ExprId ahead = pool.add(step, pool.int_imm(sets_ - 1));
    std::vector<StmtId> loads;
    add_loads(operands, loop.var, ahead,
              pool.floormod(pool.add(pool.var(inner), pool.int_imm(sets_ - 1)), sets), loads);
    const StmtId next =
        p_.add(If{pool.lt(ahead, pool.int_imm(extent)), p_.add(Seq{std::move(loads)}), {}});
    use(loop.body, operands, loop.var, step, slot);
    StmtId body = p_.add(Seq{{next, loop.body}});
    body =
        p_.add(For{inner, pool.int_imm(outer.valid() ? sets_ : extent), ForKind::unrolled, body});
    if (outer.valid()) {
      body = p_.add(For{outer, pool.int_imm(extent / sets_), ForKind::serial, body});
    }
    parts.push_back(body);
    StmtId result = p_.add(Seq{std::move(parts)});
    for (const Operand& operand : operands) {
      result = p_.add(Alloc{operand.registers, result});
    }
    p_.stmts[id.value] = Stmt(p_[result]);
    return true;
  }

  /// Loads of all operands for one step into one set.
  void add_loads(const std::vector<Operand>& operands, VarId var, ExprId step, ExprId slot,
                 std::vector<StmtId>& parts) {
    ExprPool& pool = p_.pool;
    for (const Operand& operand : operands) {
      Substitution map;
      map.set(var, step);
      ExprList indices{slot};
      std::vector<VarId> vars;
      for (const TileLoop& inner : operand.loops) {
        vars.push_back(pool.new_var(pool.var_name(inner.var)));
        map.set(inner.var, pool.var(vars.back()));
        indices.push_back(pool.var(vars.back()));
      }
      StmtId body = p_.add(Store{operand.registers, indices, map(pool, operand.load)});
      for (std::size_t i = vars.size(); i-- > 0;) {
        body = p_.add(For{vars[i], pool.int_imm(operand.loops[i].extent), ForKind::unrolled, body});
      }
      parts.push_back(body);
    }
  }

  /// The tile reads its operands in the registers.
  void use(StmtId id, const std::vector<Operand>& operands, VarId var, ExprId step, ExprId slot) {
    if (const For* loop = p_.as<For>(id)) {
      return use(loop->body, operands, var, step, slot);
    }
    Store store = *p_.as<Store>(id);
    store.value = expr(store.value, operands, var, step, slot);
    p_.stmts[id.value] = std::move(store);
  }
  ExprId expr(ExprId id, const std::vector<Operand>& operands, VarId var, ExprId step,
              ExprId slot) {
    ExprPool& pool = p_.pool;
    if (const VarRef* ref = pool.as<VarRef>(id)) {
      return ref->var == var ? step : id;
    }
    if (pool.as<Load>(id) != nullptr) {
      for (const Operand& operand : operands) {
        if (same(operand.load, id)) {
          ExprList indices{slot};
          for (const TileLoop& inner : operand.loops) {
            indices.push_back(pool.var(inner.var));
          }
          return pool.load(operand.registers, p_[operand.registers].dtype, std::move(indices));
        }
      }
    }
    return map_children(pool, id,
                        [&](ExprId child) { return expr(child, operands, var, step, slot); });
  }

  LoopProgram& p_;
  std::int64_t sets_;
};

}  // namespace detail

/// `body`: what one thread of a kernel does; `sets`: of registers, 2 or more.
inline void load_ahead(LoopProgram& program, StmtId body, std::int32_t sets) {
  detail::LoadPipeliner(program, sets).walk(body);
}

}  // namespace tensorsmith
