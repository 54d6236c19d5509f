// SPDX-License-Identifier: Apache-2.0
// What readers of quantised operators have in common.
//
// Private to lib/onnx; defined in readers_quantized.cpp.
#pragma once

#include "onnx/node_source.hpp"

namespace tensorsmith::onnx {

ValueId cast(NodeSource& source, ValueId x, DType type);
/// x - zero point of input i, as i32. Zero points are one number, or one per element of the first
/// of `axes` axes.
ValueId centred(NodeSource& source, ValueId x, std::size_t i, std::size_t axes = 1);
/// What input i stands for; its scale and its zero point are behind it.
ValueId dequantized(NodeSource& source, std::size_t i, std::int64_t axis);
/// The file's result: `real` in units of input i, from the zero point behind it or, without one, in
/// the type of `like`.
void finish_quantized(NodeSource& source, ValueId real, std::size_t i, ValueId like);

struct DynamicQuantized {
  ValueId scale, zero;  ///< zero: of u8
};
/// Such that the range of x, with 0, is 0 to 255.
DynamicQuantized dynamic_range(NodeSource& source, ValueId x);

}  // namespace tensorsmith::onnx
