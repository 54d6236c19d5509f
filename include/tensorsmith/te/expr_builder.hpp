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
#include <vector>

#include "tensorsmith/support/compiled.hpp"
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
TENSORSMITH_INLINE void unify(const std::string& where, Expr& a, Expr& b);

TENSORSMITH_INLINE Expr binary(BinaryOp op, Expr a, Expr b);

/// Throws Error for a literal, a boolean and, `is_float_only`, an integer.
TENSORSMITH_INLINE void require_number(const std::string& where, const Expr& x, bool is_float_only);

TENSORSMITH_INLINE Expr call(CallOp op, std::vector<Expr> args);

TENSORSMITH_INLINE void require_condition(const std::string& where, const Expr& condition);
/// The arms in one type; two literal arms become f32, or i32 if both are whole.
TENSORSMITH_INLINE void unify_arms(const std::string& where, const Expr& condition, Expr& a,
                                   Expr& b);

}  // namespace detail

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
TENSORSMITH_INLINE Expr select(Expr condition, Expr if_true, Expr if_false);
/// Evaluates only the arm that is taken, so it may guard a read out of bounds.
TENSORSMITH_INLINE Expr if_then_else(Expr condition, Expr if_true, Expr if_false);
namespace detail {

/// min or max that is NaN if an operand is.
TENSORSMITH_INLINE Expr propagating_extremum(BinaryOp op, Expr a, Expr b);

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

TENSORSMITH_INLINE Expr cast(DType to, Expr a);

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

#ifndef TENSORSMITH_COMPILED
#include "tensorsmith/te/expr_builder_body.hpp"
#endif
