// SPDX-License-Identifier: Apache-2.0
// NumberRewriter: the rules of sums, products, quotients, remainders, minima and maxima.
//
// Floor 1. With the steps of the Ansor reference 0.16 between its rules that are none themselves.
#pragma once

#include <cstdint>

#include "tensorsmith/ir/algebra/rule_rewriter.hpp"

namespace tensorsmith::algebra {

class NumberRewriter : public RuleRewriter {
 protected:
  using RuleRewriter::RuleRewriter;

  Ref number(Op op, Ref made) {
    const rules::Tables& all = rules::tables();
    const bool indexes = is_index(pool_.dtype(made));
    switch (op) {
    case Op::add:
      return by_rules(indexes ? &all.sum : nullptr, &all.choice_sum, made);
    case Op::sub:
      return by_rules(indexes                       ? &all.difference
                      : is_float(pool_.dtype(made)) ? &all.real_difference
                                                    : nullptr,
                      &all.choice_difference, made);
    case Op::mul:
      return by_rules(indexes ? &all.product : nullptr, nullptr, made);
    case Op::div: {
      const Node node = pool_[made];
      return pool_.is_real(node.b) ? pool_.mul(node.a, pool_.real(1.0 / pool_.real_value(node.b),
                                                                  pool_.dtype(node.b)))
                                   : made;
    }
    case Op::floordiv:
      return indexes ? quotient(made) : made;
    case Op::floormod:
      return indexes ? remainder(made) : made;
    case Op::min:
    case Op::max:
      return extreme(op, made);
    default:
      return made;
    }
  }

 private:
  Ref by_rules(const Rules* first, const Rules* second, Ref made) {
    Ref result = first != nullptr ? apply(*first, made) : no_ref;
    if (result == no_ref && second != nullptr) {
      result = apply(*second, made);
    }
    return result != no_ref ? result : made;
  }

  /// (x * c1 + y) // c2 where the rest decides nothing, or x alone decides.
  Ref quotient(Ref made) {
    const rules::Tables& all = rules::tables();
    if (const Ref result = apply(all.quotient_first, made); result != no_ref) {
      return result;
    }
    const Node node = pool_[made];
    if (pool_.is_integer(node.b)) {
      Ref x = no_ref, c1 = no_ref, y = no_ref;
      if (scaled(node.a, x, c1, y)) {
        const std::int64_t a = pool_.value(c1), b = pool_.value(node.b);
        if (b == 0) {
          return made;
        }
        const Ref zero = pool_.like(made, 0);
        y = y == no_ref ? zero : y;
        const Ref y_rest = pool_.floormod(y, node.b), y_whole = pool_.floordiv(y, node.b);
        const Ref rest = pool_.floordiv(
            pool_.add(pool_.mul(x, pool_.like(made, floor_mod(a, b))), y_rest), node.b);
        const Ref y_part = compare_number(y_whole, 0) == Order::equal ? zero : y_whole;
        if (const Bound bound = facts_.bounds(rest); bound.is_constant()) {
          return pool_.add(pool_.mul(x, pool_.like(made, floor_div(a, b))),
                           pool_.add(y_part, pool_.like(made, bound.max)));
        }
        if (a > 0 && b > 0 && b % a == 0 && facts_.is_less(y_rest, a)) {
          return pool_.add(pool_.floordiv(x, pool_.like(made, b / a)), y_part);
        }
      }
    }
    return applied(all.quotient, made);
  }
  /// x * c1 + y, x * c1, y + x * c1, in this order.
  bool scaled(Ref ref, Ref& x, Ref& c1, Ref& y) const {
    const auto take = [&](Ref product) {
      const Node node = pool_[product];
      if (node.op != Op::mul || !pool_.is_integer(node.b)) {
        return false;
      }
      x = node.a;
      c1 = node.b;
      return true;
    };
    const Node node = pool_[ref];
    if (node.op == Op::add && take(node.a)) {
      y = node.b;
      return true;
    }
    if (take(ref)) {
      return true;
    }
    y = node.op == Op::add ? node.a : no_ref;
    return node.op == Op::add && take(node.b);
  }
  Ref remainder(Ref made) {
    if (const Ref result = apply(rules::tables().remainder, made); result != no_ref) {
      return result;
    }
    const Node node = pool_[made];
    if (!pool_.is_integer(node.b) || pool_.value(node.b) <= 0) {
      return made;
    }
    const std::int64_t c = pool_.value(node.b);
    if (const ModularSet set = facts_.modular(node.a); set.coefficient % c == 0) {
      return pool_.like(made, floor_mod(set.base, c));
    }
    const Bound bound = facts_.bounds(node.a);
    return bound.min >= 0 && bound.max < c ? node.a : made;
  }
  Ref extreme(Op op, Ref made) {
    const rules::Tables& all = rules::tables();
    const Node node = pool_[made];
    const bool is_min = op == Op::min;
    if (is_index(node.dtype)) {
      if (node.a == node.b) {
        return node.a;
      }
      const Bound a = facts_.bounds(node.a), b = facts_.bounds(node.b);
      if (is_min ? a.max <= b.min : a.min >= b.max) {
        return node.a;
      }
      if (is_min ? b.max <= a.min : b.min >= a.max) {
        return node.b;
      }
      if (const Ref result = apply(is_min ? all.min : all.max, made); result != no_ref) {
        return result;
      }
    }
    return applied(is_min ? all.choice_min : all.choice_max, made);
  }
};

}  // namespace tensorsmith::algebra
