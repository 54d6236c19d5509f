// SPDX-License-Identifier: Apache-2.0
// Lanes: two, four or eight numbers that are computed at once, as many as the processor can.
//
// Floor 6.5. Own design. Logarithms and powers of e within a few units in the last place of the C
// library's. Everything here is inlined without exception: the function that is compiled for wide
// vectors is the one that calls it, and no vector is ever passed. Results of two machines of unlike
// width differ by rounding.
#pragma once

#include <cstdint>

#include "tensorsmith/support/math.hpp"

#define TENSORSMITH_INLINED __attribute__((always_inline))
#if defined(__x86_64__)
#define TENSORSMITH_HAS_WIDE_LANES 1
#endif

namespace tensorsmith::felix::lanes {

using Two = double __attribute__((vector_size(16)));
using Four = double __attribute__((vector_size(32)));
using Eight = double __attribute__((vector_size(64)));

template <class Real>
struct Whole;
template <>
struct Whole<Two> {
  using Signed = std::int64_t __attribute__((vector_size(16)));
  using Unsigned = std::uint64_t __attribute__((vector_size(16)));
};
template <>
struct Whole<Four> {
  using Signed = std::int64_t __attribute__((vector_size(32)));
  using Unsigned = std::uint64_t __attribute__((vector_size(32)));
};
template <>
struct Whole<Eight> {
  using Signed = std::int64_t __attribute__((vector_size(64)));
  using Unsigned = std::uint64_t __attribute__((vector_size(64)));
};
template <class Real>
inline constexpr std::size_t count = sizeof(Real) / sizeof(double);

/// How many lanes this processor computes at once.
inline std::size_t widest() {
#if defined(TENSORSMITH_HAS_WIDE_LANES)
  static const std::size_t found =
      __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512dq") ? 8
      : __builtin_cpu_supports("avx2")                                        ? 4
                                                                              : 2;
  return found;
#else
  return 2;
#endif
}

// Results are written and not returned: only then does g++ believe that no vector is passed.

template <class Real>
TENSORSMITH_INLINED inline void load(const double* from, Real& value) {
  __builtin_memcpy(&value, from, sizeof(Real));
}
template <class Real>
TENSORSMITH_INLINED inline void store(double* to, const Real& value) {
  __builtin_memcpy(to, &value, sizeof(Real));
}
/// `a` where the comparison holds.
template <class Real>
TENSORSMITH_INLINED inline void choose(const typename Whole<Real>::Signed& holds, const Real& a,
                                       const Real& b, Real& result) {
  using Bits = typename Whole<Real>::Signed;
  result = __builtin_bit_cast(Real, (holds & __builtin_bit_cast(Bits, a)) |
                                        (~holds & __builtin_bit_cast(Bits, b)));
}
template <class Real>
TENSORSMITH_INLINED inline void smaller(const Real& a, const Real& b, Real& result) {
  choose<Real>(b < a, b, a, result);
}
template <class Real>
TENSORSMITH_INLINED inline void larger(const Real& a, const Real& b, Real& result) {
  choose<Real>(a < b, b, a, result);
}
template <class Real>
TENSORSMITH_INLINED inline void abs(const Real& x, Real& result) {
  result =
      __builtin_bit_cast(Real, __builtin_bit_cast(typename Whole<Real>::Signed, x) & INT64_MAX);
}

/// x = 2^e m with m in [sqrt(1/2), sqrt(2)); ln m is a series in (m - 1) / (m + 1).
template <class Real>
TENSORSMITH_INLINED inline void log(const Real& x, Real& result) {
  using Bits = typename Whole<Real>::Signed;
  using Unsigned = typename Whole<Real>::Unsigned;
  constexpr std::int64_t least = 0x3fe6a09e667f3bcd;  // sqrt(1/2)
  constexpr auto exponents = static_cast<std::int64_t>(0xfff0000000000000);
  const Bits bits = __builtin_bit_cast(Bits, x), over = bits - least;
  const Real m = __builtin_bit_cast(Real, bits - (over & exponents));
  // The exponent, made a number above 0, in the mantissa of 2^52.
  const Unsigned shifted = __builtin_bit_cast(Unsigned, over + (std::int64_t{1024} << 52)) >> 52;
  const Real e = __builtin_bit_cast(Real, shifted | std::uint64_t{0x4330000000000000}) -
                 (4503599627370496.0 + 1024);
  const Real s = (m - 1) / (m + 1), z = s * s;
  constexpr double parts[] = {1.0 / 19, 1.0 / 17, 1.0 / 15, 1.0 / 13, 1.0 / 11,
                              1.0 / 9,  1.0 / 7,  1.0 / 5,  1.0 / 3};
  Real sum = Real{} + 1.0 / 21;
  for (const double part : parts) {
    sum = sum * z + part;
  }
  const Real zero{}, found = e * 0.693147180559945309417 + 2 * s + 2 * s * z * sum;
  Real none, some;
  choose<Real>(x == zero, zero - math::infinity, zero + (math::infinity - math::infinity), none);
  choose<Real>(x > zero + 1e308, x, found, some);
  choose<Real>(x > zero, some, none, result);
}

/// 2^k times the series of the rest, which is at most ln(2) / 2.
template <class Real>
TENSORSMITH_INLINED inline void exp(const Real& x, Real& result) {
  using Bits = typename Whole<Real>::Signed;
  constexpr double rounding = 6755399441055744.0;  // 1.5 2^52: the unit is the last place
  const Real zero{}, least = zero - 708, most = zero + 709;
  Real inside;
  larger<Real>(x, least, inside);
  smaller<Real>(inside, most, inside);
  const Real t = inside * 1.44269504088896340736 + rounding, k = t - rounding;
  const Real rest = (inside - k * 0x1.62e42fefap-1) - k * 0x1.cf79abc9e3b3ap-40;
  constexpr double parts[] = {1.0 / 479001600,
                              1.0 / 39916800,
                              1.0 / 3628800,
                              1.0 / 362880,
                              1.0 / 40320,
                              1.0 / 5040,
                              1.0 / 720,
                              1.0 / 120,
                              1.0 / 24,
                              1.0 / 6,
                              1.0 / 2,
                              1,
                              1};
  Real sum = zero + 1.0 / 6227020800;
  for (const double part : parts) {
    sum = sum * rest + part;
  }
  const Real found =
      __builtin_bit_cast(Real, __builtin_bit_cast(Bits, sum) + (__builtin_bit_cast(Bits, t) << 52));
  Real high, some;
  choose<Real>(x > most, zero + math::infinity, found, high);
  choose<Real>(x < least, zero, high, some);
  choose<Real>(x == x, some, x, result);
}

/// 1 / sqrt(x) of 1 <= x <= 1e300, by Newton's steps.
template <class Real>
TENSORSMITH_INLINED inline void inverse_root(const Real& x, Real& result) {
  using Unsigned = typename Whole<Real>::Unsigned;
  Real y = __builtin_bit_cast(Real, std::uint64_t{0x5fe6eb50c7b537a9} -
                                        (__builtin_bit_cast(Unsigned, x) >> 1));
  for (int step = 0; step < 5; ++step) {
    y = y * (1.5 - 0.5 * x * y * y);
  }
  result = y;
}

}  // namespace tensorsmith::felix::lanes
