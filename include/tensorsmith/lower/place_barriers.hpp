// place_barriers: barriers between the accesses of different threads to shared memory, by need.
//
// Floor 4. Own design. A barrier stands in front of the first statement that reads what an earlier
// one wrote, or overwrites what an earlier one read, in the innermost sequence (or at the head of
// the innermost loop) that holds both:
//     for k { S = ...; T = ...; acc = acc + S * T }
//         -->  for k { barrier; S = ...; T = ...; barrier; acc = acc + S * T }
// Sound because of how stages are emitted: one stage writes each element of its buffer from one
// thread (so writes alone never meet), an accumulation in place reads what its own thread wrote,
// loops have the same bounds in every thread, and conditions hold no barrier. A buffer in which all
// threads stay in a row of their own needs none. The interpreter finds what this reasoning gets
// wrong (eval.hpp). Linear in the program.
#pragma once

#include <vector>

#include "tensorsmith/ir/loop_program.hpp"
#include "tensorsmith/ir/rewrite.hpp"
#include "tensorsmith/ir/stmt_walk.hpp"

namespace tensorsmith {
namespace detail {

class BarrierPlacer {
 public:
  /// `thread`: the variable that tells all threads apart; invalid if it takes several.
  BarrierPlacer(LoopProgram& program, VarId thread) : p_(program) {
    if (thread.valid()) {
      thread_ = p_.pool.var(thread);
    }
  }
  void run(StmtId body) {
    own_dimensions_.assign(p_.buffers.size(), ~std::uint32_t{0});
    find_own(body);
    place(body);
  }

 private:
  /// Which shared buffers, by number in seen_.
  struct Touched {
    std::uint64_t reads = 0, writes = 0;
    void add(const Touched& other) {
      reads |= other.reads;
      writes |= other.writes;
    }
    bool meets(const Touched& later) const {
      return (writes & later.reads) != 0 || (reads & later.writes) != 0;
    }
  };
  struct Summary {
    Touched entry, exit;  ///< before the first barrier, after the last one
    bool has_barrier = false;
  };

  /// Dimensions in which every access is at the thread's own number: threads do not meet there.
  void find_own(BufferId buffer, const ExprList& indices) {
    std::uint32_t own = 0;
    for (std::size_t d = 0; d < indices.size() && d < 32; ++d) {
      own |= indices[d] == thread_ ? std::uint32_t{1} << d : 0;
    }
    own_dimensions_[buffer.value] &= own;
  }
  void find_own(ExprId id) {
    if (const Load* load = p_.pool.as<Load>(id)) {
      find_own(load->buffer, load->indices);
    }
    for_each_child(p_.pool[id], [&](ExprId child) { find_own(child); });
  }
  void find_own(StmtId id) {
    if (const Store* store = p_.as<Store>(id)) {
      find_own(store->buffer, store->indices);
    }
    for_each_expr(p_[id], [&](ExprId expr) { find_own(expr); });
    for_each_child(p_[id], [&](StmtId child) { find_own(child); });
  }

  std::uint64_t bit(BufferId buffer) {
    if (p_[buffer].scope != Scope::shared || own_dimensions_[buffer.value] != 0) {
      return 0;
    }
    std::size_t n = 0;
    while (n < seen_.size() && seen_[n] != buffer) {
      ++n;
    }
    if (n == seen_.size()) {
      seen_.push_back(buffer);
    }
    return std::uint64_t{1} << (n % 64);  // more than 64 share bits: a barrier too many at worst
  }
  void reads(ExprId id, const Store* own, Touched& touched) {
    if (const Load* load = p_.pool.as<Load>(id)) {
      const bool is_own =
          own != nullptr && load->buffer == own->buffer && load->indices == own->indices;
      touched.reads |= is_own ? 0 : bit(load->buffer);
    }
    for_each_child(p_.pool[id], [&](ExprId child) { reads(child, own, touched); });
  }
  /// Everything in a statement, as one.
  void all(StmtId id, Touched& touched) {
    const Store* store = p_.as<Store>(id);
    if (store != nullptr) {
      touched.writes |= bit(store->buffer);
    }
    for_each_expr(p_[id], [&](ExprId expr) {
      const bool is_value = store != nullptr && expr == store->value;
      reads(expr, is_value ? store : nullptr, touched);
    });
    for_each_child(p_[id], [&](StmtId child) { all(child, touched); });
  }

  Summary place(StmtId id) {
    const Stmt stmt = p_[id];  // a copy: the program grows
    Summary result;
    if (const Seq* seq = std::get_if<Seq>(&stmt)) {
      std::vector<StmtId> items;
      for (StmtId item : seq->items) {
        const Summary s = place(item);
        if (result.exit.meets(s.entry)) {
          items.push_back(p_.add(Barrier{Scope::shared}));
          result.exit = {};
          result.has_barrier = true;
        }
        if (!result.has_barrier) {
          result.entry.add(s.entry);
        }
        if (s.has_barrier) {
          result.exit = s.exit;
          result.has_barrier = true;
        } else {
          result.exit.add(s.exit);
        }
        items.push_back(item);
      }
      p_.stmts[id.value] = Seq{std::move(items)};
    } else if (const Alloc* alloc = std::get_if<Alloc>(&stmt)) {
      result = place(alloc->body);
    } else if (const For* loop = std::get_if<For>(&stmt)) {
      result = place(loop->body);
      const IntImm* extent = p_.pool.as<IntImm>(loop->extent);
      if (result.exit.meets(result.entry) && (extent == nullptr || extent->value > 1)) {
        const StmtId barrier = p_.add(Barrier{Scope::shared});
        const StmtId body = p_.add(Seq{{barrier, loop->body}});
        p_.stmts[id.value] = For{loop->var, loop->extent, loop->kind, body, loop->intrinsic};
        result.entry = {};
        result.has_barrier = true;
      }
      if (extent == nullptr) {  // perhaps it does not run at all: what came before stays open
        result.exit.add(result.entry);
        result.entry.add(result.exit);
        result.has_barrier = false;
      }
    } else {
      all(id, result.entry);
      result.exit = result.entry;
    }
    return result;
  }

  LoopProgram& p_;
  ExprId thread_;
  std::vector<std::uint32_t> own_dimensions_;  // by buffer, one bit each
  std::vector<BufferId> seen_;
};

}  // namespace detail

/// `body`: what the threads of one block do. `thread`: their variable, if they have but one axis.
inline void place_barriers(LoopProgram& program, StmtId body, VarId thread = {}) {
  detail::BarrierPlacer(program, thread).run(body);
}

}  // namespace tensorsmith
