// SPDX-License-Identifier: Apache-2.0
// Element types.
//
// Floor 1. Names and sizes only; vectors are loops, not types.
#pragma once

#include <cstdint>
#include <string_view>

namespace tensorsmith {

enum class DType : std::uint8_t { f64, f32, f16, bf16, i64, i32, i16, i8, u8, boolean };

struct IntegerLimits {
  std::int64_t low = INT64_MIN, high = INT64_MAX;  // inclusive
};

inline constexpr DType all_dtypes[] = {DType::f64, DType::f32,    DType::f16, DType::bf16,
                                       DType::i64, DType::i32,    DType::i16, DType::i8,
                                       DType::u8,  DType::boolean};

namespace detail {
struct DTypeFacts {
  std::string_view short_name;      // ours, as in workload strings
  std::string_view reference_name;  // the Ansor reference's, as in logs
  std::int32_t bytes;
  IntegerLimits limits = {};
};
constexpr DTypeFacts dtype_facts[] = {{"f64", "float64", 8},
                                      {"f32", "float32", 4},
                                      {"f16", "float16", 2},
                                      {"bf16", "bfloat16", 2},
                                      {"i64", "int64", 8},
                                      {"i32", "int32", 4, {INT32_MIN, INT32_MAX}},
                                      {"i16", "int16", 2, {INT16_MIN, INT16_MAX}},
                                      {"i8", "int8", 1, {-128, 127}},
                                      {"u8", "uint8", 1, {0, 255}},
                                      {"bool", "bool", 1, {0, 1}}};
}  // namespace detail

constexpr std::int32_t bytes_of(DType type) {
  return detail::dtype_facts[static_cast<std::size_t>(type)].bytes;
}
constexpr std::string_view name_of(DType type) {
  return detail::dtype_facts[static_cast<std::size_t>(type)].short_name;
}
constexpr std::string_view reference_name_of(DType type) {
  return detail::dtype_facts[static_cast<std::size_t>(type)].reference_name;
}
/// `name` is one of the two names of `type`.
constexpr bool is_name_of(std::string_view name, DType type) {
  return name == name_of(type) || name == reference_name_of(type);
}
constexpr bool is_float(DType type) { return type <= DType::bf16; }
constexpr bool is_integer(DType type) { return type >= DType::i64 && type <= DType::u8; }

/// Index arithmetic is exact in 64 bits, element arithmetic wraps: an integer expression is index
/// arithmetic if it is of such a type and no element (a load or read) is in it.
constexpr bool is_index_type(DType type) { return type == DType::i32 || type == DType::i64; }

/// Smallest and largest value of an integer type (or boolean); of another type, those of i64.
constexpr IntegerLimits limits_of(DType type) {
  return detail::dtype_facts[static_cast<std::size_t>(type)].limits;
}

}  // namespace tensorsmith
