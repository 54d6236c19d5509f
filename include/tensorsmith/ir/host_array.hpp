// SPDX-License-Identifier: Apache-2.0
// HostArray: a dense row-major array of one element type in ordinary memory.
//
// Floor 1. Own design. Inputs and outputs of the interpreters and of compiled kernels in tests and
// tools. Not here: layouts, views, device memory.
#pragma once

#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

#include "tensorsmith/ir/value.hpp"
#include "tensorsmith/support/math.hpp"

namespace tensorsmith {

/// Reads one stored element.
inline Scalar load_scalar(const std::byte* at, DType type) {
  const auto read = [at](auto value) {
    math::copy_bytes(&value, at, sizeof(value));
    return value;
  };
  switch (type) {
  case DType::f64:
    return scalar_of_real(read(double{}));
  case DType::f32:
    return scalar_of_real(read(float{}));
  case DType::f16:
    return scalar_of_real(float_from_f16(read(std::uint16_t{})));
  case DType::bf16:
    return scalar_of_real(float_from_bf16(read(std::uint16_t{})));
  case DType::i64:
    return scalar_of(read(std::int64_t{}));
  case DType::i32:
    return scalar_of(read(std::int32_t{}));
  case DType::i16:
    return scalar_of(read(std::int16_t{}));
  case DType::i8:
    return scalar_of(read(std::int8_t{}));
  case DType::u8:
    return scalar_of(read(std::uint8_t{}));
  case DType::boolean:
    return scalar_of(read(std::uint8_t{}) != 0 ? 1 : 0);
  }
  return scalar_of(0);
}

/// Rounds or wraps `value` (an element of `type`) and writes it.
inline void store_scalar(std::byte* at, DType type, Scalar value) {
  const auto write = [at](auto bits) { math::copy_bytes(at, &bits, sizeof(bits)); };
  switch (type) {
  case DType::f64:
    return write(value.real);
  case DType::f32:
    return write(static_cast<float>(value.real));
  case DType::f16:
    return write(f16_from_float(detail::float_round_to_odd(value.real)));
  case DType::bf16:
    return write(bf16_from_float(detail::float_round_to_odd(value.real)));
  case DType::i64:
    return write(value.integer);
  case DType::i32:
    return write(static_cast<std::int32_t>(value.integer));
  case DType::i16:
    return write(static_cast<std::int16_t>(value.integer));
  case DType::i8:
  case DType::u8:
    return write(static_cast<std::uint8_t>(value.integer));
  case DType::boolean:
    return write(static_cast<std::uint8_t>(value.integer != 0 ? 1 : 0));
  }
}

struct HostArray {
  DType dtype = DType::f32;
  std::vector<std::int64_t> shape;
  std::vector<std::byte> data;

  HostArray() = default;
  /// Zeros.
  HostArray(DType type, std::vector<std::int64_t> dimensions)
      : dtype(type), shape(std::move(dimensions)) {
    data.resize(static_cast<std::size_t>(num_elements() * bytes_of(dtype)));
  }

  std::int64_t num_elements() const {
    std::int64_t n = 1;
    for (std::int64_t extent : shape) {
      n *= extent;
    }
    return n;
  }
  /// Element number `i` in row-major order.
  Scalar get(std::int64_t i) const { return load_scalar(&data[offset(i)], dtype); }
  void set(std::int64_t i, Scalar value) { store_scalar(&data[offset(i)], dtype, value); }
  /// As a number, whatever the type.
  double get_real(std::int64_t i) const { return cast_scalar(get(i), dtype, DType::f64).real; }
  std::int64_t get_int(std::int64_t i) const {
    return cast_scalar(get(i), dtype, DType::i64).integer;
  }
  void set_real(std::int64_t i, double value) {
    set(i, cast_scalar(scalar_of_real(value), DType::f64, dtype));
  }
  void set_int(std::int64_t i, std::int64_t value) {
    set(i, cast_scalar(scalar_of(value), DType::i64, dtype));
  }
  /// Row-major position of an index; the index must lie inside.
  std::int64_t position(const std::vector<std::int64_t>& index) const {
    TENSORSMITH_ASSERT(index.size() == shape.size(), "HostArray: rank of the index");
    std::int64_t at = 0;
    for (std::size_t d = 0; d < shape.size(); ++d) {
      TENSORSMITH_ASSERT(index[d] >= 0 && index[d] < shape[d], "HostArray: index out of range");
      at = at * shape[d] + index[d];
    }
    return at;
  }
  bool operator==(const HostArray&) const = default;  ///< by bytes

 private:
  std::size_t offset(std::int64_t i) const {
    const std::size_t at = static_cast<std::size_t>(i) * static_cast<std::size_t>(bytes_of(dtype));
    TENSORSMITH_ASSERT(i >= 0 && at < data.size(), "HostArray: element out of range");
    return at;
  }
};

}  // namespace tensorsmith
