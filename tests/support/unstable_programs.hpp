// SPDX-License-Identifier: Apache-2.0
// Programs that compute what a workload promises in a form that cancels, overflows or rounds too
// often, and random ones: what verification must tell apart from right programs.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "tensorsmith/support/rng.hpp"
#include "tensorsmith/te/program.hpp"

namespace tensorsmith::test {

/// E[x^2] - E[x]^2, as the Ansor reference computes a layernorm of [rows, columns]; `depth` above
/// 0: of the product of A [rows, depth] and B [depth, columns].
inline Shared<const ComputeDag> one_pass_layernorm(std::int64_t rows, std::int64_t columns,
                                                   std::int64_t depth = 0) {
  te::Program p;
  const te::ComputeOptions of_rows{{"i"}, {}, {}}, both{{"i", "j"}, {}, {}};
  std::vector<te::Tensor> arguments{p.placeholder("A", {rows, depth > 0 ? depth : columns})};
  te::Tensor x = arguments[0];
  if (depth > 0) {
    arguments.push_back(p.placeholder("B", {depth, columns}));
    const te::ReduceAxis k = p.reduce_axis("k", depth);
    x = p.compute(
        "C", {rows, columns},
        [&](auto i, auto j) { return te::sum(arguments[0](i, k) * arguments[1](k, j), {k}); },
        both);
  }
  const double scale = 1.0 / static_cast<double>(columns);
  const te::ReduceAxis k1 = p.reduce_axis("k1", columns), k2 = p.reduce_axis("k2", columns);
  const auto s1 = p.compute(
      "S1", {rows}, [&](auto i) { return te::sum(x(i, k1), {k1}); }, of_rows);
  const auto mean = p.compute(
      "Mean", {rows}, [&](auto i) { return s1(i) * scale; }, of_rows);
  const auto s2 = p.compute(
      "S2", {rows}, [&](auto i) { return te::sum(x(i, k2) * x(i, k2), {k2}); }, of_rows);
  const auto variance = p.compute(
      "Var", {rows}, [&](auto i) { return s2(i) * scale - mean(i) * mean(i); }, of_rows);
  const auto gamma = p.placeholder("gamma", {columns}), beta = p.placeholder("beta", {columns});
  arguments.push_back(gamma);
  arguments.push_back(beta);
  arguments.push_back(p.compute(
      "LN", {rows, columns},
      [&](auto i, auto j) {
        return (x(i, j) - mean(i)) * te::rsqrt(variance(i) + 1e-5) * gamma(j) + beta(j);
      },
      both));
  return p.dag(arguments);
}

/// Every partial sum of the exponentials is rounded to 16 bits.
inline Shared<const ComputeDag> narrow_softmax(std::int64_t rows, std::int64_t columns,
                                               DType type) {
  te::Program p;
  const auto a = p.placeholder("A", {rows, columns}, type);
  const te::ReduceAxis k1 = p.reduce_axis("k1", columns), k2 = p.reduce_axis("k2", columns);
  const auto rounded = [&](const te::Expr& x) { return te::cast(DType::f32, te::cast(type, x)); };
  const CombinerId sum = p.combiner({DType::f32}, {te::Expr(0.0)}, [&](auto x, auto y) {
    return std::vector<te::Expr>{rounded(x[0] + y[0])};
  });
  const auto largest = p.compute("T_max", {rows}, [&](auto i) { return te::max(a(i, k1), {k1}); });
  const auto power = p.compute("T_exp", {rows, columns}, [&](auto i, auto j) {
    return te::exp(te::cast(DType::f32, a(i, j)) - te::cast(DType::f32, largest(i)));
  });
  const auto total =
      p.compute("T_sum", {rows}, [&](auto i) { return te::reduce(sum, {power(i, k2)}, {k2})[0]; });
  const auto out = p.compute("T_norm", {rows, columns}, [&](auto i, auto j) {
    return te::cast(type, power(i, j) / total(i));
  });
  return p.dag({a, out});
}

/// exp(exp(x)), rounded to 16 bits after each.
inline Shared<const ComputeDag> rounded_exponentials(std::int64_t rows, std::int64_t columns,
                                                     DType type) {
  te::Program p;
  const auto a = p.placeholder("A", {rows, columns}, type);
  const auto c = p.compute("C", {rows, columns}, [&](auto i, auto j) { return te::exp(a(i, j)); });
  const auto d = p.compute("D", {rows, columns}, [&](auto i, auto j) { return te::exp(c(i, j)); });
  return p.dag({a, d});
}

/// The maximum of a row and of `first`.
inline Shared<const ComputeDag> maximum_from(double first, std::int64_t rows,
                                             std::int64_t columns) {
  te::Program p;
  const auto a = p.placeholder("A", {rows, columns});
  const te::ReduceAxis k = p.reduce_axis("k", columns);
  const CombinerId max = p.combiner({DType::f32}, {te::Expr(first)}, [](auto x, auto y) {
    return std::vector<te::Expr>{te::max(x[0], y[0])};
  });
  const auto out =
      p.compute("B", {rows}, [&](auto i) { return te::reduce(max, {a(i, k)}, {k})[0]; });
  return p.dag({a, out});
}

/// Blocks of columns are joined by one number each, maximum + log(sum) in f64, which loses the sum
/// where the maximum is large. `block` divides `columns`.
inline Shared<const ComputeDag> softmax_of_joined_blocks(std::int64_t rows, std::int64_t columns,
                                                         std::int64_t block) {
  te::Program p;
  const std::int64_t count = columns / block;
  const auto a = p.placeholder("A", {rows, columns});
  const auto wide = [](const te::Expr& x) { return te::cast(DType::f64, x); };
  const te::ReduceAxis r1 = p.reduce_axis("r1", block), r2 = p.reduce_axis("r2", block);
  const te::ReduceAxis b1 = p.reduce_axis("b1", count), b2 = p.reduce_axis("b2", count);
  const auto largest = p.compute(
      "T_max", {rows, count}, [&](auto i, auto b) { return te::max(a(i, b * block + r1), {r1}); });
  const auto sum = p.compute("T_sum", {rows, count}, [&](auto i, auto b) {
    return te::sum(te::exp(a(i, b * block + r2) - largest(i, b)), {r2});
  });
  const auto joined = p.compute("T_lse", {rows, count}, [&](auto i, auto b) {
    return wide(largest(i, b)) + te::log(wide(sum(i, b)));
  });
  const auto top = p.compute("T_top", {rows}, [&](auto i) { return te::max(joined(i, b1), {b1}); });
  const auto all = p.compute(
      "T_all", {rows}, [&](auto i) { return te::sum(te::exp(joined(i, b2) - top(i)), {b2}); });
  const auto out = p.compute("T_norm", {rows, columns}, [&](auto i, auto j) {
    return te::cast(DType::f32, te::exp(wide(a(i, j)) - (top(i) + te::log(all(i)))));
  });
  return p.dag({a, out});
}

/// A few stages of random arithmetic and functions over [24, 20], some of them sums or maxima of
/// rows.
inline Shared<const ComputeDag> random_float_program(std::uint64_t seed, std::uint32_t number) {
  te::Program p;
  CounterRng rng(seed, 77, number);
  const std::int64_t rows = 24, columns = 20;
  const auto a = p.placeholder("A", {rows, columns}), b = p.placeholder("B", {rows, columns});
  const auto mixed =
      p.compute("M", {rows, columns}, [&](auto i, auto j) { return a(i, j) * 0.5 + b(i, j); });
  std::vector<te::Tensor> whole{a, b, mixed}, reduced;
  const std::uint32_t count = 2 + rng.next_below(4);
  te::Tensor last = a;
  for (std::uint32_t stage = 0; stage < count; ++stage) {
    const std::string name = "T" + std::to_string(stage);
    const te::Tensor x = whole[rng.next_below(static_cast<std::uint32_t>(whole.size()))];
    const te::Tensor y = whole[rng.next_below(static_cast<std::uint32_t>(whole.size()))];
    const std::uint32_t op = rng.next_below(14);
    if (stage + 1 < count && op < 3) {
      const te::ReduceAxis k = p.reduce_axis("k" + std::to_string(stage), columns);
      reduced.push_back(p.compute(name, {rows}, [&](auto i) {
        return op == 0   ? te::sum(x(i, k) * y(i, k), {k})
               : op == 1 ? te::max(x(i, k) - y(i, k), {k})
                         : te::sum(te::abs(x(i, k)), {k});
      }));
      continue;
    }
    last = p.compute(name, {rows, columns}, [&](auto i, auto j) {
      const te::Expr u = x(i, j);
      const te::Expr v = reduced.empty() || rng.next_below(2) == 0 ? y(i, j) : reduced.back()(i);
      switch (op) {
      case 0:
      case 3:
        return u + v;
      case 1:
      case 4:
        return u - v;
      case 2:
      case 5:
        return u * v;
      case 6:
        return u / (te::abs(v) + 0.5);
      case 7:
        return te::max(u, v * 0.3);
      case 8:
        return te::exp(te::min(u, 4.0));
      case 9:
        return te::sqrt(te::abs(u) + 1e-3);
      case 10:
        return te::tanh(u) + v;
      case 11:
        return te::select(u < v, u * 2.0, v - 1.0);
      case 12:
        return te::log(te::abs(u) + 2.0);
      default:
        return te::rsqrt(te::abs(u) + 1.0) * te::erf(v);
      }
    });
    whole.push_back(last);
  }
  const auto out = p.compute("Out", {rows, columns},
                             [&](auto i, auto j) { return te::max(last(i, j), mixed(i, j)); });
  return p.dag({a, b, out});
}

/// Floats that become integers on the way, which are added, multiplied, summed up, compared and
/// read by, and floats made of these again; one result of each kind.
inline Shared<const ComputeDag> random_quantized_program(std::uint64_t seed, std::uint32_t number) {
  te::Program p;
  CounterRng rng(seed, 78, number);
  const std::int64_t rows = 24, columns = 20;
  const auto pick = [&](const std::vector<te::Tensor>& from) {
    return from[rng.next_below(static_cast<std::uint32_t>(from.size()))];
  };
  const auto a = p.placeholder("A", {rows, columns}), b = p.placeholder("B", {rows, columns});
  std::vector<te::Tensor> floats{a, b}, integers;
  const std::uint32_t count = 5 + rng.next_below(5);
  for (std::uint32_t stage = 0; stage < count; ++stage) {
    const std::string name = "T" + std::to_string(stage);
    const te::Tensor x = pick(floats), y = pick(floats);
    const std::uint32_t op = integers.empty() ? rng.next_below(3) : rng.next_below(12);
    if (op < 4) {
      const double scale = 0.3 + 7 * rng.next_double();
      integers.push_back(p.compute(name, {rows, columns}, [&](auto i, auto j) {
        const te::Expr u = te::max(te::min(x(i, j) * scale + y(i, j) * 0.7, 100.0), -100.0);
        return te::cast(DType::i32, op == 0   ? te::round(u)
                                    : op == 1 ? te::floor(u * 0.5)
                                    : op == 2 ? u
                                              : te::cast(DType::i8, te::ceil(u)));
      }));
      continue;
    }
    const te::Tensor n = pick(integers), m = pick(integers);
    if (op == 4) {
      const te::ReduceAxis k = p.reduce_axis("k" + std::to_string(stage), columns);
      const auto sums = p.compute(name, {rows}, [&](auto i) { return te::sum(n(i, k), {k}); });
      integers.push_back(p.compute(name + "b", {rows, columns},
                                   [&](auto i, auto j) { return sums(i) - m(i, j) * 3; }));
    } else if (op < 9) {
      integers.push_back(p.compute(name, {rows, columns}, [&](auto i, auto j) {
        const te::Expr u = n(i, j), v = m(i, j);
        return op == 5   ? u + v
               : op == 6 ? te::min(u, v * 2)
               : op == 7 ? te::floormod(u, 7) * v
                         : te::select(u < v, u, 5 - v);
      }));
    } else {
      floats.push_back(p.compute(name, {rows, columns}, [&](auto i, auto j) {
        const te::Expr u = te::cast(DType::f32, n(i, j)) * 0.13;
        return op == 9    ? u + y(i, j)
               : op == 10 ? te::select(n(i, j) < m(i, j), u, x(i, j))
                          : x(i, te::floormod(n(i, j), columns)) * 0.5 + u;
      }));
    }
  }
  const auto last = integers.back(), mixed = floats.back();
  const auto out = p.compute("Out", {rows, columns}, [&](auto i, auto j) {
    return mixed(i, j) * 0.25 + te::cast(DType::f32, last(i, j));
  });
  const auto whole = p.compute("Whole", {rows, columns}, [&](auto i, auto j) {
    return te::cast(DType::i32, te::max(te::min(out(i, j), 1000.0), -1000.0)) + last(i, j);
  });
  return p.dag({a, b, out, whole});
}

}  // namespace tensorsmith::test
