// SPDX-License-Identifier: Apache-2.0
// real_at: an element of raw bytes as a number, whatever its type.
//
// Private to lib/. Own design.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "tensorsmith/ir/host_array.hpp"

namespace tensorsmith {

inline double real_at(DType dtype, std::span<const std::byte> bytes, std::int64_t i) {
  const std::byte* const at = bytes.data() + static_cast<std::size_t>(i * bytes_of(dtype));
  return cast_scalar(load_scalar(at, dtype), dtype, DType::f64).real;
}

}  // namespace tensorsmith
