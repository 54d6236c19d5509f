// SPDX-License-Identifier: Apache-2.0
// Smoothing: formulas that have slopes, from exact ones.
//
// Floor 6.5. Felix, ch. 3.3, in two forms. `released`: as its code does it, without a temperature;
// a condition that just does not hold counts 1/2, and minima keep their kinks. `repaired`:
// conditions change halfway between the whole numbers where they change, minima and maxima are
// log-sum-exp, and a division rounded up is at least 1; all of it by the symbol "tau"
// (temperature), so one tape serves a whole annealing. As tau goes to 0 a repaired formula becomes
// the exact one wherever divisions leave no rest. Conditions on shapes alone stay as they are.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "tensorsmith/felix/simplify.hpp"
#include "tensorsmith/felix/substitute.hpp"

namespace tensorsmith::felix {

enum class Smoothing : std::uint8_t { released, repaired };

inline FormulaId temperature(FormulaPool& pool) { return pool.symbol("tau"); }

class Smoother {
 public:
  /// `exponents`: symbols that are logarithms of sizes; the released form compares what is linear
  /// in them by its difference, all else by that of logarithms.
  Smoother(FormulaPool& pool, Smoothing form, std::vector<FormulaId> exponents = {})
      : pool_(pool), form_(form), exponents_(std::move(exponents)) {}

  std::vector<FormulaId> smooth(const std::vector<FormulaId>& roots) {
    std::vector<FormulaId> found;
    for (FormulaId root : roots) {
      found.push_back(smooth(root));
    }
    return found;
  }
  /// A number; that of a condition is between 0 and 1.
  FormulaId smooth(FormulaId id) {
    if (id.value >= known_.size()) {
      known_.resize(pool_.size());
    }
    if (!known_[id.value].valid()) {
      const FormulaId made = smooth_new(id);
      if (id.value >= known_.size()) {
        known_.resize(pool_.size());
      }
      known_[id.value] = made;
    }
    return known_[id.value];
  }

 private:
  FormulaId number(double value) { return pool_.number(value); }
  FormulaId make(Op op, FormulaId a, FormulaId b = {}, FormulaId c = {}) {
    return fold(pool_, op, a, b, c);
  }
  FormulaId negated(FormulaId a) { return make(Op::sub, number(1), a); }
  FormulaId half() { return number(0.5); }
  FormulaId by_tau(FormulaId a) { return make(Op::div, a, temperature(pool_)); }

  FormulaId smooth_new(FormulaId id) {
    const FormulaNode node = pool_[id];
    const FormulaId a{node.args[0]}, b{node.args[1]}, c{node.args[2]};
    switch (node.op) {
    case Op::number:
      return id;
    case Op::truth:
      return number(node.value);
    case Op::symbol:
      return pool_.is_condition(id) ? pool_.make(Op::select, id, number(1), number(0)) : id;
    case Op::lt:
      return less(a, b);
    case Op::gt:
      return less(b, a);
    case Op::ge:
      return negated(less(a, b));
    case Op::le:
      return negated(less(b, a));
    case Op::eq:
      return equal(a, b);
    case Op::ne:
      return negated(equal(a, b));
    case Op::and_:
      return make(Op::mul, smooth(a), smooth(b));
    case Op::or_:
      return negated(make(Op::mul, negated(smooth(a)), negated(smooth(b))));
    case Op::not_:
      return negated(smooth(a));
    case Op::select: {
      const FormulaId yes = smooth(b), no = smooth(c);
      if (facts(a).is_of_shapes) {
        return make(Op::select, a, yes, no);
      }
      return make(Op::add, make(Op::mul, smooth(a), make(Op::sub, yes, no)), no);
    }
    case Op::floordiv:
      return make(Op::div, smooth(a), smooth(b));
    case Op::mod:
      return number(0);
    case Op::add:
      if (form_ == Smoothing::repaired) {
        if (const RoundedUp quotient = rounded_up(pool_, id); quotient.a.valid()) {
          return make(Op::soft_max, make(Op::div, smooth(quotient.a), smooth(quotient.b)),
                      number(1), temperature(pool_));
        }
      }
      return make(Op::add, smooth(a), smooth(b));
    case Op::min:
    case Op::max:
      return form_ == Smoothing::repaired && is_positive(a) && is_positive(b)
                 ? make(node.op == Op::min ? Op::soft_min : Op::soft_max, smooth(a), smooth(b),
                        temperature(pool_))
                 : make(node.op, smooth(a), smooth(b));
    case Op::log:
      return logarithm(a);
    default:
      break;
    }
    FormulaId args[3];
    for (std::size_t i = 0; i < arity_of(node.op); ++i) {
      args[i] = smooth(FormulaId{node.args[i]});
    }
    return make(node.op, args[0], args[1], args[2]);
  }

  /// The released one has no slope below 1.
  FormulaId logarithm(FormulaId a) {
    const FormulaId inner = smooth(a);
    if (form_ == Smoothing::released) {
      return make(Op::log, make(Op::max, inner, number(1)));
    }
    return make(Op::log, is_positive(a) ? inner : make(Op::max, inner, number(1e-9)));
  }
  FormulaId less(FormulaId a, FormulaId b) {
    if (form_ == Smoothing::released) {
      return released_comparison(Op::lt, Op::sigmoid, a, b);
    }
    const bool are_whole = facts(a).is_whole && facts(b).is_whole;
    const FormulaId low = are_whole ? make(Op::add, smooth(a), half()) : smooth(a);
    if (is_positive(b) && (is_positive(a) || (are_whole && pool_.is_number(a, 0)))) {
      return make(Op::sigmoid, by_tau(make(Op::sub, make(Op::log, smooth(b)), make(Op::log, low))));
    }
    return make(Op::sigmoid, by_tau(make(Op::sub, smooth(b), low)));
  }
  FormulaId equal(FormulaId a, FormulaId b) {
    if (form_ == Smoothing::released) {
      return released_comparison(Op::eq, Op::hump, a, b);
    }
    if (facts(a).is_whole && facts(b).is_whole) {
      return make(Op::mul, negated(less(a, b)), negated(less(b, a)));
    }
    const bool by_logs = is_positive(a) && is_positive(b);
    return make(Op::hump,
                by_tau(by_logs ? make(Op::sub, make(Op::log, smooth(b)), make(Op::log, smooth(a)))
                               : make(Op::sub, smooth(b), smooth(a))));
  }
  /// Simplified as far as it goes; what is left is a difference of logarithms.
  FormulaId released_comparison(Op op, Op form, FormulaId a, FormulaId b) {
    if (is_linear(a) && is_linear(b)) {
      return make(form, make(Op::sub, smooth(b), smooth(a)));
    }
    SimplifyOptions options;
    options.is_approximate = true;
    options.rules = RuleSet::released;
    const FormulaId whole = pool_.make(op, a, b);
    const FormulaId simpler = simplify(pool_, whole, options).formula;
    if (pool_[simpler].op != op && simpler != whole) {
      return smooth(simpler);
    }
    const FormulaId x{pool_[simpler].args[0]}, y{pool_[simpler].args[1]};
    if (is_linear(x) && is_linear(y)) {
      return make(form, make(Op::sub, smooth(y), smooth(x)));
    }
    options.rounds = 20;
    options.nodes = 5000;
    const FormulaId logs = pool_.make(Op::sub, pool_.make(Op::log, y), pool_.make(Op::log, x));
    return make(form, smooth(simplify(pool_, logs, options).formula));
  }

  /// Sums and multiples of exponents.
  bool is_linear(FormulaId id) const {
    const FormulaNode& node = pool_[id];
    const FormulaId a{node.args[0]}, b{node.args[1]};
    switch (node.op) {
    case Op::number:
      return true;
    case Op::symbol:
      return has_item(exponents_, id);
    case Op::add:
    case Op::sub:
      return is_linear(a) && is_linear(b);
    case Op::mul:
      return (pool_[a].op == Op::number && is_linear(b)) ||
             (pool_[b].op == Op::number && is_linear(a));
    default:
      return false;
    }
  }
  const ValueFacts& facts(FormulaId id) {
    if (id.value >= facts_.size()) {
      facts_ = facts_of_values(pool_);
    }
    return facts_[id.value];
  }
  bool is_positive(FormulaId id) { return facts(id).is_positive; }

  FormulaPool& pool_;
  Smoothing form_;
  std::vector<FormulaId> exponents_;
  std::vector<FormulaId> known_;  // by formula
  std::vector<ValueFacts> facts_;
};

}  // namespace tensorsmith::felix
