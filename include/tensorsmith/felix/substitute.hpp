// SPDX-License-Identifier: Apache-2.0
// Formulas with other formulas in the place of symbols; what is known of their values.
//
// Floor 6.5. Constants are folded on the way, and neutral operands left out: a formula of which the
// sizes are given shrinks to what depends on the rest. Symbols are sizes, whole and at least 1.
#pragma once

#include <utility>
#include <vector>

#include "tensorsmith/felix/formula.hpp"

namespace tensorsmith::felix {

namespace detail {
inline bool is_leaf_value(const FormulaNode& node) {
  return node.op == Op::number || node.op == Op::truth;
}
}  // namespace detail

/// The operator on these operands, folded where they are numbers or neutral.
inline FormulaId fold(FormulaPool& pool, Op op, FormulaId a, FormulaId b = {}, FormulaId c = {}) {
  const FormulaId args[3] = {a, b, c};
  bool all_known = true;
  double values[3] = {0, 0, 0};
  for (std::size_t i = 0; i < arity_of(op); ++i) {
    all_known = all_known && detail::is_leaf_value(pool[args[i]]);
    values[i] = pool[args[i]].value;
  }
  if (all_known) {
    const double value = value_of(op, values[0], values[1], values[2]);
    if (value - value == 0) {
      const bool is_truth = op == Op::select ? pool[b].op == Op::truth : facts_of(op).is_condition;
      return is_truth ? pool.truth(value != 0) : pool.number(value);
    }
  }
  const auto is = [&](FormulaId id, double value) { return pool.is_number(id, value); };
  const auto is_truth = [&](FormulaId id, bool value) {
    return pool[id].op == Op::truth && (pool[id].value != 0) == value;
  };
  switch (op) {
  case Op::add:
    if (is(a, 0) || is(b, 0)) {
      return is(a, 0) ? b : a;
    }
    break;
  case Op::sub:
    if (is(b, 0)) {
      return a;
    }
    break;
  case Op::mul:
    if (is(a, 0) || is(b, 0)) {
      return pool.number(0);
    }
    if (is(a, 1) || is(b, 1)) {
      return is(a, 1) ? b : a;
    }
    break;
  case Op::div:
  case Op::pow:
    if (is(b, 1)) {
      return a;
    }
    if (op == Op::div && is(a, 0)) {
      return a;
    }
    break;
  case Op::floordiv:
  case Op::mod:
    if (is(a, 0)) {
      return a;
    }
    break;
  case Op::min:
  case Op::max:
    if (a == b) {
      return a;
    }
    break;
  case Op::and_:
  case Op::or_: {
    const bool neutral = op == Op::and_;
    if (is_truth(a, neutral) || is_truth(b, !neutral)) {
      return b;
    }
    if (is_truth(b, neutral) || is_truth(a, !neutral)) {
      return a;
    }
    break;
  }
  case Op::select:
    if (detail::is_leaf_value(pool[a])) {
      return pool[a].value != 0 ? b : c;
    }
    if (b == c) {
      return b;
    }
    break;
  default:
    break;
  }
  return pool.make(op, a, b, c);
}

/// `replaced`: symbol and what stands for it, each at most once.
inline std::vector<FormulaId>
substitute(FormulaPool& pool, const std::vector<FormulaId>& roots,
           const std::vector<std::pair<FormulaId, FormulaId>>& replaced) {
  const std::size_t size = pool.size();
  const std::vector<bool> used = used_by(pool, roots);
  std::vector<FormulaId> now(size);
  for (const auto& [symbol, formula] : replaced) {
    now[symbol.value] = formula;
  }
  for (std::uint32_t i = 0; i < size; ++i) {
    const FormulaNode node = pool[FormulaId{i}];
    if (!used[i] || now[i].valid()) {
      continue;
    }
    now[i] = FormulaId{i};
    if (arity_of(node.op) > 0) {
      FormulaId args[3];
      for (std::size_t k = 0; k < arity_of(node.op); ++k) {
        args[k] = now[node.args[k]];
      }
      now[i] = fold(pool, node.op, args[0], args[1], args[2]);
    }
  }
  std::vector<FormulaId> found;
  for (FormulaId root : roots) {
    found.push_back(now[root.value]);
  }
  return found;
}
inline FormulaId substitute(FormulaPool& pool, FormulaId root,
                            const std::vector<std::pair<FormulaId, FormulaId>>& replaced) {
  return substitute(pool, std::vector<FormulaId>{root}, replaced).front();
}

/// a and b of ceil(a / b) = (a - 1) // b + 1; not valid if it is something else.
struct RoundedUp {
  FormulaId a, b;
};
inline RoundedUp rounded_up(const FormulaPool& pool, FormulaId id) {
  const FormulaNode& sum = pool[id];
  for (std::size_t i = 0; sum.op == Op::add && i < 2; ++i) {
    const FormulaNode& quotient = pool[FormulaId{sum.args[i]}];
    if (quotient.op == Op::floordiv && pool.is_number(FormulaId{sum.args[1 - i]}, 1)) {
      const FormulaNode& less = pool[FormulaId{quotient.args[0]}];
      const FormulaId x{less.args[0]}, y{less.args[1]}, b{quotient.args[1]};
      if ((less.op == Op::sub && pool.is_number(y, 1)) ||
          (less.op == Op::add && pool.is_number(y, -1))) {
        return {x, b};
      }
      if (less.op == Op::add && pool.is_number(x, -1)) {
        return {y, b};
      }
    }
  }
  return {};
}

/// What is known of a number whose symbols are sizes.
struct ValueFacts {
  bool is_whole = false, is_positive = false, is_not_negative = false;
  bool is_of_shapes = false;  ///< no other symbol is in it
};
/// Of all formulas of the pool.
inline std::vector<ValueFacts> facts_of_values(const FormulaPool& pool) {
  std::vector<ValueFacts> facts(pool.size());
  for (std::uint32_t i = 0; i < pool.size(); ++i) {
    const FormulaNode& node = pool[FormulaId{i}];
    ValueFacts all{true, true, true, true};
    bool any_positive = false;
    for (std::size_t k = 0; k < arity_of(node.op); ++k) {
      const ValueFacts& operand = facts[node.args[k]];
      const bool is_asked = node.op == Op::select && k == 0;
      all.is_whole = all.is_whole && (is_asked || operand.is_whole);
      all.is_positive = all.is_positive && (is_asked || operand.is_positive);
      all.is_not_negative = all.is_not_negative && (is_asked || operand.is_not_negative);
      any_positive = any_positive || (!is_asked && operand.is_positive);
      all.is_of_shapes = all.is_of_shapes && operand.is_of_shapes;
    }
    facts[i].is_of_shapes = all.is_of_shapes;
    ValueFacts& fact = facts[i];
    switch (node.op) {
    case Op::number:
      fact.is_whole = node.value == math::floor(node.value);
      fact.is_positive = node.value > 0;
      fact.is_not_negative = node.value >= 0;
      break;
    case Op::symbol:
      fact = all;
      fact.is_of_shapes = pool.kind_of_symbol(node.args[0]) == SymbolKind::shape;
      break;
    case Op::add: {
      const RoundedUp quotient = rounded_up(pool, FormulaId{i});
      fact = all;
      fact.is_positive =
          fact.is_positive || (all.is_not_negative && any_positive) ||
          (quotient.a.valid() && all.is_whole && facts[quotient.a.value].is_positive &&
           facts[quotient.b.value].is_positive);
      break;
    }
    case Op::max:
      fact = all;
      fact.is_positive = any_positive;
      fact.is_not_negative = all.is_not_negative || any_positive;
      break;
    case Op::mul:
    case Op::min:
    case Op::select:
      fact = all;
      break;
    case Op::sub:
      fact.is_whole = all.is_whole;
      break;
    case Op::floordiv:
    case Op::mod:
      fact.is_whole = all.is_whole;
      fact.is_not_negative = all.is_not_negative;
      break;
    case Op::div:
    case Op::soft_min:
    case Op::soft_max:
      fact.is_positive = all.is_positive;
      fact.is_not_negative = all.is_not_negative;
      break;
    case Op::pow:
      fact.is_positive = facts[node.args[0]].is_positive;
      break;
    case Op::exp:
    case Op::hump:
    case Op::sigmoid:
      fact.is_positive = true;
      break;
    default:
      break;
    }
    fact.is_not_negative = fact.is_not_negative || fact.is_positive;
  }
  return facts;
}

}  // namespace tensorsmith::felix
