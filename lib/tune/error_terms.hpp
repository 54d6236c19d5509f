// SPDX-License-Identifier: Apache-2.0
// ErrorTerms: small expressions of f64 that bounds of errors are made of.
//
// Private to lib/; see error_twin.hpp.
#pragma once

#include <cfloat>

#include "tensorsmith/ir/expr_pool.hpp"
#include "tensorsmith/measure/tolerance.hpp"
#include "tune/error_twin.hpp"

namespace tensorsmith::detail {

inline constexpr double unknown = 1e305;
/// Values are taken as no larger where they are multiplied by an error: infinity times no error is
/// none. Nor as smaller: what is unknown stays so (a bound of products of less than that is wider).
inline constexpr double largest_factor = 1e300, least_factor = 1e-5;
inline double largest_of(DType type) {
  switch (type) {
  case DType::f64:
    return DBL_MAX;
  case DType::f16:
    return 65504;
  default:
    return static_cast<double>(FLT_MAX);  // of bf16 nearly the same
  }
}
/// Below the normal numbers the spacing is absolute; what is smaller may become zero.
inline double least_of(DType type) {
  return type == DType::f64 ? 1e-300 : type == DType::f16 ? 0x1.0p-23 : 1e-37;
}

/// In all of them an invalid id is an error of zero.
class ErrorTerms {
 protected:
  explicit ErrorTerms(ExprPool& to) : to_(to) {}

  ExprId real(double value) { return to_.float_imm(value, DType::f64); }
  ExprId magnitude(ExprId x) { return to_.call(CallOp::abs, {x}); }
  ExprId as_real(ExprId copy) {
    return is_float(to_.dtype(copy)) ? copy : to_.cast(DType::f64, copy);
  }
  ExprId plus(ExprId a, ExprId b) { return !a.valid() ? b : !b.valid() ? a : to_.add(a, b); }
  ExprId times(double factor, ExprId a) { return to_.mul(real(factor), a); }
  /// |x| e, zero where e is.
  ExprId scaled(ExprId x, ExprId e) {
    const ExprId factor = to_.min(to_.max(magnitude(x), real(least_factor)), real(largest_factor));
    return e.valid() ? to_.mul(factor, e) : e;
  }
  ExprId at_most(ExprId a, double b) { return to_.binary(BinaryOp::le, a, real(b)); }
  ExprId less(ExprId a, ExprId b) { return to_.lt(a, b); }
  /// Unknown where e is above zero, `exact` where it is not.
  ExprId if_exact(ExprId e, ExprId exact = {}) {
    const ExprId otherwise = exact.valid() ? exact : real(0);
    return e.valid() ? to_.select(to_.binary(BinaryOp::eq, e, real(0)), otherwise, real(unknown))
                     : exact;
  }
  /// The error of an integer, or unknown where it may leave its type, which wraps around.
  ExprId if_fits(DType type, ExprId value, ExprId e) {
    if (!e.valid() || is_float(type) || type == DType::boolean) {
      return e;
    }
    const IntegerLimits limits = limits_of(type);
    const ExprId fits =
        to_.and_(to_.binary(BinaryOp::le, real(static_cast<double>(limits.low)), to_.sub(value, e)),
                 at_most(to_.add(value, e), static_cast<double>(limits.high)));
    return to_.select(fits, e, real(unknown));
  }
  /// How far a function that grows in steps may be from its value at x, of whose error e is a
  /// bound.
  template <class Step>
  ExprId of_steps(ExprId x, ExprId e, const Step& step) {
    if (!e.valid()) {
      return e;
    }
    const ExprId at = step(x), above = to_.sub(step(to_.add(x, e)), at),
                 below = to_.sub(at, step(to_.sub(x, e)));
    return to_.select(to_.binary(BinaryOp::eq, e, real(0)), real(0),  // infinities as well
                      if_known(e, to_.max(above, below)));
  }
  /// `e`, or unknown where a product of some of the factors may be more than `most`.
  template <class ValueOf>
  ExprId if_product_stays(const ExprList& factors, double most, const ValueOf& value_of, ExprId e) {
    ExprId above = real(1);
    for (const ExprId factor : factors) {
      above = to_.mul(above, to_.max(magnitude(value_of(factor)), real(1)));
    }
    return factors.empty() ? e : to_.select(at_most(above, most), e, real(unknown));
  }
  /// `count` roundings of x; what is not finite is exact, unless `made_of`, like the operands, is.
  /// Integers are not rounded.
  ExprId rounding(DType type, ExprId x, double count, ExprId made_of = {}) {
    if (!is_float(type)) {
      return {};
    }
    const ExprId size = magnitude(x);
    const ExprId spacing = to_.add(times(count * epsilon_of(type), size), real(least_of(type)));
    const ExprId source = type == DType::f64 ? made_of : size;
    const ExprId otherwise =
        source.valid() ? to_.select(at_most(source, DBL_MAX), real(unknown), real(0)) : real(0);
    return to_.select(at_most(size, largest_of(type)), spacing, otherwise);
  }

  /// What is no number says nothing.
  ExprId known(ExprId e) { return if_known(e, e); }
  ExprId if_known(ExprId e, ExprId bound) {
    return to_.select(less(e, real(unknown_error)), bound, real(unknown));
  }

  struct Bounded {
    ExprId value, error;
  };
  /// Of a `op` b, which comes to `value`.
  ExprId of_integers(BinaryOp op, DType type, const Bounded& a, const Bounded& b, ExprId value) {
    switch (op) {
    case BinaryOp::add:
    case BinaryOp::sub:
      return if_fits(type, value, plus(a.error, b.error));
    case BinaryOp::mul: {
      const bool both = a.error.valid() && b.error.valid();
      const ExprId e = plus(scaled(a.value, b.error), scaled(b.value, a.error));
      return if_fits(type, value, plus(e, both ? to_.mul(a.error, b.error) : ExprId{}));
    }
    case BinaryOp::min:
    case BinaryOp::max:
      return a.error.valid() && b.error.valid() ? to_.max(a.error, b.error)
                                                : plus(a.error, b.error);
    default:
      return if_exact(plus(a.error, b.error));
    }
  }

  ExprPool& to_;
};

}  // namespace tensorsmith::detail
