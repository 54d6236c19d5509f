// SPDX-License-Identifier: Apache-2.0
// Formula: expressions over the sizes of a schedule, as one typed graph without duplicates.
//
// Floor 6.5. Felix (Zhao et al., ASPLOS 2024) writes features and limits of a schedule as formulas
// over its sizes; operators are those of its simplifier. A value is a number or a condition. Exact
// evaluation is here and is the oracle of all that rewrites formulas; text is formula_text.hpp.
// Numbers are 64-bit reals: whole numbers are exact up to 2^53.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "tensorsmith/felix/node_table.hpp"
#include "tensorsmith/support/assert.hpp"
#include "tensorsmith/support/hash_map.hpp"
#include "tensorsmith/support/id.hpp"
#include "tensorsmith/support/math.hpp"

namespace tensorsmith::felix {

enum class Op : std::uint8_t {
  number,
  truth,  ///< true or false
  symbol,
  add,
  sub,
  mul,
  div,
  floordiv,
  mod,  ///< of floordiv: 0 <= a mod b < b for b > 0
  min,
  max,
  pow,
  log,
  logk,  ///< logk(base, a)
  exp,
  eq,
  ne,
  lt,
  le,
  gt,
  ge,
  and_,
  or_,
  not_,
  select,
  sigmoid,   ///< 1/2 + x / (2 sqrt(1 + x^2))
  hump,      ///< 1 / sqrt(1 + x^2)
  soft_min,  ///< (a^(-1/t) + b^(-1/t))^(-t) of a, b, t > 0
  soft_max,  ///< (a^(1/t) + b^(1/t))^t of a, b, t > 0
};
inline constexpr std::size_t num_ops = static_cast<std::size_t>(Op::soft_max) + 1;

struct OpFacts {
  std::string_view text;
  std::uint8_t arity;
  bool is_condition;      ///< what it gives
  bool takes_conditions;  ///< of select, the first one only
};
namespace detail {
inline constexpr OpFacts op_facts[num_ops] = {
    {"", 0, false, false},         {"", 0, true, false},          {"", 0, false, false},
    {"+", 2, false, false},        {"-", 2, false, false},        {"*", 2, false, false},
    {"/", 2, false, false},        {"//", 2, false, false},       {"mod", 2, false, false},
    {"min", 2, false, false},      {"max", 2, false, false},      {"pow", 2, false, false},
    {"log", 1, false, false},      {"logk", 2, false, false},     {"exp", 1, false, false},
    {"==", 2, true, false},        {"!=", 2, true, false},        {"<", 2, true, false},
    {"<=", 2, true, false},        {">", 2, true, false},         {">=", 2, true, false},
    {"&&", 2, true, true},         {"||", 2, true, true},         {"!", 1, true, true},
    {"select", 3, false, false},   {"sigmoid", 1, false, false},  {"hump", 1, false, false},
    {"soft_min", 3, false, false}, {"soft_max", 3, false, false},
};
}  // namespace detail
constexpr const OpFacts& facts_of(Op op) { return detail::op_facts[static_cast<std::size_t>(op)]; }
constexpr std::size_t arity_of(Op op) { return facts_of(op).arity; }

using FormulaId = Id<struct FormulaTag>;

/// What a symbol stands for; the suffix of its name in text.
enum class SymbolKind : std::uint8_t { plain, shape, knob, shorthand, boolean };

struct FormulaNode {
  Op op = Op::number;
  std::uint32_t args[3] = {0, 0, 0};  ///< of a symbol, its number in args[0]
  double value = 0;                   ///< of number and truth
};

/// The value of an operator; conditions are 1 and 0. Where mathematics has none, that of reals.
inline double value_of(Op op, double a, double b = 0, double c = 0) {
  switch (op) {
  case Op::add:
    return a + b;
  case Op::sub:
    return a - b;
  case Op::mul:
    return a * b;
  case Op::div:
    return a / b;
  case Op::floordiv:
  case Op::mod: {
    double rest = math::fmod(a, b);  // exact
    if (rest != 0 && (rest < 0) != (b < 0)) {
      rest += b;
    }
    return op == Op::mod ? rest : math::nearbyint((a - rest) / b);
  }
  case Op::min:
    return b < a ? b : a;
  case Op::max:
    return a < b ? b : a;
  case Op::pow:
    return math::pow(a, b);
  case Op::log:
    return math::log(a);
  case Op::logk:
    return math::log(b) / math::log(a);
  case Op::exp:
    return math::exp(a);
  case Op::eq:
    return a == b ? 1 : 0;
  case Op::ne:
    return a != b ? 1 : 0;
  case Op::lt:
    return a < b ? 1 : 0;
  case Op::le:
    return a <= b ? 1 : 0;
  case Op::gt:
    return a > b ? 1 : 0;
  case Op::ge:
    return a >= b ? 1 : 0;
  case Op::and_:
    return a != 0 && b != 0 ? 1 : 0;
  case Op::or_:
    return a != 0 || b != 0 ? 1 : 0;
  case Op::not_:
    return a != 0 ? 0 : 1;
  case Op::select:
    return a != 0 ? b : c;
  case Op::sigmoid:
    return 0.5 + a / (2 * math::sqrt(1 + a * a));
  case Op::hump:
    return 1 / math::sqrt(1 + a * a);
  case Op::soft_min:
  case Op::soft_max: {
    // The larger power is taken out, so that no temperature makes it overflow.
    const double low = b < a ? b : a, high = b < a ? a : b;
    const double sum = 1 + math::pow(low / high, 1 / c);
    return op == Op::soft_min ? low * math::pow(sum, -c) : high * math::pow(sum, c);
  }
  default:
    break;
  }
  TENSORSMITH_ASSERT(false, "an operand has no operands");
  return 0;
}

class FormulaPool {
 public:
  FormulaId number(double value) { return add({Op::number, {0, 0, 0}, value + 0.0}); }
  FormulaId truth(bool value) { return add({Op::truth, {0, 0, 0}, value ? 1.0 : 0.0}); }
  /// The symbol of this name, made where there is none.
  FormulaId symbol(const std::string& name, SymbolKind kind = SymbolKind::plain) {
    const std::uint32_t* known = symbol_numbers_.find(name);
    if (known == nullptr) {
      const std::uint32_t made = static_cast<std::uint32_t>(symbols_.size());
      symbols_.push_back({name, kind});
      symbol_numbers_.set(name, made);
      return add({Op::symbol, {made, 0, 0}, 0});
    }
    TENSORSMITH_ASSERT(symbols_[*known].kind == kind, "one name of two kinds of symbols");
    return add({Op::symbol, {*known, 0, 0}, 0});
  }
  FormulaId make(Op op, FormulaId a, FormulaId b = {}, FormulaId c = {}) {
    const FormulaId args[3] = {a, b, c};
    FormulaNode node{op, {0, 0, 0}, 0};
    for (std::size_t i = 0; i < arity_of(op); ++i) {
      TENSORSMITH_ASSERT(args[i].value < nodes_.size(), "an operand is missing");
      TENSORSMITH_ASSERT(op == Op::select && i > 0
                             ? is_condition(args[1]) == is_condition(args[i])
                             : is_condition(args[i]) ==
                                   (facts_of(op).takes_conditions || op == Op::select),
                         "a number where a condition belongs, or the reverse");
      node.args[i] = args[i].value;
    }
    return add(node);
  }

  std::size_t size() const { return nodes_.size(); }
  const FormulaNode& operator[](FormulaId id) const { return nodes_[id.value]; }
  bool is_condition(FormulaId id) const {
    const FormulaNode& node = (*this)[id];
    return node.op == Op::symbol   ? symbols_[node.args[0]].kind == SymbolKind::boolean
           : node.op == Op::select ? is_condition(FormulaId{node.args[1]})
                                   : facts_of(node.op).is_condition;
  }
  bool is_number(FormulaId id, double value) const {
    return (*this)[id].op == Op::number && (*this)[id].value == value;
  }
  std::size_t num_symbols() const { return symbols_.size(); }
  const std::string& name_of_symbol(std::uint32_t number) const { return symbols_[number].name; }
  SymbolKind kind_of_symbol(std::uint32_t number) const { return symbols_[number].kind; }

 private:
  struct Symbol {
    std::string name;
    SymbolKind kind;
  };
  FormulaId add(const FormulaNode& node) {
    return FormulaId{table_.intern(hash_of(node), nodes_, node, same_node)};
  }
  static bool same_node(const FormulaNode& a, const FormulaNode& b) {
    return a.op == b.op && a.args[0] == b.args[0] && a.args[1] == b.args[1] &&
           a.args[2] == b.args[2] && a.value == b.value;
  }
  static std::uint64_t hash_of(const FormulaNode& node) {
    return hash_of_parts(static_cast<std::uint64_t>(node.op), node.args, node.value);
  }

  std::vector<FormulaNode> nodes_;  // operands in front of what uses them
  std::vector<Symbol> symbols_;
  HashMap<std::string, std::uint32_t> symbol_numbers_;
  NodeTable table_;
};

/// Marks what `roots` are made of.
inline std::vector<bool> used_by(const FormulaPool& pool, const std::vector<FormulaId>& roots) {
  std::vector<bool> used(pool.size(), false);
  for (FormulaId root : roots) {
    used[root.value] = true;
  }
  for (std::size_t i = pool.size(); i-- > 0;) {
    const FormulaNode& node = pool[FormulaId{static_cast<std::uint32_t>(i)}];
    for (std::size_t k = 0; used[i] && k < arity_of(node.op); ++k) {
      used[node.args[k]] = true;
    }
  }
  return used;
}

/// Exact values; `symbols` by number of the symbol.
inline std::vector<double> evaluate(const FormulaPool& pool, const std::vector<FormulaId>& roots,
                                    const std::vector<double>& symbols) {
  const std::vector<bool> used = used_by(pool, roots);
  std::vector<double> values(pool.size(), 0);
  for (std::uint32_t i = 0; i < pool.size(); ++i) {
    const FormulaNode& node = pool[FormulaId{i}];
    if (used[i]) {
      values[i] = node.op == Op::symbol    ? symbols[node.args[0]]
                  : arity_of(node.op) == 0 ? node.value
                                           : value_of(node.op, values[node.args[0]],
                                                      values[node.args[1]], values[node.args[2]]);
    }
  }
  std::vector<double> found;
  for (FormulaId root : roots) {
    found.push_back(values[root.value]);
  }
  return found;
}
inline double evaluate(const FormulaPool& pool, FormulaId root,
                       const std::vector<double>& symbols) {
  return evaluate(pool, std::vector<FormulaId>{root}, symbols).front();
}

}  // namespace tensorsmith::felix
