// SPDX-License-Identifier: Apache-2.0
// The program of the Ansor reference's own tests: conv2d NCHW + bias + batch norm + relu.
#pragma once

#include "tensorsmith/te/program.hpp"

namespace tensorsmith::test {

/// Stages: Data, pad_temp, Kernel, conv, Bias, Bias_add, Bn_scale, Bn_mul, Bn_offset, Bn_add, relu.
inline Shared<const ComputeDag> conv_block(std::int64_t size, std::int64_t ci, std::int64_t co,
                                           std::int64_t kernel, std::int64_t stride,
                                           std::int64_t pad) {
  te::Program p;
  const std::int64_t out = (size + 2 * pad - kernel) / stride + 1;
  const te::Shape shape{1, co, out, out};
  const auto data = p.placeholder("Data", {1, ci, size, size});
  const auto padded = p.compute(
      "pad_temp", {1, ci, size + 2 * pad, size + 2 * pad}, [&](auto n, auto c, auto h, auto w) {
        return te::if_then_else(h >= pad && h < size + pad && w >= pad && w < size + pad,
                                data(n, c, h - pad, w - pad), 0);
      });
  const auto weight = p.placeholder("Kernel", {co, ci, kernel, kernel});
  const auto rc = p.reduce_axis("rc", ci), ry = p.reduce_axis("ry", kernel),
             rx = p.reduce_axis("rx", kernel);
  const auto conv = p.compute("conv", shape, [&](auto n, auto c, auto h, auto w) {
    return te::sum(padded(n, rc, h * stride + ry, w * stride + rx) * weight(c, rc, ry, rx),
                   {rc, ry, rx});
  });
  const auto bias = p.placeholder("Bias", {co, 1, 1});
  const auto biased = p.compute("Bias_add", shape, [&](auto n, auto c, auto h, auto w) {
    return conv(n, c, h, w) + bias(c, 0, 0);
  });
  const auto scale = p.placeholder("Bn_scale", {co, 1, 1});
  const auto scaled = p.compute("Bn_mul", shape, [&](auto n, auto c, auto h, auto w) {
    return biased(n, c, h, w) * scale(c, 0, 0);
  });
  const auto offset = p.placeholder("Bn_offset", {co, 1, 1});
  const auto shifted = p.compute("Bn_add", shape, [&](auto n, auto c, auto h, auto w) {
    return scaled(n, c, h, w) + offset(c, 0, 0);
  });
  const auto relu = p.compute("relu", shape, [&](auto n, auto c, auto h, auto w) {
    return te::max(shifted(n, c, h, w), 0);
  });
  return p.dag({data, weight, bias, offset, scale, relu});
}

}  // namespace tensorsmith::test
