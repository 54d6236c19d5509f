// SPDX-License-Identifier: Apache-2.0
// Which convolutions there are: parameters that fit together.
//
// Floor 3. Own design. What does not fit is an Error. Not here: the formulas (ops/conv.hpp),
// whether there is the pooling behind one (ops/pool.hpp).
#pragma once

#include <string>

#include "tensorsmith/ops/requantize.hpp"

namespace tensorsmith::ops::detail {

inline void check_winograd(const ConvParams& p) {
  if (p.winograd != 2 && p.winograd != 4) {
    misuse("conv", "Winograd tiles of 2 or 4 outputs", std::to_string(p.winograd));
  }
  bool fits = p.rank == 2 && p.groups == 1 && !p.transposed;
  for (std::size_t a = 0; a < 2; ++a) {
    fits = fits && p.kernel[a] == 3 && p.stride[a] == 1 && p.dilation[a] == 1;
  }
  if (!fits || (p.dtype != DType::f32 && p.dtype != DType::f64)) {
    misuse("conv",
           "a kernel of 3 x 3, stride and dilation 1, no groups, f32 or f64 with Winograd's "
           "filtering",
           "others");
  }
}

inline void check_conv(const ConvParams& p) {
  const std::string op = "conv";
  if (p.rank < 1 || p.rank > 3) {
    misuse(op, "rank 1, 2 or 3", std::to_string(p.rank));
  }
  require_positive(op, "n", p.n);
  require_positive(op, "ci", p.ci);
  require_positive(op, "co", p.co);
  require_positive(op, "groups", p.groups);
  for (std::size_t a = 0; a < static_cast<std::size_t>(p.rank); ++a) {
    require_positive(op, "spatial extent", p.spatial[a]);
    require_positive(op, "kernel", p.kernel[a]);
    require_positive(op, "stride", p.stride[a]);
    require_positive(op, "dilation", p.dilation[a]);
    for (std::int64_t pad : {p.pad[a], p.pad_after(a)}) {
      if (pad < 0) {
        misuse(op, "padding of at least 0", std::to_string(pad));
      }
    }
    const std::int64_t steps = p.stride[a] > p.dilation[a] ? p.stride[a] : p.dilation[a];
    if (p.output_padding[a] < 0 || p.output_padding[a] >= (p.transposed ? steps : 1)) {
      misuse(op,
             p.transposed ? "output padding of at least 0 and less than stride or dilation"
                          : "no output padding unless transposed",
             std::to_string(p.output_padding[a]));
    }
    if (p.out_spatial(static_cast<int>(a)) <= 0) {
      misuse(op, "an output that is not empty", "a kernel larger than the padded input");
    }
  }
  if (p.ci % p.groups != 0 || p.co % p.groups != 0) {
    misuse(op, "channels that groups divide",
           std::to_string(p.ci) + " and " + std::to_string(p.co) + " channels in " +
               std::to_string(p.groups) + " groups");
  }
  if (p.depthwise && (p.ci != p.groups || p.co != p.groups || p.transposed)) {
    misuse(op, "ci = co = groups and no transposition for depthwise", "others");
  }
  if (p.winograd != 0) {
    check_winograd(p);
  }
  if (p.has_pool && p.rank != 2) {
    misuse(op, "rank 2 with a pooling behind it", std::to_string(p.rank));
  }
  if (p.has_depthwise) {
    if (p.rank != 2 || p.has_pool || p.batch_norm || p.add || p.requant != ByteType::none) {
      misuse(op,
             "rank 2, no pooling, batch norm, residual or requantization with a depthwise one "
             "behind it",
             p.rank != 2 ? std::to_string(p.rank) : "others");
    }
    check_conv(depthwise_of(p));
  }
  if (p.dtype == DType::boolean || (p.activation == Activation::gelu && !is_float(p.dtype))) {
    misuse(op, "a number type, a float one with gelu", std::string(name_of(p.dtype)));
  }
  if (p.batch_norm && !is_float(p.dtype)) {
    misuse(op, "a float type with batchnorm", std::string(name_of(p.dtype)));
  }
  const bool has_max_pool = p.has_pool && p.pool.kind == PoolKind::max;
  check_nan(op, p.propagates_nan, p.activation == Activation::relu || has_max_pool, p.dtype);
  check_byte_types(op, p);
}

}  // namespace tensorsmith::ops::detail
