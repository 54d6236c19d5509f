// SPDX-License-Identifier: Apache-2.0
// Match: whether an expression has the form of a rule, and what its names stand for.
//
// Floor 1. Own design. Not here: which rules are tried (rewriter.hpp).
#pragma once

#include <array>
#include <cstdint>

#include "tensorsmith/ir/algebra/rule.hpp"

namespace tensorsmith::algebra {

/// What the names of a rule stand for.
class Match {
 public:
  explicit Match(Pool& pool) : pool_(pool) {}

  bool fits(const Rule& rule, std::int16_t pattern, Ref ref) {
    named_.fill(no_ref);
    return fits_at(rule, pattern, ref);
  }
  Ref operator[](std::size_t name) const { return named_[name]; }
  /// Constants folded; literals have the type of `like`.
  Ref built(const Rule& rule, std::int16_t at, DType like) {
    const PatternNode& node = rule.nodes[static_cast<std::size_t>(at)];
    switch (node.part) {
    case Part::any:
    case Part::constant:
      return named_[static_cast<std::size_t>(node.value)];
    case Part::literal:
      return node.is_truth ? pool_.boolean(node.value != 0) : pool_.integer(node.value, like);
    default:
      break;
    }
    const Ref a = built(rule, node.a, like);
    if (node.op == Op::not_) {
      return pool_.negation(a);
    }
    const Ref b = built(rule, node.b, like);
    if (node.op == Op::select) {
      return pool_.choice(Op::select, a, b, built(rule, node.c, like));
    }
    return pool_.binary(node.op, a, b);
  }
  /// A condition; `asks` answers ge(expression, number) and prove0(expression).
  template <class Asks>
  std::int64_t calculated(const Rule& rule, std::int16_t at, DType like, const Asks& asks) {
    const PatternNode& node = rule.nodes[static_cast<std::size_t>(at)];
    switch (node.part) {
    case Part::constant:
      return pool_.value(named_[static_cast<std::size_t>(node.value)]);
    case Part::literal:
      return node.value;
    case Part::show_ge:
      return asks.is_at_least(built(rule, node.a, like), calculated(rule, node.b, like, asks));
    case Part::show_zero:
      return asks.is_zero(built(rule, node.a, like));
    default:
      break;
    }
    const std::int64_t a = calculated(rule, node.a, like, asks);
    if (node.op == Op::and_ || node.op == Op::or_) {
      return (a != 0) == (node.op == Op::or_) ? a : calculated(rule, node.b, like, asks);
    }
    const std::int64_t b = calculated(rule, node.b, like, asks);
    switch (node.op) {
    case Op::add:
      return a + b;
    case Op::sub:
      return a - b;
    case Op::mul:
      return a * b;
    case Op::floordiv:
      return b == 0 ? 0 : floor_div(a, b);
    case Op::floormod:
      return b == 0 ? 1 : floor_mod(a, b);
    case Op::eq:
      return a == b;
    case Op::ne:
      return a != b;
    case Op::lt:
      return a < b;
    case Op::le:
      return a <= b;
    case Op::gt:
      return a > b;
    default:
      return a >= b;
    }
  }

 private:
  bool fits_at(const Rule& rule, std::int16_t at, Ref ref) {
    const PatternNode& node = rule.nodes[static_cast<std::size_t>(at)];
    switch (node.part) {
    case Part::constant:
      if (!pool_.is_integer(ref)) {
        return false;
      }
      [[fallthrough]];
    case Part::any: {
      Ref& known = named_[static_cast<std::size_t>(node.value)];
      if (known == no_ref) {
        known = ref;
      }
      return known == ref ||
             (node.part == Part::constant && pool_.value(known) == pool_.value(ref));
    }
    case Part::literal:
      return pool_.is_integer(ref, node.value);
    default:
      break;
    }
    const Node& found = pool_[ref];
    if (found.op != node.op) {
      return false;
    }
    return fits_at(rule, node.a, found.a) && (node.b < 0 || fits_at(rule, node.b, found.b)) &&
           (node.c < 0 || fits_at(rule, node.c, found.c));
  }

  Pool& pool_;
  std::array<Ref, num_pattern_names> named_{};
};

}  // namespace tensorsmith::algebra
