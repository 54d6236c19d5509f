// SPDX-License-Identifier: Apache-2.0
// The definitions of batch_norm.hpp.
//
// Floor 3. Included by ops/batch_norm.hpp or compiled once (support/compiled.hpp).
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "tensorsmith/ops/batch_norm.hpp"
#include "tensorsmith/ops/pad.hpp"
#include "tensorsmith/ops/workload_text.hpp"

namespace tensorsmith::ops {

namespace detail {

/// The operands gamma, beta, mean and var, [channels] of `type`, and the scale made of them, once.
struct BatchNorm {
  te::Tensor scale, shift, mean;

  BatchNorm(te::Program& program, std::int64_t channels, DType type, std::vector<te::Tensor>& into)
      : BatchNorm(program, channels, type, into.size(), into) {}
  te::Expr operator()(const te::Expr& x, const te::Expr& channel) const {
    return (x - mean(channel)) * scale(channel) + shift(channel);
  }

 private:
  BatchNorm(te::Program& program, std::int64_t channels, DType type, std::size_t first,
            std::vector<te::Tensor>& into)
      : scale(operands(program, channels, type, into)), shift(into[first + 1]),
        mean(into[first + 2]) {
    te::ComputeOptions options{{"c"}, {}, {}};
    options.attrs.never_inline = true;
    const te::Tensor gamma = into[first], variance = into[first + 3];
    scale = program.compute(
        "norm_scale", {channels}, [&](auto c) { return gamma(c) * te::rsqrt(variance(c) + 1e-5); },
        options);
  }
  /// The first of them.
  static te::Tensor operands(te::Program& program, std::int64_t channels, DType type,
                             std::vector<te::Tensor>& into) {
    const std::size_t first = into.size();
    for (const char* name : {"gamma", "beta", "mean", "var"}) {
      into.push_back(program.placeholder(name, {channels}, type));
    }
    return into[first];
  }
};

}  // namespace detail

TENSORSMITH_INLINE Workload batch_norm(const BatchNormParams& p) {
  const std::string op = "batchnorm";
  detail::require_positive(op, "n", p.n);
  detail::require_positive(op, "c", p.c);
  detail::require_positive(op, "h", p.spatial[0]);
  detail::require_positive(op, "w", p.spatial[1]);
  if (!is_float(p.dtype)) {
    detail::misuse(op, "a float type", std::string(name_of(p.dtype)));
  }
  te::Program program;
  const DType type = detail::accumulator_of(p.dtype);
  const detail::ActivationAxes axes = detail::activation_axes(2, p.layout);
  const te::Tensor x = program.placeholder(
      "X", detail::activation_shape(2, p.layout, p.n, p.c, {p.spatial[0], p.spatial[1]}), p.dtype);
  std::vector<te::Tensor> arguments{x};
  const detail::BatchNorm norm(program, p.c, type, arguments);
  arguments.push_back(program.compute("Y", x.shape(),
                                      [&](const std::vector<te::Expr>& at) {
                                        const te::Expr y =
                                            norm(te::cast(type, x.at(at)), at[axes.channel]);
                                        return te::cast(p.dtype, p.relu ? te::max(y, 0) : y);
                                      },
                                      {axes.names, {}, {}}));
  Workload workload;
  workload.kind = kind_of(p);
  workload.name = canonical_text(p);
  workload.params = p;
  workload.dag = program.dag(arguments);
  workload.nominal_flop = 3.0 * static_cast<double>(p.n) * static_cast<double>(p.c) *
                          static_cast<double>(p.spatial[0]) * static_cast<double>(p.spatial[1]);
  return workload;
}

}  // namespace tensorsmith::ops
