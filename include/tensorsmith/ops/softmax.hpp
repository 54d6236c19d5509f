// SPDX-License-Identifier: Apache-2.0
// Softmax of rows and its logarithm: with whole rows, or online.
//
// Floor 3. Whole rows: the stages of the programs of the Ansor reference. Online (after Milakov and
// Gimelshein, "Online normalizer calculation for softmax", 2018; own design of the combination): a
// row is read once for its maximum and its sum, a block of columns at a time, and once more for the
// result; what a block adds to the sum is rescaled when the blocks are joined. Nothing but elements
// and maxima is ever subtracted from one another, so that equal numbers have a difference of zero
// however large they are. Narrow types are computed in f32.
#pragma once

#include <cfloat>
#include <cstdint>
#include <string>
#include <vector>

#include "tensorsmith/ops/workload_text.hpp"

namespace tensorsmith::ops::detail {

inline Workload softmax(const RowParams& p) {
  te::Program program;
  const te::Shape rows{p.rows}, matrix{p.rows, p.columns};
  const te::ComputeOptions i_only{{"i"}, {}, {}}, both{{"i", "j"}, {}, {}};
  const DType type = accumulator_of(p.dtype);
  const te::Tensor a = program.placeholder("A", matrix, p.dtype);
  const auto wide = [&](auto i, auto j) { return te::cast(type, a(i, j)); };
  const te::ReduceAxis k1 = program.reduce_axis("k1", p.columns);
  const te::ReduceAxis k2 = program.reduce_axis("k2", p.columns);
  const te::Tensor largest = program.compute(
      "T_max", rows, [&](auto i) { return te::max(wide(i, k1), {k1}); }, i_only);
  const te::Tensor power = program.compute(
      "T_exp", matrix, [&](auto i, auto j) { return te::exp(wide(i, j) - largest(i)); }, both);
  const te::Tensor sum = program.compute(
      "T_sum", rows, [&](auto i) { return te::sum(power(i, k2), {k2}); }, i_only);
  const te::Tensor out = program.compute(
      "T_norm", matrix, [&](auto i, auto j) { return te::cast(p.dtype, power(i, j) / sum(i)); },
      both);
  Workload workload;
  workload.dag = program.dag({a, out});
  workload.nominal_flop = 5;  // per element: maximum, subtract, exp, sum, scale
  return workload;
}

/// (A - max) - log(sum of exp(A - max)): no exponential is stored.
inline Workload log_softmax(const RowParams& p) {
  te::Program program;
  const te::Shape rows{p.rows}, matrix{p.rows, p.columns};
  const te::ComputeOptions i_only{{"i"}, {}, {}}, both{{"i", "j"}, {}, {}};
  const DType type = accumulator_of(p.dtype);
  const te::Tensor a = program.placeholder("A", matrix, p.dtype);
  const te::ReduceAxis k1 = program.reduce_axis("k1", p.columns);
  const te::ReduceAxis k2 = program.reduce_axis("k2", p.columns);
  const te::Tensor largest = program.compute(
      "T_max", rows, [&](auto i) { return te::max(te::cast(type, a(i, k1)), {k1}); }, i_only);
  const te::Tensor sum = program.compute(
      "T_sum", rows,
      [&](auto i) { return te::sum(te::exp(te::cast(type, a(i, k2)) - largest(i)), {k2}); },
      i_only);
  const te::Tensor out = program.compute(
      "T_log", matrix,
      [&](auto i, auto j) {
        return te::cast(p.dtype, te::cast(type, a(i, j)) - largest(i) - te::log(sum(i)));
      },
      both);
  Workload workload;
  workload.dag = program.dag({a, out});
  workload.nominal_flop = 6;  // per element: maximum, subtract, exp, sum, subtract twice
  return workload;
}

inline void check_online(const RowParams& p) {
  if (p.kind != RowKind::softmax && p.kind != RowKind::log_softmax) {
    misuse("row_op", "softmax or log_softmax with online", kind_of(p));
  }
  if (p.online < 1 || p.online > p.columns) {
    misuse("row_op", "blocks of 1 to " + std::to_string(p.columns) + " columns",
           std::to_string(p.online));
  }
}

/// With blocks b of p.online columns r:
///     T_max[i, b] = max of A, finite;  T_sum[i, b] = sum of exp(A - T_max)
///     T_part[i, b, :] = T_max, T_sum;  T_most[i] = max of T_max
///     T_top[i] = T_most, or that of the last columns;  T_all[i] = sum of T_sum exp(T_max - T_top)
///     N[i] = 1 / T_all, or log(T_all)
/// and the result is exp(A - T_top) N, or A - T_top - N. A block is one pair of numbers in the end,
/// of one stage, so it can stay in the nearest cache for both of its passes. The maximum of a block
/// of nothing but -infinity counts as the least finite number, so that it adds nothing. Columns
/// behind the last whole block are a block of their own (E_max, E_sum).
inline Workload online_softmax(const RowParams& p) {
  te::Program program;
  const std::int64_t count = p.columns / p.online, whole = count * p.online;
  const te::Shape rows{p.rows}, blocks{p.rows, count}, matrix{p.rows, p.columns};
  const te::ComputeOptions of_rows{{"i"}, {}, {}}, of_blocks{{"i", "b"}, {}, {}};
  const auto kept = [](te::ComputeOptions options) {
    options.attrs.never_inline = true;
    return options;
  };
  const DType type = accumulator_of(p.dtype);
  const te::Tensor a = program.placeholder("A", matrix, p.dtype);
  const auto element = [&](const te::Expr& i, const te::Expr& j) {
    return te::cast(type, a(i, j));
  };
  const te::Expr least(type == DType::f64 ? -0x1.fffffffffffffp1023 : -0x1.fffffep127);
  const te::ReduceAxis r1 = program.reduce_axis("r1", p.online);
  const te::ReduceAxis r2 = program.reduce_axis("r2", p.online);
  const te::ReduceAxis b1 = program.reduce_axis("b1", count);
  const te::ReduceAxis b2 = program.reduce_axis("b2", count);
  const te::Tensor largest = program.compute(
      "T_max", blocks, [&](auto i, auto b) { return te::max(element(i, b * p.online + r1), {r1}); },
      of_blocks);
  const te::Tensor sum = program.compute(
      "T_sum", blocks,
      [&](auto i, auto b) {
        const te::Expr finite = te::max(largest(i, b), least);
        return te::sum(te::exp(element(i, b * p.online + r2) - finite), {r2});
      },
      of_blocks);
  const te::Tensor part = program.compute(
      "T_part", {p.rows, count, 2},
      [&](auto i, auto b, auto c) {
        return te::select(c == 0, te::max(largest(i, b), least), sum(i, b));
      },
      kept({{"i", "b", "c"}, {}, {}}));
  const te::Tensor most = program.compute(
      "T_most", rows, [&](auto i) { return te::max(part(i, b1, te::Expr(0)), {b1}); }, of_rows);
  std::vector<te::Tensor> ends;  // E_max, E_sum
  const auto end = [&](const te::Expr& i) { return te::max(ends[0](i), least); };
  if (whole < p.columns) {
    const te::ReduceAxis e1 = program.reduce_axis("e1", p.columns - whole);
    const te::ReduceAxis e2 = program.reduce_axis("e2", p.columns - whole);
    ends.push_back(program.compute(
        "E_max", rows, [&](auto i) { return te::max(element(i, e1 + whole), {e1}); }, of_rows));
    ends.push_back(program.compute(
        "E_sum", rows,
        [&](auto i) { return te::sum(te::exp(element(i, e2 + whole) - end(i)), {e2}); }, of_rows));
  }
  const bool has_end = !ends.empty();
  const te::Tensor top =
      has_end ? program.compute(
                    "T_top", rows, [&](auto i) { return te::max(most(i), end(i)); }, kept(of_rows))
              : most;
  const te::Tensor all = program.compute(
      "T_all", rows,
      [&](auto i) {
        return te::sum(part(i, b2, te::Expr(1)) * te::exp(part(i, b2, te::Expr(0)) - top(i)), {b2});
      },
      of_rows);
  const bool is_softmax = p.kind == RowKind::softmax;
  const te::Tensor norm = program.compute(
      "N", rows,
      [&](auto i) {
        const te::Expr total =
            has_end ? all(i) + ends[1](i) * te::exp(end(i) - top(i)) : te::Expr(all(i));
        return is_softmax ? 1.0 / total : te::log(total);
      },
      kept(of_rows));
  const te::Tensor out = program.compute(
      is_softmax ? "T_norm" : "T_log", matrix,
      [&](auto i, auto j) {
        const te::Expr value = element(i, j) - top(i);
        return te::cast(p.dtype, is_softmax ? te::exp(value) * norm(i) : value - norm(i));
      },
      {{"i", "j"}, {}, {}});
  Workload workload;
  workload.dag = program.dag({a, out});
  workload.nominal_flop = is_softmax ? 5 : 6;  // as with whole rows
  return workload;
}

}  // namespace tensorsmith::ops::detail
