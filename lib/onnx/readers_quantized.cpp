// SPDX-License-Identifier: Apache-2.0
// Operators of quantised networks, as products of whole numbers and as what surrounds them.
#include <string>
#include <vector>

#include "onnx/quantized_parts.hpp"
#include "onnx/readers.hpp"
#include "onnx/tensor.hpp"

namespace tensorsmith::onnx {
ValueId cast(NodeSource& source, ValueId x, DType type) {
  return source.emit("Cast", {x}, {{"to", std::string(name_of(type))}});
}
ValueId centred(NodeSource& source, ValueId x, std::size_t i, std::size_t axes) {
  const ValueId number = cast(source, x, DType::i32);
  if (!source.has_input(i)) {
    return number;
  }
  ValueId zero = cast(source, source.input(i), DType::i32);
  if (axes > 1) {
    std::vector<std::int64_t> shape(axes, 1);
    shape[0] = -1;
    zero = source.emit("Reshape", {zero, source.integer_list(shape)});
  }
  return source.emit("Sub", {number, zero});
}
ValueId dequantized(NodeSource& source, std::size_t i, std::int64_t axis) {
  return source.emit("DequantizeLinear",
                     {source.input(i), source.input(i + 1), source.input(i + 2)}, {{"axis", axis}});
}
void finish_quantized(NodeSource& source, ValueId real, std::size_t i, ValueId like) {
  if (source.has_input(i + 1)) {
    source.finish("QuantizeLinear", {real, source.input(i), source.input(i + 1)});
  } else {
    source.finish("QuantizeLinear", {real, source.input(i)},
                  {{"output_dtype", std::string(name_of(source.type_of(like)))}});
  }
}
DynamicQuantized dynamic_range(NodeSource& source, ValueId x) {
  const std::vector<graph::Attribute> whole = {{"keepdims", std::int64_t{0}}};
  const ValueId none = source.scalar(0, x), top = source.scalar(255, x);
  const ValueId most = source.emit("Max", {source.emit("ReduceMax", {x}, whole), none});
  const ValueId least = source.emit("Min", {source.emit("ReduceMin", {x}, whole), none});
  const ValueId scale = source.emit("Div", {source.emit("Sub", {most, least}), top});
  const ValueId place =
      source.emit("Round", {source.emit("Div", {source.emit("Neg", {least}), scale})});
  return {scale, cast(source, source.emit("Clip", {place, none, top}), DType::u8)};
}

// Names of types in place of their numbers.
void read_quantize(NodeSource& source) {
  auto attributes = source.attributes({"output_dtype", "saturate", "precision"});
  if (const std::int64_t number = source.integer("output_dtype", 0); number != 0) {
    const auto type = element_type(number);
    if (!type) {
      source.refuse(type.error());
      return;
    }
    attributes.push_back({"output_dtype", std::string(name_of(*type))});
  }
  source.finish(source.op(), source.inputs(), std::move(attributes));
}

// MatMulInteger(a, b, zero of a, zero of b) --> MatMul(a - zero, b - zero) in i32.
void read_matmul_integer(NodeSource& source) {
  source.finish("MatMul",
                {centred(source, source.input(0), 2, 2), centred(source, source.input(1), 3)});
}

// ConvInteger(x, w, zero of x, zero of w), the same; padding is 0 behind the subtraction.
void read_conv_integer(NodeSource& source) {
  auto attributes = source.attributes();
  const graph::Value& weights = source.net().value(source.input(1));
  const std::size_t axes = weights.is_known || weights.is_constant ? weights.shape.size() : 4;
  source.finish("Conv",
                {centred(source, source.input(0), 2), centred(source, source.input(1), 3, axes)},
                std::move(attributes));
}

// QLinearMatMul(a, its scale, its zero, b, ..., y's scale, y's zero).
void read_qlinear_matmul(NodeSource& source) {
  const ValueId product =
      source.emit("MatMul", {dequantized(source, 0, -2), dequantized(source, 3, -1)});
  source.finish("QuantizeLinear", {product, source.input(6), source.input(7)});
}

// QLinearConv(x, its scale, its zero, w, ..., y's scale, y's zero, bias in units of both scales).
void read_qlinear_conv(NodeSource& source) {
  std::vector<ValueId> inputs = {dequantized(source, 0, 1), dequantized(source, 3, 0)};
  if (source.has_input(8)) {
    const ValueId unit = source.emit("Mul", {source.input(1), source.input(4)});
    inputs.push_back(source.emit("Mul", {cast(source, source.input(8), DType::f32), unit}));
  }
  auto attributes = source.attributes();
  const ValueId sum = source.emit("Conv", std::move(inputs), std::move(attributes));
  source.finish("QuantizeLinear", {sum, source.input(6), source.input(7)});
}

// DynamicQuantizeLinear(x) --> x in u8, its scale and its zero point.
void read_dynamic_quantize(NodeSource& source) {
  const ValueId x = source.input(0);
  const DynamicQuantized range = dynamic_range(source, x);
  source.finish_as(1, range.scale);
  source.finish_as(2, range.zero);
  source.finish("QuantizeLinear", {x, range.scale, range.zero}, {}, 1);
}

}  // namespace tensorsmith::onnx
