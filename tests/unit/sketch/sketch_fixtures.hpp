// SPDX-License-Identifier: Apache-2.0
// Workloads that the sketch and search tests share.
#pragma once

#include <memory>

#include "tensorsmith/sched/state.hpp"
#include "tensorsmith/te/program.hpp"

namespace tensorsmith::test {

inline Shared<const ComputeDag> matmul_dag(std::int64_t m, std::int64_t n, std::int64_t k_extent,
                                           bool with_relu = false) {
  te::Program p;
  auto a = p.placeholder("A", {m, k_extent}), b = p.placeholder("B", {k_extent, n});
  auto k = p.reduce_axis("k", k_extent);
  auto c = p.compute("C", {m, n}, [&](auto i, auto j) { return te::sum(a(i, k) * b(k, j), {k}); });
  if (!with_relu) {
    return p.dag({a, b, c});
  }
  auto d = p.compute("D", {m, n}, [&](auto i, auto j) { return te::max(c(i, j), 0.0); });
  return p.dag({a, b, d});
}

/// B = exp(A), C = sum over k of B, D = C * 2.
inline Shared<const ComputeDag> row_sum_dag(std::int64_t rows, std::int64_t columns) {
  te::Program p;
  auto a = p.placeholder("A", {rows, columns});
  auto b = p.compute("B", {rows, columns}, [&](auto i, auto j) { return te::exp(a(i, j)); });
  auto k = p.reduce_axis("k", columns);
  auto c = p.compute("C", {rows}, [&](auto i) { return te::sum(b(i, k), {k}); });
  auto d = p.compute("D", {rows}, [&](auto i) { return c(i) * 2.0; });
  return p.dag({a, d});
}

}  // namespace tensorsmith::test
