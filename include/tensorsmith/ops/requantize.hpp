// SPDX-License-Identifier: Apache-2.0
// Requantization: 32-bit sums of 8-bit products as 8-bit numbers again.
//
// Floor 3. Own design; what ONNX's QuantizeLinear and the output scales of libraries compute:
//     out = clamp(round(f32(sum) * scale[column] + f32(zero_point)))
// rounded to nearest, halves to even, clamped to what the type holds. A float next to a half may be
// rounded either way (measure/tolerance.hpp). Not here: what comes before it (gemm.hpp, conv.hpp).
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "tensorsmith/ops/op.hpp"

namespace tensorsmith::ops::detail {

template <class Params>
void check_byte_types(const std::string& op, const Params& p) {
  const bool has_bytes = p.weights != ByteType::none || p.requant != ByteType::none;
  if (has_bytes && p.dtype != DType::i8 && p.dtype != DType::u8) {
    misuse(op,
           p.requant != ByteType::none ? "8-bit operands of a requantized result"
                                       : "8-bit operands with 8-bit weights",
           std::string(name_of(p.dtype)));
  }
}

/// The operands `scale`, one number per column, and `zero_point`, one number.
struct Requantize {
  te::Tensor scale, zero_point;
  DType type;

  Requantize(te::Program& program, std::int64_t columns, ByteType to, std::vector<te::Tensor>& into)
      : scale(program.placeholder("scale", {columns}, DType::f32)),
        zero_point(program.placeholder("zero_point", {1}, DType::i32)),
        type(dtype_of(to, DType::i8)) {
    into.push_back(scale);
    into.push_back(zero_point);
  }
  te::Expr operator()(const te::Expr& sum, const te::Expr& column) const {
    const int low = type == DType::u8 ? 0 : -128, high = type == DType::u8 ? 255 : 127;
    const te::Expr value =
        te::cast(DType::f32, sum) * scale(column) + te::cast(DType::f32, zero_point(0));
    return te::cast(type, te::round(te::max(te::min(value, high), low)));
  }
};

}  // namespace tensorsmith::ops::detail
