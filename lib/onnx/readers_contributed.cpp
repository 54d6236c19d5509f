// SPDX-License-Identifier: Apache-2.0
// Operators of the domain com.microsoft that its tools for speed and for quantised networks write
// into files: products with something behind them, and quantised forms of ordinary operators.
// Shapes of what they read are known (Importer::add_operator).
#include <string>
#include <utility>
#include <vector>

#include "onnx/quantized_parts.hpp"
#include "onnx/readers.hpp"
#include "onnx/tensor.hpp"

namespace tensorsmith::onnx {
namespace {

using Ints = std::vector<std::int64_t>;

/// Refuses a node without one of these inputs, which the table cannot say.
bool has_all(NodeSource& source, const std::vector<std::size_t>& inputs) {
  for (const std::size_t i : inputs) {
    if (!source.has_input(i)) {
      source.refuse("its input " + std::to_string(i) + " is absent");
      return false;
    }
  }
  return true;
}
std::size_t rank_of(const NodeSource& source, ValueId x) {
  return source.net().value(x).shape.size();
}
/// The last two axes change places.
ValueId swapped(NodeSource& source, ValueId x) {
  Ints perm;
  for (std::size_t d = 0; d < rank_of(source, x); ++d) {
    perm.push_back(static_cast<std::int64_t>(d));
  }
  if (perm.size() < 2) {
    source.refuse("it transposes what is no matrix");
    return x;
  }
  std::swap(perm[perm.size() - 1], perm[perm.size() - 2]);
  return source.emit("Transpose", {x}, {{"perm", perm}});
}
ValueId scaled(NodeSource& source, ValueId x, double factor) {
  return factor == 1 ? x : source.emit("Mul", {x, source.scalar(factor, x)});
}

/// The activation behind a product, as the file's result.
void finish_activated(NodeSource& source, ValueId x, const std::vector<float>& numbers) {
  const std::string name = source.text("activation", "");
  const auto number = [&](std::size_t i, double otherwise) {
    return i < numbers.size() ? static_cast<double>(numbers[i]) : otherwise;
  };
  if (name.empty()) {
    source.finish_as(0, x);
  } else if (name == "Relu" || name == "Tanh" || name == "Sigmoid") {
    source.finish(name, {x});
  } else if (name == "LeakyRelu") {
    source.finish(name, {x}, {{"alpha", number(0, 0.01)}});
  } else if (name == "HardSigmoid") {
    source.finish(name, {x}, {{"alpha", number(0, 0.2)}, {"beta", number(1, 0.5)}});
  } else if (name == "Clip" && numbers.size() == 2) {
    source.finish(name, {x, source.scalar(number(0, 0), x), source.scalar(number(1, 0), x)});
  } else {
    source.refuse("its activation \"" + name + "\" is not read");
  }
}

}  // namespace

// FusedMatMul(a, b) --> alpha * MatMul of either, or of its transposed matrices.
void read_fused_matmul(NodeSource& source) {
  if (source.integer("transBatchA", 0) != 0 || source.integer("transBatchB", 0) != 0) {
    source.refuse("transposed batches are not read");
    return;
  }
  ValueId a = source.input(0), b = source.input(1);
  a = source.integer("transA", 0) != 0 ? swapped(source, a) : a;
  b = source.integer("transB", 0) != 0 ? swapped(source, b) : b;
  source.finish_as(0, scaled(source, source.emit("MatMul", {a, b}), source.real("alpha", 1)));
}

// FusedConv(x, w, bias, summand) --> activation of Conv + summand.
void read_fused_conv(NodeSource& source) {
  auto attributes = source.attributes({"activation", "activation_params"});
  std::vector<ValueId> inputs = {source.input(0), source.input(1)};
  if (source.has_input(2)) {
    inputs.push_back(source.input(2));
  }
  ValueId y = source.emit("Conv", std::move(inputs), std::move(attributes));
  y = source.has_input(3) ? source.emit("Add", {y, source.input(3)}) : y;
  const AttributeMessage* numbers = source.find("activation_params");
  finish_activated(source, y, numbers != nullptr ? numbers->reals : std::vector<float>());
}

// FusedGemm --> activation of Gemm.
void read_fused_gemm(NodeSource& source) {
  std::vector<float> numbers;
  for (const char* name : {"activation_alpha", "activation_beta"}) {
    if (source.has(name)) {
      numbers.push_back(static_cast<float>(source.real(name, 0)));
    }
  }
  auto attributes =
      source.attributes({"activation", "activation_alpha", "activation_beta", "activation_gamma"});
  std::vector<ValueId> inputs = source.inputs();
  finish_activated(source, source.emit("Gemm", std::move(inputs), std::move(attributes)), numbers);
}

// QLinearAdd, QLinearMul(a, its scale, its zero, b, ..., y's scale, y's zero).
void read_qlinear_binary(NodeSource& source) {
  if (has_all(source, {0, 1, 3, 4, 6})) {
    const ValueId y = source.emit(source.op() == "QLinearAdd" ? "Add" : "Mul",
                                  {dequantized(source, 0, 1), dequantized(source, 3, 1)});
    finish_quantized(source, y, 6, source.input(0));
  }
}

// QLinearConcat(y's scale, y's zero, a, its scale, its zero, ...).
void read_qlinear_concat(NodeSource& source) {
  std::vector<ValueId> parts;
  for (std::size_t i = 2; i < source.inputs().size(); i += 3) {
    if (!has_all(source, {0, i, i + 1})) {
      return;
    }
    parts.push_back(dequantized(source, i, 1));
  }
  if (parts.empty()) {
    source.refuse("it joins nothing");
    return;
  }
  const ValueId y = source.emit("Concat", std::move(parts), {{"axis", source.integer("axis", 1)}});
  finish_quantized(source, y, 0, source.input(2));
}

// QLinearSigmoid, QLinearLeakyRelu, QLinearSoftmax and pools (x, its scale, its zero, y's scale,
// y's zero).
void read_qlinear_unary(NodeSource& source) {
  if (source.integer("channels_last", 0) != 0) {
    source.refuse("channels_last is not read");
    return;
  }
  if (has_all(source, {0, 1, 3})) {
    const std::string op(source.op().substr(std::string_view("QLinear").size()));
    auto attributes = source.attributes({"channels_last", "opset"});
    const ValueId y = source.emit(op, {dequantized(source, 0, 1)}, std::move(attributes));
    finish_quantized(source, y, 3, source.input(0));
  }
}

// QGemm(a, its scale, its zero, b, ..., bias in units of both scales, y's scale, y's zero); without
// y's scale the result is real.
void read_qgemm(NodeSource& source) {
  if (!has_all(source, {0, 1, 3, 4})) {
    return;
  }
  ValueId a = dequantized(source, 0, 1);
  ValueId b = dequantized(source, 3, source.integer("transB", 0) != 0 ? 0 : 1);
  a = source.integer("transA", 0) != 0 ? swapped(source, a) : a;
  b = source.integer("transB", 0) != 0 ? source.emit("Transpose", {b}, {{"perm", Ints{1, 0}}}) : b;
  const double alpha = source.real("alpha", 1);
  ValueId y = scaled(source, source.emit("MatMul", {a, b}), alpha);
  if (source.has_input(6)) {
    const ValueId unit = source.emit("Mul", {source.input(1), source.input(4)});
    const ValueId bias = source.emit("Mul", {cast(source, source.input(6), DType::f32), unit});
    y = source.emit("Add", {y, scaled(source, bias, alpha)});
  }
  if (source.has_input(7)) {
    finish_quantized(source, y, 7, source.input(0));
  } else {
    source.finish_as(0, y);
  }
}

// MatMulIntegerToFloat(a, b, a's scale, b's scale, a's zero, b's zero, bias).
void read_matmul_integer_to_float(NodeSource& source) {
  const ValueId product = source.emit(
      "MatMul", {centred(source, source.input(0), 4), centred(source, source.input(1), 5)});
  const ValueId unit = source.emit("Mul", {source.input(2), source.input(3)});
  const ValueId y = source.emit("Mul", {cast(source, product, DType::f32), unit});
  source.finish_as(0, source.has_input(6) ? source.emit("Add", {y, source.input(6)}) : y);
}

// DynamicQuantizeMatMul(a, b, b's scale, b's zero, bias): a is quantised by its range.
void read_dynamic_quantize_matmul(NodeSource& source) {
  const ValueId a = source.input(0);
  const DynamicQuantized range = dynamic_range(source, a);
  const ValueId number =
      cast(source, source.emit("QuantizeLinear", {a, range.scale, range.zero}), DType::i32);
  const ValueId product =
      source.emit("MatMul", {source.emit("Sub", {number, cast(source, range.zero, DType::i32)}),
                             centred(source, source.input(1), 3)});
  const ValueId unit = source.emit("Mul", {range.scale, source.input(2)});
  const ValueId y = source.emit("Mul", {cast(source, product, DType::f32), unit});
  source.finish_as(0, source.has_input(4) ? source.emit("Add", {y, source.input(4)}) : y);
}

// DynamicQuantizeLSTM(x, w, r, bias, lengths, h, c, peepholes, w's scale, w's zero, r's scale, r's
// zero): LSTM of what w [directions, inputs, gates] and r stand for. What it multiplies them with
// stays as it is.
void read_dynamic_quantize_lstm(NodeSource& source) {
  if (!has_all(source, {0, 1, 2, 8, 9, 10, 11})) {
    return;
  }
  const auto weights = [&](std::size_t i, std::size_t scale) {
    // Scales and zeros by direction, or by direction and gate.
    const auto by_column = [&](ValueId x) {
      return source.emit("Reshape", {x, source.integer_list({0, 1, -1})});
    };
    const auto column = [&](std::size_t k) {
      const ValueId x = source.input(k);
      return rank_of(source, x) == 1
                 ? by_column(source.emit("Unsqueeze", {x, source.integer_list({1})}))
                 : by_column(x);
    };
    const ValueId number = cast(source, source.input(i), DType::i32);
    const ValueId zero = cast(source, column(scale + 1), DType::i32);
    const ValueId real = cast(source, source.emit("Sub", {number, zero}), DType::f32);
    return source.emit("Transpose", {source.emit("Mul", {real, column(scale)})},
                       {{"perm", Ints{0, 2, 1}}});
  };
  auto attributes = source.attributes();
  source.finish("LSTM",
                {source.input(0), weights(1, 8), weights(2, 10), source.input(3), source.input(4),
                 source.input(5), source.input(6), source.input(7)},
                std::move(attributes));
}

}  // namespace tensorsmith::onnx
