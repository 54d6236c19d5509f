// SPDX-License-Identifier: Apache-2.0
// TruthRewriter: comparisons, and what joins them.
//
// Floor 1. The way of the Ansor reference 0.16: what a condition says literally, then bounds, then
// rules.
#pragma once

#include <cstdint>
#include <utility>
#include <vector>

#include "tensorsmith/ir/algebra/number_rewriter.hpp"

namespace tensorsmith::algebra {

class TruthRewriter : public NumberRewriter {
 protected:
  using NumberRewriter::NumberRewriter;

  /// true or false if a condition that holds says so.
  Ref known_literal(Ref ref) {
    if (literals().empty()) {
      return no_ref;
    }
    const Ref opposite = pool_.negation(ref);
    for (Ref literal : literals()) {
      if (literal == ref || literal == opposite) {
        return pool_.boolean(literal == ref);
      }
    }
    return no_ref;
  }
  virtual const std::vector<Ref>& literals() const { return facts_.literals; }

  Ref truth(Op op, Ref made) {
    if (const Ref literal = known_literal(made); literal != no_ref) {
      return literal;
    }
    switch (op) {
    case Op::eq:
      return equal_of(made);
    case Op::ne:
      return unequal_of(made);
    case Op::lt:
      return less_of(made);
    case Op::le:
      return less_equal_of(made);
    case Op::and_:
      return applied(rules::tables().and_, made);
    default:
      return applied(rules::tables().or_, made);
    }
  }
  Ref not_of(Ref made) {
    const Ref a = pool_[made].a;
    return pool_.is_integer(a) ? pool_.negation(a) : applied(rules::tables().not_, made);
  }

 private:
  bool compares_indices(const Node& node) const { return is_index(pool_.dtype(node.a)); }

  Ref equal_of(Ref made) {
    const Node node = pool_[made];
    if (!compares_indices(node)) {
      return made;
    }
    const Order order = compare(node.a, node.b);
    if (order == Order::equal) {
      return pool_.boolean(true);
    }
    if (order == Order::unequal || order == Order::greater || order == Order::less) {
      return pool_.boolean(false);
    }
    return applied(rules::tables().equal, made);
  }
  Ref unequal_of(Ref made) {
    const Node node = pool_[made];
    if (compares_indices(node)) {
      switch (compare(node.a, node.b)) {
      case Order::unequal:
      case Order::greater:
      case Order::less:
        return pool_.boolean(true);
      case Order::equal:
        return pool_.boolean(false);
      case Order::greater_equal:
        return less_of(pool_.raw(Op::lt, node.b, node.a));
      case Order::less_equal:
        return less_of(pool_.raw(Op::lt, node.a, node.b));
      default:
        break;
      }
    }
    return not_of(pool_.raw_not(equal_of(pool_.raw(Op::eq, node.a, node.b))));
  }
  /// Not of greater, and only then by bounds.
  Ref less_equal_of(Ref made) {
    const Node before = pool_[made];
    const Ref result = not_of(pool_.raw_not(less_of(pool_.raw(Op::lt, before.b, before.a))));
    const Node node = pool_[result];
    if (node.op != Op::le || !compares_indices(node)) {
      return result;
    }
    switch (compare(node.a, node.b)) {
    case Order::less_equal:
    case Order::less:
    case Order::equal:
      return pool_.boolean(true);
    case Order::greater:
      return pool_.boolean(false);
    case Order::unequal:
      return less_of(pool_.raw(Op::lt, node.a, node.b));
    case Order::greater_equal:
      return equal_of(pool_.raw(Op::eq, node.a, node.b));
    default:
      return result;
    }
  }
  Ref less_of(Ref made) {
    const Node node = pool_[made];
    if (node.op != Op::lt || !compares_indices(node)) {
      return made;
    }
    switch (compare(node.a, node.b)) {
    case Order::less:
      return pool_.boolean(true);
    case Order::equal:
    case Order::greater:
    case Order::greater_equal:
      return pool_.boolean(false);
    default:
      break;
    }
    if (const Ref result = apply(rules::tables().less, made); result != no_ref) {
      return result;
    }
    if (const Ref merged = merged_constants(node); merged != no_ref) {
      return again(merged);
    }
    const ModularSet a = facts_.modular(node.a), b = facts_.modular(node.b);
    const std::int64_t factor = gcd(gcd(a.base, a.coefficient), gcd(b.base, b.coefficient));
    if (factor > 1) {
      const Ref by = pool_.like(node.a, factor);
      return again(pool_.binary(Op::lt, pool_.floordiv(node.a, by), pool_.floordiv(node.b, by)));
    }
    return made;
  }
  /// x + 3 < y + 5 becomes x < y + 2, and x < y + 1 becomes x <= y.
  Ref merged_constants(const Node& node) {
    const auto [left, x] = offset_of(node.a);
    const auto [right, y] = offset_of(node.b);
    if (x == 0 && y == 0) {
      return no_ref;
    }
    const std::int64_t difference = y - x;
    if (difference == 0 || difference == 1) {
      return pool_.binary(difference == 0 ? Op::lt : Op::le, left, right);
    }
    if (difference < 0 && y != 0) {
      return pool_.binary(Op::lt, pool_.add(left, pool_.like(left, -difference)), right);
    }
    if (difference > 0 && x != 0) {
      return pool_.binary(Op::lt, left, pool_.add(right, pool_.like(right, difference)));
    }
    return no_ref;
  }
  std::pair<Ref, std::int64_t> offset_of(Ref ref) const {
    const Node node = pool_[ref];
    if ((node.op == Op::add || node.op == Op::sub) && pool_.is_integer(node.b)) {
      return {node.a, node.op == Op::add ? pool_.value(node.b) : -pool_.value(node.b)};
    }
    if (node.op == Op::sub && pool_.is_integer(node.a)) {
      return {node.b, pool_.value(node.a)};
    }
    return {ref, 0};
  }
};

}  // namespace tensorsmith::algebra
