// SPDX-License-Identifier: Apache-2.0
// The definitions of expr_builder.hpp.
//
// Floor 2. Included by te/expr_builder.hpp or compiled once (support/compiled.hpp).
#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "tensorsmith/support/error.hpp"
#include "tensorsmith/te/expr_builder.hpp"

namespace tensorsmith::te {

namespace detail {

TENSORSMITH_INLINE void unify(const std::string& where, Expr& a, Expr& b) {
  if (a.is_literal() && b.is_literal()) {
    misuse(where, "at least one operand that is no literal", "two literals");
  }
  const Expr typed = a.is_literal() ? b : a;
  a = a.typed(typed.program(), typed.dtype(), where);
  b = b.typed(typed.program(), typed.dtype(), where);
  if (a.dtype() != b.dtype()) {
    misuse(where, "operands of one type (use te::cast)",
           text(a.dtype()) + " and " + text(b.dtype()));
  }
}

/// The folded constant or operand, an invalid id if nothing folds. Exactness: only where 64 bits
/// and the type hold the result.
inline ExprId fold_integer(ExprPool& pool, BinaryOp op, ExprId a, ExprId b) {
  const DType type = pool.dtype(a);
  if (!is_integer(type)) {
    return {};
  }
  const IntImm* x = pool.as<IntImm>(a);
  const IntImm* y = pool.as<IntImm>(b);
  if (x != nullptr && y != nullptr) {
    std::int64_t result = 0;
    bool fits = false;
    if (op == BinaryOp::add) {
      fits = !__builtin_add_overflow(x->value, y->value, &result);
    } else if (op == BinaryOp::sub) {
      fits = !__builtin_sub_overflow(x->value, y->value, &result);
    } else if (op == BinaryOp::mul) {
      fits = !__builtin_mul_overflow(x->value, y->value, &result);
    } else if (op == BinaryOp::floordiv && y->value > 0) {
      result = x->value / y->value - (x->value % y->value < 0 ? 1 : 0);
      fits = true;
    } else if (op == BinaryOp::floormod && y->value > 0) {
      result = (x->value % y->value + y->value) % y->value;
      fits = true;
    } else if (op == BinaryOp::min || op == BinaryOp::max) {
      result = (x->value < y->value) == (op == BinaryOp::min) ? x->value : y->value;
      fits = true;
    }
    const IntegerLimits range = limits_of(type);
    if (fits && result >= range.low && result <= range.high) {
      return pool.int_imm(result, type);
    }
    return {};
  }
  const bool divides = op == BinaryOp::div || op == BinaryOp::floordiv;
  if (y != nullptr && ((y->value == 0 && (op == BinaryOp::add || op == BinaryOp::sub)) ||
                       (y->value == 1 && (op == BinaryOp::mul || divides)))) {
    return a;
  }
  if (x != nullptr &&
      ((x->value == 0 && op == BinaryOp::add) || (x->value == 1 && op == BinaryOp::mul))) {
    return b;
  }
  if (y != nullptr &&
      ((y->value == 0 && op == BinaryOp::mul) || (y->value == 1 && op == BinaryOp::floormod))) {
    return pool.int_imm(0, type);
  }
  return {};
}

TENSORSMITH_INLINE Expr binary(BinaryOp op, Expr a, Expr b) {
  const std::string where = "operator " + std::string(text_of(op));
  unify(where, a, b);
  const DType type = a.dtype();
  if (op == BinaryOp::and_ || op == BinaryOp::or_) {
    if (type != DType::boolean) {
      misuse(where, "conditions (bool)", text(type));
    }
  } else if (type == DType::boolean && op != BinaryOp::eq && op != BinaryOp::ne) {
    misuse(where, "numbers (use te::cast)", "bool");
  } else if (is_float(type) &&
             (op == BinaryOp::floordiv || op == BinaryOp::floormod || op == BinaryOp::truncmod)) {
    misuse(where, "integers", text(type));
  }
  ExprPool& pool = a.program()->pool;
  const ExprId folded = fold_integer(pool, op, a.id(), b.id());
  return Expr(a.program(), folded.valid() ? folded : pool.binary(op, a.id(), b.id()));
}

TENSORSMITH_INLINE void require_number(const std::string& where, const Expr& x,
                                       bool is_float_only) {
  if (x.is_literal()) {
    misuse(where, "an operand that is no literal", "a literal");
  }
  const DType type = x.dtype();
  if (!is_float(type) && (is_float_only || type == DType::boolean)) {
    misuse(where, "a float operand (use te::cast)", text(type));
  }
}

TENSORSMITH_INLINE Expr call(CallOp op, std::vector<Expr> args) {
  const std::string where(name_of(op));
  if (args.size() == 2) {
    unify(where, args[0], args[1]);
  }
  require_number(where, args[0], op != CallOp::abs);
  ExprList ids;
  for (const Expr& arg : args) {
    ids.push_back(arg.id());
  }
  return Expr(args[0].program(), args[0].program()->pool.call(op, std::move(ids)));
}

TENSORSMITH_INLINE void require_condition(const std::string& where, const Expr& condition) {
  if (condition.is_literal() || condition.dtype() != DType::boolean) {
    misuse(where, "a condition (bool) as first argument",
           condition.is_literal() ? "a literal" : text(condition.dtype()));
  }
}

TENSORSMITH_INLINE void unify_arms(const std::string& where, const Expr& condition, Expr& a,
                                   Expr& b) {
  require_condition(where, condition);
  if (a.is_literal() && b.is_literal()) {
    misuse(where, "one arm at least that is no literal (write te::cast or p.constant)",
           "two literals");
  }
  unify(where, a, b);
}

}  // namespace detail

TENSORSMITH_INLINE Expr Expr::typed(detail::ProgramData* program, DType type,
                                    const std::string& where) const {
  if (!is_literal()) {
    if (program_ != program) {
      detail::misuse(where, "expressions of one te::Program", "expressions of two programs");
    }
    return *this;
  }
  if (is_float(type)) {
    // All digits: whoever computes rounds, and a wider computation of the same has them.
    const double value = kind_ == Kind::integer ? static_cast<double>(integer_) : real_;
    return Expr(program, program->pool.float_imm(value, type));
  }
  const IntegerLimits range = limits_of(type);
  std::int64_t value = integer_;
  bool fits = true;
  if (kind_ == Kind::real) {
    fits = real_ >= -9.2e18 && real_ <= 9.2e18;
    value = fits ? static_cast<std::int64_t>(real_) : 0;
    fits = fits && static_cast<double>(value) == real_;
  }
  if (!fits || value < range.low || value > range.high) {
    detail::misuse(where, "a literal that " + detail::text(type) + " can hold",
                   kind_ == Kind::real ? std::to_string(real_) : std::to_string(integer_));
  }
  return Expr(program, program->pool.int_imm(value, type));
}

TENSORSMITH_INLINE Expr select(Expr condition, Expr if_true, Expr if_false) {
  detail::unify_arms("select", condition, if_true, if_false);
  return Expr(if_true.program(),
              if_true.program()->pool.select(
                  condition.typed(if_true.program(), DType::boolean, "select").id(), if_true.id(),
                  if_false.id()));
}

TENSORSMITH_INLINE Expr if_then_else(Expr condition, Expr if_true, Expr if_false) {
  detail::unify_arms("if_then_else", condition, if_true, if_false);
  condition = condition.typed(if_true.program(), DType::boolean, "if_then_else");
  return Expr(if_true.program(),
              if_true.program()->pool.if_then_else(condition.id(), if_true.id(), if_false.id()));
}

namespace detail {

TENSORSMITH_INLINE Expr propagating_extremum(BinaryOp op, Expr a, Expr b) {
  const bool is_max = op == BinaryOp::max;
  unify(is_max ? "maximum" : "minimum", a, b);
  if (!is_float(a.dtype())) {
    return binary(op, a, b);
  }
  ExprPool& pool = a.program()->pool;
  const FloatImm* imm = pool.as<FloatImm>(b.id());
  if (imm != nullptr && imm->value == imm->value) {  // one comparison, false for NaN
    return select(is_max ? a < b : a > b, b, a);
  }
  return select((is_max ? a > b : a < b) || a != a, a, b);
}

}  // namespace detail

TENSORSMITH_INLINE Expr cast(DType to, Expr a) {
  return a.dtype() == to ? a : Expr(a.program(), a.program()->pool.cast(to, a.id()));
}

}  // namespace tensorsmith::te
