// SPDX-License-Identifier: Apache-2.0
// Scalar values: what one element operation computes, for every element type.
//
// Floor 1. Semantics as written in expr.hpp; the interpreters and constant folding share these
// functions. f32, f16 and bf16 values are held as doubles that are floats (f16 and bf16 are rounded
// to their own width by casts and stores only); a double carries + - * / and sqrt of floats without
// double rounding. Not here: expressions (eval.hpp), arrays (host_array.hpp).
#pragma once

#include <cstdint>
#include <optional>

#include "tensorsmith/ir/expr.hpp"
#include "tensorsmith/support/assert.hpp"
#include "tensorsmith/support/floor_div.hpp"
#include "tensorsmith/support/math.hpp"
#include "tensorsmith/support/narrow_float.hpp"

namespace tensorsmith {

/// One element: `real` if is_float(dtype), else `integer` (boolean: 0 or 1). The type is the
/// expression's.
union Scalar {
  std::int64_t integer;
  double real;
};

constexpr Scalar scalar_of(std::int64_t value) { return Scalar{.integer = value}; }
constexpr Scalar scalar_of_real(double value) { return Scalar{.real = value}; }

/// `value` modulo 2^bits of an integer type; boolean: value != 0.
constexpr std::int64_t wrap_integer(std::int64_t value, DType type) {
  switch (type) {
  case DType::i32:
    return static_cast<std::int32_t>(value);
  case DType::i16:
    return static_cast<std::int16_t>(value);
  case DType::i8:
    return static_cast<std::int8_t>(value);
  case DType::u8:
    return static_cast<std::uint8_t>(value);
  case DType::boolean:
    return value != 0 ? 1 : 0;
  default:
    return value;
  }
}

namespace detail {
/// A float next to `value` such that a second rounding, to fewer bits, is right (round to odd).
inline float float_round_to_odd(double value) {
  const float near = static_cast<float>(value);
  if (static_cast<double>(near) == value || value != value || near - near != 0.0F ||
      (math::bit_cast<std::uint32_t>(near) & 1U) != 0) {
    return near;
  }
  const bool is_above = math::fabs(static_cast<double>(near)) > math::fabs(value);
  return math::bit_cast<float>(math::bit_cast<std::uint32_t>(near) + (is_above ? -1U : 1U));
}
}  // namespace detail

/// `value` as an element of a float type stores it.
inline double round_real(double value, DType type) {
  switch (type) {
  case DType::f32:
    return static_cast<float>(value);
  case DType::f16:
    return float_from_f16(f16_from_float(detail::float_round_to_odd(value)));
  case DType::bf16:
    return float_from_bf16(bf16_from_float(detail::float_round_to_odd(value)));
  default:
    return value;
  }
}

/// `value` after one arithmetic operation of a float type: f16 and bf16 are computed in f32.
inline double round_arithmetic(double value, DType type) {
  return type == DType::f64 ? value : static_cast<double>(static_cast<float>(value));
}

/// Conversion between element types. Reals to integers truncate; NaN gives 0 and what is out of
/// range the nearest value (compiled code may differ there).
inline Scalar cast_scalar(Scalar value, DType from, DType to) {
  if (is_float(from)) {
    if (is_float(to)) {
      return scalar_of_real(round_real(value.real, to));
    }
    if (to == DType::boolean) {
      return scalar_of(value.real != 0.0 ? 1 : 0);
    }
    const double cut = math::trunc(value.real);
    const int bits = bytes_of(to) * 8;
    const bool is_signed = to != DType::u8;
    const double top = math::ldexp(1.0, is_signed ? bits - 1 : bits);
    const double bottom = is_signed ? -top : 0.0;
    if (!(cut > bottom)) {
      return scalar_of(cut != cut ? 0 : is_signed ? INT64_MIN >> (64 - bits) : 0);
    }
    if (cut >= top) {
      return scalar_of(is_signed ? INT64_MAX >> (64 - bits) : 255);
    }
    return scalar_of(static_cast<std::int64_t>(cut));
  }
  if (!is_float(to)) {
    return scalar_of(wrap_integer(value.integer, to));
  }
  if (to == DType::f32) {
    return scalar_of_real(static_cast<float>(value.integer));
  }
  return scalar_of_real(round_real(static_cast<double>(value.integer), to));
}

/// A comparison, of integers or reals.
template <class T>
constexpr bool compare_values(BinaryOp op, T a, T b) {
  switch (op) {
  case BinaryOp::eq:
    return a == b;
  case BinaryOp::ne:
    return a != b;
  case BinaryOp::lt:
    return a < b;
  case BinaryOp::le:
    return a <= b;
  case BinaryOp::gt:
    return a > b;
  case BinaryOp::ge:
    return a >= b;
  default:
    return false;
  }
}

/// op on integers in 64 bits (the caller wraps element types); nothing on division by zero.
constexpr std::optional<std::int64_t> apply_integer(BinaryOp op, std::int64_t a, std::int64_t b) {
  switch (op) {
  case BinaryOp::add:
    return wrapping_add(a, b);
  case BinaryOp::sub:
    return wrapping_sub(a, b);
  case BinaryOp::mul:
    return wrapping_mul(a, b);
  case BinaryOp::div:
    return b == 0 ? std::nullopt : std::optional(b == -1 ? wrapping_sub(0, a) : a / b);
  case BinaryOp::truncmod:
    return b == 0 ? std::nullopt : std::optional(b == -1 ? 0 : a % b);
  case BinaryOp::floordiv:
    return b == 0 ? std::nullopt : std::optional(floor_div(a, b));
  case BinaryOp::floormod:
    return b == 0 ? std::nullopt : std::optional(floor_mod(a, b));
  case BinaryOp::min:
    return a < b ? a : b;
  case BinaryOp::max:
    return a > b ? a : b;
  case BinaryOp::and_:
    return a != 0 && b != 0;
  case BinaryOp::or_:
    return a != 0 || b != 0;
  default:
    return compare_values(op, a, b);
  }
}

/// Arithmetic on reals in the width of Real. Not for comparisons.
template <class Real>
Real apply_real(BinaryOp op, Real a, Real b) {
  switch (op) {
  case BinaryOp::add:
    return a + b;
  case BinaryOp::sub:
    return a - b;
  case BinaryOp::mul:
    return a * b;
  case BinaryOp::div:
    return a / b;
  case BinaryOp::truncmod:
    return math::fmod(a, b);
  case BinaryOp::floordiv:
    return math::floor(a / b);
  case BinaryOp::floormod: {
    const Real whole = math::floor(a / b);
    const Real product = whole * b;
    return a - product;
  }
  case BinaryOp::min:
    return math::fmin(a, b);
  case BinaryOp::max:
    return math::fmax(a, b);
  default:
    TENSORSMITH_ASSERT(false, "apply_real of a comparison");
    return Real(0);
  }
}

/// op on two elements of type `operands`. `wraps`: integers are elements (modulo 2^bits), not index
/// arithmetic. Nothing on integer division by zero.
inline std::optional<Scalar> apply_binary(BinaryOp op, DType operands, Scalar a, Scalar b,
                                          bool wraps = true) {
  if (!is_float(operands)) {
    const std::optional<std::int64_t> result = apply_integer(op, a.integer, b.integer);
    if (!result) {
      return std::nullopt;
    }
    return scalar_of(wraps && op < BinaryOp::eq ? wrap_integer(*result, operands) : *result);
  }
  if (is_comparison(op)) {
    return scalar_of(compare_values(op, a.real, b.real) ? 1 : 0);
  }
  if (operands == DType::f64) {
    return scalar_of_real(apply_real(op, a.real, b.real));
  }
  return scalar_of_real(apply_real(op, static_cast<float>(a.real), static_cast<float>(b.real)));
}

inline Scalar apply_unary(UnaryOp op, DType type, Scalar a, bool wraps = true) {
  if (op == UnaryOp::not_) {
    return scalar_of(a.integer == 0 ? 1 : 0);
  }
  if (is_float(type)) {
    return scalar_of_real(-a.real);
  }
  const std::int64_t negative = wrapping_sub(0, a.integer);
  return scalar_of(wraps ? wrap_integer(negative, type) : negative);
}

/// A call other than if_then_else on reals, in double.
inline double apply_call_real(CallOp op, double a, double b) {
  switch (op) {
  case CallOp::exp:
    return math::exp(a);
  case CallOp::log:
    return math::log(a);
  case CallOp::sqrt:
    return math::sqrt(a);
  case CallOp::rsqrt:
    return 1.0 / math::sqrt(a);
  case CallOp::tanh:
    return math::tanh(a);
  case CallOp::erf:
    return math::erf(a);
  case CallOp::sigmoid:
    return (a < 0 ? math::exp(a) : 1.0) / (1.0 + math::exp(-math::fabs(a)));
  case CallOp::pow:
    return math::pow(a, b);
  case CallOp::abs:
    return math::fabs(a);
  case CallOp::floor:
    return math::floor(a);
  case CallOp::ceil:
    return math::ceil(a);
  case CallOp::round:
    return math::nearbyint(a);
  case CallOp::if_then_else:
    break;
  }
  TENSORSMITH_ASSERT(false, "if_then_else is not a strict call");
  return 0.0;
}

/// A call other than if_then_else. On integers only abs means something of its own; floor, ceil and
/// round change nothing; the rest is computed in double and truncated.
inline Scalar apply_call(CallOp op, DType type, Scalar a, Scalar b, bool wraps = true) {
  if (is_float(type)) {
    return scalar_of_real(round_arithmetic(apply_call_real(op, a.real, b.real), type));
  }
  if (op == CallOp::abs) {
    const std::int64_t value = a.integer < 0 ? wrapping_sub(0, a.integer) : a.integer;
    return scalar_of(wraps ? wrap_integer(value, type) : value);
  }
  if (op == CallOp::floor || op == CallOp::ceil || op == CallOp::round) {
    return a;
  }
  const double result =
      apply_call_real(op, static_cast<double>(a.integer), static_cast<double>(b.integer));
  return cast_scalar(scalar_of_real(result), DType::f64, type);
}

}  // namespace tensorsmith
