// SPDX-License-Identifier: Apache-2.0
// Functions of f32 for exported C++: of one number or of all lanes of a vector, without a branch.
//
// Floor 5. The polynomials and bounds of lib/cpu/math_emit.cpp without its tables; those that round
// more products, for processors without fused multiply-add, are cephes' expf. Semantics and errors:
// docs/numerics.md.
#pragma once

#include <string_view>

namespace tensorsmith {

struct CppHelper {
  std::string_view name;  ///< what to look for in the text that uses it
  std::string_view text;
};

// In the order of printing: a helper uses only those before it.
inline constexpr CppHelper cpp_math_helpers[] = {
    {"bits_of(", R"(// Functions of float are templates: T is float or a vector of floats.
template <class T>
struct Lanes {
  using Ints = decltype(T{} < T{});
};
template <>
struct Lanes<float> {
  using Ints = std::uint32_t;
};
template <class T>
inline typename Lanes<T>::Ints bits_of(T x) {
  typename Lanes<T>::Ints bits;
  std::memcpy(&bits, &x, sizeof bits);
  return bits;
}
template <class T>
inline T from_bits(typename Lanes<T>::Ints bits) {
  T x;
  std::memcpy(&x, &bits, sizeof x);
  return x;
}
template <class T>
inline T magnitude_of(T x) {
  return from_bits<T>(bits_of(x) & 0x7fffffff);
}
template <class T>
inline T with_sign_of(T x, T sign) {
  return from_bits<T>((bits_of(x) & 0x7fffffff) | (bits_of(sign) & ~0x7fffffff));
}
)"},
    {"sqrt_of(", R"(template <class T>
inline T sqrt_of(T x) {  // of a vector
  for (std::size_t i = 0; i < sizeof(T) / sizeof(x[0]); ++i) {
    x[i] = std::sqrt(x[i]);
  }
  return x;
}
)"},
    {"exp_within(",
     R"(// exp of t in [-104, 89], in lanes that hold no NaN; at most 0.9 units in the last place.
template <class T>
inline T exp_within(T t) {
  const T magic = T{} + 12582912.0f;  // 1.5 * 2^23: the last bits of a sum with it count ones
  const T place = t * 1.44269504f + magic;
  const T n = place - magic;
  const T r = (n * -0.693359375f + t) + n * 2.12194440e-4f;
#if defined(__FMA__)
  T y = r * 1.3814310078e-3f + 8.3688562736e-3f;
  y = y * r + 4.1668400168e-2f;
  y = y * r + 1.6666519642e-1f;
  y = y * r + 4.9999994040e-1f;
  y = y * r + 1.0f;
  y = y * r + 1.0f;
#else
  T p = r * 1.9875691500e-4f + 1.3981999507e-3f;
  p = p * r + 8.3334519073e-3f;
  p = p * r + 4.1665795894e-2f;
  p = p * r + 1.6666665459e-1f;
  p = p * r + 5.0000001201e-1f;
  const T y = (p * (r * r) + r) + 1.0f;
#endif
  // 2^n in two steps, so that denormals are rounded once and 2^128 is reached.
  const auto k = bits_of(place) - 0x4b400000;
  const auto first = ((k + 512) >> 1) - 256;
  const auto second = k - first;
  return y * from_bits<T>((first + 127) << 23) * from_bits<T>((second + 127) << 23);
}
)"},
    {"exp_of(", R"(template <class T>
inline T exp_of(T x) {
  const T high = T{} + 89.0f, low = T{} - 104.0f;
  const T t = high < x ? high : x;  // x if it is NaN
  return exp_within(low > t ? low : t);
}
)"},
    {"log_of(", R"(template <class T>
inline T log_of(T x) {
  const T zero = T{}, infinity = zero + __builtin_inff();
  const auto is_tiny = x < zero + 1.17549435e-38f;
  const T scaled = is_tiny ? x * 8388608.0f : x;
  // m in [sqrt(1/2), sqrt(2)), x = m * 2^e
  const auto shifted = bits_of(scaled) + (0x3f800000 - 0x3f3504f3);
  const auto exponent = ((shifted >> 23) & 0x1ff) - 127;
  // A small integer as a float, by the last bits of 1.5 * 2^23.
  T e = from_bits<T>(exponent + 0x4b400000) - 12582912.0f;
  e = e - (is_tiny ? zero + 23.0f : zero);
  const T m = from_bits<T>((shifted & 0x007fffff) + 0x3f3504f3);
  const T f = m - 1.0f;
  const T z = f * f;
  T p = f * 7.0376836292e-2f - 1.1514610310e-1f;
  p = p * f + 1.1676998740e-1f;
  p = p * f - 1.2420140846e-1f;
  p = p * f + 1.4249322787e-1f;
  p = p * f - 1.6668057665e-1f;
  p = p * f + 2.0000714765e-1f;
  p = p * f - 2.4999993993e-1f;
  p = p * f + 3.3333331174e-1f;
  T y = (f * z) * p;
  y = e * -2.12194440e-4f + y;
  y = z * -0.5f + y;
  T result = e * 0.693359375f + (f + y);
  result = x == infinity ? infinity : result;
  result = x == zero ? zero - infinity : result;
  const T wrong = x == x ? zero + __builtin_nanf("") : x;
  return x >= zero ? result : wrong;
}
)"},
    {"tanh_of(", R"(template <class T>
inline T tanh_of(T x) {
  const T a = magnitude_of(x), z = x * x;
  T p = z * -5.70498872745e-3f + 2.06390887954e-2f;
  p = p * z - 5.37397155531e-2f;
  p = p * z + 1.33314422036e-1f;
  p = p * z - 3.33332819422e-1f;
  const T small = (p * z) * x + x;
  const T high = T{} + 89.0f, twice = a + a;
  const T big = 1.0f - 2.0f / (exp_within(high < twice ? high : twice) + 1.0f);
  return with_sign_of(a < T{} + 0.625f ? small : big, x);
}
)"},
    {"erf_of(", R"(template <class T>
inline T erf_of(T x) {
  const T t = magnitude_of(x), four = T{} + 4.0f;
  const T u = t > four ? four : t;  // erf is 1 there
  const T square = u * u;
  T r = u * -1.72853470e-5f + 3.83197126e-4f;
  r = r * square + (u * -3.88396438e-3f + 2.42546219e-2f);
  r = r * u - 1.06777877e-1f;
  r = r * u - 6.34846687e-1f;
  r = r * u - 1.28717512e-1f;
  r = r * u - u;
  const T big = with_sign_of(1.0f - exp_within(r), x);
  T p = square * -5.96761703e-4f + 4.99119423e-3f;
  p = p * square - 2.67681349e-2f;
  p = p * square + 1.12819925e-1f;
  p = p * square - 3.76125336e-1f;
  p = p * square + 1.28379166e-1f;
  return t > T{} + 0.927734375f ? big : p * x + x;
}
)"},
    {"sigmoid_of(", R"(// 1 / (1 + exp(-x)) with an exponential that cannot overflow.
template <class T>
inline T sigmoid_of(T x) {
  const T low = T{} - 104.0f, s = -magnitude_of(x);
  const T e = exp_within(low > s ? low : s);
  const T top = x < T{} ? e : T{} + 1.0f;
  return top / (e + 1.0f);
}
)"},
};

}  // namespace tensorsmith
