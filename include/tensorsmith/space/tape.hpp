// SPDX-License-Identifier: Apache-2.0
// Tape: expressions over variables as one flat list of instructions.
//
// Floor 6. Own design. Made once, run many times: forward on numbers, which is exact, and forward
// and backward on intervals, which narrows what the variables may be if every root is true (HC4 of
// interval constraint programming: Benhamou et al. 1999). Arithmetic is that of indices in 64 bits
// and stays at the ends of the range instead of leaving it; x floordiv 0 is 0 and x floormod 0 is
// x, so that every expression has a value. Expressions read no memory and have no reals.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <variant>
#include <vector>

#include "tensorsmith/ir/interval.hpp"
#include "tensorsmith/space/constraint.hpp"
#include "tensorsmith/space/narrow.hpp"

namespace tensorsmith {

class Tape {
 public:
  Tape() = default;
  /// Of the roots in this order: instructions that several need stand where the first needs them.
  Tape(const ExprPool& pool, const std::vector<ExprId>& roots) {
    std::vector<std::uint32_t> known(pool.num_exprs(), none);
    for (ExprId root : roots) {
      roots_.push_back({add(pool, root, known), 0});
      roots_.back().end = static_cast<std::uint32_t>(code_.size());
    }
  }

  std::size_t num_roots() const { return roots_.size(); }
  std::size_t size() const { return code_.size(); }

  // By instruction, for those who run them in an order of their own; operands stand in front.
  /// The instruction whose value is that of root `at`.
  std::uint32_t result_of(std::size_t at) const { return roots_[at].result; }
  /// The variable that it reads, if that is what it does.
  std::optional<VariableId> variable_at(std::size_t at) const {
    return code_[at].kind == Kind::variable ? std::optional(VariableId{code_[at].a}) : std::nullopt;
  }
  template <class Visit>
  void for_each_operand(std::size_t at, const Visit& visit) const {
    const Instruction& code = code_[at];
    if (code.kind != Kind::constant && code.kind != Kind::variable) {
      visit(code.a);
    }
    if (code.kind == Kind::binary || code.kind == Kind::select) {
      visit(code.b);
    }
    if (code.kind == Kind::select) {
      visit(code.c);
    }
  }
  std::int64_t value_at(std::size_t at, const std::int32_t* values,
                        const std::int64_t* registers) const {
    return value_of(code_[at], values, registers);
  }
  /// Of one that reads no variable, given those of its operands.
  Interval interval_at(std::size_t at, const std::vector<Interval>& operands) const {
    return interval_at(code_[at], {}, operands);
  }

  /// Runs what root `at` adds to the roots in front of it, which were run; `registers` has size()
  /// places.
  std::int64_t run(std::size_t at, const std::int32_t* values, std::int64_t* registers) const {
    for (std::uint32_t i = at == 0 ? 0 : roots_[at - 1].end; i < roots_[at].end; ++i) {
      registers[i] = value_of(code_[i], values, registers);
    }
    return registers[roots_[at].result];
  }
  /// Of one root alone, whatever stands in front of it.
  std::int64_t evaluate(std::size_t at, const std::int32_t* values) const {
    std::vector<std::int64_t> registers(code_.size());
    std::int64_t result = 0;
    for (std::size_t i = 0; i <= at; ++i) {
      result = run(i, values, registers.data());
    }
    return result;
  }

  /// Narrows what the variables may be, given that every root is true; false if one cannot be.
  bool narrow(std::vector<Interval>& variables) const {
    std::vector<Interval> at(code_.size());
    for (std::size_t i = 0; i < code_.size(); ++i) {
      at[i] = interval_at(code_[i], variables, at);
    }
    for (const Root& root : roots_) {
      if (!meet(at[root.result], {1, 1})) {
        return false;
      }
    }
    for (std::size_t i = code_.size(); i-- > 0;) {
      const Instruction& code = code_[i];
      if (code.kind == Kind::variable) {
        if (!meet(variables[code.a], at[i])) {
          return false;
        }
      } else if (!narrow_operands(code, at[i], at)) {
        return false;
      }
    }
    return true;
  }

  /// Bounds of every root.
  std::vector<Interval> bounds(const std::vector<Interval>& variables) const {
    std::vector<Interval> at(code_.size());
    for (std::size_t i = 0; i < code_.size(); ++i) {
      at[i] = interval_at(code_[i], variables, at);
    }
    std::vector<Interval> found;
    for (const Root& root : roots_) {
      found.push_back(at[root.result]);
    }
    return found;
  }

 private:
  enum class Kind : std::uint8_t { constant, variable, binary, negate, invert, select, absolute };
  struct Instruction {
    Kind kind = Kind::constant;
    BinaryOp op = BinaryOp::add;
    std::uint32_t a = 0, b = 0, c = 0;  ///< registers; of a variable, its number
    std::int64_t value = 0;
  };
  struct Root {
    std::uint32_t result, end;
  };
  static constexpr std::uint32_t none = UINT32_MAX;

  std::uint32_t add(const ExprPool& pool, ExprId id, std::vector<std::uint32_t>& known) {
    if (known[id.value] != none) {
      return known[id.value];
    }
    Instruction code;
    const ExprNode& node = pool[id];
    if (const IntImm* imm = std::get_if<IntImm>(&node.op)) {
      code.value = imm->value;
    } else if (const VarRef* ref = std::get_if<VarRef>(&node.op)) {
      code.kind = Kind::variable;
      code.a = ref->var.value;
    } else if (const Unary* unary = std::get_if<Unary>(&node.op)) {
      code.kind = unary->op == UnaryOp::neg ? Kind::negate : Kind::invert;
      code.a = add(pool, unary->a, known);
    } else if (const Binary* binary = std::get_if<Binary>(&node.op)) {
      code.kind = Kind::binary;
      code.op = binary->op;
      code.a = add(pool, binary->a, known);
      code.b = add(pool, binary->b, known);
    } else if (const Select* select = std::get_if<Select>(&node.op)) {
      code.kind = Kind::select;
      code.a = add(pool, select->condition, known);
      code.b = add(pool, select->if_true, known);
      code.c = add(pool, select->if_false, known);
    } else if (const Cast* cast = std::get_if<Cast>(&node.op)) {
      TENSORSMITH_ASSERT(is_index_type(node.dtype), "a cast of a decision to a narrow type");
      return known[id.value] = add(pool, cast->a, known);
    } else {
      const Call* call = std::get_if<Call>(&node.op);
      TENSORSMITH_ASSERT(call != nullptr &&
                             (call->op == CallOp::if_then_else || call->op == CallOp::abs),
                         "a constraint that reads memory or has reals");
      code.kind = call->op == CallOp::abs ? Kind::absolute : Kind::select;
      code.a = add(pool, call->args[0], known);
      if (code.kind == Kind::select) {
        code.b = add(pool, call->args[1], known);
        code.c = add(pool, call->args[2], known);
      }
    }
    code_.push_back(code);
    return known[id.value] = static_cast<std::uint32_t>(code_.size()) - 1;
  }

  static std::int64_t value_of(const Instruction& code, const std::int32_t* values,
                               const std::int64_t* at) {
    switch (code.kind) {
    case Kind::constant:
      return code.value;
    case Kind::variable:
      return values[code.a];
    case Kind::negate:
      return at[code.a] == INT64_MIN ? INT64_MAX : -at[code.a];
    case Kind::invert:
      return at[code.a] == 0 ? 1 : 0;
    case Kind::absolute:
      return at[code.a] == INT64_MIN ? INT64_MAX : at[code.a] < 0 ? -at[code.a] : at[code.a];
    case Kind::select:
      return at[code.a] != 0 ? at[code.b] : at[code.c];
    case Kind::binary:
      break;
    }
    return detail::saturated(code.op, at[code.a], at[code.b]);
  }

  static Interval interval_at(const Instruction& code, const std::vector<Interval>& variables,
                              const std::vector<Interval>& at) {
    switch (code.kind) {
    case Kind::constant:
      return {code.value, code.value};
    case Kind::variable:
      return variables[code.a];
    case Kind::negate:
      return Interval{0, 0} - at[code.a];
    case Kind::invert:
      return !at[code.a].contains(0) ? Interval{0, 0}
             : at[code.a].is_point() ? Interval{1, 1}
                                     : Interval{0, 1};
    case Kind::absolute:
      return detail::absolute_of(at[code.a]);
    case Kind::select:
      return at[code.a].is_point()     ? at[at[code.a].min != 0 ? code.b : code.c]
             : !at[code.a].contains(0) ? at[code.b]
                                       : detail::hull(at[code.b], at[code.c]);
    case Kind::binary:
      break;
    }
    return detail::total_interval(code.op, at[code.a], at[code.b]);
  }

  static bool narrow_operands(const Instruction& code, const Interval& result,
                              std::vector<Interval>& at) {
    switch (code.kind) {
    case Kind::negate:
      return meet(at[code.a], Interval{0, 0} - result);
    case Kind::invert:
      return !result.is_point() ||
             (result.min == 1 ? meet(at[code.a], {0, 0}) : detail::without_zero(at[code.a]));
    case Kind::select:
      if (at[code.a].is_point() || !at[code.a].contains(0)) {
        return meet(at[at[code.a].contains(0) ? code.c : code.b], result);
      }
      if (!detail::overlap(at[code.b], result)) {
        return meet(at[code.a], {0, 0}) && meet(at[code.c], result);
      }
      return detail::overlap(at[code.c], result) || detail::without_zero(at[code.a]);
    case Kind::binary:
      return detail::narrow_binary(code.op, result, at[code.a], at[code.b]);
    default:
      return true;
    }
  }

  static bool meet(Interval& a, const Interval& b) { return detail::meet(a, b); }

  std::vector<Instruction> code_;
  std::vector<Root> roots_;
};

}  // namespace tensorsmith
