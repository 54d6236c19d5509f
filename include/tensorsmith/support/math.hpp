// SPDX-License-Identifier: Apache-2.0
// The functions of <cmath> that the public headers call, without its 6,000 lines; bit_cast and
// memcpy.
//
// Floor 0. Compiler builtins of g++ and clang: the same calls of the C library, so the same bits,
// as std::exp and its like. Floats are computed as floats where both widths are given. fmin and
// fmax are minimumNumber and maximumNumber of IEEE 754-2019: C leaves open which of two zeros it
// gives.
#pragma once

namespace tensorsmith::math {

/// std::bit_cast of <bit>.
template <class To, class From>
constexpr To bit_cast(const From& value) {
  return __builtin_bit_cast(To, value);
}

/// std::memcpy of <cstring>.
inline void copy_bytes(void* to, const void* from, unsigned long count) {
  __builtin_memcpy(to, from, count);
}

/// Of <limits>, which is long too.
inline constexpr double infinity = __builtin_inf();

inline double exp(double x) { return __builtin_exp(x); }
inline double log(double x) { return __builtin_log(x); }
inline double exp2(double x) { return __builtin_exp2(x); }
inline double log1p(double x) { return __builtin_log1p(x); }
inline double log2(double x) { return __builtin_log2(x); }
inline double pow(double x, double y) { return __builtin_pow(x, y); }
inline double tanh(double x) { return __builtin_tanh(x); }
inline double erf(double x) { return __builtin_erf(x); }
inline double sqrt(double x) { return __builtin_sqrt(x); }
inline double fabs(double x) { return __builtin_fabs(x); }
inline double trunc(double x) { return __builtin_trunc(x); }
inline double ceil(double x) { return __builtin_ceil(x); }
inline double nearbyint(double x) { return __builtin_nearbyint(x); }
inline double ldexp(double x, int exponent) { return __builtin_ldexp(x, exponent); }

inline double floor(double x) { return __builtin_floor(x); }
inline float floor(float x) { return __builtin_floorf(x); }
inline double fmod(double x, double y) { return __builtin_fmod(x, y); }
inline float fmod(float x, float y) { return __builtin_fmodf(x, y); }

inline bool is_nan(double x) { return x != x; }
/// The sign bit, also of zero and NaN.
inline bool is_negative(double x) { return __builtin_signbit(x) != 0; }
inline bool is_infinite(double x) { return __builtin_isinf(x) != 0; }

/// The smaller one, -0 of two zeros; of a number and NaN the number.
template <class Real>
constexpr Real fmin(Real x, Real y) {
  if (x == y) {
    return __builtin_signbit(x) ? x : y;
  }
  return x < y || y != y ? x : y;
}
/// The larger one, +0 of two zeros; of a number and NaN the number.
template <class Real>
constexpr Real fmax(Real x, Real y) {
  if (x == y) {
    return __builtin_signbit(x) ? y : x;
  }
  return x > y || y != y ? x : y;
}

}  // namespace tensorsmith::math
