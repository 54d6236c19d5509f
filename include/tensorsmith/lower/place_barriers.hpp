// SPDX-License-Identifier: Apache-2.0
// place_barriers: barriers between the accesses of different threads to what they share, by need.
//
// Floor 4. Own design. A barrier stands in front of the first statement that reads what an earlier
// one wrote, or overwrites what an earlier one read, in the innermost sequence (or at the head of
// the innermost loop) that holds both:
//     for k { S = ...; T = ...; acc = acc + S * T }
//         -->  for k { barrier; S = ...; T = ...; barrier; acc = acc + S * T }
// Sound because of how stages are emitted: one stage writes each element of its buffer from one
// thread (so writes alone never meet), an accumulation in place reads what its own thread wrote,
// loops have the same bounds in every thread, and conditions hold no barrier. A buffer in which all
// threads stay in a row of their own needs none. Where threads meet in buffers of a warp alone, the
// barrier is one of the warp, which does not count for other buffers. The interpreter finds what
// this reasoning gets wrong (eval.hpp). Linear in the program.
#pragma once

#include <utility>
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
    for (std::uint32_t b = 0; b < p_.buffers.size(); ++b) {
      if (is_of_block(p_.buffers[b].scope) && own_dimensions_[b] == 0) {
        seen_.push_back(BufferId{b});
        block_bits_ |= p_.buffers[b].scope == Scope::shared ? bit(BufferId{b}) : 0;
      }
    }
    place(body);
  }

 private:
  /// Which buffers, by number in seen_.
  struct Touched {
    std::uint64_t reads = 0, writes = 0;
    void add(const Touched& other) {
      reads |= other.reads;
      writes |= other.writes;
    }
    Touched without(std::uint64_t bits) const { return {reads & ~bits, writes & ~bits}; }
    /// In which of them `later` needs a barrier in front.
    std::uint64_t meeting(const Touched& later) const {
      return (writes & later.reads) | (reads & later.writes);
    }
  };
  struct Summary {
    Touched entry, exit;       ///< before the first barrier, after the last one
    std::uint64_t behind = 0;  ///< what there is a barrier for
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

  std::uint64_t bit(BufferId buffer) const {
    std::size_t n = 0;
    while (n < seen_.size() && seen_[n] != buffer) {
      ++n;
    }
    // More than 64 share bits: a barrier too many at worst.
    return n < seen_.size() ? std::uint64_t{1} << (n % 64) : 0;
  }
  /// A barrier between accesses that meet so, and what it is one for.
  std::pair<StmtId, std::uint64_t> barrier(std::uint64_t meeting) {
    const bool is_of_warp = (meeting & block_bits_) == 0;
    return {p_.add(Barrier{is_of_warp ? Scope::warp : Scope::shared}),
            is_of_warp ? ~block_bits_ : ~std::uint64_t{0}};
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
        if (const std::uint64_t meeting = result.exit.meeting(s.entry)) {
          const auto [found, bits] = barrier(meeting);
          items.push_back(found);
          result.exit = result.exit.without(bits);
          result.behind |= bits;
        }
        result.entry.add(s.entry.without(result.behind));
        result.exit = result.exit.without(s.behind);
        result.exit.add(s.exit);
        result.behind |= s.behind;
        items.push_back(item);
      }
      p_.stmts[id.value] = Seq{std::move(items)};
    } else if (const Alloc* alloc = std::get_if<Alloc>(&stmt)) {
      result = place(alloc->body);
    } else if (const For* loop = std::get_if<For>(&stmt)) {
      result = place(loop->body);
      const IntImm* extent = p_.pool.as<IntImm>(loop->extent);
      const std::uint64_t meeting = result.exit.meeting(result.entry);
      if (meeting != 0 && (extent == nullptr || extent->value > 1)) {
        const auto [found, bits] = barrier(meeting);
        For around = *loop;
        around.body = p_.add(Seq{{found, loop->body}});
        p_.stmts[id.value] = around;
        result.entry = result.entry.without(bits);
        result.behind |= bits;
      }
      if (extent == nullptr) {  // perhaps it does not run at all: what came before stays open
        result.exit.add(result.entry);
        result.entry.add(result.exit);
        result.behind = 0;
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
  std::uint64_t block_bits_ = 0;  // those of shared memory
};

}  // namespace detail

/// `body`: what the threads of one block do. `thread`: their variable, if they have but one axis.
inline void place_barriers(LoopProgram& program, StmtId body, VarId thread = {}) {
  detail::BarrierPlacer(program, thread).run(body);
}

}  // namespace tensorsmith
