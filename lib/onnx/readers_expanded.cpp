// SPDX-License-Identifier: Apache-2.0
#include <cmath>
#include <string>
#include <utility>
#include <vector>

#include "onnx/readers.hpp"

namespace tensorsmith::onnx {
namespace {

/// x + the optional input i.
ValueId with_bias(NodeSource& source, ValueId x, std::size_t i) {
  return source.has_input(i) ? source.emit("Add", {x, source.input(i)}) : x;
}

}  // namespace

// Shrink(x) --> Where(x < -lambd, x + bias, Where(x > lambd, x - bias, 0)).
void read_shrink(NodeSource& source) {
  const ValueId x = source.input(0);
  const double limit = source.real("lambd", 0.5);
  const ValueId bias = source.scalar(source.real("bias", 0), x);
  const ValueId is_low = source.emit("Less", {x, source.scalar(-limit, x)});
  const ValueId is_high = source.emit("Greater", {x, source.scalar(limit, x)});
  const ValueId high =
      source.emit("Where", {is_high, source.emit("Sub", {x, bias}), source.scalar(0, x)});
  source.finish("Where", {is_low, source.emit("Add", {x, bias}), high});
}

// IsInf(x) --> Equal(|x|, infinity), or with one sign only.
void read_is_inf(NodeSource& source) {
  const ValueId x = source.input(0);
  const bool takes_low = source.integer("detect_negative", 1) != 0;
  const bool takes_high = source.integer("detect_positive", 1) != 0;
  const double infinity = HUGE_VAL;
  if (takes_low && takes_high) {
    source.finish("Equal", {source.emit("Abs", {x}), source.scalar(infinity, x)});
  } else if (takes_low || takes_high) {
    source.finish("Equal", {x, source.scalar(takes_low ? -infinity : infinity, x)});
  } else {
    source.finish("Less", {source.emit("Abs", {x}), source.scalar(0, x)});  // nothing is
  }
}

// MeanVarianceNormalization(x) --> (x - mean) / (sqrt(mean of squares) + 1e-9).
void read_mean_variance(NodeSource& source) {
  const ValueId x = source.input(0);
  std::vector<std::int64_t> axes = source.integers("axes");
  if (!source.has("axes")) {
    axes = {0, 2, 3};
  }
  const ValueId list = source.integer_list(axes);
  const ValueId centered = source.emit("Sub", {x, source.emit("ReduceMean", {x, list})});
  const ValueId square = source.emit("Mul", {centered, centered});
  const ValueId deviation = source.emit("Sqrt", {source.emit("ReduceMean", {square, list})});
  source.finish("Div", {centered, source.emit("Add", {deviation, source.scalar(1e-9, x)})});
}

// LpNormalization(x) --> x / norm; where the norm is 0, so is x, and so is the result.
void read_lp_norm(NodeSource& source) {
  const ValueId x = source.input(0);
  const std::int64_t p = source.integer("p", 2);
  if (p != 1 && p != 2) {
    source.refuse("its norm is " + std::to_string(p) + ", not 1 or 2");
    return;
  }
  const ValueId axis = source.integer_list({source.integer("axis", -1)});
  const ValueId norm = source.emit(p == 1 ? "ReduceL1" : "ReduceL2", {x, axis});
  const ValueId is_zero = source.emit("Equal", {norm, source.scalar(0, x)});
  const ValueId divisor = source.emit("Where", {is_zero, source.scalar(1, x), norm});
  source.finish("Div", {x, divisor});
}

// SwiGLU(x, y) --> Swish(x) * y.
void read_swiglu(NodeSource& source) {
  const ValueId swish =
      source.emit("Swish", {source.input(0)}, {{"alpha", source.real("alpha", 1)}});
  source.finish("Mul", {swish, source.input(1)});
}

// com.microsoft: GELU by tanh of x + bias; x * sigmoid(alpha * x); exact GELU, of a sum.
void read_fast_gelu(NodeSource& source) {
  const ValueId x = with_bias(source, source.input(0), 1);
  source.finish("Gelu", {x}, {{"approximate", std::string("tanh")}});
}
void read_quick_gelu(NodeSource& source) {
  source.finish("Swish", {source.input(0)}, {{"alpha", source.real("alpha", 1.702F)}});
}
void read_bias_gelu(NodeSource& source) {
  source.finish("Gelu", {with_bias(source, source.input(0), 1)});
}

// com.microsoft: the norm of input + skip + bias. The sum may be asked for as the last result.
void read_skip_norm(NodeSource& source) {
  const bool is_rms = source.op() == "SkipSimplifiedLayerNormalization";
  const std::size_t bias = is_rms ? 3 : 4;
  const ValueId sum = source.emit("Add", {source.input(0), source.input(1)});
  const ValueId x = with_bias(source, sum, bias);
  const std::vector<graph::Attribute> attributes = {{"axis", std::int64_t{-1}},
                                                    {"epsilon", source.real("epsilon", 1e-5F)}};
  if (is_rms) {
    source.finish("RMSNormalization", {x, source.input(2)}, attributes, 1);
  } else {
    source.finish("LayerNormalization", {x, source.input(2), source.input(3)}, attributes, 1);
  }
  if (source.has_result(3)) {
    source.finish_as(3, x);
  }
}

// The name that onnxruntime's tools give RMSNormalization in ONNX's own domain.
void read_simplified_norm(NodeSource& source) {
  auto attributes = source.attributes({"stash_type"});
  source.finish("RMSNormalization", source.inputs(), std::move(attributes), 1);
}

}  // namespace tensorsmith::onnx
