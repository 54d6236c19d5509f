// SPDX-License-Identifier: Apache-2.0
// The definitions of pool.hpp.
//
// Floor 3. Included by ops/pool.hpp or compiled once (support/compiled.hpp).
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <vector>

#include "tensorsmith/ops/pad.hpp"
#include "tensorsmith/ops/pool.hpp"
#include "tensorsmith/ops/workload_text.hpp"

namespace tensorsmith::ops {

namespace detail {

inline void check_pool(const PoolParams& p) {
  const std::string op = "pool";
  require_positive(op, "n", p.n);
  require_positive(op, "c", p.c);
  for (std::size_t a = 0; a < 2; ++a) {
    require_positive(op, "spatial extent", p.spatial[a]);
    require_positive(op, "kernel", p.kernel[a]);
    require_positive(op, "stride", p.stride[a]);
    for (std::int64_t pad : {p.pad[a], p.pad_after(a)}) {
      if (pad < 0 || pad >= p.kernel[a]) {
        misuse(op, "padding of at least 0 and less than the kernel", std::to_string(pad));
      }
    }
    if (p.out_spatial(static_cast<int>(a)) <= 0) {
      misuse(op, "an output that is not empty", "a kernel larger than the padded input");
    }
  }
  if (p.dtype == DType::boolean || (p.kind == PoolKind::average && !is_float(p.dtype))) {
    misuse(op, "a number type, a float one for averages", std::string(name_of(p.dtype)));
  }
  check_nan(op, p.propagates_nan, p.kind == PoolKind::max, p.dtype);
}

inline Workload global_pool(const PoolParams& p) {
  te::Program program;
  const ActivationAxes axes = activation_axes(2, p.layout);
  const te::Tensor x = program.placeholder(
      "X", activation_shape(2, p.layout, p.n, p.c, {p.spatial[0], p.spatial[1]}), p.dtype);
  const te::ReduceAxes window{program.reduce_axis("ry", p.spatial[0]),
                              program.reduce_axis("rx", p.spatial[1])};
  const DType type = p.kind == PoolKind::average ? accumulator_of(p.dtype) : p.dtype;
  const auto read = [&](const te::Expr& n, const te::Expr& c) {
    return te::cast(type, p.layout == Layout::nhwc ? x(n, window[0], window[1], c)
                                                   : x(n, c, window[0], window[1]));
  };
  const te::ComputeOptions options{{"n", "c"}, {}, {}};
  te::Tensor y = program.compute(
      p.kind == PoolKind::average ? "Ysum" : "Y", {p.n, p.c},
      [&](auto n, auto c) {
        return p.kind == PoolKind::average ? te::sum(read(n, c), window)
               : p.propagates_nan          ? te::maximum(read(n, c), window)
                                           : te::max(read(n, c), window);
      },
      options);
  if (p.kind == PoolKind::average) {
    const double scale = 1.0 / static_cast<double>(p.spatial[0] * p.spatial[1]);
    const te::Tensor sum = y;
    y = program.compute(
        "Y", {p.n, p.c}, [&](auto n, auto c) { return sum(n, c) * scale; }, options);
  }
  Workload workload;
  workload.dag = program.dag({x, y});
  return workload;
}

/// What the stages and the axes of windows are called.
struct PoolNames {
  const char* padded = "Pad";
  const char* sum = "Ysum";
  const char* result = "Y";
  std::array<const char*, 2> window{"ry", "rx"};
};

/// Whether every window has as many elements that count.
inline bool has_even_windows(const PoolParams& p) {
  bool is_even = true;
  for (std::size_t a = 0; a < 2; ++a) {
    is_even = is_even && (p.counts_padding ? p.reach_after(a) <= p.pad_after(a)
                                           : p.pad[a] == 0 && p.reach_after(a) <= 0);
  }
  return is_even;
}

/// How many elements of window `i` along an axis count.
inline te::Expr window_length(const PoolParams& p, std::size_t a, const te::Expr& i) {
  const te::Expr begin = i * p.stride[a] - p.pad[a];
  const std::int64_t end = p.spatial[a] + (p.counts_padding ? p.pad_after(a) : 0);
  return te::min(begin + p.kernel[a], end) - (p.counts_padding ? begin : te::max(begin, 0));
}

/// The result of windows over `x`.
inline te::Tensor pool_windows(te::Program& program, const te::Tensor& x, const PoolParams& p,
                               const PoolNames& names) {
  const ActivationAxes axes = activation_axes(2, p.layout);
  const bool is_average = p.kind == PoolKind::average;
  const std::vector<std::int64_t> before{p.pad[0], p.pad[1]};
  std::vector<std::int64_t> after;
  for (std::size_t a = 0; a < 2; ++a) {
    after.push_back(p.ceil_mode && p.reach_after(a) > p.pad_after(a) ? p.reach_after(a)
                                                                     : p.pad_after(a));
  }
  const te::Expr outside = is_average ? te::Expr(0) : te::detail::extreme(p.dtype, -1);
  const te::Tensor padded = pad_spatial(program, x, axes, before, after, outside, names.padded);
  const te::ReduceAxes window{program.reduce_axis(names.window[0], p.kernel[0]),
                              program.reduce_axis(names.window[1], p.kernel[1])};
  const te::Shape shape =
      activation_shape(2, p.layout, p.n, p.c, {p.out_spatial(0), p.out_spatial(1)});
  const DType type = is_average ? accumulator_of(p.dtype) : p.dtype;
  te::Tensor y = program.compute(is_average ? names.sum : names.result, shape,
                                 [&](const std::vector<te::Expr>& at) {
                                   std::vector<te::Expr> index = at;
                                   for (std::size_t a = 0; a < 2; ++a) {
                                     te::Expr& i = index[axes.first_spatial + a];
                                     i = i * p.stride[a] + window[a];
                                   }
                                   const te::Expr value = te::cast(type, padded.at(index));
                                   return is_average         ? te::sum(value, window)
                                          : p.propagates_nan ? te::maximum(value, window)
                                                             : te::max(value, window);
                                 },
                                 {axes.names, {}, {}});
  if (is_average) {
    const double scale = 1.0 / static_cast<double>(p.kernel[0] * p.kernel[1]);
    const te::Tensor sum = y;
    y = program.compute(names.result, shape,
                        [&](const std::vector<te::Expr>& at) {
                          if (has_even_windows(p)) {
                            return sum.at(at) * scale;
                          }
                          const te::Expr length = window_length(p, 0, at[axes.first_spatial]) *
                                                  window_length(p, 1, at[axes.first_spatial + 1]);
                          return sum.at(at) / te::cast(type, length);
                        },
                        {axes.names, {}, {}});
  }
  return y;
}

inline Workload window_pool(const PoolParams& p) {
  te::Program program;
  const te::Tensor x = program.placeholder(
      "X", activation_shape(2, p.layout, p.n, p.c, {p.spatial[0], p.spatial[1]}), p.dtype);
  Workload workload;
  workload.dag = program.dag({x, pool_windows(program, x, p, {})});
  return workload;
}

}  // namespace detail

TENSORSMITH_INLINE Workload pool(PoolParams p) {
  if (p.is_global) {
    p.kernel = p.spatial;
    p.stride = {1, 1};
    p.pad = {0, 0};
    p.pad_end = {same_pad, same_pad};
    p.ceil_mode = false;
    p.counts_padding = true;
  }
  detail::check_pool(p);
  Workload workload = p.is_global ? detail::global_pool(p) : detail::window_pool(p);
  workload.kind = kind_of(p);
  workload.name = canonical_text(p);
  workload.params = p;
  workload.reduction_length = p.kernel[0] * p.kernel[1];
  workload.nominal_flop =
      static_cast<double>(p.n) * static_cast<double>(p.c) * static_cast<double>(p.out_spatial(0)) *
      static_cast<double>(p.out_spatial(1)) * static_cast<double>(workload.reduction_length);
  return workload;
}

}  // namespace tensorsmith::ops
