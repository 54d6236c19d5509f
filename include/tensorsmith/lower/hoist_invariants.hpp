// SPDX-License-Identifier: Apache-2.0
// hoist_invariants: values that the loops of an elementwise pass do not change are computed before.
//
// Floor 4. Own design (loop-invariant code motion; the quotient as in LLVM's "arcp").
//     for j: Y[i, j] = (X[i, j] - S[i]*c) * rsqrt(V[i] + eps)
//       -->  a = S[i]*c; b = rsqrt(V[i] + eps); for j: Y[i, j] = (X[i, j] - a) * b
//     for j: Y[i, j] = X[i, j] / S[i]   -->   c = |S[i]| < 2^-64 ? 2^64 : |S[i]| > 2^64 ? 2^-64 : 1
//                                             a = 1 / (S[i] * c); for j: Y[i, j] = X[i, j] * a * c
// The product differs from the quotient by at most one unit in the last place, whatever S is: c
// keeps the reciprocal between 2^-64 and 2^85, a normal number that neither overflows nor loses
// digits where the quotient does not (f64: 2^512 for 2^64). A value that is only loaded stays where
// it is: instructions take it from memory. Only loops with nothing but stores to memory are looked
// at: register tiles have their operands where they want them. Values of f32 and f64 only.
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

class InvariantHoister {
 public:
  InvariantHoister(LoopProgram& program, const Target& target) : p_(program), target_(target) {}

  void run(StmtId id) {
    vars_.clear();
    stored_.clear();
    has_lanes_ = false;
    if (depth_ > 0 && !has_item(done_, id) && is_plain(id) && has_lanes_) {
      // Outside of all loops it would be a stage.
      hoist(id);
    }
    const Stmt stmt = p_[id];  // a copy: the program grows
    const For* loop = std::get_if<For>(&stmt);
    const bool is_loop = loop != nullptr;
    if (is_loop && loop->intrinsic != nullptr) {
      return;  // one instruction
    }
    depth_ += is_loop ? 1 : 0;
    for_each_child(stmt, [&](StmtId child) { run(child); });
    depth_ -= is_loop ? 1 : 0;
  }

 private:
  static constexpr std::size_t most_values = 5;  // each takes a vector register

  enum class Part { value, scale, reciprocal };  // the second and third of a divisor
  struct Value {
    ExprId source;
    Part part;
    BufferId buffer;
  };

  /// Whether the statement is loops around stores to memory; notes what they change.
  bool is_plain(StmtId id) {
    if (const Seq* seq = p_.as<Seq>(id)) {
      return all_items(seq->items, [&](StmtId item) { return is_plain(item); });
    }
    if (const For* loop = p_.as<For>(id)) {
      vars_.push_back(loop->var);
      const IntImm* extent = p_.pool.as<IntImm>(loop->extent);  // it runs: what it reads is there
      has_lanes_ = has_lanes_ || (loop->kind == ForKind::vectorized && extent != nullptr &&
                                  32 * extent->value >= target_.vector_bits);
      return extent != nullptr && extent->value > 0 && loop->kind != ForKind::parallel &&
             loop->intrinsic == nullptr && is_plain(loop->body);
    }
    const Store* store = p_.as<Store>(id);
    if (store == nullptr || p_[store->buffer].scope == Scope::register_) {
      return false;
    }
    stored_.push_back(store->buffer);
    return true;
  }

  bool is_invariant(ExprId id) const {
    const ExprNode& node = p_.pool[id];
    if (const VarRef* ref = std::get_if<VarRef>(&node.op)) {
      return !has_item(vars_, ref->var);
    }
    const Load* load = std::get_if<Load>(&node.op);
    bool holds = load == nullptr ||
                 (!has_item(stored_, load->buffer) && p_[load->buffer].scope != Scope::register_);
    for_each_child(node, [&](ExprId child) { holds = holds && is_invariant(child); });
    return holds;
  }

  bool is_wanted(ExprId id) const {
    const DType type = p_.pool.dtype(id);
    return (type == DType::f32 || type == DType::f64) && has_load(p_.pool, id) && is_invariant(id);
  }

  bool has_room(std::size_t count) const { return values_.size() + count <= most_values; }
  /// Invalid: there is no room.
  ExprId value_of(ExprId source, Part part) {
    for (const Value& value : values_) {
      if (value.source == source && value.part == part) {
        return p_.pool.load(value.buffer, p_.pool.dtype(source), {});
      }
    }
    if (!has_room(part == Part::scale ? 2 : 1)) {  // its reciprocal is next
      return {};
    }
    Buffer buffer;
    buffer.name = part == Part::value ? "invariant" : part == Part::scale ? "scale" : "reciprocal";
    buffer.dtype = p_.pool.dtype(source);
    buffer.scope = Scope::register_;
    values_.push_back({source, part, p_.add(std::move(buffer))});
    return p_.pool.load(values_.back().buffer, p_.pool.dtype(source), {});
  }

  /// The power of two that brings a divisor to where its reciprocal is a normal number.
  ExprId scale_of(ExprId divisor) {
    ExprPool& pool = p_.pool;
    const DType type = pool.dtype(divisor);
    const double large = type == DType::f64 ? 0x1.0p512 : 0x1.0p64;
    const auto number = [&](double value) { return pool.float_imm(value, type); };
    const ExprId size = pool.call(CallOp::abs, {divisor});
    const ExprId down = pool.select(pool.lt(number(large), size), number(1 / large), number(1));
    return pool.select(pool.lt(size, number(1 / large)), number(large), down);
  }
  /// What is computed in front of the loops.
  ExprId written(const Value& value) {
    ExprPool& pool = p_.pool;
    if (value.part != Part::reciprocal) {
      return value.part == Part::scale ? scale_of(value.source) : value.source;
    }
    const DType type = pool.dtype(value.source);
    const ExprId scale = value_of(value.source, Part::scale);
    return pool.binary(BinaryOp::div, pool.float_imm(1, type), pool.mul(value.source, scale));
  }

  ExprId rewrite(ExprId id) {
    if (p_.pool.as<Load>(id) == nullptr && is_wanted(id)) {
      const ExprId value = value_of(id, Part::value);
      return value.valid() ? value : id;
    }
    if (p_.pool.as<Load>(id) != nullptr) {
      return id;  // its indices are numbers
    }
    const Call* call = p_.pool.as<Call>(id);
    if (p_.pool.as<Select>(id) != nullptr ||
        (call != nullptr && call->op == CallOp::if_then_else)) {
      return id;  // an arm may not be allowed to be read
    }
    const Binary* node = p_.pool.as<Binary>(id);
    if (node != nullptr && node->op == BinaryOp::div && is_wanted(node->b)) {
      const ExprId a = node->a, b = node->b;
      if (const ExprId scale = value_of(b, Part::scale); scale.valid()) {
        const ExprId reciprocal = value_of(b, Part::reciprocal);
        return p_.pool.mul(p_.pool.mul(rewrite(a), reciprocal), scale);
      }
    }
    return map_children(p_.pool, id, [&](ExprId child) { return rewrite(child); });
  }

  void rewrite_stores(StmtId id) {
    if (const Seq* found = p_.as<Seq>(id)) {
      const Seq seq = *found;
      for (StmtId item : seq.items) {
        rewrite_stores(item);
      }
    } else if (const For* loop = p_.as<For>(id)) {
      rewrite_stores(loop->body);
    } else if (const Store* found_store = p_.as<Store>(id)) {
      Store store = *found_store;
      // A stored invariant is as good where it stands.
      store.value = is_wanted(store.value) ? store.value : rewrite(store.value);
      p_.stmts[id.value] = std::move(store);
    }
  }

  void hoist(StmtId id) {
    values_.clear();
    rewrite_stores(id);
    if (values_.empty()) {
      return;
    }
    std::vector<StmtId> parts;
    for (std::size_t i = 0; i < values_.size(); ++i) {
      const Value value = values_[i];
      parts.push_back(p_.add(Store{value.buffer, {}, written(value)}));
    }
    parts.push_back(p_.add(p_[id]));
    done_.push_back(parts.back());
    StmtId result = p_.add(Seq{std::move(parts)});
    for (std::size_t i = 1; i < values_.size(); ++i) {
      result = p_.add(Alloc{values_[i].buffer, result});
    }
    p_.stmts[id.value] = Alloc{values_.front().buffer, result};
  }

  LoopProgram& p_;
  const Target& target_;
  std::vector<VarId> vars_;       // of the loops inside
  std::vector<BufferId> stored_;  // inside
  std::vector<Value> values_;
  std::vector<StmtId> done_;  // has its values in front
  bool has_lanes_ = false;    // a loop of whole vectors; shorter ones are joined with others
  std::int32_t depth_ = 0;    // loops around
};

}  // namespace detail

/// For programs of CPUs.
inline void hoist_invariants(LoopProgram& program, const Target& target) {
  detail::InvariantHoister(program, target).run(program.body);
}

}  // namespace tensorsmith
