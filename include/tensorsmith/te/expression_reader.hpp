// SPDX-License-Identifier: Apache-2.0
// ExpressionReader: expressions of a dag or of a lowered kernel as those of algebra/, inlined
// operations put in their place.
//
// Floor 2. A constant matrix that is computed inline counts as 1 (Ansor reference, ch. 6.1).
// Nothing is simplified here.
#pragma once

#include <cstdint>
#include <utility>
#include <vector>

#include "tensorsmith/ir/algebra/pool.hpp"
#include "tensorsmith/ir/algebra/remembered.hpp"
#include "tensorsmith/support/hash_map.hpp"
#include "tensorsmith/te/compute_dag.hpp"

namespace tensorsmith::detail {

/// What variables stand for.
using Meanings = std::vector<std::pair<VarId, algebra::Ref>>;
/// By tensor: its operation if that is computed inline, null for all others.
using InlinedOperations = std::vector<const Operation*>;

class ExpressionReader {
 public:
  /// One set of meanings; equal expressions are read once.
  ExpressionReader(const ExprPool& from, algebra::Pool& to, const InlinedOperations& inlined,
                   const Meanings& meanings)
      : from_(from), to_(to), inlined_(inlined), meanings_(meanings) {}

  algebra::Ref operator()(ExprId id) {
    if (const algebra::Ref* known = known_.find(id.value)) {
      return *known;
    }
    const algebra::Ref made = make(id);
    known_.set(id.value, made);
    return made;
  }

 private:
  algebra::Ref make(ExprId id) {
    const ExprNode& node = from_[id];
    if (const IntImm* imm = std::get_if<IntImm>(&node.op)) {
      return to_.integer(imm->value, node.dtype);
    }
    if (const FloatImm* imm = std::get_if<FloatImm>(&node.op)) {
      return to_.real(imm->value, node.dtype);
    }
    if (const VarRef* ref = std::get_if<VarRef>(&node.op)) {
      return meaning_of(ref->var, node.dtype);
    }
    if (const Binary* binary = std::get_if<Binary>(&node.op)) {
      const algebra::Ref a = (*this)(binary->a), b = (*this)(binary->b);
      return to_.raw(op_of(binary->op), a, b);
    }
    if (const Unary* unary = std::get_if<Unary>(&node.op)) {
      const algebra::Ref a = (*this)(unary->a);
      return unary->op == UnaryOp::not_ ? to_.raw_not(a) : to_.raw(algebra::Op::sub, zero(a), a);
    }
    if (const Cast* cast = std::get_if<Cast>(&node.op)) {
      return to_.cast(node.dtype, (*this)(cast->a));
    }
    if (const Select* select = std::get_if<Select>(&node.op)) {
      const algebra::Ref condition = (*this)(select->condition), yes = (*this)(select->if_true);
      return to_.choice(algebra::Op::select, condition, yes, (*this)(select->if_false));
    }
    if (const Call* call = std::get_if<Call>(&node.op)) {
      const std::vector<algebra::Ref> args = list(call->args);
      return call->op == CallOp::if_then_else
                 ? to_.choice(algebra::Op::if_then_else, args[0], args[1], args[2])
                 : to_.with_list(algebra::Op::call, node.dtype, static_cast<std::int64_t>(call->op),
                                 args);
    }
    if (const Load* load = std::get_if<Load>(&node.op)) {
      return to_.with_list(algebra::Op::load, node.dtype, load->buffer.value, list(load->indices));
    }
    if (const TensorRead* read = std::get_if<TensorRead>(&node.op)) {
      return element(*read, node.dtype);
    }
    return to_.integer(0, node.dtype);  // a reduction inside of an expression: no dag has it
  }
  algebra::Ref element(const TensorRead& read, DType dtype) {
    const std::vector<algebra::Ref> indices = list(read.indices);
    const Operation* op =
        read.tensor.value < inlined_.size() ? inlined_[read.tensor.value] : nullptr;
    if (op == nullptr) {
      return to_.with_list(algebra::Op::load, dtype, read.tensor.value, indices);
    }
    if (op->attrs.const_matrix) {
      return is_float(dtype) ? to_.real(1, dtype) : to_.integer(1, dtype);
    }
    Meanings inner;
    for (std::size_t a = 0; a < op->axes.size(); ++a) {
      inner.emplace_back(op->axes[a].var, indices[a]);
    }
    std::size_t k = 0;
    while (op->outputs[k] != read.tensor) {
      ++k;
    }
    return ExpressionReader(from_, to_, inlined_, inner)(op->bodies[k]);
  }
  algebra::Ref meaning_of(VarId var, DType dtype) {
    for (const auto& [name, meaning] : meanings_) {
      if (name == var) {
        return meaning;
      }
    }
    return zero_of(dtype);
  }
  std::vector<algebra::Ref> list(const ExprList& ids) {
    std::vector<algebra::Ref> refs;
    for (ExprId id : ids) {
      refs.push_back((*this)(id));
    }
    return refs;
  }
  algebra::Ref zero(algebra::Ref like) { return zero_of(to_.dtype(like)); }
  algebra::Ref zero_of(DType dtype) {
    return is_float(dtype) ? to_.real(0, dtype) : to_.integer(0, dtype);
  }
  static algebra::Op op_of(BinaryOp op) {
    constexpr int offset = static_cast<int>(algebra::Op::add);
    static_assert(static_cast<int>(algebra::Op::or_) - offset == static_cast<int>(BinaryOp::or_) &&
                  static_cast<int>(algebra::Op::min) - offset == static_cast<int>(BinaryOp::min) &&
                  static_cast<int>(algebra::Op::lt) - offset == static_cast<int>(BinaryOp::lt));
    return static_cast<algebra::Op>(static_cast<int>(op) + offset);
  }

  const ExprPool& from_;
  algebra::Pool& to_;
  const InlinedOperations& inlined_;
  const Meanings& meanings_;
  HashMap<std::uint32_t, algebra::Ref> known_;
};

/// Calls visit(load) for every load in `ref`, those in its indices first, each once.
template <class Visit>
void for_each_load(const algebra::Pool& pool, algebra::Ref ref, algebra::RefSet& seen,
                   const Visit& visit) {
  if (!seen.insert(ref)) {
    return;
  }
  const algebra::Node& node = pool[ref];
  for (std::size_t i = 0; i < node.num_operands; ++i) {
    for_each_load(pool, pool.operand(node, i), seen, visit);
  }
  if (node.op == algebra::Op::load) {
    visit(ref);
  }
}

}  // namespace tensorsmith::detail
