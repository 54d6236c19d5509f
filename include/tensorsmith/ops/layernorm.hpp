// Layernorm along the last axis of a tensor: the stages that the workload of its name and chains
// that end with it share.
//
// Floor 3. Stages, names and formulas are those of the programs of the Ansor reference: the
// variance is E[x^2] - E[x]^2.
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
  const auto element = [&](const Indices& row, const te::Expr& column) {
    Indices at = row;
    at.push_back(column);
    return x.at(at);
  };
  const te::ReduceAxis k1 = program.reduce_axis("k1", columns);
  const te::ReduceAxis k2 = program.reduce_axis("k2", columns);
  const te::Tensor s1 = program.compute(
      "S1", rows, [&](const Indices& at) { return te::sum(element(at, k1), {k1}); }, of_rows);
  const te::Tensor mean = program.compute(
      "Mean", rows, [&](const Indices& at) { return s1.at(at) * scale; }, of_rows);
  const te::Tensor s2 = program.compute(
      "S2", rows,
      [&](const Indices& at) { return te::sum(element(at, k2) * element(at, k2), {k2}); }, of_rows);
  const te::Tensor variance = program.compute(
      "Var", rows, [&](const Indices& at) { return s2.at(at) * scale - mean.at(at) * mean.at(at); },
      of_rows);
  const te::Tensor gamma = program.placeholder("gamma", {columns}, type);
  const te::Tensor beta = program.placeholder("beta", {columns}, type);
  arguments.push_back(gamma);
  arguments.push_back(beta);
  return program.compute(
      "LN", shape,
      [&](const Indices& at) {
        const Indices row(at.begin(), at.end() - 1);
        return (x.at(at) - mean.at(row)) * te::rsqrt(variance.at(row) + 1e-5) * gamma(at.back()) +
               beta(at.back());
      },
      of_all);
}

}  // namespace tensorsmith::ops::detail
