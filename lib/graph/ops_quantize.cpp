// SPDX-License-Identifier: Apache-2.0
// QuantizeLinear and DequantizeLinear: by tensor, by axis, by blocks along an axis.
#include <algorithm>

#include "graph/operators.hpp"
#include "tensorsmith/ir/dtype_name.hpp"

namespace tensorsmith::graph {
namespace {

using te::Expr;

enum class Granularity : std::uint8_t { tensor, axis, block };

struct Scaling {
  Granularity granularity = Granularity::tensor;
  std::size_t axis = 0;
  std::int64_t block = 1;
};

Scaling scaling_of(const Node& node, const Shape& x, const Shape& scale) {
  Scaling s;
  if (num_elements(scale) == 1 && scale.size() <= 1) {
    return s;
  }
  s.axis = normalized_axis(node.integer("axis", 1), x.size());
  s.block = node.integer("block_size", 0);
  s.granularity = s.block > 0 ? Granularity::block : Granularity::axis;
  Shape wanted = {x[s.axis]};
  if (s.block > 0) {
    wanted = x;
    wanted[s.axis] = (x[s.axis] + s.block - 1) / s.block;
  }
  if (scale != wanted) {
    refuse("has scales " + shape_text(scale) + " for " + shape_text(x));
  }
  return s;
}
/// The scale or zero point of an element.
Expr of_element(Emitter& e, std::size_t input, const Scaling& s, const Indices& at) {
  if (s.granularity == Granularity::tensor) {
    return e.read_spread(input, {});
  }
  if (s.granularity == Granularity::axis) {
    return e.read(input, {at[s.axis]});
  }
  Indices index = at;
  index[s.axis] = te::floordiv(at[s.axis], s.block);
  return e.read(input, index);
}
void require_zero_points(const Inference& in, DType type) {
  if (in.has(2) && (in.shape(2) != in.shape(1) || in.dtype(2) != type)) {
    refuse("has zero points " + shape_text(in.shape(2)) + " of " +
           std::string(name_of(in.dtype(2))) + " for scales " + shape_text(in.shape(1)));
  }
}

void infer_dequantize(Inference& in) {
  (void)scaling_of(in.node(), in.shape(0), in.shape(1));
  require_zero_points(in, in.dtype(0));
  if (is_float(in.dtype(0)) || in.dtype(0) == DType::boolean) {
    refuse("has an input of " + std::string(name_of(in.dtype(0))));
  }
  in.set(in.dtype(1), in.shape(0));
}
void emit_dequantize(Emitter& e) {
  const Scaling s = scaling_of(e.node(), e.shape(0), e.shape(1));
  const DType type = e.result_type(), wide = ops::detail::accumulator_of(type);
  e.define([&](const Indices& at) {
    Expr x = te::cast(DType::i32, e.read(0, at));
    if (e.has(2)) {
      x = x - te::cast(DType::i32, of_element(e, 2, s, at));
    }
    return te::cast(type, te::cast(wide, x) * te::cast(wide, of_element(e, 1, s, at)));
  });
}

/// Of the zero points, of the attribute, or u8.
DType quantized_type(const Inference& in) {
  const std::string named = in.node().text("output_dtype", "");
  const DType type = in.has(2) ? in.dtype(2) : dtype_from_name(named).value_or(DType::u8);
  if (type != DType::u8 && type != DType::i8 && type != DType::i16) {
    refuse("makes elements of " + std::string(name_of(type)));
  }
  return type;
}
void infer_quantize(Inference& in) {
  (void)scaling_of(in.node(), in.shape(0), in.shape(1));
  const DType type = quantized_type(in);
  require_zero_points(in, type);
  if (!is_float(in.dtype(0))) {
    refuse("has an input of " + std::string(name_of(in.dtype(0))));
  }
  in.set(type, in.shape(0));
}
/// Rounded to even, then the zero point is added, then cut off at the ends of the type.
void emit_quantize(Emitter& e) {
  const Scaling s = scaling_of(e.node(), e.shape(0), e.shape(1));
  const DType type = e.result_type();
  const DType wide = ops::detail::accumulator_of(e.type(0));
  const IntegerLimits limits = limits_of(type);
  const auto low = static_cast<double>(limits.low), high = static_cast<double>(limits.high);
  e.define([&](const Indices& at) {
    const Expr x = te::cast(wide, e.read(0, at)), scale = te::cast(wide, of_element(e, 1, s, at));
    Expr y = te::round(x / scale);
    if (e.has(2)) {
      y = y + te::cast(wide, of_element(e, 2, s, at));
    }
    return te::cast(type, te::min(te::max(y, low), high));
  });
}

}  // namespace

std::vector<OperatorRow> quantize_rows() {
  return {computed_row("DequantizeLinear", Pattern::injective, infer_dequantize, emit_dequantize),
          computed_row("QuantizeLinear", Pattern::injective, infer_quantize, emit_quantize)};
}

}  // namespace tensorsmith::graph
