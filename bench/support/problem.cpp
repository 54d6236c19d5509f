// SPDX-License-Identifier: Apache-2.0
#include "bench/support/problem.hpp"

#include "tensorsmith/ops/winograd.hpp"
#include "tensorsmith/support/overloaded.hpp"

namespace tensorsmith::bench {
namespace {

Activation convert(ops::Activation activation) {
  return static_cast<Activation>(static_cast<int>(activation));
}
ActivationLayout convert(ops::Layout layout) {
  return layout == ops::Layout::nchw ? ActivationLayout::nchw : ActivationLayout::nhwc;
}
PointwiseStep convert(const ops::PointwiseStep& step) {
  return {static_cast<PointwiseOp>(static_cast<int>(step.op)),
          static_cast<Broadcast>(static_cast<int>(step.broadcast))};
}
static_assert(static_cast<int>(PointwiseOp::min) == static_cast<int>(ops::PointwiseOp::min) &&
              static_cast<int>(PointwiseOp::exp) == static_cast<int>(ops::PointwiseOp::exp) &&
              static_cast<int>(Broadcast::per_row) == static_cast<int>(ops::Broadcast::per_row));
static_assert(static_cast<int>(Activation::relu) == static_cast<int>(ops::Activation::relu) &&
              static_cast<int>(Activation::gelu) == static_cast<int>(ops::Activation::gelu));

Element element_of(DType type) {
  return type == DType::i8     ? Element::i8
         : type == DType::u8   ? Element::u8
         : type == DType::i32  ? Element::i32
         : type == DType::bf16 ? Element::bf16
                               : Element::f32;
}
template <class Params>
ElementTypes types_of(const Params& p) {
  const DType sum = ops::detail::accumulator_of(p.dtype);
  return {element_of(p.dtype), element_of(ops::dtype_of(p.weights, p.dtype)),
          element_of(ops::dtype_of(p.requant, sum))};
}
/// Bytes and bf16: products and convolutions, with no operand that libraries take in another type.
bool is_known_type(const ops::OpParams& params) {
  return std::visit(
      [](const auto& p) {
        if constexpr (requires { p.requant; }) {
          bool is_narrow = p.dtype == DType::i8 || p.dtype == DType::u8 || p.dtype == DType::bf16;
          if constexpr (requires { p.has_pool; }) {
            is_narrow = is_narrow && !p.has_pool && !p.has_depthwise;
          }
          if (is_narrow && !p.bias && !p.add) {
            return true;
          }
        }
        if constexpr (requires { p.dtype; }) {
          return p.dtype == DType::f32;
        } else {
          return false;  // libraries have no function for just any expression
        }
      },
      params);
}

Problem convert(const ops::GemmParams& p) {
  GemmShape s;
  s.types = types_of(p);
  s.batch = p.batch;
  s.m = p.m;
  s.n = p.n;
  s.k = p.k;
  s.transpose_a = p.transpose_a;
  s.transpose_b = p.transpose_b;
  s.bias = p.bias;
  s.add = p.add;
  s.activation = convert(p.activation);
  s.layernorm = p.layernorm;
  return s;
}
ConvShape convert_conv(const ops::ConvParams& p) {
  ConvShape s;
  s.types = types_of(p);
  s.rank = p.rank;
  s.n = p.n;
  s.ci = p.ci;
  s.co = p.co;
  s.groups = p.groups;
  s.spatial = p.spatial;
  s.kernel = p.kernel;
  s.stride = p.stride;
  s.pad = p.pad;
  s.dilation = p.dilation;
  s.transposed = p.transposed;
  s.layout = convert(p.layout);
  s.weights = p.layout == ops::Layout::nhwc ? WeightLayout::spatial_io
              : p.transposed                ? WeightLayout::io_spatial
                                            : WeightLayout::oi_spatial;
  s.bias = p.bias;
  s.add = p.add;
  s.activation = convert(p.activation);
  s.rounding = p.winograd == 0 ? 1 : ops::detail::winograd_rounding(p.winograd);
  return s;
}
PoolShape convert(const ops::PoolParams& p) {
  PoolShape s;
  s.kind = p.kind == ops::PoolKind::max ? PoolKind::max : PoolKind::average;
  s.n = p.n;
  s.c = p.c;
  s.spatial = p.spatial;
  s.kernel = p.is_global ? p.spatial : p.kernel;
  s.stride = p.stride;
  s.pad = p.pad;
  s.layout = convert(p.layout);
  return s;
}
PointwiseShape convert(const ops::PointwiseParams& p) {
  PointwiseShape s;
  s.columns = p.shape.back();
  for (const std::int64_t extent : p.shape)
    s.rows *= extent;
  s.rows /= s.columns;
  for (const ops::PointwiseStep& step : p.chain)
    s.chain.push_back(convert(step));
  return s;
}
template <std::size_t N>
bool is_even(const std::array<std::int64_t, N>& end, const std::array<std::int64_t, N>& begin) {
  bool is_same = true;
  for (std::size_t a = 0; a < N; ++a)
    is_same = is_same && (end[a] == ops::same_pad || end[a] == begin[a]);
  return is_same;
}
template <class Window>
bool is_plain_window(const Window& window) {
  return is_even(window.pad_end, window.pad) && !window.ceil_mode && window.counts_padding;
}
/// Whether the shapes here say all of it.
bool is_plain(const ops::ConvParams& p) {
  return is_even(p.pad_end, p.pad) && p.output_padding == std::array<std::int64_t, 3>{} &&
         !p.batch_norm && (!p.has_pool || is_plain_window(p.pool)) &&
         (!p.has_depthwise || is_even(p.behind.pad_end, p.behind.pad));
}
Problem convert(const ops::ConvParams& p) {
  if (p.has_pool) {
    return ConvPoolShape{convert_conv(p), convert(ops::detail::pooling_of(p))};
  }
  if (p.has_depthwise) {
    return ConvDepthwiseShape{convert_conv(p), convert_conv(ops::detail::depthwise_of(p))};
  }
  return convert_conv(p);
}

}  // namespace

std::optional<Problem> problem_of(const ops::Workload& workload) {
  if (!is_known_type(workload.params)) {
    return std::nullopt;
  }
  using Found = std::optional<Problem>;
  return std::visit(
      Overloaded{
          [](const ops::GemmParams& p) { return p.transpose_c ? Found() : Found(convert(p)); },
          [](const ops::ConvParams& p) { return is_plain(p) ? Found(convert(p)) : Found(); },
          [](const ops::PoolParams& p) { return is_plain_window(p) ? Found(convert(p)) : Found(); },
          [](const ops::RowParams& p) {
            if (p.is_transposed) {
              return Found();
            }
            switch (p.kind) {
            case ops::RowKind::softmax:
              return Found(SoftmaxShape{p.rows, p.columns});
            case ops::RowKind::log_softmax:
              return Found(SoftmaxShape{p.rows, p.columns, true});
            case ops::RowKind::layernorm:
              return Found(LayernormShape{p.rows, p.columns});
            case ops::RowKind::sum:
              return Found(ReduceShape{ReduceKind::sum, p.rows, p.columns});
            case ops::RowKind::max:
              return Found(ReduceShape{ReduceKind::max, p.rows, p.columns});
            default:
              return Found();
            }
          },
          [](const ops::PointwiseParams& p) {
            return p.permutation.empty() ? Found(convert(p)) : Found();
          },
          [](const ops::BatchNormParams&) { return Found(); },
          [](const ops::GatherParams&) { return Found(); },
          [](const ops::ExpressionParams&) { return Found(); },
          [](const ops::AttentionParams& p) {
            return Found(AttentionShape{p.batch, p.queries, p.keys, p.width});
          }},
      workload.params);
}

}  // namespace tensorsmith::bench
