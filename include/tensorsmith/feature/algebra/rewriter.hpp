// Rewriter: simplification by rules, from the operands to the root.
//
// Floor 5. The way of the Ansor reference 0.16: rules in order, the first that fits wins; some
// results are simplified again, to a depth of 5; comparisons are decided by bounds. The rules are in
// rules.hpp and truth_rules.hpp, the steps that are no rules here. visit() is virtual, because the
// canonical simplifier does all but sums, products and divisions in the same way.
#pragma once

#include <cstdint>
#include <numeric>  // std::gcd
#include <utility>
#include <vector>

#include "tensorsmith/feature/algebra/facts.hpp"
#include "tensorsmith/feature/algebra/rules.hpp"
#include "tensorsmith/feature/algebra/truth_rules.hpp"

namespace tensorsmith::algebra {

namespace rules {

/// Read once per program.
struct Tables {
  Rules sum = parse_rules(sum_lines), difference = parse_rules(difference_lines);
  Rules real_difference = parse_rules(real_difference_lines);
  Rules product = parse_rules(product_lines);
  Rules quotient_first = parse_rules(quotient_first_lines);
  Rules quotient = parse_rules(quotient_lines), remainder = parse_rules(remainder_lines);
  Rules min = parse_rules(min_lines), max = parse_rules(max_lines);
  Rules choice_sum = parse_rules(choice_sum_lines);
  Rules choice_difference = parse_rules(choice_difference_lines);
  Rules choice_min = parse_rules(choice_min_lines), choice_max = parse_rules(choice_max_lines);
  Rules equal = parse_rules(equal_lines), less = parse_rules(less_lines);
  Rules not_ = parse_rules(not_lines), and_ = parse_rules(and_lines), or_ = parse_rules(or_lines);
};
inline const Tables& tables() {
  static const Tables all;
  return all;
}

}  // namespace rules

class Rewriter : public Simplifier {
 public:
  explicit Rewriter(Facts& facts) : facts_(facts), pool_(facts.pool) {}
  virtual ~Rewriter() = default;

  /// At most twice.
  Ref simplified(Ref ref) override {
    const Ref once = visit(ref);
    return once == ref ? once : visit(once);
  }

 protected:
  virtual Ref visit(Ref ref) {
    Remembered<Simplified>& known = facts_.workspace.rewritten;
    const std::uint32_t version = facts_.version;
    if (const Simplified* done = known.find(ref, version); done && done->depth == depth_) {
      return done->ref;
    }
    const Ref result = rewritten(ref);
    known.set(ref, version, {depth_, result});
    return result;
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
      std::vector<Ref> operands;
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

  Order compare(Ref a, Ref b) {
    const Order by_bounds = compare_number(pool_.sub(a, b), 0);
    if (is_final(by_bounds)) {
      return by_bounds;
    }
    return is_index(pool_.dtype(a)) ? both(by_bounds, facts_.comparisons.compare(a, b)) : by_bounds;
  }
  /// With a constant, by bounds and multiples.
  Order compare_number(Ref ref, std::int64_t number) {
    const Ref x = visit(ref);
    const Bound bound = facts_.bounds(x);
    if (bound.min == number && bound.max == number) {
      return Order::equal;
    }
    if (bound.min > number) {
      return Order::greater;
    }
    if (bound.max < number) {
      return Order::less;
    }
    if (bound.min >= number) {
      return Order::greater_equal;
    }
    if (bound.max <= number) {
      return Order::less_equal;
    }
    return number == 0 && facts_.modular(x).base != 0 ? Order::unequal : Order::unknown;
  }

  Facts& facts_;
  Pool& pool_;

 private:
  static constexpr int max_depth = 5;
  struct Asks {
    Rewriter& rewriter;
    bool is_at_least(Ref ref, std::int64_t least) const {
      return rewriter.facts_.is_at_least(ref, least);
    }
    bool is_zero(Ref ref) const { return rewriter.compare_number(ref, 0) == Order::equal; }
  };

  Ref again(Ref ref) {
    if (depth_ >= max_depth) {
      return ref;
    }
    ++depth_;
    const Ref result = visit(ref);
    --depth_;
    return result;
  }
  /// The result of the first rule that fits, no_ref if none does.
  Ref apply(const Rules& rules, Ref ref) {
    const Node root = pool_[ref];
    const DType like = is_comparison(root.op) ? pool_.dtype(root.a) : root.dtype;
    for (const Rule& rule : rules) {
      for (std::int16_t pattern : rule.patterns) {
        Match match(pool_);
        if (!match.fits(rule, pattern, ref) ||
            (rule.condition >= 0 &&
             match.calculated(rule, rule.condition, like, Asks{*this}) == 0)) {
          continue;
        }
        const Ref result = match.built(rule, rule.result, like);
        return rule.is_repeated ? again(result) : result;
      }
    }
    return no_ref;
  }
  Ref applied(const Rules& rules, Ref ref) {
    const Ref result = apply(rules, ref);
    return result != no_ref ? result : ref;
  }

  Ref number(Op op, Ref made) {
    const rules::Tables& all = rules::tables();
    const bool indexes = is_index(pool_.dtype(made));
    switch (op) {
    case Op::add:
      return by_rules(indexes ? &all.sum : nullptr, &all.choice_sum, made);
    case Op::sub:
      return by_rules(indexes                        ? &all.difference
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
  Ref not_of(Ref made) {
    const Ref a = pool_[made].a;
    return pool_.is_integer(a) ? pool_.negation(a) : applied(rules::tables().not_, made);
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
    const std::int64_t factor = std::gcd(std::gcd(a.base, a.coefficient),
                                         std::gcd(b.base, b.coefficient));
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

  /// Each arm while its condition holds.
  Ref choice(const Node& node) {
    const Ref condition = visit(node.a);
    const auto arm = [&](Ref value, Ref holds) {
      const Facts::Mark mark = facts_.enter(holds);
      const Ref result = visit(value);
      facts_.leave(mark);
      return result;
    };
    const bool is_select = node.op == Op::select;
    const Ref yes = arm(node.b, condition);
    const Ref opposite = pool_.negation(condition);
    const Ref no = arm(node.c, is_select ? facts_.rewriter->simplified(opposite) : opposite);
    if (pool_.is_integer(condition)) {
      return pool_.value(condition) != 0 ? yes : no;
    }
    if (is_select && yes == no) {
      return yes;
    }
    if (!is_select && pool_[yes].op == Op::if_then_else) {
      const Node inner = pool_[yes];
      const auto is_number = [&](Ref ref) { return pool_.is_integer(ref) || pool_.is_real(ref); };
      if (is_number(inner.c) && is_number(no) && inner.c == no) {
        return pool_.choice(Op::if_then_else, pool_.binary(Op::and_, condition, inner.a), inner.b,
                            no);
      }
    }
    return pool_.choice(node.op, condition, yes, no);
  }

  std::int32_t depth_ = 0;
};

}  // namespace tensorsmith::algebra
