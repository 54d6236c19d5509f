// SPDX-License-Identifier: Apache-2.0
// Programs on rows of whole numbers: reductions of a row, and what is done with them, by the row.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "tensorsmith/ops/workload.hpp"
#include "tensorsmith/te/program.hpp"

namespace tensorsmith::test {

/// Exact in every order. Some rows have an odd length, several dimensions, or several axes of rows.
inline std::vector<std::pair<std::string, Shared<const ComputeDag>>> row_workloads() {
  std::vector<std::pair<std::string, Shared<const ComputeDag>>> all;
  for (const char* workload : {"reduce_sum:7x37:i32", "reduce_sum:12x64:i8", "reduce_max:5x48:f16",
                               "argmax:9x40:i32", "argmax:6x21:f32"}) {
    all.emplace_back(workload, ops::parse_workload(workload)->dag);
  }
  for (const auto& [rows, columns] : {std::pair{10, 24}, std::pair{5, 37}, std::pair{3, 16}}) {
    te::Program p;  // both reductions read the row, as a softmax does
    auto a = p.placeholder("A", {rows, columns}, DType::i32);
    auto k1 = p.reduce_axis("k1", columns), k2 = p.reduce_axis("k2", columns);
    auto most = p.compute("M", {rows}, [&](auto i) { return te::max(a(i, k1), {k1}); });
    auto off = p.compute("D", {rows, columns}, [&](auto i, auto j) { return a(i, j) - most(i); });
    auto sum = p.compute("S", {rows}, [&](auto i) { return te::sum(off(i, k2), {k2}); });
    auto out =
        p.compute("N", {rows, columns}, [&](auto i, auto j) { return off(i, j) * 3 + sum(i); });
    all.emplace_back("rows " + std::to_string(rows) + "x" + std::to_string(columns),
                     p.dag({a, out}));
  }
  te::Program p;  // [2, 3] rows of [4, 5], and a value per row beside the last stage
  auto a = p.placeholder("A", {2, 3, 4, 5}, DType::i32);
  auto k = p.reduce_axis("k", 4), l = p.reduce_axis("l", 5);
  auto sum = p.compute("S", {2, 3}, [&](auto b, auto i) { return te::sum(a(b, i, k, l), {k, l}); });
  auto scaled = p.compute("T", {2, 3}, [&](auto b, auto i) { return sum(b, i) * 2 + 1; });
  auto out = p.compute("N", {2, 3, 4, 5}, [&](auto b, auto i, auto j, auto m) {
    return a(b, i, j, m) + scaled(b, i);
  });
  all.emplace_back("rows of matrices", p.dag({a, out}));
  te::Program q;  // nothing but values per row comes out
  auto c = q.placeholder("A", {11, 20}, DType::i32);
  auto r = q.reduce_axis("r", 20);
  auto total = q.compute("S", {11}, [&](auto i) { return te::sum(c(i, r), {r}); });
  auto mean = q.compute("T", {11}, [&](auto i) { return total(i) * 5 - 2; });
  all.emplace_back("values of rows", q.dag({c, mean}));
  return all;
}

}  // namespace tensorsmith::test
