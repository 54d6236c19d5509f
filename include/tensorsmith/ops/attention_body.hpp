// SPDX-License-Identifier: Apache-2.0
// The definitions of attention.hpp.
//
// Floor 3. Included by ops/attention.hpp or compiled once (support/compiled.hpp).
#pragma once

#include <string>

#include "tensorsmith/ops/attention.hpp"
#include "tensorsmith/ops/workload_text.hpp"
#include "tensorsmith/support/math.hpp"

namespace tensorsmith::ops {

TENSORSMITH_INLINE Workload attention(const AttentionParams& p) {
  const std::string op = "attention";
  detail::require_positive(op, "number of heads", p.batch);
  detail::require_positive(op, "number of queries", p.queries);
  detail::require_positive(op, "number of keys", p.keys);
  detail::require_positive(op, "width", p.width);
  if (!is_float(p.dtype)) {
    detail::misuse(op, "a float type", std::string(name_of(p.dtype)));
  }
  te::Program program;
  const DType type = detail::accumulator_of(p.dtype);
  const te::Shape rows{p.batch, p.queries}, scores{p.batch, p.queries, p.keys},
      results{p.batch, p.queries, p.width};
  const te::ComputeOptions of_rows{{"b", "i"}, {}, {}}, of_scores{{"b", "i", "j"}, {}, {}},
      of_results{{"b", "i", "d"}, {}, {}};
  const te::Tensor q = program.placeholder("Q", results, p.dtype);
  const te::Tensor k = program.placeholder("K", {p.batch, p.keys, p.width}, p.dtype);
  const te::Tensor v = program.placeholder("V", {p.batch, p.keys, p.width}, p.dtype);
  const te::ReduceAxis along = program.reduce_axis("k", p.width);
  const te::ReduceAxis k1 = program.reduce_axis("k1", p.keys);
  const te::ReduceAxis k2 = program.reduce_axis("k2", p.keys);
  const te::ReduceAxis k3 = program.reduce_axis("k3", p.keys);
  const double scale = 1.0 / math::sqrt(static_cast<double>(p.width));
  const te::Tensor score = program.compute(
      "S", scores,
      [&](auto b, auto i, auto j) {
        return te::sum(te::cast(type, q(b, i, along)) * te::cast(type, k(b, j, along)), {along});
      },
      of_scores);
  const te::Tensor largest = program.compute(
      "T_max", rows, [&](auto b, auto i) { return te::max(score(b, i, k1), {k1}); }, of_rows);
  const te::Tensor power = program.compute(
      "T_exp", scores,
      [&](auto b, auto i, auto j) { return te::exp((score(b, i, j) - largest(b, i)) * scale); },
      of_scores);
  const te::Tensor sum = program.compute(
      "T_sum", rows, [&](auto b, auto i) { return te::sum(power(b, i, k2), {k2}); }, of_rows);
  const te::Tensor product = program.compute(
      "PV", results,
      [&](auto b, auto i, auto d) {
        return te::sum(power(b, i, k3) * te::cast(type, v(b, k3, d)), {k3});
      },
      of_results);
  const te::Tensor out = program.compute(
      "O", results,
      [&](auto b, auto i, auto d) { return te::cast(p.dtype, 1.0 / sum(b, i) * product(b, i, d)); },
      of_results);
  Workload workload;
  workload.kind = kind_of(p);
  workload.name = canonical_text(p);
  workload.params = p;
  workload.dag = program.dag({q, k, v, out});
  workload.nominal_flop = 4.0 * static_cast<double>(p.batch) * static_cast<double>(p.queries) *
                          static_cast<double>(p.keys) * static_cast<double>(p.width);
  workload.reduction_length = p.keys > p.width ? p.keys : p.width;
  return workload;
}

}  // namespace tensorsmith::ops
