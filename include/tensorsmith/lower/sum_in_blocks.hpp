// SPDX-License-Identifier: Apache-2.0
// sum_in_blocks: long sums are sums of blocks, so that their rounding errors do not add up.
//
// Floor 4. Own design (blocked summation; Higham, Accuracy and Stability of Numerical Algorithms,
// 2002, §4.2). An accumulator that adds n floats one after the other is off by up to n/2 units in
// its last place, and by most of them where the terms are alike: every sum rounds the same way.
// With blocks of about sqrt(n) terms it is at most about 2 sqrt(n), which is what kernels are
// judged by (lib/tune/error_twin.hpp).
//     acc = 0; for k in 6000: acc += X[k]; S = acc
//         -->  acc = 0
//              for k.o in 23: { acc.b = 0; for k.i in 256: acc.b += X[256*k.o + k.i]; acc += acc.b
//              } acc.b = 0; for k.i in 112: acc.b += X[5888 + k.i]; acc += acc.b S = acc
// The block stays in registers, `acc` is touched once per block. What a sum that is resumed from
// memory adds on the way is a block too, which costs nothing:
//     acc = k.0 == 0 ? 0 : C; for k.1: acc += ..; C = acc
//         -->  acc = 0; for k.1: acc += ..; if k.0 != 0: acc += C; C = acc
// Sums that are added up in memory, those of integers, and those with fragments of tensor cores
// stay as they are.
#pragma once

#include <cstdint>
#include <utility>
#include <vector>

#include "tensorsmith/ir/interval.hpp"
#include "tensorsmith/ir/loop_program.hpp"
#include "tensorsmith/ir/rewrite.hpp"
#include "tensorsmith/ir/stmt_walk.hpp"
#include "tensorsmith/lower/alike_terms.hpp"
#include "tensorsmith/lower/copy_stmts.hpp"
#include "tensorsmith/lower/tile_sum.hpp"
#include "tensorsmith/support/algorithm.hpp"
#include "tensorsmith/support/factorize.hpp"

namespace tensorsmith {
namespace detail {

class SumBlocker {
 public:
  SumBlocker(LoopProgram& program, bool is_gpu)
      : p_(program), is_gpu_(is_gpu), sources_(sources_of_copies(program)) {}

  void run() {
    note_ranges(p_.body);
    walk(p_.body);
  }

 private:
  void note_ranges(StmtId id) {
    if (const For* loop = p_.as<For>(id)) {
      ranges_.set(loop->var, 0, larger_of<std::int64_t>(extent_of(*loop) - 1, 0));
    }
    for_each_child(p_[id], [&](StmtId child) { note_ranges(child); });
  }

  void walk(StmtId id) {
    const Stmt stmt = p_[id];  // a copy: the program grows
    if (const Alloc* alloc = std::get_if<Alloc>(&stmt)) {
      if (is_accumulator(alloc->buffer)) {
        block_sums(*alloc);
      }
      outer_.push_back({{}, 1, alloc->buffer});
      walk(alloc->body);
      outer_.pop_back();
    } else if (const For* loop = std::get_if<For>(&stmt)) {
      outer_.push_back({loop->var, loop->kind == ForKind::serial ? extent_of(*loop) : 1, {}});
      walk(loop->body);
      outer_.pop_back();
    } else {
      for_each_child(stmt, [&](StmtId child) { walk(child); });
    }
  }

  /// Shorter blocks cost too much. So many terms are off by n/2 units at most, which is less than
  /// the 8 (sqrt(n) + 1) that are allowed.
  static constexpr std::int64_t least_block = 256;
  /// The same of sums of products of tensors: n/2 units are at most 2.8 times what is allowed,
  /// which terms that round at random are far from.
  static constexpr std::int64_t most_products = 2048;

  /// A loop around, or an allocation.
  struct Outer {
    VarId var;
    std::int64_t extent;
    BufferId buffer;
  };

  bool is_accumulator(BufferId id) const {
    const Buffer& buffer = p_[id];
    return (buffer.scope == Scope::register_ || buffer.scope == Scope::local) &&
           is_float(buffer.dtype) && buffer.dtype != DType::f64;
  }
  /// At most.
  std::int64_t extent_of(const For& loop) const {
    const Interval extent = interval_of(p_.pool, loop.extent, ranges_);
    return extent.max != Interval::highest ? larger_of<std::int64_t>(extent.max, 1) : 1;
  }

  struct Sum {
    std::int64_t terms = 0;     ///< that one element gets at most
    bool is_plain = true;       ///< the accumulator is nothing but added to, by loops
    bool may_be_alike = false;  ///< some terms (alike_terms.hpp)
  };
  /// What a statement adds to the accumulator.
  Sum sum_of(StmtId id) const {
    const Stmt& stmt = p_[id];
    Sum sum;
    if (const Store* store = std::get_if<Store>(&stmt); store != nullptr) {
      if (store->buffer == acc_) {
        sum.terms = 1;
        sum.is_plain = adds_to_itself(p_.pool, *store);
        sum.may_be_alike = detail::may_be_alike(p_, sources_, store->value, summed_);
        return sum;
      }
    }
    for_each_expr(stmt, [&](ExprId expr) { sum.is_plain = sum.is_plain && !reads(expr); });
    const bool is_choice = std::holds_alternative<If>(stmt);
    for_each_child(stmt, [&](StmtId child) {
      const Sum part = sum_of(child);
      sum.terms = is_choice ? larger_of(sum.terms, part.terms) : sum.terms + part.terms;
      sum.is_plain = sum.is_plain && part.is_plain;
      sum.may_be_alike = sum.may_be_alike || part.may_be_alike;
    });
    if (const For* loop = std::get_if<For>(&stmt); loop != nullptr && sum.terms > 0) {
      sum.terms *= moves_along(loop->body, loop->var) ? 1 : extent_of(*loop);
      sum.is_plain = sum.is_plain && !(is_gpu_ && loop->intrinsic != nullptr);
    }
    return sum;
  }
  bool reads(ExprId id) const {
    return any_node(p_.pool, id, [&](ExprId node) {
      const Load* load = p_.pool.as<Load>(node);
      return load != nullptr && load->buffer == acc_;
    });
  }
  /// The loops in the statement whose iterations are terms of one element.
  void note_summed(StmtId id) {
    if (const For* loop = p_.as<For>(id); loop != nullptr && !moves_along(loop->body, loop->var)) {
      summed_.push_back(loop->var);
    }
    for_each_child(p_[id], [&](StmtId child) { note_summed(child); });
  }
  /// Whether the elements that are added to depend on the variable.
  bool moves_along(StmtId id, VarId var) const {
    const Store* store = p_.as<Store>(id);
    return (store != nullptr && store->buffer == acc_ &&
            any_item(store->indices, [&](ExprId at) { return uses_var(p_.pool, at, var); })) ||
           any_child(p_[id], [&](StmtId child) { return moves_along(child, var); });
  }

  /// Whether the statement does nothing but set the accumulator to zero.
  bool is_start(StmtId id) const {
    const Stmt& stmt = p_[id];
    if (const Store* store = std::get_if<Store>(&stmt)) {
      return store->buffer == acc_ && is_zero(p_.pool, store->value);
    }
    if (const For* loop = std::get_if<For>(&stmt)) {
      return is_start(loop->body);
    }
    const Seq* seq = std::get_if<Seq>(&stmt);
    return seq != nullptr && !seq->items.empty() &&
           all_items(seq->items, [&](StmtId item) { return is_start(item); });
  }
  /// The place in memory that the accumulator begins with, if the statement does nothing else.
  const Load* resumed_from(StmtId id) const {
    if (const Store* store = p_.as<Store>(id)) {
      return store->buffer == acc_ ? p_.pool.as<Load>(store->value) : nullptr;
    }
    const Load* found = nullptr;
    bool is_all = true;
    for_each_child(p_[id], [&](StmtId child) {
      found = resumed_from(child);
      is_all = is_all && found != nullptr;
    });
    return is_all ? found : nullptr;
  }
  /// How often the sum is resumed at one place.
  std::int64_t num_rounds(const Load& place) const {
    std::int64_t rounds = 1;
    for (std::size_t i = outer_.size(); i-- > 0 && outer_[i].buffer != place.buffer;) {
      const bool is_elsewhere = outer_[i].var.valid() && any_item(place.indices, [&](ExprId at) {
                                  return uses_var(p_.pool, at, outer_[i].var);
                                });
      rounds *= is_elsewhere ? 1 : larger_of<std::int64_t>(outer_[i].extent, 1);
    }
    return rounds;
  }

  void block_sums(const Alloc& alloc) {
    acc_ = alloc.buffer;
    StmtId at = alloc.body;
    while (const Alloc* inner = p_.as<Alloc>(at)) {
      at = inner->body;
    }
    const Seq* found = p_.as<Seq>(at);
    if (found == nullptr || found->items.size() < 2) {
      return;
    }
    std::vector<StmtId> items = found->items;
    const If* either = p_.as<If>(items[0]);
    start_ = either != nullptr ? either->then_body : items[0];
    if (!is_start(start_)) {
      return;
    }
    const If resumed = either != nullptr ? *either : If{};
    const Load* place = resumed.else_body.valid() ? resumed_from(resumed.else_body) : nullptr;
    const std::int64_t rounds = place != nullptr ? num_rounds(*place) : 1;
    std::int64_t terms = 0;
    bool may_be_alike = false;
    std::size_t last_sum = 0, first_other = items.size();
    summed_.clear();
    for (std::size_t i = 1; i < items.size(); ++i) {
      note_summed(items[i]);
    }
    for (std::size_t i = 1; i < items.size(); ++i) {
      const Sum sum = sum_of(items[i]);
      terms += sum.is_plain ? sum.terms : 0;
      may_be_alike = may_be_alike || sum.may_be_alike;
      last_sum = sum.terms > 0 ? i : last_sum;
      first_other = sum.is_plain ? first_other : smaller_of(first_other, i);
    }
    const std::int64_t all = rounds * terms;
    if (all <= (may_be_alike ? least_block : most_products)) {
      return;
    }
    block_ = least_block;
    while (block_ * block_ < all) {
      block_ *= 2;
    }
    is_blocked_ = false;
    for (std::size_t i = 1; i < items.size(); ++i) {
      const Sum sum = sum_of(items[i]);
      if (sum.is_plain && sum.terms > 0) {
        items[i] = blocked(items[i]);
      }
    }
    if (rounds > 1 && last_sum < first_other) {
      items[0] = start_;
      add_up(resumed.else_body, {});
      const ExprId goes_on = p_.pool.unary(UnaryOp::not_, resumed.condition);
      items.insert(items.begin() + static_cast<std::ptrdiff_t>(last_sum) + 1,
                   p_.add(If{goes_on, resumed.else_body, {}}));
    }
    p_.stmts[at.value] = Seq{std::move(items)};
    if (is_blocked_) {
      p_[acc_].scope = Scope::local;
    }
  }

  /// The statement, which is nothing but sums, with blocks in it where they are due.
  StmtId blocked(StmtId id) {
    const Stmt stmt = p_[id];  // a copy: the program grows
    if (const For* loop = std::get_if<For>(&stmt)) {
      const std::int64_t terms = sum_of(id).terms, extent = extent_of(*loop);
      if (terms <= block_) {
        return id;
      }
      const std::int64_t of_step = ceil_div(terms, extent);
      const bool is_in_order = loop->kind == ForKind::serial || loop->kind == ForKind::unrolled;
      if (is_in_order && of_step < block_ && of_step < terms) {
        return cut(*loop, larger_of<std::int64_t>(block_ / of_step, 1), extent);
      }
    }
    Stmt changed = stmt;
    std::visit(Overloaded{[&](Seq& s) {
                            for (StmtId& item : s.items) {
                              item = sum_of(item).terms > 0 ? blocked(item) : item;
                            }
                          },
                          [&](For& s) { s.body = blocked(s.body); },
                          [&](Alloc& s) { s.body = blocked(s.body); },
                          [&](If& s) {
                            s.then_body = blocked(s.then_body);
                            s.else_body = s.else_body.valid() && sum_of(s.else_body).terms > 0
                                              ? blocked(s.else_body)
                                              : s.else_body;
                          },
                          [](auto&) {}},
               changed);
    return p_.add(std::move(changed));
  }

  /// Blocks of so many steps each, and what is left over.
  StmtId cut(const For& loop, std::int64_t steps, std::int64_t extent) {
    ExprPool& pool = p_.pool;
    const DType type = pool.var_dtype(loop.var);
    const auto whole = [&](std::int64_t value) { return pool.int_imm(value, type); };
    const bool is_known = pool.as<IntImm>(loop.extent) != nullptr;
    const std::int64_t count = is_known ? extent / steps : ceil_div(extent, steps);
    const std::int64_t left = is_known ? extent - count * steps : 0;
    const VarId var = pool.new_var(pool.var_name(loop.var) + ".b", type);
    const ExprId done = pool.mul(pool.var(var), whole(steps));
    const ExprId rest = pool.max(pool.min(pool.sub(loop.extent, done), whole(steps)), whole(0));
    const StmtId body = block_of(loop, done, is_known ? whole(steps) : rest);
    const StmtId all = p_.add(For{var, whole(count), ForKind::serial, body});
    return left == 0 ? all : p_.add(Seq{{all, block_of(loop, whole(count * steps), whole(left))}});
  }

  /// b = 0; steps `first` .. `first` + `extent` of the loop on b; acc += b.
  StmtId block_of(const For& loop, ExprId first, ExprId extent) {
    StmtCopier copier(p_), plain(p_);
    copier.renews_buffers = true;
    const BufferId block = copier.renew(acc_);
    p_[block].name += ".b";
    const StmtId start = copier.copy(start_);
    For stretch = loop;
    stretch.var = p_.pool.new_var(p_.pool.var_name(loop.var), p_.pool.var_dtype(loop.var));
    stretch.extent = extent;
    const ExprId at = p_.pool.var(stretch.var);
    copier.map.set(loop.var, p_.pool.add(first, at));
    stretch.body = copier.copy(loop.body);
    const StmtId end = plain.copy(start_);
    add_up(end, block);
    is_blocked_ = true;
    return p_.add(Alloc{block, p_.add(Seq{{start, p_.add(std::move(stretch)), end}})});
  }
  /// What sets the accumulator adds the block, or what it set it to, to it.
  void add_up(StmtId id, BufferId block) {
    const Stmt stmt = p_[id];
    if (const Store* store = std::get_if<Store>(&stmt)) {
      Store sum = *store;
      const DType type = p_[acc_].dtype;
      sum.value = p_.pool.add(p_.pool.load(acc_, type, sum.indices),
                              block.valid() ? p_.pool.load(block, type, sum.indices) : sum.value);
      p_.stmts[id.value] = sum;
    }
    for_each_child(stmt, [&](StmtId child) { add_up(child, block); });
  }

  LoopProgram& p_;
  bool is_gpu_;
  std::vector<BufferId> sources_;
  VarRanges ranges_;  ///< of all loops
  std::vector<Outer> outer_;
  BufferId acc_;
  std::vector<VarId> summed_;  ///< loops over terms of one element of it
  StmtId start_;
  std::int64_t block_ = 0;
  bool is_blocked_ = false;
};

}  // namespace detail

/// Sums of 16- and 32-bit floats in private accumulators only.
inline void sum_in_blocks(LoopProgram& program, bool is_gpu) {
  detail::SumBlocker(program, is_gpu).run();
}

}  // namespace tensorsmith
