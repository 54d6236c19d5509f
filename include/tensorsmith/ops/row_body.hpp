// SPDX-License-Identifier: Apache-2.0
// The definitions of row.hpp.
//
// Floor 3. Included by ops/row.hpp or compiled once (support/compiled.hpp).
#pragma once

#include <string>
#include <vector>

#include "tensorsmith/ops/layernorm.hpp"
#include "tensorsmith/ops/permuted_result.hpp"
#include "tensorsmith/ops/row.hpp"
#include "tensorsmith/ops/row_statistics.hpp"
#include "tensorsmith/ops/softmax.hpp"
#include "tensorsmith/ops/workload_text.hpp"

namespace tensorsmith::ops {

namespace detail {

inline Workload layernorm(const RowParams& p) {
  te::Program program;
  const te::Tensor a = program.placeholder("A", {p.rows, p.columns}, p.dtype);
  std::vector<te::Tensor> arguments{a};
  arguments.push_back(
      layernorm_of(program, a, {p.rows, p.columns}, {"i", "j"}, p.dtype, arguments));
  Workload workload;
  workload.dag = program.dag(arguments);
  workload.nominal_flop = 7;  // per element: sum, centre, square, sum, scale, gamma, beta
  return workload;
}

/// A / sqrt(mean of A^2 + 1e-5) * gamma. Narrow types are computed in f32.
inline Workload rmsnorm(const RowParams& p) {
  te::Program program;
  const te::Shape rows{p.rows}, matrix{p.rows, p.columns};
  const te::ComputeOptions i_only{{"i"}, {}, {}}, both{{"i", "j"}, {}, {}};
  const double scale = 1.0 / static_cast<double>(p.columns);
  const DType type = accumulator_of(p.dtype);
  const te::Tensor a = program.placeholder("A", matrix, p.dtype);
  const te::ReduceAxis k = program.reduce_axis("k", p.columns);
  const auto wide = [&](auto i, auto j) { return te::cast(type, a(i, j)); };
  const te::Tensor squares = program.compute(
      "S2", rows, [&](auto i) { return te::sum(wide(i, k) * wide(i, k), {k}); }, i_only);
  const te::Tensor gamma = program.placeholder("gamma", {p.columns}, p.dtype);
  const te::Tensor out = program.compute(
      "RN", matrix,
      [&](auto i, auto j) {
        return te::cast(p.dtype, wide(i, j) * te::rsqrt(squares(i) * scale + 1e-5) *
                                     te::cast(type, gamma(j)));
      },
      both);
  Workload workload;
  workload.dag = program.dag({a, gamma, out});
  workload.nominal_flop = 4;  // per element: square, sum, scale, gamma
  return workload;
}

/// The first column (is_last: the last one, as ONNX's select_last_index) that holds the largest
/// value of the row, or the least one (argmin), as i32. Two plain reductions, the extreme and then
/// the least (is_last: the largest) column that equals it: reductions over pairs get no vectors
/// along the row. NaN is passed over (a row of nothing but NaN gives the last column; is_last: the
/// first one), or the first NaN (is_last: the last one) is the extreme.
inline Workload place_of_extreme(const RowParams& p) {
  te::Program program;
  const te::ComputeOptions i_only{{"i"}, {}, {}};
  const te::Tensor a = program.placeholder("A", {p.rows, p.columns}, p.dtype);
  const te::ReduceAxis k1 = program.reduce_axis("k1", p.columns);
  const te::ReduceAxis k2 = program.reduce_axis("k2", p.columns);
  const bool is_least = p.kind == RowKind::argmin;
  const auto extreme_of = [&](const te::Expr& value) {
    if (p.propagates_nan) {
      return is_least ? te::minimum(value, {k1}) : te::maximum(value, {k1});
    }
    return is_least ? te::min(value, {k1}) : te::max(value, {k1});
  };
  const te::Tensor extreme = program.compute(
      is_least ? "T_min" : "T_max", {p.rows}, [&](auto i) { return extreme_of(a(i, k1)); }, i_only);
  const te::Tensor out = program.compute(
      "T_arg", {p.rows},
      [&](auto i) {
        const te::Expr value = a(i, k2);
        const te::Expr is_extreme =
            p.propagates_nan ? value == extreme(i) || value != value : value == extreme(i);
        const te::Expr place = te::select(is_extreme, te::cast(DType::i32, te::Expr(k2)),
                                          te::Expr(p.is_last ? 0 : p.columns - 1));
        return p.is_last ? te::max(place, {k2}) : te::min(place, {k2});
      },
      i_only);
  Workload workload;
  workload.dag = program.dag({a, out});
  workload.nominal_flop = 3;  // per element: maximum, comparison, minimum
  return workload;
}

inline Workload row_reduction(const RowParams& p) {
  te::Program program;
  const te::Tensor a = program.placeholder("A", {p.rows, p.columns}, p.dtype);
  const te::ReduceAxis k = program.reduce_axis("k", p.columns);
  const DType type =
      p.kind == RowKind::sum || p.kind == RowKind::prod ? accumulator_of(p.dtype) : p.dtype;
  const te::Tensor out =
      program.compute("B", {p.rows},
                      [&](auto i) {
                        const te::Expr value = te::cast(type, a(i, k));
                        switch (p.kind) {
                        case RowKind::prod:
                          return te::prod(value, {k});
                        case RowKind::min:
                          return p.propagates_nan ? te::minimum(value, {k}) : te::min(value, {k});
                        case RowKind::max:
                          return p.propagates_nan ? te::maximum(value, {k}) : te::max(value, {k});
                        default:
                          return te::sum(value, {k});
                        }
                      },
                      {{"i"}, {}, {}});
  Workload workload;
  workload.dag = program.dag({a, out});
  workload.nominal_flop = 1;
  return workload;
}

}  // namespace detail

TENSORSMITH_INLINE Workload row_op(const RowParams& p) {
  detail::require_positive("row_op", "number of rows", p.rows);
  detail::require_positive("row_op", "number of columns", p.columns);
  const bool is_reduction = p.kind >= RowKind::sum;
  const bool is_place = p.kind == RowKind::argmax || p.kind == RowKind::argmin;
  const bool is_statistic = p.kind == RowKind::mean || p.kind == RowKind::variance;
  const bool takes_integers = is_reduction && !is_statistic;
  if (p.dtype == DType::boolean || (!takes_integers && !is_float(p.dtype))) {
    detail::misuse("row_op", takes_integers ? "a number type" : "a float type",
                   std::string(name_of(p.dtype)));
  }
  if (p.is_last && !is_place) {
    detail::misuse("row_op", "argmax or argmin with the last of equals", kind_of(p));
  }
  if (p.is_transposed && is_reduction) {
    detail::misuse("row_op", "a matrix as result to transpose", kind_of(p));
  }
  if (p.is_unbiased && (p.kind != RowKind::variance || p.columns < 2)) {
    detail::misuse("row_op", "reduce_var of 2 and more columns to be unbiased",
                   p.kind != RowKind::variance ? kind_of(p) : "1 column");
  }
  if (p.online != 0) {
    detail::check_online(p);
  }
  const bool has_extremum = is_place || p.kind == RowKind::min || p.kind == RowKind::max;
  detail::check_nan("row_op", p.propagates_nan, has_extremum, p.dtype);
  Workload workload = p.online != 0                    ? detail::online_softmax(p)
                      : p.kind == RowKind::softmax     ? detail::softmax(p)
                      : p.kind == RowKind::log_softmax ? detail::log_softmax(p)
                      : p.kind == RowKind::layernorm   ? detail::layernorm(p)
                      : p.kind == RowKind::rmsnorm     ? detail::rmsnorm(p)
                      : is_place                       ? detail::place_of_extreme(p)
                      : is_statistic                   ? detail::row_statistic(p)
                                                       : detail::row_reduction(p);
  if (p.is_transposed) {
    workload.dag = detail::with_permuted_result(*workload.dag, {1, 0});
  }
  workload.kind = kind_of(p);
  workload.name = canonical_text(p);
  workload.params = p;
  workload.reduction_length = p.columns;
  workload.nominal_flop *= static_cast<double>(p.rows) * static_cast<double>(p.columns);
  return workload;
}

}  // namespace tensorsmith::ops
