// SPDX-License-Identifier: Apache-2.0
// Workload strings: the canonical text of an operator's parameters.
//
// Floor 3. Own design. Values that equal their default are left out where the grammar has them in
// brackets. Not here: the grammar (ops/workload_grammar.hpp), reading them (ops/workload.hpp).
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <vector>

#include "tensorsmith/ops/op.hpp"

namespace tensorsmith::ops {

namespace detail {

inline std::string times(const std::vector<std::int64_t>& numbers) {
  std::string text;
  for (std::int64_t number : numbers) {
    text += (text.empty() ? "" : "x") + std::to_string(number);
  }
  return text;
}
/// One number if all are equal.
template <std::size_t N>
std::string per_axis(const std::array<std::int64_t, N>& values, int rank) {
  std::vector<std::int64_t> used(values.begin(), values.begin() + rank);
  bool all_equal = true;
  for (std::int64_t value : used) {
    all_equal = all_equal && value == used[0];
  }
  return all_equal ? std::to_string(used[0]) : times(used);
}
/// ",KEY=..." of padding at the ends, where it is another than at the beginnings.
template <std::size_t N>
std::string pad_end_text(const std::string& key, const std::array<std::int64_t, N>& end,
                         const std::array<std::int64_t, N>& begin, int rank) {
  std::array<std::int64_t, N> after = begin;
  for (std::size_t a = 0; a < static_cast<std::size_t>(rank); ++a) {
    after[a] = end[a] == same_pad ? begin[a] : end[a];
  }
  return after == begin ? std::string() : key + per_axis(after, rank);
}
/// Of PoolParams and of PoolWindow, whose keys begin with `prefix`.
template <class Window>
std::string window_text(const std::string& prefix, const Window& window) {
  return pad_end_text(prefix + "pe=", window.pad_end, window.pad, 2) +
         (window.ceil_mode ? prefix + "ceil" : "") +
         (window.counts_padding ? "" : prefix + "count_include_pad=0");
}
/// In the order of RowKind.
inline constexpr std::array<const char*, 12> row_names{
    "softmax",    "log_softmax", "layernorm", "rmsnorm", "reduce_sum",  "reduce_prod",
    "reduce_min", "reduce_max",  "argmax",    "argmin",  "reduce_mean", "reduce_var"};
/// In the order of PointwiseOp and of Broadcast.
inline constexpr std::array<const char*, 11> pointwise_names{
    "add", "sub", "mul", "div", "max", "min", "relu", "gelu", "sigmoid", "tanh", "exp"};
inline constexpr std::array<const char*, 3> broadcast_names{"", "_per_column", "_per_row"};
inline std::string step_text(const PointwiseStep& step) {
  return std::string(pointwise_names[static_cast<std::size_t>(step.op)]) +
         (is_binary(step.op) ? broadcast_names[static_cast<std::size_t>(step.broadcast)] : "");
}
inline std::string byte_text(const char* key, ByteType type) {
  return type == ByteType::none ? std::string()
                                : key + std::string(name_of(dtype_of(type, DType::i8)));
}
template <class Params>
std::string weights_text(const Params& p) {
  return dtype_of(p.weights, p.dtype) == p.dtype ? "" : byte_text(",weights=", p.weights);
}
template <class Params>
std::string nan_text(const Params& p) {
  return p.propagates_nan ? ",nan=propagate" : "";
}
template <class Params>
std::string epilogue_text(const Params& p) {
  std::string text = p.bias ? ",bias" : "";
  if constexpr (requires { p.batch_norm; }) {
    text += p.batch_norm ? ",batchnorm" : "";
  }
  text += p.add ? ",add" : "";
  text += p.activation == Activation::relu   ? ",relu"
          : p.activation == Activation::gelu ? ",gelu"
                                             : "";
  if constexpr (requires { p.layernorm; }) {
    text += p.layernorm ? ",layernorm" : "";
  }
  text += byte_text(",requant=", p.requant);
  return text + (p.packing == PackingClass::packed_weights ? ",packed" : "");
}

}  // namespace detail

/// "gemm", "conv2d_transpose", ...: what stands before the colon.
inline std::string kind_of(const GemmParams& p) { return p.is_batched ? "bmm" : "gemm"; }
inline std::string kind_of(const ConvParams& p) {
  return p.depthwise && p.rank == 2
             ? "depthwise"
             : "conv" + std::to_string(p.rank) + "d" + (p.transposed ? "_transpose" : "");
}
inline std::string kind_of(const PoolParams& p) {
  const std::string kind = p.kind == PoolKind::max ? "max_pool" : "avg_pool";
  return p.is_global ? "global_" + kind : kind;
}
inline std::string kind_of(const RowParams& p) {
  return detail::row_names[static_cast<std::size_t>(p.kind)];
}
inline std::string kind_of(const PointwiseParams&) { return "pointwise"; }
inline std::string kind_of(const AttentionParams&) { return "attention"; }
inline std::string kind_of(const BatchNormParams&) { return "batchnorm"; }
inline std::string kind_of(const GatherParams&) { return "gather"; }

inline std::string canonical_text(const GemmParams& p) {
  std::vector<std::int64_t> sizes{p.m, p.n, p.k};
  if (p.is_batched) {
    sizes.insert(sizes.begin(), p.batch);
  }
  return kind_of(p) + ":" + detail::times(sizes) + ":" + std::string(name_of(p.dtype)) +
         detail::weights_text(p) + (p.transpose_a ? ",ta" : "") + (p.transpose_b ? ",tb" : "") +
         (p.transpose_c ? ",tc" : "") + detail::epilogue_text(p) + detail::nan_text(p);
}
inline std::string canonical_text(const ConvParams& p) {
  static constexpr const char* names[] = {",d=", ",h=", ",w="};
  std::string text = kind_of(p) + ":n=" + std::to_string(p.n);
  for (int a = 0; a < p.rank; ++a) {
    text += names[a + 3 - p.rank] + std::to_string(p.spatial[static_cast<std::size_t>(a)]);
  }
  text += p.depthwise ? ",c=" + std::to_string(p.ci)
                      : ",ci=" + std::to_string(p.ci) + ",co=" + std::to_string(p.co);
  text += ",k=" + detail::per_axis(p.kernel, p.rank) + ",s=" + detail::per_axis(p.stride, p.rank) +
          ",p=" + detail::per_axis(p.pad, p.rank) +
          detail::pad_end_text(",pe=", p.pad_end, p.pad, p.rank);
  const std::string more = detail::per_axis(p.output_padding, p.rank);
  text += more == "0" ? "" : ",op=" + more;
  const std::string dilation = detail::per_axis(p.dilation, p.rank);
  if (dilation != "1") {
    text += (p.rank == 2 ? ",d=" : ",dil=") + dilation;
  }
  if (!p.depthwise && p.groups != 1) {
    text += ",groups=" + std::to_string(p.groups);
  }
  text += p.winograd == 0 ? "" : ",winograd=" + std::to_string(p.winograd);
  if (p.packing == PackingClass::free_layout) {
    text += ",layout=free";
  } else if (p.layout == Layout::nchw) {
    text += ",layout=nchw";
  }
  if (p.dtype != DType::f32) {
    text += ",dtype=" + std::string(name_of(p.dtype));
  }
  text += detail::weights_text(p) + detail::epilogue_text(p);
  if (p.has_pool) {
    text += (p.pool.kind == PoolKind::max ? ",max_pool=" : ",avg_pool=") +
            detail::per_axis(p.pool.kernel, 2);
    text += p.pool.stride == p.pool.kernel ? "" : ",pool_s=" + detail::per_axis(p.pool.stride, 2);
    const std::string pad = detail::per_axis(p.pool.pad, 2);
    text += pad == "0" ? "" : ",pool_p=" + pad;
    text += detail::window_text(",pool_", p.pool);
  }
  if (p.has_depthwise) {
    const std::string stride = detail::per_axis(p.behind.stride, 2);
    const std::string pad = detail::per_axis(p.behind.pad, 2);
    text += ",depthwise=" + detail::per_axis(p.behind.kernel, 2);
    text += stride == "1" ? "" : ",dw_s=" + stride;
    text += pad == "0" ? "" : ",dw_p=" + pad;
    text += detail::pad_end_text(",dw_pe=", p.behind.pad_end, p.behind.pad, 2);
  }
  return text + detail::nan_text(p);
}
inline std::string canonical_text(const PoolParams& p) {
  std::string text = kind_of(p) + ":n=" + std::to_string(p.n) + ",c=" + std::to_string(p.c) +
                     ",h=" + std::to_string(p.spatial[0]) + ",w=" + std::to_string(p.spatial[1]);
  if (!p.is_global) {
    text += ",k=" + detail::per_axis(p.kernel, 2) + ",s=" + detail::per_axis(p.stride, 2) +
            ",p=" + detail::per_axis(p.pad, 2) + detail::window_text(",", p);
  }
  text += p.layout == Layout::nchw ? ",layout=nchw" : "";
  return text + (p.dtype == DType::f32 ? "" : ",dtype=" + std::string(name_of(p.dtype))) +
         detail::nan_text(p);
}
inline std::string canonical_text(const RowParams& p) {
  return kind_of(p) + ":" + detail::times({p.rows, p.columns}) +
         (p.dtype == DType::f32 ? "" : ":" + std::string(name_of(p.dtype))) +
         (p.online == 0 ? "" : ",online=" + std::to_string(p.online)) + (p.is_last ? ",last" : "") +
         (p.is_unbiased ? ",unbiased" : "") + (p.is_transposed ? ",transposed" : "") +
         detail::nan_text(p);
}
inline std::string canonical_text(const AttentionParams& p) {
  return kind_of(p) + ":" + detail::times({p.batch, p.queries, p.keys, p.width}) +
         (p.dtype == DType::f32 ? "" : ":" + std::string(name_of(p.dtype)));
}
inline std::string canonical_text(const PointwiseParams& p) {
  std::string text =
      kind_of(p) + ":" + detail::times(p.shape) + ":" + std::string(name_of(p.dtype));
  for (const PointwiseStep& step : p.chain) {
    text += "," + detail::step_text(step);
  }
  return text + detail::nan_text(p) +
         (p.permutation.empty() ? "" : ",perm=" + detail::times(p.permutation));
}
inline std::string canonical_text(const BatchNormParams& p) {
  return kind_of(p) + ":n=" + std::to_string(p.n) + ",c=" + std::to_string(p.c) +
         ",h=" + std::to_string(p.spatial[0]) + ",w=" + std::to_string(p.spatial[1]) +
         (p.layout == Layout::nchw ? ",layout=nchw" : "") +
         (p.dtype == DType::f32 ? "" : ",dtype=" + std::string(name_of(p.dtype))) +
         (p.relu ? ",relu" : "");
}
inline std::string canonical_text(const GatherParams& p) {
  return kind_of(p) + ":" + detail::times({p.count, p.rows, p.columns}) + ":" +
         std::string(name_of(p.dtype)) +
         (p.indices == DType::i32 ? "" : ",indices=" + std::string(name_of(p.indices)));
}

}  // namespace tensorsmith::ops
