// SPDX-License-Identifier: Apache-2.0
// Rewriter: simplification by rules, from the operands to the root.
//
// Floor 1. The way of the Ansor reference 0.16. visit() is virtual, because the canonical
// simplifier does all but sums, products and divisions in the same way.
#pragma once

#include <cstdint>

#include "tensorsmith/ir/algebra/truth_rewriter.hpp"
#include "tensorsmith/support/small_vector.hpp"

namespace tensorsmith::algebra {

class Rewriter : public TruthRewriter {
 public:
  using TruthRewriter::TruthRewriter;

  /// At most twice.
  Ref simplified(Ref ref) override {
    const Ref once = visit(ref);
    return once == ref ? once : visit(once);
  }

 protected:
  Ref visit(Ref ref) override {
    if (is_leaf(ref)) {
      return ref;
    }
    Remembered<Simplified>& known = facts_.workspace.rewritten;
    const std::uint32_t version = facts_.version;
    if (const Simplified* done = known.find(ref, version); done && done->depth == depth_) {
      return done->ref;
    }
    const Ref result = rewritten(ref);
    known.set(ref, version, {depth_, result});
    return result;
  }

  /// A constant, or a variable of which no value is known.
  bool is_leaf(Ref ref) const {
    const Node& node = pool_[ref];
    return node.op < Op::var ||
           (node.op == Op::var && facts_.value_of(static_cast<std::int32_t>(node.value)) == no_ref);
  }
  /// By the operation at the root, operands first.
  Ref rewritten(Ref ref) {
    const Node node = pool_[ref];
    switch (node.op) {
    case Op::integer:
    case Op::real:
      return ref;
    case Op::var: {
      const Ref value = facts_.value_of(static_cast<std::int32_t>(node.value));
      return value != no_ref ? value : ref;
    }
    case Op::gt:
    case Op::ge:
      return visit(pool_.binary(node.op == Op::gt ? Op::lt : Op::le, node.b, node.a));
    case Op::not_: {
      const Ref a = visit(node.a);
      if (pool_.is_integer(a)) {
        return pool_.negation(a);
      }
      const Ref made = pool_.raw_not(a), literal = known_literal(made);
      return literal != no_ref ? literal : not_of(made);
    }
    case Op::cast:
      return pool_.cast(node.dtype, visit(node.a));
    case Op::select:
    case Op::if_then_else:
      return choice(node);
    case Op::call:
    case Op::load: {
      SmallVector<Ref, 8> operands;
      for (std::size_t i = 0; i < node.num_operands; ++i) {
        operands.push_back(visit(pool_.operand(pool_[ref], i)));
      }
      return pool_.with_list(node.op, node.dtype, node.value, operands);
    }
    default:
      break;
    }
    const Ref a = visit(node.a), b = visit(node.b);
    if (const Ref folded = pool_.fold(node.op, a, b); folded != no_ref) {
      return folded;
    }
    const Ref made = pool_.raw(node.op, a, b);
    if (is_comparison(node.op) || node.op == Op::and_ || node.op == Op::or_) {
      return truth(node.op, made);
    }
    return number(node.op, made);
  }

 private:
  /// Each arm while its condition holds.
  Ref choice(const Node& node) {
    const Ref condition = visit(node.a);
    // What a condition says is asked only for an arm that it can change.
    const auto is_number = [&](Ref ref) { return pool_.is_integer(ref) || pool_.is_real(ref); };
    const auto arm = [&](Ref value, const auto& holds) {
      if (is_number(value)) {
        return value;
      }
      const Facts::Mark mark = facts_.enter(holds());
      const Ref result = visit(value);
      facts_.leave(mark);
      return result;
    };
    const bool is_select = node.op == Op::select;
    const Ref yes = arm(node.b, [&] { return condition; });
    const Ref no = arm(node.c, [&] {
      const Ref opposite = pool_.negation(condition);
      return is_select ? facts_.rewriter->simplified(opposite) : opposite;
    });
    if (pool_.is_integer(condition)) {
      return pool_.value(condition) != 0 ? yes : no;
    }
    if (is_select && yes == no) {
      return yes;
    }
    if (!is_select && pool_[yes].op == Op::if_then_else) {
      const Node inner = pool_[yes];
      if (is_number(inner.c) && is_number(no) && inner.c == no) {
        return pool_.choice(Op::if_then_else, pool_.binary(Op::and_, condition, inner.a), inner.b,
                            no);
      }
    }
    return pool_.choice(node.op, condition, yes, no);
  }
};

}  // namespace tensorsmith::algebra
