// SPDX-License-Identifier: Apache-2.0
// te::Expr: a handle with operators, so that a computation is written as a formula.
//
// Floor 2. Own design. A handle is (program, id); literals take the type of the operand they meet.
// Integer constants fold where the Ansor reference folds them (x+0, x*1, 2*3), so that the printed
// formula is the same. Not here: tensors, axes, reductions (te/program.hpp).
#pragma once

#include <cstdint>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "tensorsmith/support/error.hpp"
#include "tensorsmith/te/compute_dag.hpp"

namespace tensorsmith::te {

namespace detail {

/// What a Program owns; handles point at it.
struct ProgramData {
  struct ReduceEntry {
    VarId var;
    std::int64_t extent;
  };
  struct CombinerEntry {
    BinaryOp op;
    DType dtype;
    bool propagates_nan;
    CombinerId id;
  };
  ExprPool pool;
  std::vector<TensorInfo> tensors;
  std::vector<Operation> operations;  // in creation order
  std::vector<ReduceEntry> reduce_axes;
  std::vector<CombinerEntry> combiners;  // sum, prod, min, max by type
};

/// "te::NAME: expected EXPECTED, got CAME"
[[noreturn]] inline void misuse(const std::string& where, const std::string& expected,
                                const std::string& came) {
  throw Error("te::" + where + ": expected " + expected + ", got " + came);
}
inline std::string text(DType type) { return std::string(name_of(type)); }

}  // namespace detail

/// An expression of one program, or a literal that has not met a typed operand yet.
class Expr {
 public:
  template <class Int,
            std::enable_if_t<std::is_integral_v<Int> && !std::is_same_v<Int, bool>, int> = 0>
  Expr(Int value) : integer_(static_cast<std::int64_t>(value)), kind_(Kind::integer) {
    if constexpr (std::is_unsigned_v<Int>) {
      if (value > static_cast<std::uint64_t>(INT64_MAX)) {
        detail::misuse("Expr", "a literal below 2^63", std::to_string(value));
      }
    }
  }
  Expr(double value) : real_(value), kind_(Kind::real) {}
  Expr(float value) : Expr(static_cast<double>(value)) {}
  Expr(detail::ProgramData* program, ExprId id) : program_(program), id_(id) {}

  bool is_literal() const { return kind_ != Kind::typed; }
  bool is_whole_literal() const { return kind_ == Kind::integer; }
  /// Of a literal.
  std::int64_t whole_literal() const { return integer_; }
  double real_literal() const {
    return kind_ == Kind::integer ? static_cast<double>(integer_) : real_;
  }
  detail::ProgramData* program() const { return program_; }
  ExprId id() const {
    if (is_literal()) {
      detail::misuse("Expr::id", "a typed expression", "a literal");
    }
    return id_;
  }
  DType dtype() const { return program_->pool.dtype(id()); }

  /// The expression itself, or the literal as a constant of `type` in `program`.
  Expr typed(detail::ProgramData* program, DType type, const std::string& where) const;

 private:
  enum class Kind : std::uint8_t { typed, integer, real };
  detail::ProgramData* program_ = nullptr;
  ExprId id_;
  std::int64_t integer_ = 0;
  double real_ = 0;
  Kind kind_ = Kind::typed;
};

namespace detail {

/// Both operands as expressions of one program and one type; a literal follows the other operand.
inline void unify(const std::string& where, Expr& a, Expr& b) {
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

inline Expr binary(BinaryOp op, Expr a, Expr b) {
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

inline Expr call(CallOp op, std::vector<Expr> args) {
  const std::string where(name_of(op));
  if (args.size() == 2) {
    unify(where, args[0], args[1]);
  }
  if (args[0].is_literal()) {
    misuse(where, "an operand that is no literal", "a literal");
  }
  const DType type = args[0].dtype();
  if (!is_float(type) && !(op == CallOp::abs && type != DType::boolean)) {
    misuse(where, "a float operand (use te::cast)", text(type));
  }
  ExprList ids;
  for (const Expr& arg : args) {
    ids.push_back(arg.id());
  }
  return Expr(args[0].program(), args[0].program()->pool.call(op, std::move(ids)));
}

inline void require_condition(const std::string& where, const Expr& condition) {
  if (condition.is_literal() || condition.dtype() != DType::boolean) {
    misuse(where, "a condition (bool) as first argument",
           condition.is_literal() ? "a literal" : text(condition.dtype()));
  }
}
/// The arms in one type; two literal arms become f32, or i32 if both are whole.
inline void unify_arms(const std::string& where, const Expr& condition, Expr& a, Expr& b) {
  require_condition(where, condition);
  if (a.is_literal() && b.is_literal()) {
    misuse(where, "one arm at least that is no literal (write te::cast or p.constant)",
           "two literals");
  }
  unify(where, a, b);
}

}  // namespace detail

inline Expr Expr::typed(detail::ProgramData* program, DType type, const std::string& where) const {
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

inline Expr operator+(Expr a, Expr b) { return detail::binary(BinaryOp::add, a, b); }
inline Expr operator-(Expr a, Expr b) { return detail::binary(BinaryOp::sub, a, b); }
inline Expr operator*(Expr a, Expr b) { return detail::binary(BinaryOp::mul, a, b); }
/// Floats: quotient; integers: truncates (use floordiv for indices).
inline Expr operator/(Expr a, Expr b) { return detail::binary(BinaryOp::div, a, b); }
/// Integers: remainder with the sign of the dividend (use floormod for indices).
inline Expr operator%(Expr a, Expr b) { return detail::binary(BinaryOp::truncmod, a, b); }
inline Expr operator==(Expr a, Expr b) { return detail::binary(BinaryOp::eq, a, b); }
inline Expr operator!=(Expr a, Expr b) { return detail::binary(BinaryOp::ne, a, b); }
inline Expr operator<(Expr a, Expr b) { return detail::binary(BinaryOp::lt, a, b); }
inline Expr operator<=(Expr a, Expr b) { return detail::binary(BinaryOp::le, a, b); }
inline Expr operator>(Expr a, Expr b) { return detail::binary(BinaryOp::gt, a, b); }
inline Expr operator>=(Expr a, Expr b) { return detail::binary(BinaryOp::ge, a, b); }
/// Both sides are evaluated: not short-circuit.
inline Expr operator&&(Expr a, Expr b) { return detail::binary(BinaryOp::and_, a, b); }
inline Expr operator||(Expr a, Expr b) { return detail::binary(BinaryOp::or_, a, b); }
inline Expr operator-(Expr a) {
  if (a.dtype() == DType::boolean) {
    detail::misuse("operator -", "a number", "bool");
  }
  return Expr(a.program(), a.program()->pool.unary(UnaryOp::neg, a.id()));
}
inline Expr operator!(Expr a) {
  detail::require_condition("operator !", a);
  return Expr(a.program(), a.program()->pool.unary(UnaryOp::not_, a.id()));
}
inline Expr floordiv(Expr a, Expr b) { return detail::binary(BinaryOp::floordiv, a, b); }
inline Expr floormod(Expr a, Expr b) { return detail::binary(BinaryOp::floormod, a, b); }
inline Expr truncmod(Expr a, Expr b) { return detail::binary(BinaryOp::truncmod, a, b); }
/// Of two values. Templates, so that a braced list of axes means the reductions of te/tensor.hpp.
template <
    class A, class B,
    class = std::enable_if_t<std::is_convertible_v<A, Expr> && std::is_convertible_v<B, Expr>>>
Expr min(const A& a, const B& b) {
  return detail::binary(BinaryOp::min, a, b);
}
template <
    class A, class B,
    class = std::enable_if_t<std::is_convertible_v<A, Expr> && std::is_convertible_v<B, Expr>>>
Expr max(const A& a, const B& b) {
  return detail::binary(BinaryOp::max, a, b);
}

/// Evaluates both arms.
inline Expr select(Expr condition, Expr if_true, Expr if_false) {
  detail::unify_arms("select", condition, if_true, if_false);
  return Expr(if_true.program(),
              if_true.program()->pool.select(
                  condition.typed(if_true.program(), DType::boolean, "select").id(), if_true.id(),
                  if_false.id()));
}
/// Evaluates only the arm that is taken, so it may guard a read out of bounds.
inline Expr if_then_else(Expr condition, Expr if_true, Expr if_false) {
  detail::unify_arms("if_then_else", condition, if_true, if_false);
  condition = condition.typed(if_true.program(), DType::boolean, "if_then_else");
  return Expr(if_true.program(),
              if_true.program()->pool.if_then_else(condition.id(), if_true.id(), if_false.id()));
}
namespace detail {

/// min or max that is NaN if an operand is.
inline Expr propagating_extremum(BinaryOp op, Expr a, Expr b) {
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

/// As min and max; NaN if one of them is.
template <
    class A, class B,
    class = std::enable_if_t<std::is_convertible_v<A, Expr> && std::is_convertible_v<B, Expr>>>
Expr minimum(const A& a, const B& b) {
  return detail::propagating_extremum(BinaryOp::min, a, b);
}
template <
    class A, class B,
    class = std::enable_if_t<std::is_convertible_v<A, Expr> && std::is_convertible_v<B, Expr>>>
Expr maximum(const A& a, const B& b) {
  return detail::propagating_extremum(BinaryOp::max, a, b);
}

inline Expr cast(DType to, Expr a) {
  return a.dtype() == to ? a : Expr(a.program(), a.program()->pool.cast(to, a.id()));
}

inline Expr exp(Expr a) { return detail::call(CallOp::exp, {a}); }
inline Expr log(Expr a) { return detail::call(CallOp::log, {a}); }
inline Expr sqrt(Expr a) { return detail::call(CallOp::sqrt, {a}); }
inline Expr rsqrt(Expr a) { return detail::call(CallOp::rsqrt, {a}); }
inline Expr tanh(Expr a) { return detail::call(CallOp::tanh, {a}); }
inline Expr erf(Expr a) { return detail::call(CallOp::erf, {a}); }
inline Expr sigmoid(Expr a) { return detail::call(CallOp::sigmoid, {a}); }
inline Expr pow(Expr a, Expr b) { return detail::call(CallOp::pow, {a, b}); }
inline Expr abs(Expr a) { return detail::call(CallOp::abs, {a}); }
inline Expr floor(Expr a) { return detail::call(CallOp::floor, {a}); }
inline Expr ceil(Expr a) { return detail::call(CallOp::ceil, {a}); }
inline Expr round(Expr a) { return detail::call(CallOp::round, {a}); }

}  // namespace tensorsmith::te
