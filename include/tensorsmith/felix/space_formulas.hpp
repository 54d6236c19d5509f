// SPDX-License-Identifier: Apache-2.0
// SpaceFormulas: the variables, expressions and constraints of a space as formulas, half-spaces and
// penalties.
//
// Floor 6.5. Lengths of splits are the variables of a search by slopes; all others keep the value
// of an assignment. A constraint that compares monomials of lengths is linear in their logarithms
// and becomes a half-space; any other comparison becomes a penalty, ln(left) - ln(right), which is
// at most 0 where the constraint holds. Constraints that say something else, as that one number
// divides another, are kept by rounding and tested there.
#pragma once

#include <optional>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "tensorsmith/felix/formula_numbers.hpp"
#include "tensorsmith/felix/log_polytope.hpp"
#include "tensorsmith/felix/monomial.hpp"
#include "tensorsmith/felix/tape.hpp"
#include "tensorsmith/space/constraint.hpp"

namespace tensorsmith::felix {

class SpaceFormulas {
 public:
  /// `fixed`: values of what is no length of a split.
  SpaceFormulas(FormulaPool& pool, const VariableSpace& space, const Assignment& fixed)
      : pool_(pool), n_(pool), space_(space) {
    for (std::uint32_t i = 0; i < space.size(); ++i) {
      const VariableId id{i};
      if (space.chain_of(id) != nullptr) {
        lengths_.push_back(id);
        symbols_.push_back(pool.symbol(space[id].name + ":k", SymbolKind::knob));
      } else {
        symbols_.push_back(n_.number(fixed[id]));
      }
    }
  }

  /// Of the lengths of splits, in the order of the tape's inputs and the polytope's coordinates.
  const std::vector<VariableId>& lengths() const { return lengths_; }
  FormulaId symbol(VariableId id) const { return symbols_[id.value]; }
  /// Inputs of a tape, as logarithms to base 2; the temperature, if wanted, is the last one.
  std::vector<TapeInput> inputs(bool with_temperature) {
    std::vector<TapeInput> inputs;
    for (const VariableId id : lengths_) {
      inputs.push_back({symbol(id), true});
    }
    if (with_temperature) {
      inputs.push_back({pool_.symbol("tau"), false});
    }
    return inputs;
  }

  /// Nothing if it has an operator that formulas lack.
  std::optional<FormulaId> formula_of(ExprId id) const {
    const ExprNode& node = space_.pool()[id];
    if (const IntImm* imm = std::get_if<IntImm>(&node.op)) {
      return node.dtype == DType::boolean ? n_.truth(imm->value != 0)
                                          : n_.number(static_cast<double>(imm->value));
    }
    if (const VarRef* ref = std::get_if<VarRef>(&node.op)) {
      return symbols_[ref->var.value];
    }
    if (const Cast* cast = std::get_if<Cast>(&node.op)) {
      return formula_of(cast->a);
    }
    if (const Unary* unary = std::get_if<Unary>(&node.op)) {
      const std::optional<FormulaId> a = formula_of(unary->a);
      if (!a || pool_.is_condition(*a) != (unary->op == UnaryOp::not_)) {
        return std::nullopt;
      }
      return unary->op == UnaryOp::not_  ? n_.negated(*a)
             : unary->op == UnaryOp::neg ? std::optional(n_.sub(n_.number(0), *a))
                                         : std::nullopt;
    }
    if (const Binary* binary = std::get_if<Binary>(&node.op)) {
      const std::optional<FormulaId> a = formula_of(binary->a), b = formula_of(binary->b);
      const std::optional<Op> op = op_of(binary->op);
      if (!a || !b || !op || pool_.is_condition(*a) != facts_of(*op).takes_conditions ||
          pool_.is_condition(*b) != facts_of(*op).takes_conditions) {
        return std::nullopt;
      }
      // By 0 a space divides in its own way.
      if ((*op == Op::floordiv || *op == Op::mod) &&
          !facts_of_values(pool_)[b->value].is_positive) {
        return std::nullopt;
      }
      return fold(pool_, *op, *a, *b);
    }
    if (const Select* select = std::get_if<Select>(&node.op)) {
      const std::optional<FormulaId> c = formula_of(select->condition),
                                     a = formula_of(select->if_true),
                                     b = formula_of(select->if_false);
      if (!c || !a || !b || !pool_.is_condition(*c)) {
        return std::nullopt;
      }
      return n_.select(*c, *a, *b);
    }
    return std::nullopt;
  }

  struct Limits {
    LogPolytope polytope;
    std::vector<FormulaId> penalties;   ///< broken where above 0
    std::vector<std::string> left_out;  ///< sentences of constraints that neither is
    bool is_possible = true;            ///< false: a constraint holds nowhere
  };
  Limits limits() const {
    Limits made{LogPolytope(lengths_.size()), {}, {}, true};
    for (const LengthChain& chain : space_.chains()) {
      std::vector<double> slopes(lengths_.size(), 0);
      for (const VariableId id : chain.lengths) {
        slopes[place_of(id)] = 1;
      }
      std::int64_t longest = 1;
      for (const std::int64_t root : chain.roots) {
        longest = larger_of(longest, root);
      }
      made.polytope.require(std::move(slopes), math::log2(static_cast<double>(longest)));
    }
    for (const VariableId id : lengths_) {
      const Domain& domain = space_[id].domain;
      if (!domain.is_open()) {
        std::vector<double> slopes(lengths_.size(), 0);
        slopes[place_of(id)] = 1;
        made.polytope.require(slopes, math::log2(domain.values().back()));
        slopes[place_of(id)] = -1;
        made.polytope.require(slopes, -math::log2(domain.values().front()));
      }
    }
    for (const SpaceConstraint& constraint : space_.constraints()) {
      const std::optional<FormulaId> formula = constraint.kind == ConstraintKind::preference
                                                   ? std::nullopt
                                                   : formula_of(constraint.condition);
      if (!formula || !add(*formula, made)) {
        made.left_out.push_back(constraint.sentence);
      }
    }
    return made;
  }

 private:
  static std::optional<Op> op_of(BinaryOp op) {
    switch (op) {
    case BinaryOp::add:
      return Op::add;
    case BinaryOp::sub:
      return Op::sub;
    case BinaryOp::mul:
      return Op::mul;
    case BinaryOp::floordiv:
      return Op::floordiv;
    case BinaryOp::floormod:
      return Op::mod;
    case BinaryOp::min:
      return Op::min;
    case BinaryOp::max:
      return Op::max;
    case BinaryOp::eq:
      return Op::eq;
    case BinaryOp::ne:
      return Op::ne;
    case BinaryOp::lt:
      return Op::lt;
    case BinaryOp::le:
      return Op::le;
    case BinaryOp::gt:
      return Op::gt;
    case BinaryOp::ge:
      return Op::ge;
    case BinaryOp::and_:
      return Op::and_;
    case BinaryOp::or_:
      return Op::or_;
    default:
      return std::nullopt;
    }
  }
  std::size_t place_of(VariableId id) const {
    std::size_t at = 0;
    while (lengths_[at] != id) {
      ++at;
    }
    return at;
  }

  /// False if it is no comparison of numbers above 0, nor several of them that all hold.
  bool add(FormulaId condition, Limits& made) const {
    const FormulaNode node = pool_[condition];
    const FormulaId a{node.args[0]}, b{node.args[1]};
    switch (node.op) {
    case Op::truth:
      made.is_possible = made.is_possible && node.value != 0;
      return true;
    case Op::and_: {
      const bool first = add(a, made);
      return add(b, made) && first;
    }
    case Op::le:
    case Op::lt:
      return add_at_most(a, b, made);
    case Op::ge:
    case Op::gt:
      return add_at_most(b, a, made);
    default:
      return false;
    }
  }
  bool add_at_most(FormulaId low, FormulaId high, Limits& made) const {
    std::vector<FormulaId> symbols;
    for (const VariableId id : lengths_) {
      symbols.push_back(symbol(id));
    }
    const std::optional<LogMonomial> a = log_monomial(pool_, low, symbols),
                                     b = log_monomial(pool_, high, symbols);
    if (a && b) {
      std::vector<double> slopes(lengths_.size());
      for (std::size_t i = 0; i < slopes.size(); ++i) {
        slopes[i] = a->exponents[i] - b->exponents[i];
      }
      made.polytope.require(std::move(slopes), b->log2_factor - a->log2_factor);
      return true;
    }
    const std::vector<ValueFacts> facts = facts_of_values(pool_);
    if (!facts[low.value].is_positive || !facts[high.value].is_positive) {
      return false;
    }
    made.penalties.push_back(n_.sub(n_.log(low), n_.log(high)));
    return true;
  }

  FormulaPool& pool_;
  FormulaNumbers n_;
  const VariableSpace& space_;
  std::vector<VariableId> lengths_;
  std::vector<FormulaId> symbols_;  // by variable
};

}  // namespace tensorsmith::felix
