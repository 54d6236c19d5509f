// SPDX-License-Identifier: Apache-2.0
// RuleRewriter: applies rules, and compares by bounds what rules ask about.
//
// Floor 1. The way of the Ansor reference 0.16: rules in order, the first that fits wins; some
// results are simplified again, to a depth of 5. Not here: which rules (rewriter.hpp).
#pragma once

#include <cstdint>
#include <vector>

#include "tensorsmith/ir/algebra/facts.hpp"
#include "tensorsmith/ir/algebra/rule_match.hpp"
#include "tensorsmith/ir/algebra/rule_tables.hpp"

namespace tensorsmith::algebra {

class RuleRewriter : public Simplifier {
 public:
  explicit RuleRewriter(Facts& facts) : facts_(facts), pool_(facts.pool) {}
  virtual ~RuleRewriter() = default;

 protected:
  virtual Ref visit(Ref ref) = 0;

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
    const Op first = pool_[root.a].op;
    const Op second = root.num_operands > 1 ? pool_[root.b].op : OperandOps::any;
    Match match(pool_);
    return rules.first(first, second, [&](const Rule& rule, std::int16_t pattern) {
      if (!match.fits(rule, pattern, ref) ||
          (rule.condition >= 0 && match.calculated(rule, rule.condition, like, Asks{*this}) == 0)) {
        return no_ref;
      }
      const Ref result = match.built(rule, rule.result, like);
      return rule.is_repeated ? again(result) : result;
    });
  }
  Ref applied(const Rules& rules, Ref ref) {
    const Ref result = apply(rules, ref);
    return result != no_ref ? result : ref;
  }

  Facts& facts_;
  Pool& pool_;
  std::int32_t depth_ = 0;  ///< how often results are being simplified again

 private:
  static constexpr int max_depth = 5;
  struct Asks {
    RuleRewriter& rewriter;
    bool is_at_least(Ref ref, std::int64_t least) const {
      return rewriter.facts_.is_at_least(ref, least);
    }
    bool is_zero(Ref ref) const { return rewriter.compare_number(ref, 0) == Order::equal; }
  };
};

}  // namespace tensorsmith::algebra
