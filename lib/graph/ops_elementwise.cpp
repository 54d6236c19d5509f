// SPDX-License-Identifier: Apache-2.0
// Element by element: unary functions, binary operators with broadcasting, choices and casts.
#include <cmath>
#include <limits>

#include "graph/operators.hpp"
#include "tensorsmith/te/functions.hpp"

namespace tensorsmith::graph {
namespace {

using te::Expr;

void same_as_input(Inference& in) { in.set(in.dtype(0), in.shape(0)); }
void bool_of_input(Inference& in) { in.set(DType::boolean, in.shape(0)); }

Shape spread_all(const Inference& in) {
  Shape shape = in.shape(0);
  for (std::size_t i = 1; i < in.num_inputs(); ++i) {
    if (in.has(i)) {
      shape = spread_shapes(shape, in.shape(i));
    }
  }
  return shape;
}
void require_one_type(const Inference& in, std::size_t first) {
  for (std::size_t i = first + 1; i < in.num_inputs(); ++i) {
    if (in.has(i) && in.dtype(i) != in.dtype(first)) {
      refuse("has inputs of different types, " + std::string(name_of(in.dtype(first))) + " and " +
             std::string(name_of(in.dtype(i))));
    }
  }
}
void infer_spread(Inference& in) {
  require_one_type(in, 0);
  in.set(in.dtype(0), spread_all(in));
}
void infer_comparison(Inference& in) {
  require_one_type(in, 0);
  in.set(DType::boolean, spread_all(in));
}
void infer_pow(Inference& in) { in.set(in.dtype(0), spread_all(in)); }
void infer_where(Inference& in) {
  require_one_type(in, 1);
  if (in.dtype(0) != DType::boolean) {
    refuse("has a condition of type " + std::string(name_of(in.dtype(0))));
  }
  in.set(in.dtype(1), spread_all(in));
}
void infer_clip(Inference& in) { in.set(in.dtype(0), in.shape(0)); }
void infer_prelu(Inference& in) {
  if (spread_shapes(in.shape(0), in.shape(1)) != in.shape(0)) {
    refuse("has slopes " + shape_text(in.shape(1)) + " that do not fit " + shape_text(in.shape(0)));
  }
  in.set(in.dtype(0), in.shape(0));
}
void infer_cast(Inference& in) {
  const std::string to = in.node().text("to", "");
  for (const DType type : all_dtypes) {
    if (is_name_of(to, type)) {
      return in.set(type, in.shape(0));
    }
  }
  refuse("casts to a type that is not known, \"" + to + "\"");
}

/// f of the element in the result's own type; narrow floats are computed in f32.
template <Expr (*f)(const Node&, Expr)>
void unary(Emitter& e) {
  const DType type = e.result_type();
  const DType wide = is_float(type) ? ops::detail::accumulator_of(type) : type;
  e.define([&](const Indices& at) {
    return te::cast(type, f(e.node(), te::cast(wide, e.read(0, at))));
  });
}
template <Expr (*f)(Expr, Expr)>
void binary(Emitter& e) {
  e.define([&](const Indices& at) {
    Expr value = e.read_spread(0, at);
    for (std::size_t i = 1; i < e.node().inputs.size(); ++i) {
      value = f(value, e.read_spread(i, at));
    }
    return value;
  });
}

Expr relu(const Node&, Expr x) { return te::maximum(x, 0); }
Expr neg(const Node&, Expr x) { return -x; }
Expr absolute(const Node&, Expr x) { return te::abs(x); }
Expr exp(const Node&, Expr x) { return te::exp(x); }
Expr log(const Node&, Expr x) { return te::log(x); }
Expr sqrt(const Node&, Expr x) { return te::sqrt(x); }
Expr erf(const Node&, Expr x) { return te::erf(x); }
Expr tanh(const Node&, Expr x) { return te::tanh(x); }
Expr sigmoid(const Node&, Expr x) { return te::sigmoid(x); }
Expr floor(const Node&, Expr x) { return te::floor(x); }
Expr ceil(const Node&, Expr x) { return te::ceil(x); }
Expr round(const Node&, Expr x) { return te::round(x); }
Expr reciprocal(const Node&, Expr x) { return 1.0 / x; }
Expr sign(const Node&, Expr x) {
  return te::select(x > 0, Expr(1).typed(x.program(), x.dtype(), "Sign"),
                    te::select(x < 0, Expr(-1).typed(x.program(), x.dtype(), "Sign"),
                               x * 0));  // NaN stays
}
Expr logical_not(const Node&, Expr x) { return !x; }
Expr is_nan(const Node&, Expr x) { return x != x; }
/// x Phi(x): below -10 the second factor is 0, and the first must not be infinite there.
Expr gelu(const Node& node, Expr x) {
  if (node.text("approximate", "none") == "tanh") {
    const Expr inner = (x + x * x * x * 0.044715) * 0.7978845608028654;
    return x * 0.5 * (te::tanh(inner) + 1.0);
  }
  return te::maximum(x, -10.0) * 0.5 * (te::erf(x * 0.7071067811865476) + 1.0);
}
Expr swish(const Node& node, Expr x) {
  const double alpha = node.real("alpha", 1);
  return x * te::sigmoid(alpha == 1 ? x : x * alpha);
}
Expr hard_sigmoid_of(Expr x, double alpha, double beta) {
  return te::maximum(te::minimum(x * alpha + beta, 1.0), 0.0);
}
Expr hard_sigmoid(const Node& node, Expr x) {
  return hard_sigmoid_of(x, node.real("alpha", 0.2), node.real("beta", 0.5));
}
Expr hard_swish(const Node&, Expr x) { return x * hard_sigmoid_of(x, 1.0 / 6, 0.5); }
Expr leaky_relu(const Node& node, Expr x) {
  return te::select(x < 0, x * node.real("alpha", 0.01), x);
}
Expr elu(const Node& node, Expr x) {
  return te::select(x < 0, (te::exp(te::min(x, 0.0)) - 1.0) * node.real("alpha", 1), x);
}
Expr celu(const Node& node, Expr x) {
  const double alpha = node.real("alpha", 1);
  return te::select(x < 0, (te::exp(te::min(x, 0.0) / alpha) - 1.0) * alpha, x);
}
Expr selu(const Node& node, Expr x) {
  const double alpha = node.real("alpha", 1.67326319217681884765625);
  const double gamma = node.real("gamma", 1.05070102214813232421875);
  return te::select(x > 0, x, (te::exp(te::min(x, 0.0)) - 1.0) * alpha) * gamma;
}
/// log(1 + e^x) without an overflow.
Expr softplus(const Node&, Expr x) {
  return te::maximum(x, 0.0) + te::log(te::exp(-te::abs(x)) + 1.0);
}
Expr softsign(const Node&, Expr x) { return x / (te::abs(x) + 1.0); }
Expr mish(const Node& node, Expr x) { return x * te::tanh(softplus(node, x)); }
Expr thresholded_relu(const Node& node, Expr x) {
  return te::select(x > node.real("alpha", 1), x, Expr(0).typed(x.program(), x.dtype(), "relu"));
}

Expr add(Expr a, Expr b) { return a + b; }
Expr sub(Expr a, Expr b) { return a - b; }
Expr mul(Expr a, Expr b) { return a * b; }
Expr div(Expr a, Expr b) { return a / b; }
Expr maximum(Expr a, Expr b) { return te::maximum(a, b); }
Expr minimum(Expr a, Expr b) { return te::minimum(a, b); }
Expr equal(Expr a, Expr b) { return a == b; }
Expr less(Expr a, Expr b) { return a < b; }
Expr less_equal(Expr a, Expr b) { return a <= b; }
Expr greater(Expr a, Expr b) { return a > b; }
Expr greater_equal(Expr a, Expr b) { return a >= b; }
Expr logical_and(Expr a, Expr b) { return a && b; }
Expr logical_or(Expr a, Expr b) { return a || b; }
Expr logical_xor(Expr a, Expr b) { return a != b; }

/// fmod = 0: the remainder has the sign of the divisor; 1: of the dividend.
void emit_mod(Emitter& e) {
  const bool is_fmod = e.node().integer("fmod", 0) != 0;
  e.define([&](const Indices& at) {
    const Expr a = e.read_spread(0, at), b = e.read_spread(1, at);
    if (is_float(a.dtype()) && is_fmod) {
      return te::fmod(a, b);
    }
    if (is_float(a.dtype())) {
      // Of an infinite b: a itself, or with the sign of b what is nearest to it, b.
      const Expr is_infinite = b == b && b - b != b - b && a - a == a - a;
      return te::select(is_infinite, te::select(a * b < 0, b, a), a - te::floor(a / b) * b);
    }
    return is_fmod ? te::truncmod(a, b) : te::floormod(a, b);
  });
}

/// Bits of whole numbers one by one: there is no such operation in formulas. In i64 with the sign
/// as the last bit; casts back keep the lowest bits.
enum class Bits : std::uint8_t { conjunction, disjunction, difference };

template <Bits operation>
Expr by_bits(Expr a, Expr b) {
  const DType type = a.dtype();
  const int width = static_cast<int>(8 * bytes_of(type));
  const Expr x = te::cast(DType::i64, a), y = te::cast(DType::i64, b);
  const auto bit = [&](const Expr& v, int k) {
    const Expr shifted = k == 0    ? v
                         : k == 63 ? te::floordiv(v, std::int64_t{1} << 62)
                                   : te::floordiv(v, std::int64_t{1} << k);
    return te::floormod(k == 63 ? te::floordiv(shifted, 2) : shifted, 2);
  };
  Expr sum = 0;
  for (int k = 0; k < width; ++k) {
    const Expr p = bit(x, k), q = bit(y, k);
    const Expr both = p * q;
    const Expr one = operation == Bits::conjunction   ? both
                     : operation == Bits::disjunction ? p + q - both
                                                      : p + q - both * 2;
    const std::int64_t weight = k == 63 ? INT64_MIN : std::int64_t{1} << k;
    sum = k == 0 ? one : sum + one * weight;
  }
  return te::cast(type, sum);
}
Expr bitwise_not(const Node&, Expr x) {
  const DType type = x.dtype();
  const Expr v = te::cast(DType::i64, x);
  return te::cast(type, type == DType::u8 ? -v + 255 : -v - 1);
}
void require_whole(const Inference& in) {
  if (is_float(in.dtype(0)) || in.dtype(0) == DType::boolean) {
    refuse("has inputs of " + std::string(name_of(in.dtype(0))));
  }
}
void infer_bits(Inference& in) {
  require_whole(in);
  infer_spread(in);
}
void infer_bitwise_not(Inference& in) {
  require_whole(in);
  same_as_input(in);
}
/// Multiplied or divided by a power of two; bits that leave the type are lost.
void emit_shift(Emitter& e) {
  const bool is_left = e.node().text("direction", "LEFT") == "LEFT";
  const DType type = e.result_type();
  const std::int64_t width = 8 * bytes_of(type);
  e.define([&](const Indices& at) {
    const Expr x = te::cast(DType::i64, e.read_spread(0, at));
    const Expr by = te::cast(DType::i64, e.read_spread(1, at));
    Expr power = by * 0 + 1;
    for (int k = 0; k < 6; ++k) {  // 2^by, by the bits of `by`
      const Expr bit = te::floormod(te::floordiv(by, std::int64_t{1} << k), 2);
      const std::int64_t square =
          k < 5 ? (std::int64_t{1} << (std::int64_t{1} << k)) - 1 : std::int64_t{0xffffffff};
      power = power * (bit * square + 1);
    }
    const Expr is_out = by >= width || by < 0;
    const Expr none = is_left ? x * 0 : te::select(x < 0, x * 0 - 1, x * 0);
    const Expr divisor = te::select(power < 1, power * 0 + 1, power);  // 2^63
    const Expr shifted = is_left ? x * power : te::floordiv(x, divisor);
    return te::cast(type, te::select(is_out, none, shifted));
  });
}

/// Small whole exponents are products.
void emit_pow(Emitter& e) {
  const bool is_known =
      e.is_constant(1) && num_elements(e.value(1).shape) == 1 && is_float(e.value(0).dtype);
  const double exponent = is_known ? e.value(1).constant.real(0) : 0;
  e.define([&](const Indices& at) -> Expr {
    const Expr x = e.read_spread(0, at);
    if (is_known && exponent == 2) {
      return x * x;
    }
    if (is_known && exponent == 3) {
      return x * x * x;
    }
    if (is_known && exponent == 1) {
      return x;
    }
    if (is_known && exponent == 0.5) {
      return te::sqrt(x);
    }
    if (is_known && exponent == -1) {
      return 1.0 / x;
    }
    const DType wide = is_float(x.dtype()) ? x.dtype() : DType::f64;
    return te::cast(x.dtype(), te::pow(te::cast(wide, x), te::cast(wide, e.read_spread(1, at))));
  });
}

void emit_mean(Emitter& e) {
  const double scale = 1.0 / static_cast<double>(e.node().inputs.size());
  e.define([&](const Indices& at) {
    Expr value = e.read_spread(0, at);
    for (std::size_t i = 1; i < e.node().inputs.size(); ++i) {
      value = value + e.read_spread(i, at);
    }
    return value * scale;
  });
}

void emit_where(Emitter& e) {
  e.define([&](const Indices& at) {
    return te::select(e.read_spread(0, at), e.read_spread(1, at), e.read_spread(2, at));
  });
}

void emit_clip(Emitter& e) {
  e.define([&](const Indices& at) {
    Expr x = e.read(0, at);
    if (e.has(1)) {
      x = te::maximum(x, e.read_spread(1, {}));
    }
    return e.has(2) ? te::minimum(x, e.read_spread(2, {})) : x;
  });
}

void emit_prelu(Emitter& e) {
  e.define([&](const Indices& at) {
    const Expr x = e.read(0, at);
    return te::select(x < 0, x * e.read_spread(1, at), x);
  });
}

void emit_cast(Emitter& e) {
  const DType type = e.result_type();
  e.define([&](const Indices& at) {
    const Expr x = e.read(0, at);
    return type == DType::boolean && x.dtype() != DType::boolean ? x != 0 : te::cast(type, x);
  });
}

template <Expr (*f)(const Node&, Expr)>
OperatorRow unary_row(std::string_view op) {
  return computed_row(op, Pattern::elementwise, same_as_input, unary<f>);
}
template <Expr (*f)(Expr, Expr)>
OperatorRow binary_row(std::string_view op) {
  return computed_row(op, Pattern::broadcast, infer_spread, binary<f>);
}
template <Expr (*f)(Expr, Expr)>
OperatorRow comparison_row(std::string_view op) {
  return computed_row(op, Pattern::broadcast, infer_comparison, binary<f>);
}
/// Of booleans, which are computed as they are.
template <Expr (*f)(const Node&, Expr)>
void predicate(Emitter& e) {
  e.define([&](const Indices& at) { return f(e.node(), e.read(0, at)); });
}

}  // namespace

std::vector<OperatorRow> elementwise_rows() {
  return {
      unary_row<relu>("Relu"),
      unary_row<neg>("Neg"),
      unary_row<absolute>("Abs"),
      unary_row<exp>("Exp"),
      unary_row<log>("Log"),
      unary_row<sqrt>("Sqrt"),
      unary_row<erf>("Erf"),
      unary_row<tanh>("Tanh"),
      unary_row<sigmoid>("Sigmoid"),
      unary_row<floor>("Floor"),
      unary_row<ceil>("Ceil"),
      unary_row<round>("Round"),
      unary_row<reciprocal>("Reciprocal"),
      unary_row<sign>("Sign"),
      unary_row<gelu>("Gelu"),
      unary_row<swish>("Swish"),
      unary_row<hard_sigmoid>("HardSigmoid"),
      unary_row<hard_swish>("HardSwish"),
      unary_row<leaky_relu>("LeakyRelu"),
      unary_row<elu>("Elu"),
      unary_row<celu>("Celu"),
      unary_row<selu>("Selu"),
      unary_row<softplus>("Softplus"),
      unary_row<softsign>("Softsign"),
      unary_row<mish>("Mish"),
      unary_row<thresholded_relu>("ThresholdedRelu"),
      computed_row("Not", Pattern::elementwise, bool_of_input, predicate<logical_not>),
      computed_row("IsNaN", Pattern::elementwise, bool_of_input, predicate<is_nan>),
      binary_row<add>("Add"),
      binary_row<sub>("Sub"),
      binary_row<mul>("Mul"),
      binary_row<div>("Div"),
      binary_row<maximum>("Max"),
      binary_row<minimum>("Min"),
      binary_row<add>("Sum"),
      computed_row("Mean", Pattern::broadcast, infer_spread, emit_mean),
      computed_row("Mod", Pattern::broadcast, infer_spread, emit_mod),
      computed_row("Pow", Pattern::broadcast, infer_pow, emit_pow),
      computed_row("BitwiseAnd", Pattern::broadcast, infer_bits,
                   binary<by_bits<Bits::conjunction>>),
      computed_row("BitwiseOr", Pattern::broadcast, infer_bits, binary<by_bits<Bits::disjunction>>),
      computed_row("BitwiseXor", Pattern::broadcast, infer_bits, binary<by_bits<Bits::difference>>),
      computed_row("BitwiseNot", Pattern::elementwise, infer_bitwise_not, unary<bitwise_not>),
      computed_row("BitShift", Pattern::broadcast, infer_bits, emit_shift),
      comparison_row<equal>("Equal"),
      comparison_row<less>("Less"),
      comparison_row<less_equal>("LessOrEqual"),
      comparison_row<greater>("Greater"),
      comparison_row<greater_equal>("GreaterOrEqual"),
      comparison_row<logical_and>("And"),
      comparison_row<logical_or>("Or"),
      comparison_row<logical_xor>("Xor"),
      computed_row("Where", Pattern::broadcast, infer_where, emit_where),
      computed_row("Clip", Pattern::elementwise, infer_clip, emit_clip),
      computed_row("PRelu", Pattern::broadcast, infer_prelu, emit_prelu),
      computed_row("Cast", Pattern::elementwise, infer_cast, emit_cast)};
}

}  // namespace tensorsmith::graph
