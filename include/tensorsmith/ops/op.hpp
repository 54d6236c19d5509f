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
/// `requant`: the result is requantized to this type (ops/requantize.hpp).
struct GemmParams {
  std::int64_t batch = 1, m = 1, n = 1, k = 1;
  bool is_batched = false;
  bool transpose_a = false, transpose_b = false;
  bool bias = false, add = false, layernorm = false;
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

enum class PoolKind : std::uint8_t { max, average };  ///< average: padding is part of the window

/// Windows over two spatial axes.
struct PoolWindow {
  PoolKind kind = PoolKind::max;
  std::array<std::int64_t, 2> kernel{1, 1}, stride{1, 1}, pad{0, 0};
};

/// Taps of a depthwise convolution over two spatial axes.
struct DepthwiseTaps {
  std::array<std::int64_t, 2> kernel{1, 1}, stride{1, 1}, pad{0, 0};
};

/// Convolution of rank 1, 2 or 3; the first `rank` entries of the arrays count.
/// nhwc: X [n, spatial, ci], W [kernel, ci / groups, co]; nchw: X [n, ci, spatial], W [co, ci /
/// groups, kernel]. Depthwise (ci = co = groups): W [kernel, c] or [c, kernel]. Transposed: the
/// gradient of the convolution with the same numbers, W of nchw is [ci, co / groups, kernel].
/// Epilogue as in GemmParams: act(y + bias[co] + R). `weights` (of W) and `requant` as there.
struct ConvParams {
  int rank = 2;
  std::int64_t n = 1, ci = 1, co = 1, groups = 1;
  std::array<std::int64_t, 3> spatial{1, 1, 1};  ///< of the input
  std::array<std::int64_t, 3> kernel{1, 1, 1};
  std::array<std::int64_t, 3> stride{1, 1, 1};
  std::array<std::int64_t, 3> pad{0, 0, 0};  ///< the same on both sides
  std::array<std::int64_t, 3> dilation{1, 1, 1};
  bool transposed = false;
  bool depthwise = false;
  /// 0: the sum as it is. 2 or 4: Winograd's filtering by tiles of as many outputs per axis, for
  /// kernels of 3 x 3 and stride 1, of f32 or f64 (ops/winograd.hpp).
  int winograd = 0;
  Layout layout = Layout::nhwc;
  bool bias = false, add = false;
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
      return (spatial[a] - 1) * stride[a] - 2 * pad[a] + reach;
    }
    const std::int64_t room = spatial[a] + 2 * pad[a] - reach;
    return room < 0 ? 0 : room / stride[a] + 1;
  }
};

struct PoolParams {
  PoolKind kind = PoolKind::max;
  bool is_global = false;  ///< the window is the plane; the output is [n, c]
  std::int64_t n = 1, c = 1;
  std::array<std::int64_t, 2> spatial{1, 1}, kernel{1, 1}, stride{1, 1}, pad{0, 0};
  Layout layout = Layout::nhwc;
  DType dtype = DType::f32;

  std::int64_t out_spatial(int axis) const {
    const auto a = static_cast<std::size_t>(axis);
    const std::int64_t room = spatial[a] + 2 * pad[a] - kernel[a];
    return room < 0 ? 0 : room / stride[a] + 1;
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
  argmax
};

/// An operation on every row of a [rows, columns] matrix.
struct RowParams {
  RowKind kind = RowKind::softmax;
  std::int64_t rows = 1, columns = 1;
  DType dtype = DType::f32;
  std::int64_t online =
      0;  ///< softmax and its logarithm: columns per block (ops/row.hpp); 0: whole rows
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
struct PointwiseParams {
  te::Shape shape;
  std::vector<PointwiseStep> chain;
  DType dtype = DType::f32;
};

using OpParams =
    std::variant<GemmParams, ConvParams, PoolParams, RowParams, PointwiseParams, AttentionParams>;

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
  pool.layout = p.layout;
  pool.dtype = dtype_of(p.requant, accumulator_of(p.dtype));
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
  }
  d.depthwise = true;
  d.layout = p.layout;
  d.bias = p.bias;
  d.activation = p.activation;
  d.dtype = accumulator_of(p.dtype);
  d.packing = p.packing;
  return d;
}

/// act(x) of a float expression.
inline te::Expr gelu(te::Expr x) { return x * 0.5 * (te::erf(x * 0.7071067811865476) + 1.0); }

}  // namespace detail

}  // namespace tensorsmith::ops
