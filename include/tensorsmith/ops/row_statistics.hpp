// SPDX-License-Identifier: Apache-2.0
// Mean and variance of rows.
//
// Floor 3. Own design; the variance in two passes (sum of squares of the distances from the mean),
// so that a mean far from zero costs no digits. 16-bit types are computed in f32, which is also the
// type of the result, as with sums.
#pragma once

#include "tensorsmith/ops/workload_text.hpp"

namespace tensorsmith::ops::detail {

/// mean[i] = sum over k of A[i, k] / C;  var[i] = sum over k of (A[i, k] - mean[i])^2 / (C - u), u
/// = 1 if it is unbiased (PyTorch's correction), else 0.
inline Workload row_statistic(const RowParams& p) {
  te::Program program;
  const te::ComputeOptions i_only{{"i"}, {}, {}};
  const DType type = accumulator_of(p.dtype);
  const te::Tensor a = program.placeholder("A", {p.rows, p.columns}, p.dtype);
  const auto columns = static_cast<double>(p.columns);
  const te::ReduceAxis k1 = program.reduce_axis("k1", p.columns);
  const te::Tensor sum = program.compute(
      "S1", {p.rows}, [&](auto i) { return te::sum(te::cast(type, a(i, k1)), {k1}); }, i_only);
  te::Tensor out = program.compute(
      "Mean", {p.rows}, [&](auto i) { return sum(i) * (1.0 / columns); }, i_only);
  if (p.kind == RowKind::variance) {
    const te::Tensor mean = out;
    const te::ReduceAxis k2 = program.reduce_axis("k2", p.columns);
    const auto distance = [&](const te::Expr& i) { return te::cast(type, a(i, k2)) - mean(i); };
    const te::Tensor squares = program.compute(
        "S2", {p.rows}, [&](auto i) { return te::sum(distance(i) * distance(i), {k2}); }, i_only);
    out = program.compute(
        "Var", {p.rows},
        [&](auto i) { return squares(i) * (1.0 / (columns - (p.is_unbiased ? 1 : 0))); }, i_only);
  }
  Workload workload;
  workload.dag = program.dag({a, out});
  workload.nominal_flop = p.kind == RowKind::variance ? 4 : 1;  // per element
  return workload;
}

}  // namespace tensorsmith::ops::detail
