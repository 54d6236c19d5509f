// SPDX-License-Identifier: Apache-2.0
// NotationFormula: a parsed formula becomes an expression of a te::Program (te/notation.hpp).
//
// Floor 2. Own design. Nothing is folded but what two literals make, so that a text that was
// written gives the expression that it was written from.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "tensorsmith/support/callback.hpp"
#include "tensorsmith/te/functions.hpp"
#include "tensorsmith/te/notation_parser.hpp"
#include "tensorsmith/te/program.hpp"

namespace tensorsmith::te::detail {

class NotationFormula {
 public:
  using Names = std::vector<std::pair<std::string, Expr>>;

  /// `element(node id, indices)` makes the read of a tensor; `exists(node id)`: there is such an
  /// element wherever the formula is computed.
  NotationFormula(std::string_view text, const NotationProgram& parsed, Program& program,
                  const Callback<Expr(std::uint32_t, std::vector<Expr>)>& element,
                  const Callback<bool(std::uint32_t)>& exists)
      : text_(text), parsed_(parsed), program_(program), element_(element), exists_(exists) {}

  Expr operator()(std::uint32_t id, const Names& names) const {
    const NotationNode& n = parsed_.nodes[id];
    std::vector<Expr> operands;
    for (std::uint32_t operand : n.operands) {
      operands.push_back((*this)(operand, names));
    }
    switch (n.kind) {
    case NotationKind::integer:
      if (n.is_beyond) {
        failed(n.at, "an integer below 2^63");
      }
      return Expr(n.integer);
    case NotationKind::real:
      return Expr(n.real);
    case NotationKind::name:
      return named(n, names);
    case NotationKind::element:
      return element_(id, std::move(operands));
    case NotationKind::call:
      return call_of(n, operands);
    case NotationKind::prefix:
      return n.name == "!"              ? !operands[0]
             : operands[0].is_literal() ? folded(BinaryOp::sub, Expr(0), operands[0])
                                        : -operands[0];
    case NotationKind::infix:
      return infix(n, operands[0], operands[1]);
    case NotationKind::conditional:
      return all_exist(n.operands[1]) && all_exist(n.operands[2])
                 ? te::select(operands[0], operands[1], operands[2])
                 : te::if_then_else(operands[0], operands[1], operands[2]);
    }
    return Expr(0);
  }

 private:
  [[noreturn]] void failed(std::size_t at, const std::string& expected) const {
    NotationCursor::failed_at(text_, at, expected);
  }
  /// Whether whatever is read below node `id` exists, so that it may be read in any case.
  bool all_exist(std::uint32_t id) const {
    const NotationNode& n = parsed_.nodes[id];
    for (std::uint32_t operand : n.operands) {
      if (!all_exist(operand)) {
        return false;
      }
    }
    return n.kind != NotationKind::element || exists_(id);
  }
  Expr named(const NotationNode& n, const Names& names) const {
    for (const auto& [name, value] : names) {
      if (name == n.name) {
        return value;
      }
    }
    if (n.name == "inf") {
      return Expr(math::infinity);
    }
    if (n.name == "nan") {
      return Expr(math::infinity - math::infinity);
    }
    failed(n.at, "an index of this statement");
  }

  Expr infix(const NotationNode& n, const Expr& a, const Expr& b) const {
    for (BinaryOp op : all_binary_ops) {
      const OperatorText text = text_of_operator(op);
      if (text.is_infix && text.text == n.name) {
        return binary_of(op, a, b);
      }
    }
    failed(n.at, "an operator");
  }
  Expr binary_of(BinaryOp op, Expr a, Expr b) const {
    if (a.is_literal() && b.is_literal()) {
      return folded(op, a, b);
    }
    unify("operator " + std::string(text_of_operator(op).text), a, b);
    (void)binary(op, a, b);  // checks the types
    return Expr(a.program(), a.program()->pool.binary(op, a.id(), b.id()));
  }
  /// Of two literals: a literal.
  Expr folded(BinaryOp op, const Expr& a, const Expr& b) const {
    const bool is_whole = a.is_whole_literal() && b.is_whole_literal();
    const std::int64_t x = a.whole_literal(), y = b.whole_literal();
    const double u = a.real_literal(), v = b.real_literal();
    std::int64_t whole = 0;
    switch (op) {
    case BinaryOp::add:
      return is_whole && !__builtin_add_overflow(x, y, &whole) ? Expr(whole) : Expr(u + v);
    case BinaryOp::sub:
      return is_whole && !__builtin_sub_overflow(x, y, &whole) ? Expr(whole) : Expr(u - v);
    case BinaryOp::mul:
      return is_whole && !__builtin_mul_overflow(x, y, &whole) ? Expr(whole) : Expr(u * v);
    case BinaryOp::div:
      return Expr(u / v);
    default:
      misuse("operator " + std::string(text_of_operator(op).text),
             "at least one operand that is no literal", "two literals");
    }
  }

  Expr call_of(const NotationNode& n, const std::vector<Expr>& operands) const {
    const auto require = [&](std::size_t count) {
      if (operands.size() != count) {
        failed(n.at, std::to_string(count) + " operand" + (count == 1 ? "" : "s") + " of " +
                         n.name + ", not " + std::to_string(operands.size()));
      }
    };
    for (DType type : all_dtypes) {
      if (n.name == name_of(type)) {
        require(1);
        return operands[0].is_literal() ? program_.constant(type, operands[0])
                                        : te::cast(type, operands[0]);
      }
    }
    if (n.name == "select" || n.name == "if_then_else") {
      require(3);
      return n.name == "select" ? te::select(operands[0], operands[1], operands[2])
                                : te::if_then_else(operands[0], operands[1], operands[2]);
    }
    if (n.name == "minimum" || n.name == "maximum") {
      require(2);
      return n.name == "minimum" ? te::minimum(operands[0], operands[1])
                                 : te::maximum(operands[0], operands[1]);
    }
    if (n.name == "relu") {
      require(1);
      return te::max(operands[0], Expr(0));
    }
    if (n.name == "fmod") {
      require(2);
      return te::fmod(operands[0], operands[1]);
    }
    for (const NamedFunction& function : named_functions) {
      if (n.name == function.name) {
        require(1);
        return function.of(operands[0]);
      }
    }
    for (BinaryOp op : all_binary_ops) {
      if (!text_of_operator(op).is_infix && n.name == text_of(op)) {
        require(2);
        return binary_of(op, operands[0], operands[1]);
      }
    }
    for (CallOp op : all_calls) {
      if (n.name == tensorsmith::name_of(op)) {
        require(static_cast<std::size_t>(arity_of(op)));
        return call(op, operands);
      }
    }
    failed(n.at, "a function (exp, log, sqrt, ..., min, max, select, a type such as f32), not " +
                     in_quotes(n.name, 40));
  }

  std::string_view text_;
  const NotationProgram& parsed_;
  Program& program_;
  const Callback<Expr(std::uint32_t, std::vector<Expr>)>& element_;
  const Callback<bool(std::uint32_t)>& exists_;
};

}  // namespace tensorsmith::te::detail
