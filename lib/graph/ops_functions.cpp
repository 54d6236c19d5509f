// SPDX-License-Identifier: Apache-2.0
// Functions of angles and their inverses, element by element.
//
// Kernels have no instruction and no polynomial for them; the formulas here are of sums, products
// and what kernels have (exp, log, sqrt), in f64, so that results of f32 are right in all but the
// last bit. Sine and cosine take the nearest multiple of pi/2 off: arguments up to 2^30 in size.
#include "graph/operators.hpp"

namespace tensorsmith::graph {
namespace {

using te::Expr;

void same(Inference& in) { in.set(in.dtype(0), in.shape(0)); }

/// c[0] + c[1] z + ...
template <std::size_t n>
Expr polynomial(const Expr& z, const double (&c)[n]) {
  Expr sum = z * c[n - 1] + c[n - 2];
  for (std::size_t i = n - 2; i-- > 0;) {
    sum = sum * z + c[i];
  }
  return sum;
}

/// sin(x + quarters * pi / 2).
Expr sine(const Expr& x, int quarters) {
  const Expr n = te::round(x * 0.63661977236758134308);
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
  const Expr quarter = shifted - te::floor(shifted * 0.25) * 4.0;
  const Expr is_odd = quarter - te::floor(quarter * 0.5) * 2.0;
  const Expr value = te::select(is_odd == 0, by_sine, by_cosine);
  return te::select(quarter < 2.0, value, -value);
}
Expr sin(Expr x) { return sine(x, 0); }
Expr cos(Expr x) { return sine(x, 1); }
Expr tan(Expr x) { return sine(x, 0) / sine(x, 1); }

/// Of any x: pi/2 - atan(1/x) beyond 1, then pi/4 + atan((x - 1) / (x + 1)) beyond tan(pi/8).
Expr atan(Expr x) {
  const Expr a = te::abs(x);
  const Expr is_far = a > 1.0;
  const Expr b = te::select(is_far, 1.0 / a, a);
  const Expr is_steep = b > 0.41421356237309504880;
  const Expr t = te::select(is_steep, (b - 1.0) / (b + 1.0), b);
  const Expr z = t * t;
  static constexpr double c[] = {1.0,       -1.0 / 3,  1.0 / 5,   -1.0 / 7, 1.0 / 9,
                                 -1.0 / 11, 1.0 / 13,  -1.0 / 15, 1.0 / 17, -1.0 / 19,
                                 1.0 / 21,  -1.0 / 23, 1.0 / 25};
  const Expr small = t * polynomial(z, c);
  const Expr near = te::select(is_steep, small + 0.78539816339744830962, small);
  const Expr value = te::select(is_far, -near + 1.57079632679489661923, near);
  return te::select(x < 0, -value, value);
}
Expr asin(Expr x) { return atan(x / te::sqrt((1.0 - x) * (x + 1.0))); }
Expr acos(Expr x) { return atan(te::sqrt((1.0 - x) / (x + 1.0))) * 2.0; }

/// log(1 + y): the logarithm of what 1 + y became, times what it lost.
Expr log_of_one_and(const Expr& y) {
  const Expr u = y + 1.0;
  const Expr lost = u - 1.0;
  return te::select(lost == 0, y, te::select(u == lost, te::log(u), te::log(u) * (y / lost)));
}
Expr asinh(Expr x) {
  const Expr a = te::abs(x);
  // Beyond 1e8 the root is a, and a * a must not become infinite.
  const Expr b = te::min(a, 1e8);
  const Expr near = log_of_one_and(b + b * b / (te::sqrt(b * b + 1.0) + 1.0));
  const Expr value = te::select(a > 1e8, te::log(a) + 0.69314718055994530942, near);
  return te::select(x < 0, -value, te::select(x == x, value, x));
}
Expr acosh(Expr x) {
  const Expr t = te::min(x, 1e8) - 1.0;
  const Expr near = log_of_one_and(t + te::sqrt(t * 2.0 + t * t));
  return te::select(x > 1e8, te::log(x) + 0.69314718055994530942, te::select(x == x, near, x));
}
Expr atanh(Expr x) {
  const Expr a = te::abs(x);
  const Expr value = log_of_one_and(a * 2.0 / (1.0 - a)) * 0.5;
  return te::select(x < 0, -value, value);
}
/// (e^x - e^-x) / 2, which cancels near 0.
Expr sinh(Expr x) {
  const Expr z = x * x;
  static constexpr double c[] = {1.0, 1.0 / 6, 1.0 / 120, 1.0 / 5040, 1.0 / 362880.};
  return te::select(te::abs(x) < 0.3, x * polynomial(z, c), (te::exp(x) - te::exp(-x)) * 0.5);
}
Expr cosh(Expr x) { return (te::exp(x) + te::exp(-x)) * 0.5; }

template <Expr (*f)(Expr)>
OperatorRow row(std::string_view op) {
  return computed_row(op, Pattern::elementwise, same, [](Emitter& e) {
    const DType type = e.result_type();
    e.define(
        [&](const Indices& at) { return te::cast(type, f(te::cast(DType::f64, e.read(0, at)))); });
  });
}

}  // namespace

std::vector<OperatorRow> function_rows() {
  return {row<sin>("Sin"),     row<cos>("Cos"),     row<tan>("Tan"),    row<asin>("Asin"),
          row<acos>("Acos"),   row<atan>("Atan"),   row<sinh>("Sinh"),  row<cosh>("Cosh"),
          row<asinh>("Asinh"), row<acosh>("Acosh"), row<atanh>("Atanh")};
}

}  // namespace tensorsmith::graph
