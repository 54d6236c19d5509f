// SPDX-License-Identifier: Apache-2.0
// The definitions of gemm.hpp.
//
// Floor 3. Included by ops/gemm.hpp or compiled once (support/compiled.hpp).
#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "tensorsmith/ops/gemm.hpp"
#include "tensorsmith/ops/layernorm.hpp"
#include "tensorsmith/ops/requantize.hpp"
#include "tensorsmith/ops/workload_text.hpp"

namespace tensorsmith::ops {

namespace detail {

inline void check_gemm(const GemmParams& p) {
  const std::string op = p.is_batched ? "bmm" : "gemm";
  require_positive(op, "batch", p.batch);
  require_positive(op, "m", p.m);
  require_positive(op, "n", p.n);
  require_positive(op, "k", p.k);
  if (!p.is_batched && p.batch != 1) {
    misuse(op, "batch 1 without is_batched", std::to_string(p.batch));
  }
  if (p.dtype == DType::boolean) {
    misuse(op, "a number type", "bool");
  }
  if ((p.activation == Activation::gelu || p.layernorm) && !is_float(p.dtype)) {
    misuse(op, std::string("a float type with ") + (p.layernorm ? "layernorm" : "gelu"),
           std::string(name_of(p.dtype)));
  }
  if (p.transpose_c && p.layernorm) {
    misuse(op, "rows of the result as they are with layernorm", "a transposed result");
  }
  check_nan(op, p.propagates_nan, p.activation == Activation::relu, p.dtype);
  check_byte_types(op, p);
}

}  // namespace detail

TENSORSMITH_INLINE Workload gemm(const GemmParams& p) {
  detail::check_gemm(p);
  te::Program program;
  const auto shape = [&](std::int64_t rows, std::int64_t columns) {
    return p.is_batched ? te::Shape{p.batch, rows, columns} : te::Shape{rows, columns};
  };
  const te::Tensor a =
      program.placeholder("A", p.transpose_a ? shape(p.k, p.m) : shape(p.m, p.k), p.dtype);
  const te::Tensor b = program.placeholder("B", p.transpose_b ? shape(p.n, p.k) : shape(p.k, p.n),
                                           dtype_of(p.weights, p.dtype));
  const te::ReduceAxis k = program.reduce_axis("k", p.k);
  const DType type = detail::accumulator_of(p.dtype);
  te::ComputeOptions options;
  const bool swaps = p.transpose_c;
  options.axes = swaps ? std::vector<std::string>{"j", "i"} : std::vector<std::string>{"i", "j"};
  if (p.is_batched) {
    options.axes.insert(options.axes.begin(), "b");
  }
  const std::vector<std::string> axes = options.axes;
  const te::Shape result = swaps ? shape(p.n, p.m) : shape(p.m, p.n);
  const std::size_t row_axis = result.size() - (swaps ? 1 : 2);
  const std::size_t column_axis = result.size() - (swaps ? 2 : 1);
  if (p.packing != PackingClass::plain) {
    options.attrs.layout_free_placeholders = {"B"};
  }
  te::Tensor out = program.compute(
      "C", result,
      [&](const std::vector<te::Expr>& at) {
        const te::Expr i = at[row_axis], j = at[column_axis];
        const auto read = [&](const te::Tensor& tensor, const te::Expr& row,
                              const te::Expr& column) {
          return te::cast(type, p.is_batched ? tensor(at[0], row, column) : tensor(row, column));
        };
        const te::Expr left = p.transpose_a ? read(a, k, i) : read(a, i, k);
        const te::Expr right = p.transpose_b ? read(b, j, k) : read(b, k, j);
        return te::sum(left * right, {k});
      },
      std::move(options));
  using Indices = std::vector<te::Expr>;
  std::vector<te::Tensor> arguments{a, b};
  char next = 'D';
  const auto pointwise = [&](auto&& f) {
    const te::Tensor in = out;
    out = program.compute(std::string(1, next++), result,
                          [&](const Indices& at) { return f(in.at(at), at); }, {axes, {}, {}});
  };
  if (p.bias) {
    const te::Tensor bias = program.placeholder("bias", {p.n}, type);
    arguments.push_back(bias);
    pointwise([&](const te::Expr& x, const Indices& at) { return x + bias(at[column_axis]); });
  }
  if (p.add) {
    const te::Tensor residual = program.placeholder("R", result, type);
    arguments.push_back(residual);
    pointwise([&](const te::Expr& x, const Indices& at) { return x + residual.at(at); });
  }
  if (p.activation == Activation::relu) {
    pointwise([&](const te::Expr& x, const Indices&) { return detail::relu(x, p.propagates_nan); });
  } else if (p.activation == Activation::gelu) {
    pointwise([](const te::Expr& x, const Indices&) { return detail::gelu(x); });
  }
  if (p.layernorm) {
    out = detail::layernorm_of(program, out, shape(p.m, p.n), axes, type, arguments);
  }
  if (p.requant != ByteType::none) {
    const detail::Requantize requantize(program, p.n, p.requant, arguments);
    pointwise([&](const te::Expr& x, const Indices& at) { return requantize(x, at[column_axis]); });
  }
  arguments.push_back(out);
  Workload workload;
  workload.kind = kind_of(p);
  workload.name = canonical_text(p);
  workload.params = p;
  workload.packing = p.packing;
  workload.dag = program.dag(arguments);
  workload.nominal_flop = 2.0 * static_cast<double>(p.batch) * static_cast<double>(p.m) *
                          static_cast<double>(p.n) * static_cast<double>(p.k);
  workload.reduction_length = p.layernorm && p.n > p.k ? p.n : p.k;
  return workload;
}

}  // namespace tensorsmith::ops
