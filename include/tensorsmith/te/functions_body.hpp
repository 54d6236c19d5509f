// SPDX-License-Identifier: Apache-2.0
// The definitions of functions.hpp.
//
// Floor 2. Included by te/functions.hpp or compiled once (support/compiled.hpp).
#pragma once

#include <string>

#include "tensorsmith/te/functions.hpp"

namespace tensorsmith::te {
namespace detail {

/// c[0] + c[1] z + ...
template <std::size_t n>
inline Expr polynomial(const Expr& z, const double (&c)[n]) {
  Expr sum = z * c[n - 1] + c[n - 2];
  for (std::size_t i = n - 2; i-- > 0;) {
    sum = sum * z + c[i];
  }
  return sum;
}

/// sin(x + quarters * pi / 2).
inline Expr sine(const Expr& x, int quarters) {
  const Expr n = round(x * 0.63661977236758134308);
  // pi / 2 in three parts; the products with the first two are exact for n below 2^30.
  const Expr r = ((x - n * 1.57079632673412561417) - n * 6.07710050630396597660e-11) -
                 n * 2.02226624879595063154e-21;
  const Expr z = r * r;
  static constexpr double s[] = {1.0,           -1.0 / 6,         1.0 / 120,        -1.0 / 5040,
                                 1.0 / 362880., -1.0 / 39916800., 1.0 / 6227020800.};
  static constexpr double c[] = {
      1.0,          -1.0 / 2,        1.0 / 24,         -1.0 / 720,
      1.0 / 40320., -1.0 / 3628800., 1.0 / 479001600., -1.0 / 87178291200.};
  const Expr by_sine = r * polynomial(z, s), by_cosine = polynomial(z, c);
  // The quarter that the angle lies in, of 4.
  const Expr shifted = n + static_cast<double>(quarters);
  const Expr quarter = shifted - floor(shifted * 0.25) * 4.0;
  const Expr is_odd = quarter - floor(quarter * 0.5) * 2.0;
  const Expr value = select(is_odd == 0, by_sine, by_cosine);
  return select(quarter < 2.0, value, -value);
}
inline Expr sin_formula(const Expr& x) { return sine(x, 0); }
inline Expr cos_formula(const Expr& x) { return sine(x, 1); }
inline Expr tan_formula(const Expr& x) { return sine(x, 0) / sine(x, 1); }

/// Of any x: pi/2 - atan(1/x) beyond 1, then pi/4 + atan((x - 1) / (x + 1)) beyond tan(pi/8).
inline Expr atan_formula(const Expr& x) {
  const Expr a = abs(x);
  const Expr is_far = a > 1.0;
  const Expr b = select(is_far, 1.0 / a, a);
  const Expr is_steep = b > 0.41421356237309504880;
  const Expr t = select(is_steep, (b - 1.0) / (b + 1.0), b);
  const Expr z = t * t;
  static constexpr double c[] = {1.0,       -1.0 / 3,  1.0 / 5,   -1.0 / 7, 1.0 / 9,
                                 -1.0 / 11, 1.0 / 13,  -1.0 / 15, 1.0 / 17, -1.0 / 19,
                                 1.0 / 21,  -1.0 / 23, 1.0 / 25};
  const Expr small = t * polynomial(z, c);
  const Expr near = select(is_steep, small + 0.78539816339744830962, small);
  const Expr value = select(is_far, -near + 1.57079632679489661923, near);
  return select(x < 0, -value, value);
}
inline Expr asin_formula(const Expr& x) { return atan_formula(x / sqrt((1.0 - x) * (x + 1.0))); }
inline Expr acos_formula(const Expr& x) { return atan_formula(sqrt((1.0 - x) / (x + 1.0))) * 2.0; }

/// log(1 + y): the logarithm of what 1 + y became, times what it lost.
inline Expr log_of_one_and(const Expr& y) {
  const Expr u = y + 1.0;
  const Expr lost = u - 1.0;
  return select(lost == 0, y, select(u == lost, log(u), log(u) * (y / lost)));
}
inline Expr asinh_formula(const Expr& x) {
  const Expr a = abs(x);
  // Beyond 1e8 the root is a, and a * a must not become infinite.
  const Expr b = min(a, 1e8);
  const Expr near = log_of_one_and(b + b * b / (sqrt(b * b + 1.0) + 1.0));
  const Expr value = select(a > 1e8, log(a) + 0.69314718055994530942, near);
  return select(x < 0, -value, select(x == x, value, x));
}
inline Expr acosh_formula(const Expr& x) {
  const Expr t = min(x, 1e8) - 1.0;
  const Expr near = log_of_one_and(t + sqrt(t * 2.0 + t * t));
  return select(x > 1e8, log(x) + 0.69314718055994530942, select(x == x, near, x));
}
inline Expr atanh_formula(const Expr& x) {
  const Expr a = abs(x);
  const Expr value = log_of_one_and(a * 2.0 / (1.0 - a)) * 0.5;
  return select(x < 0, -value, value);
}
/// (e^x - e^-x) / 2, which cancels near 0.
inline Expr sinh_formula(const Expr& x) {
  const Expr z = x * x;
  static constexpr double c[] = {1.0, 1.0 / 6, 1.0 / 120, 1.0 / 5040, 1.0 / 362880.};
  return select(abs(x) < 0.3, x * polynomial(z, c), (exp(x) - exp(-x)) * 0.5);
}
inline Expr cosh_formula(const Expr& x) { return (exp(x) + exp(-x)) * 0.5; }

inline Expr exp2_formula(const Expr& x) { return exp(x * 0.69314718055994530942); }
/// Near 0: what e^x became, less 1, times what that lost.
inline Expr expm1_formula(const Expr& x) {
  const Expr u = exp(x), less = u - 1.0;
  return select(abs(x) > 1.0, less, select(less == 0, x, less * (x / log(u))));
}
inline Expr log2_formula(const Expr& x) { return log(x) * 1.44269504088896340736; }
inline Expr log10_formula(const Expr& x) { return log(x) * 0.43429448190325182765; }

/// `formula` in f64, of a float and as one.
inline Expr in_f64(const char* name, const Expr& x, Expr (*formula)(const Expr&)) {
  require_number(name, x, true);
  return cast(x.dtype(), formula(cast(DType::f64, x)));
}

}  // namespace detail

TENSORSMITH_INLINE Expr sin(const Expr& x) { return detail::in_f64("sin", x, detail::sin_formula); }
TENSORSMITH_INLINE Expr cos(const Expr& x) { return detail::in_f64("cos", x, detail::cos_formula); }
TENSORSMITH_INLINE Expr tan(const Expr& x) { return detail::in_f64("tan", x, detail::tan_formula); }
TENSORSMITH_INLINE Expr asin(const Expr& x) {
  return detail::in_f64("asin", x, detail::asin_formula);
}
TENSORSMITH_INLINE Expr acos(const Expr& x) {
  return detail::in_f64("acos", x, detail::acos_formula);
}
TENSORSMITH_INLINE Expr atan(const Expr& x) {
  return detail::in_f64("atan", x, detail::atan_formula);
}
TENSORSMITH_INLINE Expr sinh(const Expr& x) {
  return detail::in_f64("sinh", x, detail::sinh_formula);
}
TENSORSMITH_INLINE Expr cosh(const Expr& x) {
  return detail::in_f64("cosh", x, detail::cosh_formula);
}
TENSORSMITH_INLINE Expr asinh(const Expr& x) {
  return detail::in_f64("asinh", x, detail::asinh_formula);
}
TENSORSMITH_INLINE Expr acosh(const Expr& x) {
  return detail::in_f64("acosh", x, detail::acosh_formula);
}
TENSORSMITH_INLINE Expr atanh(const Expr& x) {
  return detail::in_f64("atanh", x, detail::atanh_formula);
}
TENSORSMITH_INLINE Expr exp2(const Expr& x) {
  return detail::in_f64("exp2", x, detail::exp2_formula);
}
TENSORSMITH_INLINE Expr expm1(const Expr& x) {
  return detail::in_f64("expm1", x, detail::expm1_formula);
}
TENSORSMITH_INLINE Expr log2(const Expr& x) {
  return detail::in_f64("log2", x, detail::log2_formula);
}
TENSORSMITH_INLINE Expr log10(const Expr& x) {
  return detail::in_f64("log10", x, detail::log10_formula);
}
TENSORSMITH_INLINE Expr log1p(const Expr& x) {
  return detail::in_f64("log1p", x, detail::log_of_one_and);
}

TENSORSMITH_INLINE Expr fmod(const Expr& x, const Expr& y) {
  Expr a = x, b = y;
  detail::unify("fmod", a, b);
  detail::require_number("fmod", a, true);
  const Expr q = a / b;
  const Expr rest = a - select(q < 0, ceil(q), floor(q)) * b;
  // Of an infinite b: a itself.
  const Expr is_infinite = b == b && b - b != b - b && a - a == a - a;
  return select(is_infinite, a, rest);
}

}  // namespace tensorsmith::te
