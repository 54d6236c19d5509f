// SPDX-License-Identifier: Apache-2.0
// te::sin and others: functions of floats that are formulas of what kernels have.
//
// Floor 2. Own design. Kernels have an instruction or a polynomial for exp, log, sqrt, tanh, erf
// and pow (te/expr_builder.hpp). What is here is made of sums, products and those in f64, and
// rounded once to the type of the operand: results of f32, f16 and bf16 are right in all but the
// last bit, of f64 to eleven digits. Sine, cosine and tangent take the nearest multiple of pi/2
// off, of arguments up to 2^30 in size.
#pragma once

#include <string_view>

#include "tensorsmith/te/expr_builder.hpp"

namespace tensorsmith::te {

// All throw Error for an operand that is a literal or of integers.
TENSORSMITH_INLINE Expr sin(const Expr& x);
TENSORSMITH_INLINE Expr cos(const Expr& x);
TENSORSMITH_INLINE Expr tan(const Expr& x);
TENSORSMITH_INLINE Expr asin(const Expr& x);
TENSORSMITH_INLINE Expr acos(const Expr& x);
TENSORSMITH_INLINE Expr atan(const Expr& x);
TENSORSMITH_INLINE Expr sinh(const Expr& x);
TENSORSMITH_INLINE Expr cosh(const Expr& x);
TENSORSMITH_INLINE Expr asinh(const Expr& x);
TENSORSMITH_INLINE Expr acosh(const Expr& x);
TENSORSMITH_INLINE Expr atanh(const Expr& x);
TENSORSMITH_INLINE Expr exp2(const Expr& x);
/// e^x - 1, also near 0.
TENSORSMITH_INLINE Expr expm1(const Expr& x);
TENSORSMITH_INLINE Expr log2(const Expr& x);
TENSORSMITH_INLINE Expr log10(const Expr& x);
/// log(1 + x), also near 0.
TENSORSMITH_INLINE Expr log1p(const Expr& x);

/// By name, for whoever reads formulas.
struct NamedFunction {
  std::string_view name;
  Expr (*of)(const Expr& x);
};
inline constexpr NamedFunction named_functions[] = {
    {"sin", sin},     {"cos", cos},     {"tan", tan},     {"asin", asin},
    {"acos", acos},   {"atan", atan},   {"sinh", sinh},   {"cosh", cosh},
    {"asinh", asinh}, {"acosh", acosh}, {"atanh", atanh}, {"exp2", exp2},
    {"expm1", expm1}, {"log2", log2},   {"log10", log10}, {"log1p", log1p},
};

/// What remains of x when the multiple of y towards 0 is taken off, with the sign of x; NaN for
/// y == 0. Computed in the operands' type, so exact only while the quotient is.
TENSORSMITH_INLINE Expr fmod(const Expr& x, const Expr& y);

}  // namespace tensorsmith::te

#ifndef TENSORSMITH_COMPILED
#include "tensorsmith/te/functions_body.hpp"
#endif
