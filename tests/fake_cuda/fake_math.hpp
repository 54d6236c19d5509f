// SPDX-License-Identifier: Apache-2.0
// Arithmetic of the fake libraries: elements of the types that they take, as double.
#pragma once

#include <cstdint>
#include <cstring>

#include "fake_cuda.hpp"
#include "tensorsmith/support/narrow_float.hpp"

namespace fake_cuda {

/// Numbers of cudaDataType_t.
enum ElementType {
  f32_element = 0,
  f64_element = 1,
  f16_element = 2,
  i8_element = 3,
  i32_element = 10,
  bf16_element = 14
};

template <class T>
T element_at(const void* data, std::int64_t at) {
  T value;
  std::memcpy(&value, static_cast<const char*>(data) + static_cast<std::size_t>(at) * sizeof(T),
              sizeof(T));
  return value;
}
template <class T>
void put_element(void* data, std::int64_t at, T value) {
  std::memcpy(static_cast<char*>(data) + static_cast<std::size_t>(at) * sizeof(T), &value,
              sizeof(T));
}

inline double load_element(const void* data, std::int64_t at, int type) {
  switch (type) {
  case f64_element:
    return element_at<double>(data, at);
  case f16_element:
    return static_cast<double>(tensorsmith::float_from_f16(element_at<std::uint16_t>(data, at)));
  case bf16_element:
    return static_cast<double>(tensorsmith::float_from_bf16(element_at<std::uint16_t>(data, at)));
  case i8_element:
    return element_at<std::int8_t>(data, at);
  case i32_element:
    return element_at<std::int32_t>(data, at);
  default:
    return static_cast<double>(element_at<float>(data, at));
  }
}
inline void store_element(void* data, std::int64_t at, int type, double value) {
  if (type == f64_element) {
    put_element(data, at, value);
  } else if (type == i32_element) {
    put_element(data, at, static_cast<std::int32_t>(value));
  } else {
    put_element(data, at, static_cast<float>(value));
  }
}

/// Time passes; whether the call is to compute as well, as runs_now().
bool begins_call(double ns);

}  // namespace fake_cuda
