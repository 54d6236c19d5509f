// Softmax of rows and its logarithm: with whole rows, or online.
//
// Floor 3. Whole rows: the stages of the programs of the Ansor reference. Online (after Milakov and
// Gimelshein, "Online normalizer calculation for softmax", 2018; own design of the combination): a
// row is read once for its maximum and its sum, a block of columns at a time, and once more for the
// result; what a block adds to the sum is rescaled when the blocks are joined.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "tensorsmith/ops/workload_text.hpp"

namespace tensorsmith::ops::detail {

inline Workload softmax(const RowParams& p) {
  te::Program program;
  const te::Shape rows{p.rows}, matrix{p.rows, p.columns};
  const te::ComputeOptions i_only{{"i"}, {}, {}}, both{{"i", "j"}, {}, {}};
  const te::Tensor a = program.placeholder("A", matrix, p.dtype);
  const te::ReduceAxis k1 = program.reduce_axis("k1", p.columns);
  const te::ReduceAxis k2 = program.reduce_axis("k2", p.columns);
  const te::Tensor largest = program.compute(
      "T_max", rows, [&](auto i) { return te::max(a(i, k1), {k1}); }, i_only);
  const te::Tensor power = program.compute(
      "T_exp", matrix, [&](auto i, auto j) { return te::exp(a(i, j) - largest(i)); }, both);
  const te::Tensor sum = program.compute(
      "T_sum", rows, [&](auto i) { return te::sum(power(i, k2), {k2}); }, i_only);
  const te::Tensor out = program.compute(
      "T_norm", matrix, [&](auto i, auto j) { return power(i, j) / sum(i); }, both);
  Workload workload;
  workload.dag = program.dag({a, out});
  workload.nominal_flop = 5;  // per element: maximum, subtract, exp, sum, scale
  return workload;
}

/// (A - max) - log(sum of exp(A - max)): no exponential is stored. Narrow types are computed in
/// f32.
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
///     T_max[i, b] = max of A;  T_sum[i, b] = sum of exp(A - T_max);  T_lse = T_max + log(T_sum)
///     T_top[i] = max of T_lse;  T_all[i] = sum of exp(T_lse - T_top);  N[i] = T_top + log(T_all)
/// and the result is exp(A - N), or A - N. A block is one number in the end, so it can stay in the
/// nearest cache for both of its passes. That number and N are f64, and N is subtracted in two
/// parts, so that rounding a maximum far from zero costs nothing. Columns behind the last whole
/// block are a block of their own (E_max, E_sum). What is subtracted from a block is finite, so
/// that one of nothing but -infinity adds 0. Narrow types are computed in f32.
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
  const auto wide = [](const te::Expr& value) { return te::cast(DType::f64, value); };
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
        return te::sum(te::exp(element(i, b * p.online + r2) - te::max(largest(i, b), least)),
                       {r2});
      },
      of_blocks);
  const te::Tensor joined = program.compute(
      "T_lse", blocks,
      [&](auto i, auto b) { return wide(largest(i, b)) + te::log(wide(sum(i, b))); },
      kept(of_blocks));
  const te::Tensor top = program.compute(
      "T_top", rows, [&](auto i) { return te::max(joined(i, b1), {b1}); }, of_rows);
  std::vector<te::Tensor> ends;  // E_max, E_sum
  if (whole < p.columns) {
    const te::ReduceAxis e1 = program.reduce_axis("e1", p.columns - whole);
    const te::ReduceAxis e2 = program.reduce_axis("e2", p.columns - whole);
    ends.push_back(program.compute(
        "E_max", rows, [&](auto i) { return te::max(element(i, e1 + whole), {e1}); }, of_rows));
    ends.push_back(program.compute(
        "E_sum", rows,
        [&](auto i) {
          return te::sum(te::exp(element(i, e2 + whole) - te::max(ends[0](i), least)), {e2});
        },
        of_rows));
  }
  const bool has_end = !ends.empty();
  const auto end = [&](const te::Expr& i) { return wide(ends[0](i)) + te::log(wide(ends[1](i))); };
  const auto most = [&](const te::Expr& i) { return has_end ? te::max(top(i), end(i)) : top(i); };
  const te::Tensor all = program.compute(
      "T_all", rows, [&](auto i) { return te::sum(te::exp(joined(i, b2) - most(i)), {b2}); },
      of_rows);
  const te::Tensor norm = program.compute(
      "N", rows,
      [&](auto i) {
        return most(i) + te::log(has_end ? all(i) + te::exp(end(i) - most(i)) : all(i));
      },
      kept(of_rows));
  const te::Tensor out = program.compute(
      p.kind == RowKind::softmax ? "T_norm" : "T_log", matrix,
      [&](auto i, auto j) {
        const te::Expr high = te::cast(type, norm(i)), low = te::cast(type, norm(i) - wide(high));
        const te::Expr value = element(i, j) - high - low;
        return te::cast(p.dtype, p.kind == RowKind::softmax ? te::exp(value) : value);
      },
      {{"i", "j"}, {}, {}});
  Workload workload;
  workload.dag = program.dag({a, out});
  workload.nominal_flop = p.kind == RowKind::softmax ? 5 : 6;  // as with whole rows
  return workload;
}

}  // namespace tensorsmith::ops::detail
