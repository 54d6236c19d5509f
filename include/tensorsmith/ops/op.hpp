// SPDX-License-Identifier: Apache-2.0
// What every operator of this folder is made from and becomes: parameters and Workload.
//
// Floor 3. Own design. Plain data; sizes are element counts, row-major. Not here: the formulas (one
// header per family), the text form (ops/workload.hpp).
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <variant>
#include <vector>

#include "tensorsmith/support/error.hpp"
#include "tensorsmith/support/shared.hpp"
#include "tensorsmith/te/program.hpp"

namespace tensorsmith::ops {

enum class Activation : std::uint8_t { none, relu, gelu };  ///< gelu: the exact one, with erf
enum class Layout : std::uint8_t { nchw, nhwc };            ///< channels first / channels last

/// A type of 8 bits, where an operator may have one.
enum class ByteType : std::uint8_t { none, i8, u8 };
constexpr DType dtype_of(ByteType type, DType otherwise) {
  return type == ByteType::i8 ? DType::i8 : type == ByteType::u8 ? DType::u8 : otherwise;
}

/// What may happen to operands outside the timed region; results of two classes are not comparable.
enum class PackingClass : std::uint8_t {
  plain,           ///< a: every operand in its plain layout
  packed_weights,  ///< b: weights packed before, activations plain
  free_layout,     ///< c: every layout is free
};
constexpr char letter_of(PackingClass c) { return static_cast<char>('a' + static_cast<int>(c)); }

/// out[b, m, n] = act(sum_k A[b, m, k] * B[b, k, n] + bias[n] + R[b, m, n]). transpose_a: A is
/// [b, k, m]; transpose_b: B is [b, n, k]. `is_batched`: tensors have the batch dimension. `add`:
/// there is a residual R, in the output's layout and type. `layernorm`: the rows of that are
/// normalized as a layernorm's, with gamma and beta. `weights`: the type of B, none: that of A.
/// `requant`: the result is requantized to this type (ops/requantize.hpp). transpose_c: the result,
/// and R, are [b, n, m]. `propagates_nan`, here and below: relu, max and min of NaN are NaN;
/// otherwise they give the other operand.
struct GemmParams {
  std::int64_t batch = 1, m = 1, n = 1, k = 1;
  bool is_batched = false;
  bool transpose_a = false, transpose_b = false, transpose_c = false;
  bool bias = false, add = false, layernorm = false, propagates_nan = false;
  Activation activation = Activation::none;
  DType dtype = DType::f32;
  ByteType weights = ByteType::none, requant = ByteType::none;
  PackingClass packing = PackingClass::plain;
};

/// out[b, m, d] = sum_n softmax over n of (Q[b, m, :] . K[b, n, :] / sqrt(D)) * V[b, n, d]: `batch`
/// heads of `queries` rows, `keys` rows of K and V, rows of D = `width`.
struct AttentionParams {
  std::int64_t batch = 1, queries = 1, keys = 1, width = 1;
  DType dtype = DType::f32;
};

enum class PoolKind : std::uint8_t { max, average };

/// In `pad_end`: the padding at the end of an axis is that at its beginning, `pad`.
inline constexpr std::int64_t same_pad = -1;

/// Windows over two spatial axes, as PyTorch and ONNX define them. `ceil_mode`: the last window may
/// reach beyond the padding, as long as it does not begin in the padding at the end.
/// `counts_padding` (count_include_pad): an average divides by the elements of the window that lie
/// in the input or its padding; else by those in the input.
struct PoolWindow {
  PoolKind kind = PoolKind::max;
  std::array<std::int64_t, 2> kernel{1, 1}, stride{1, 1}, pad{0, 0};
  std::array<std::int64_t, 2> pad_end{same_pad, same_pad};
  bool ceil_mode = false, counts_padding = true;
};

/// Taps of a depthwise convolution over two spatial axes.
struct DepthwiseTaps {
  std::array<std::int64_t, 2> kernel{1, 1}, stride{1, 1}, pad{0, 0};
  std::array<std::int64_t, 2> pad_end{same_pad, same_pad};
};

/// Convolution of rank 1, 2 or 3; the first `rank` entries of the arrays count.
/// nhwc: X [n, spatial, ci], W [kernel, ci / groups, co]; nchw: X [n, ci, spatial], W [co, ci /
/// groups, kernel]. Depthwise (ci = co = groups): W [kernel, c] or [c, kernel]. Transposed: the
/// gradient of the convolution with the same numbers, W of nchw is [ci, co / groups, kernel].
/// Epilogue as in GemmParams: act(norm(y + bias[co]) + R), norm a batch norm (ops/batch_norm.hpp)
/// or nothing. `weights` (of W) and `requant` as there.
struct ConvParams {
  int rank = 2;
  std::int64_t n = 1, ci = 1, co = 1, groups = 1;
  std::array<std::int64_t, 3> spatial{1, 1, 1};  ///< of the input
  std::array<std::int64_t, 3> kernel{1, 1, 1};
  std::array<std::int64_t, 3> stride{1, 1, 1};
  std::array<std::int64_t, 3> pad{0, 0, 0};  ///< on both sides, or at the beginning
  std::array<std::int64_t, 3> pad_end{same_pad, same_pad, same_pad};
  std::array<std::int64_t, 3> output_padding{0, 0, 0};  ///< transposed: more output at the end
  std::array<std::int64_t, 3> dilation{1, 1, 1};
  bool transposed = false;
  bool depthwise = false;
  /// 0: the sum as it is. 2 or 4: Winograd's filtering by tiles of as many outputs per axis, for
  /// kernels of 3 x 3 and stride 1, of f32 or f64 (ops/winograd.hpp).
  int winograd = 0;
  Layout layout = Layout::nhwc;
  bool bias = false, batch_norm = false, add = false, propagates_nan = false;
  Activation activation = Activation::none;
  bool has_pool = false;  ///< windows over the result of the epilogue, of rank 2
  PoolWindow pool;
  /// A depthwise convolution of the result of the epilogue, of rank 2: V [kernel, co] or
  /// [co, kernel], of the type of the sums. It has the same bias and activation, the bias an
  /// operand of its own.
  bool has_depthwise = false;
  DepthwiseTaps behind;
  DType dtype = DType::f32;
  ByteType weights = ByteType::none, requant = ByteType::none;
  PackingClass packing = PackingClass::plain;

  /// Output extent of the convolution along one spatial axis; not positive if the output would be
  /// empty.
  std::int64_t out_spatial(int axis) const {
    const auto a = static_cast<std::size_t>(axis);
    const std::int64_t reach = dilation[a] * (kernel[a] - 1) + 1;
    if (transposed) {
      return (spatial[a] - 1) * stride[a] - pad[a] - pad_after(a) + reach + output_padding[a];
    }
    const std::int64_t room = spatial[a] + pad[a] + pad_after(a) - reach;
    return room < 0 ? 0 : room / stride[a] + 1;
  }
  std::int64_t pad_after(std::size_t a) const {
    return pad_end[a] == same_pad ? pad[a] : pad_end[a];
  }
};

struct PoolParams {
  PoolKind kind = PoolKind::max;
  bool is_global = false;  ///< the window is the plane; the output is [n, c]
  bool propagates_nan = false;
  std::int64_t n = 1, c = 1;
  std::array<std::int64_t, 2> spatial{1, 1}, kernel{1, 1}, stride{1, 1}, pad{0, 0};
  std::array<std::int64_t, 2> pad_end{same_pad, same_pad};
  bool ceil_mode = false, counts_padding = true;  ///< as in PoolWindow
  Layout layout = Layout::nhwc;
  DType dtype = DType::f32;

  std::int64_t out_spatial(int axis) const {
    const auto a = static_cast<std::size_t>(axis);
    const std::int64_t room = spatial[a] + pad[a] + pad_after(a) - kernel[a];
    if (room < 0) {
      return 0;
    }
    const std::int64_t out = (room + (ceil_mode ? stride[a] - 1 : 0)) / stride[a] + 1;
    const bool begins_behind = ceil_mode && (out - 1) * stride[a] >= spatial[a] + pad[a];
    return begins_behind ? out - 1 : out;
  }
  std::int64_t pad_after(std::size_t a) const {
    return pad_end[a] == same_pad ? pad[a] : pad_end[a];
  }
  /// How far the last window reaches beyond the input; less than pad_after if steps leave some.
  std::int64_t reach_after(std::size_t a) const {
    return (out_spatial(static_cast<int>(a)) - 1) * stride[a] + kernel[a] - spatial[a] - pad[a];
  }
};

enum class RowKind : std::uint8_t {
  softmax,
  log_softmax,
  layernorm,
  rmsnorm,
  sum,
  prod,
  min,
  max,
  argmax,
  argmin,
  mean,
  variance
};

/// An operation on every row of a [rows, columns] matrix.
struct RowParams {
  RowKind kind = RowKind::softmax;
  std::int64_t rows = 1, columns = 1;
  DType dtype = DType::f32;
  std::int64_t online =
      0;  ///< softmax and its logarithm: columns per block (ops/row.hpp); 0: whole rows
  bool is_last = false;         ///< argmax, argmin: the last of equals
  bool is_unbiased = false;     ///< variance: divided by columns - 1
  bool is_transposed = false;   ///< of those with a matrix as result: it is [columns, rows]
  bool propagates_nan = false;  ///< of max and min; argmax: NaN counts as the largest
};

/// Of the value so far, x; binary ones, which come first, bring an operand y: x - y, x / y.
enum class PointwiseOp { add, sub, mul, div, max, min, relu, gelu, sigmoid, tanh, exp };
constexpr bool is_binary(PointwiseOp op) { return op <= PointwiseOp::min; }

/// How the operand of a binary operation is spread over the shape of the chain. none: it has that
/// shape; per_column: one number per element of the last axis, as a bias or scale of channels last;
/// per_row: the shape without its last axis, one number if that was the only one.
enum class Broadcast : std::uint8_t { none, per_column, per_row };

struct PointwiseStep {
  PointwiseOp op;
  Broadcast broadcast;  ///< of the operand, if there is one
  PointwiseStep(PointwiseOp its_op, Broadcast its_broadcast = Broadcast::none)
      : op(its_op), broadcast(its_broadcast) {}
};

/// A chain of pointwise operations: each is done with the result of the one before it.
/// `permutation`, empty or one number per axis: axis d of the result is axis permutation[d] of the
/// chain, as ONNX's Transpose has it. The chain may then be empty.
struct PointwiseParams {
  te::Shape shape;
  std::vector<PointwiseStep> chain;
  DType dtype = DType::f32;
  std::vector<std::int64_t> permutation = {};
  bool propagates_nan = false;
};

/// (X - mean[c]) * gamma[c] / sqrt(var[c] + 1e-5) + beta[c] of planes, then relu or nothing: batch
/// norm with known statistics.
struct BatchNormParams {
  std::int64_t n = 1, c = 1;
  std::array<std::int64_t, 2> spatial{1, 1};
  Layout layout = Layout::nhwc;
  bool relu = false;
  DType dtype = DType::f32;
};

/// out[n, c] = T[I[n], c]: `count` rows of a [rows, columns] table, by their numbers in [0, rows).
struct GatherParams {
  std::int64_t count = 1, rows = 1, columns = 1;
  DType dtype = DType::f32, indices = DType::i32;  ///< indices: i32 or i64
};

/// Any computation, in index notation (te/notation.hpp).
struct ExpressionParams {
  std::string text;
};

using OpParams = std::variant<GemmParams, ConvParams, PoolParams, RowParams, PointwiseParams,
                              AttentionParams, BatchNormParams, GatherParams, ExpressionParams>;

/// An operator with its sizes, ready to be tuned.
struct Workload {
  std::string kind;  ///< what stands before the colon of the workload string
  std::string name;  ///< the workload string in canonical form
  OpParams params;
  PackingClass packing = PackingClass::plain;
  Shared<const ComputeDag> dag;
  double nominal_flop = 0;            ///< padded taps count, epilogues do not
  std::int64_t reduction_length = 1;  ///< terms that are added up per output element
};

namespace detail {

[[noreturn]] inline void misuse(const std::string& op, const std::string& expected,
                                const std::string& came) {
  throw Error("ops::" + op + ": expected " + expected + ", got " + came);
}
inline void require_positive(const std::string& op, const std::string& name, std::int64_t value) {
  if (value <= 0) {
    misuse(op, "a positive " + name, std::to_string(value));
  }
}

/// Narrow types are summed up in a wider one, which is also the output's.
inline DType accumulator_of(DType type) {
  switch (type) {
  case DType::f16:
  case DType::bf16:
    return DType::f32;
  case DType::i16:
  case DType::i8:
  case DType::u8:
    return DType::i32;
  default:
    return type;
  }
}

/// The pooling behind a convolution that has one, as an operator of its own.
inline PoolParams pooling_of(const ConvParams& p) {
  PoolParams pool;
  pool.kind = p.pool.kind;
  pool.n = p.n;
  pool.c = p.co;
  pool.spatial = {p.out_spatial(0), p.out_spatial(1)};
  pool.kernel = p.pool.kernel;
  pool.stride = p.pool.stride;
  pool.pad = p.pool.pad;
  pool.pad_end = p.pool.pad_end;
  pool.ceil_mode = p.pool.ceil_mode;
  pool.counts_padding = p.pool.counts_padding;
  pool.layout = p.layout;
  pool.dtype = dtype_of(p.requant, accumulator_of(p.dtype));
  pool.propagates_nan = p.propagates_nan;
  return pool;
}

/// The depthwise convolution behind a convolution that has one, as an operator of its own.
inline ConvParams depthwise_of(const ConvParams& p) {
  ConvParams d;
  d.n = p.n;
  d.ci = d.co = d.groups = p.co;
  for (std::size_t a = 0; a < 2; ++a) {
    d.spatial[a] = p.out_spatial(static_cast<int>(a));
    d.kernel[a] = p.behind.kernel[a];
    d.stride[a] = p.behind.stride[a];
    d.pad[a] = p.behind.pad[a];
    d.pad_end[a] = p.behind.pad_end[a];
  }
  d.depthwise = true;
  d.layout = p.layout;
  d.bias = p.bias;
  d.activation = p.activation;
  d.propagates_nan = p.propagates_nan;
  d.dtype = accumulator_of(p.dtype);
  d.packing = p.packing;
  return d;
}

/// x Phi(x) of a float expression. Below -8.4, 1 + erf is 0 in every type: a first factor that is
/// not less than -10 changes nothing there but that of -infinity, and what NaN gives comes from
/// erf.
inline te::Expr gelu(te::Expr x) {
  return te::max(x, -10.0) * 0.5 * (te::erf(x * 0.7071067811865476) + 1.0);
}
inline te::Expr max(te::Expr x, te::Expr y, bool propagates_nan) {
  return propagates_nan ? te::maximum(x, y) : te::max(x, y);
}
inline te::Expr min(te::Expr x, te::Expr y, bool propagates_nan) {
  return propagates_nan ? te::minimum(x, y) : te::min(x, y);
}
inline te::Expr relu(te::Expr x, bool propagates_nan) { return max(x, 0, propagates_nan); }

/// `has_extremum`: there is a relu, max or min that the option changes.
inline void check_nan(const std::string& op, bool propagates_nan, bool has_extremum, DType type) {
  if (propagates_nan && !(has_extremum && is_float(type))) {
    misuse(op, "relu, max or min of a float type with nan=propagate",
           has_extremum ? std::string(name_of(type)) : "none of them");
  }
}

}  // namespace detail

}  // namespace tensorsmith::ops
