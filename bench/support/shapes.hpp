// SPDX-License-Identifier: Apache-2.0
// The problems that peers and references understand: plain numbers, no schedule.
//
// Own design. Sizes are exact element counts; layouts are those of the plain (class a) buffers.
// Not here: parsing of workload strings (ops/workload.hpp), running anything.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <variant>
#include <vector>

namespace tensorsmith::bench {

enum class Activation : std::uint8_t { none, relu, gelu };  ///< gelu: the exact one, with erf

/// What a contestant may do to its operands outside the timed region. Results of different classes
/// are never compared.
enum class PackingClass : std::uint8_t {
  plain,           ///< a: every operand in its plain layout, packing is timed
  packed_weights,  ///< b: weights (B of a matmul) packed before, activations plain
  free_layout,     ///< c: every layout is free, conversions are not timed
};
inline char class_letter(PackingClass c) { return static_cast<char>('a' + static_cast<int>(c)); }

/// Types of the operands in memory. Buffers hold the same numbers as f32; a peer of narrow types
/// makes operands of its own, outside of what is timed.
enum class Element : std::uint8_t { f32, i32, bf16, i8, u8 };
inline bool is_byte(Element type) { return type == Element::i8 || type == Element::u8; }
inline std::int64_t bytes_of(Element type) {
  return is_byte(type) ? 1 : type == Element::bf16 ? 2 : 4;
}
/// Sums are of 32 bits. A result of bytes is requantized: times a scale per column, plus
/// a zero point, rounded and clamped.
struct ElementTypes {
  Element input = Element::f32, weights = Element::f32, output = Element::f32;
};

/// out[b, m, n] = act(sum_k A[b, m, k] * B[b, k, n] + bias[n] + residual[b, m, n]), row-major.
/// transpose_a: A is stored as [b, k, m]; transpose_b: B is stored as [b, n, k]. layernorm: of the
/// rows of this, with gamma and beta. The sums over k are taken times `scale` first.
struct GemmShape {
  std::int64_t batch = 1, m = 1, n = 1, k = 1;
  bool transpose_a = false;
  bool transpose_b = false;
  bool bias = false, add = false;  ///< add: there is a residual
  Activation activation = Activation::none;
  bool layernorm = false;
  float scale = 1;
  ElementTypes types = {};
};

enum class ActivationLayout : std::uint8_t { nchw, nhwc };  ///< channels first / channels last

/// Plain layout of convolution weights. ci and co per group where grouped:
/// oi_spatial [co, ci/groups, k...], spatial_io [k..., ci/groups, co],
/// io_spatial [ci, co/groups, k...] (customary for transposed convolution).
enum class WeightLayout : std::uint8_t { oi_spatial, spatial_io, io_spatial };

/// Convolution of rank 1, 2 or 3; only the first `rank` entries of the arrays count.
/// Transposed: the gradient of the convolution with the same numbers; its input is the small side.
/// out = act(y + bias[co] + residual), the residual in the output's layout.
struct ConvShape {
  int rank = 2;
  std::int64_t n = 1, ci = 1, co = 1, groups = 1;
  std::array<std::int64_t, 3> spatial{1, 1, 1};  ///< of the input
  std::array<std::int64_t, 3> kernel{1, 1, 1};
  std::array<std::int64_t, 3> stride{1, 1, 1};
  std::array<std::int64_t, 3> pad{0, 0, 0};       ///< the same on both sides
  std::array<std::int64_t, 3> dilation{1, 1, 1};  ///< 1 = dense
  bool transposed = false;
  ActivationLayout layout = ActivationLayout::nchw;
  WeightLayout weights = WeightLayout::oi_spatial;
  bool bias = false, add = false;  ///< add: there is a residual
  Activation activation = Activation::none;
  double rounding = 1;  ///< allowed, times that of the direct sum; above 1 all may use Winograd's
  ElementTypes types = {};

  std::int64_t out_spatial(int axis) const {
    const auto a = static_cast<std::size_t>(axis);
    const std::int64_t reach = dilation[a] * (kernel[a] - 1) + 1;
    return transposed ? (spatial[a] - 1) * stride[a] - 2 * pad[a] + reach
                      : (spatial[a] + 2 * pad[a] - reach) / stride[a] + 1;
  }
};

struct SoftmaxShape {
  std::int64_t rows = 1, columns = 1;
  bool is_log = false;  ///< its logarithm
};
/// out = (x - mean) / sqrt(variance + epsilon) * gamma + beta along columns.
struct LayernormShape {
  std::int64_t rows = 1, columns = 1;
  float epsilon = 1e-5F;
};
enum class ReduceKind : std::uint8_t { sum, max, mean };
/// out[r] = reduction of x[r, :].
struct ReduceShape {
  ReduceKind kind = ReduceKind::sum;
  std::int64_t rows = 1, columns = 1;
};
enum class PoolKind : std::uint8_t {
  max,
  average
};  ///< average counts padding as part of the window
struct PoolShape {
  PoolKind kind = PoolKind::max;
  std::int64_t n = 1, c = 1;
  std::array<std::int64_t, 2> spatial{1, 1};
  std::array<std::int64_t, 2> kernel{1, 1};  ///< the spatial extent itself for global pooling
  std::array<std::int64_t, 2> stride{1, 1};
  std::array<std::int64_t, 2> pad{0, 0};
  ActivationLayout layout = ActivationLayout::nchw;

  std::int64_t out_spatial(int axis) const {
    const auto a = static_cast<std::size_t>(axis);
    return (spatial[a] + 2 * pad[a] - kernel[a]) / stride[a] + 1;
  }
};

/// A convolution and the windows over its result: `pool` has the sizes and the layout of that.
struct ConvPoolShape {
  ConvShape conv;
  PoolShape pool;
};

/// A convolution and a depthwise one of its result, `depthwise`, with epilogues of their own.
struct ConvDepthwiseShape {
  ConvShape conv;
  ConvShape depthwise;
};

/// out[b, m, d] = sum_n softmax over n of (Q[b, m, :] . K[b, n, :] / sqrt(width)) * V[b, n, d].
struct AttentionShape {
  std::int64_t batch = 1, queries = 1, keys = 1, width = 1;
};

/// Of the value so far, x; those of two operands, which come first, with y: x - y, x / y.
enum class PointwiseOp : std::uint8_t {
  add,
  sub,
  mul,
  div,
  max,
  min,
  relu,
  gelu,
  sigmoid,
  tanh,
  exp
};
inline bool is_binary(PointwiseOp op) { return op <= PointwiseOp::min; }
enum class Broadcast : std::uint8_t {
  none,        ///< y is [rows, columns]
  per_column,  ///< [columns]
  per_row      ///< [rows]
};
struct PointwiseStep {
  PointwiseOp op = PointwiseOp::relu;
  Broadcast broadcast = Broadcast::none;
};
/// x[rows, columns] through all steps of `chain`, one after the other.
struct PointwiseShape {
  std::int64_t rows = 1, columns = 1;
  std::vector<PointwiseStep> chain;

  std::int64_t operand_size(const PointwiseStep& step) const {
    return (step.broadcast == Broadcast::per_column ? 1 : rows) *
           (step.broadcast == Broadcast::per_row ? 1 : columns);
  }
};

using Problem =
    std::variant<GemmShape, ConvShape, SoftmaxShape, LayernormShape, ReduceShape, PoolShape,
                 ConvPoolShape, ConvDepthwiseShape, AttentionShape, PointwiseShape>;

/// Sizes of a problem in elements; 0 for operands that it does not have. `weights` is B, the
/// filter, gamma or K; `bias` the bias or beta; `gamma` and `beta` are those of a layernorm behind
/// a product, `values` is V, `next_weights` and `next_bias` are those of a depthwise convolution
/// behind another one.
struct ProblemSizes {
  std::int64_t input = 0, weights = 0, bias = 0, residual = 0, output = 0;
  std::int64_t gamma = 0, beta = 0, values = 0;
  std::int64_t next_weights = 0, next_bias = 0;
  std::int64_t scales = 0, zero_point = 0;  ///< of a requantized result
  std::vector<std::int64_t> operands = {};  ///< of the steps of a chain
  ElementTypes types = {};
  std::int64_t reduction_length = 1;  ///< terms that are added up per output element
  double rounding = 1;                ///< allowed, times that of such a sum
  double flop = 0;                    ///< nominal: padded taps count; exp and sqrt count as 1
  double least_flop = 0;              ///< of the fewest products: no taps on padding, tiles

  /// Compulsory traffic: every operand once.
  std::int64_t bytes() const {
    std::int64_t of_steps = 0;
    for (const std::int64_t size : operands)
      of_steps += size;
    return 4 * (bias + residual + gamma + beta + values + next_weights + next_bias + scales +
                zero_point + of_steps) +
           bytes_of(types.input) * input + bytes_of(types.weights) * weights +
           bytes_of(types.output) * output;
  }
  /// How many more products a vector instruction does than of f32.
  std::int64_t products_per_lane() const { return 4 / bytes_of(types.input); }
  bool is_low_precision() const { return products_per_lane() > 1; }
};
ProblemSizes sizes_of(const Problem& problem);
/// Which of the inputs, in the order of a kernel's parameters, is added to the result elementwise;
/// the first one of a chain.
std::optional<std::size_t> residual_of(const Problem& problem);

/// Plain operands of a problem, owned by the caller, 64-byte aligned.
struct Buffers {
  const float* input = nullptr;
  const float* weights = nullptr;
  const float* bias = nullptr;
  float* output = nullptr;
  const float* residual = nullptr;
  const float* gamma = nullptr;
  const float* beta = nullptr;
  const float* values = nullptr;
  const float* scales = nullptr;
  const float* zero_point = nullptr;
  const float* next_weights = nullptr;
  const float* next_bias = nullptr;
  std::vector<const float*> operands = {};  ///< of the steps of a chain
};

/// Inputs in the order of a kernel's parameters: those of the fields that `sizes` has.
Buffers buffers_of(const ProblemSizes& sizes, const std::vector<float*>& inputs, float* output);

}  // namespace tensorsmith::bench
