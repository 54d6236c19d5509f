// Operations on the rows of a matrix: softmax and its logarithm (ops/softmax.hpp), layernorm,
// RMSnorm, reductions, the place of the largest.
//
// Floor 3. Stages, names and formulas of softmax, layernorm and the reductions are those of the
// programs of the Ansor reference, so that workload hashes agree.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "tensorsmith/ops/layernorm.hpp"
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

/// The first column that holds the largest value of the row, as i32. Two plain reductions, the
/// maximum and then the least column that equals it: reductions over pairs get no vectors along the
/// row. NaN is passed over (a row of nothing but NaN gives the last column), or the first NaN is
/// the largest.
inline Workload argmax(const RowParams& p) {
  te::Program program;
  const te::ComputeOptions i_only{{"i"}, {}, {}};
  const te::Tensor a = program.placeholder("A", {p.rows, p.columns}, p.dtype);
  const te::ReduceAxis k1 = program.reduce_axis("k1", p.columns);
  const te::ReduceAxis k2 = program.reduce_axis("k2", p.columns);
  const te::Tensor largest = program.compute(
      "T_max", {p.rows},
      [&](auto i) {
        return p.propagates_nan ? te::maximum(a(i, k1), {k1}) : te::max(a(i, k1), {k1});
      },
      i_only);
  const te::Tensor out = program.compute(
      "T_arg", {p.rows},
      [&](auto i) {
        const te::Expr value = a(i, k2);
        const te::Expr is_largest =
            p.propagates_nan ? value == largest(i) || value != value : value == largest(i);
        return te::min(
            te::select(is_largest, te::cast(DType::i32, te::Expr(k2)), te::Expr(p.columns - 1)),
            {k2});
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

inline Workload row_op(const RowParams& p) {
  detail::require_positive("row_op", "number of rows", p.rows);
  detail::require_positive("row_op", "number of columns", p.columns);
  const bool is_reduction = p.kind >= RowKind::sum;
  if (p.dtype == DType::boolean || (!is_reduction && !is_float(p.dtype))) {
    detail::misuse("row_op", is_reduction ? "a number type" : "a float type",
                   std::string(name_of(p.dtype)));
  }
  if (p.online != 0) {
    detail::check_online(p);
  }
  const bool has_extremum =
      p.kind == RowKind::min || p.kind == RowKind::max || p.kind == RowKind::argmax;
  detail::check_nan("row_op", p.propagates_nan, has_extremum, p.dtype);
  Workload workload = p.online != 0                    ? detail::online_softmax(p)
                      : p.kind == RowKind::softmax     ? detail::softmax(p)
                      : p.kind == RowKind::log_softmax ? detail::log_softmax(p)
                      : p.kind == RowKind::layernorm   ? detail::layernorm(p)
                      : p.kind == RowKind::rmsnorm     ? detail::rmsnorm(p)
                      : p.kind == RowKind::argmax      ? detail::argmax(p)
                                                       : detail::row_reduction(p);
  workload.kind = kind_of(p);
  workload.name = canonical_text(p);
  workload.params = p;
  workload.reduction_length = p.columns;
  workload.nominal_flop *= static_cast<double>(p.rows) * static_cast<double>(p.columns);
  return workload;
}

}  // namespace tensorsmith::ops
