// SPDX-License-Identifier: Apache-2.0
// Layernorm along the last axis of a tensor: the stages that the workload of its name and chains
// that end with it share.
//
// Floor 3. Own form of the definition (x - mean) / sqrt(variance + 1e-5) * gamma + beta, stable
// whatever the mean: rows are seen from their first element,
//     S1 = sum of (x - x0);  Mean = S1 / N;  S2 = sum of (x - x0 - Mean)^2;  Var = S2 / N
// (Chan, Golub and LeVeque, "Algorithms for computing the sample variance", 1983). No sum holds the
// mean of the row, and x0 is at most sqrt(N) standard deviations away from it. E[x^2] - E[x]^2, the
// form of the Ansor reference, loses all digits where the mean is large. Both read a row three
// times; this one subtracts twice more per element. Narrow types are computed in f32.
#pragma once

#include <string>
#include <vector>

#include "tensorsmith/ops/op.hpp"

namespace tensorsmith::ops::detail {

/// Of `x`, of this shape and type, its axes called so. Gamma and beta become arguments, in this
/// order.
inline te::Tensor layernorm_of(te::Program& program, const te::Tensor& x, const te::Shape& shape,
                               const std::vector<std::string>& axes, DType type,
                               std::vector<te::Tensor>& arguments) {
  using Indices = std::vector<te::Expr>;
  const std::int64_t columns = shape.back();
  const double scale = 1.0 / static_cast<double>(columns);
  te::Shape rows = shape;
  rows.pop_back();
  te::ComputeOptions of_rows{axes, {}, {}}, of_all{axes, {}, {}};
  of_rows.axes.pop_back();
  const DType wide = accumulator_of(type);
  /// Of a row, seen from its first element.
  const auto element = [&](const Indices& row, const te::Expr& column) {
    Indices at = row, first = row;
    at.push_back(column);
    first.push_back(te::Expr(0));
    return te::cast(wide, x.at(at)) - te::cast(wide, x.at(first));
  };
  const te::ReduceAxis k1 = program.reduce_axis("k1", columns);
  const te::ReduceAxis k2 = program.reduce_axis("k2", columns);
  const te::Tensor s1 = program.compute(
      "S1", rows, [&](const Indices& at) { return te::sum(element(at, k1), {k1}); }, of_rows);
  const te::Tensor mean = program.compute(
      "Mean", rows, [&](const Indices& at) { return s1.at(at) * scale; }, of_rows);
  const auto centred = [&](const Indices& row, const te::Expr& column) {
    return element(row, column) - mean.at(row);
  };
  const te::Tensor s2 = program.compute(
      "S2", rows,
      [&](const Indices& at) { return te::sum(centred(at, k2) * centred(at, k2), {k2}); }, of_rows);
  const te::Tensor variance = program.compute(
      "Var", rows, [&](const Indices& at) { return s2.at(at) * scale; }, of_rows);
  const te::Tensor gamma = program.placeholder("gamma", {columns}, type);
  const te::Tensor beta = program.placeholder("beta", {columns}, type);
  arguments.push_back(gamma);
  arguments.push_back(beta);
  return program.compute(
      "LN", shape,
      [&](const Indices& at) {
        const Indices row(at.begin(), at.end() - 1);
        return te::cast(type, centred(row, at.back()) * te::rsqrt(variance.at(row) + 1e-5) *
                                      te::cast(wide, gamma(at.back())) +
                                  te::cast(wide, beta(at.back())));
      },
      of_all);
}

}  // namespace tensorsmith::ops::detail
