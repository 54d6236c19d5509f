// SPDX-License-Identifier: Apache-2.0
// Small dags for the tests of schedules.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "tensorsmith/sched/print_state.hpp"
#include "tensorsmith/sched/schedule.hpp"
#include "tensorsmith/te/program.hpp"

namespace tensorsmith::test {

using DagPtr = Shared<const ComputeDag>;

/// Stages 0 A, 1 B, 2 C.
inline DagPtr matmul_dag(std::int64_t n, std::int64_t m, std::int64_t depth,
                         DType type = DType::f32) {
  te::Program p;
  auto A = p.placeholder("A", {n, depth}, type), B = p.placeholder("B", {depth, m}, type);
  auto k = p.reduce_axis("k", depth);
  auto C = p.compute("C", {n, m}, [&](auto i, auto j) { return te::sum(A(i, k) * B(k, j), {k}); });
  return p.dag({A, B, C});
}

/// Stages 0 A, 1 B, 2 C: three elementwise computes of extent 16 x 8 with A a placeholder.
inline DagPtr chain_dag() {
  te::Program p;
  auto A = p.placeholder("A", {16, 8});
  auto B = p.compute("B", {16, 8}, [&](auto i, auto j) { return A(i, j) + 1; });
  auto C = p.compute("C", {16, 8}, [&](auto i, auto j) { return B(i, j) * 2; });
  return p.dag({A, C});
}

/// Stages 0 A, 1 S (two outputs: sum and largest), 2 D.
inline DagPtr two_output_dag(std::int64_t rows = 4, std::int64_t depth = 10,
                             DType type = DType::i32) {
  te::Program p;
  auto A = p.placeholder("A", {rows, depth}, type);
  auto k = p.reduce_axis("k", depth);
  const CombinerId both =
      p.combiner({type, type}, {te::Expr(0), te::Expr(-1000)}, [](const auto& x, const auto& y) {
        return std::vector<te::Expr>{x[0] + y[0], te::max(x[1], y[1])};
      });
  auto S = p.compute_all("S", {rows}, [&](auto i) {
    return te::reduce(both, {A(i, k), A(i, k)}, {k});
  });
  auto D = p.compute("D", {rows}, [&](auto i) { return S[0](i) - S[1](i); });
  return p.dag({A, D});
}

inline std::vector<std::string> iterator_names(const State& state, std::size_t stage) {
  std::vector<std::string> names;
  for (const auto& it : state.stage(stage).iterators) {
    names.push_back(it.name);
  }
  return names;
}
/// Unknown extents as -1.
inline std::vector<std::int64_t> extents(const State& state, std::size_t stage) {
  std::vector<std::int64_t> list;
  for (const auto& it : state.stage(stage).iterators) {
    list.push_back(it.extent.value_or(-1));
  }
  return list;
}
inline std::vector<std::string> stage_names(const State& state) {
  std::vector<std::string> names;
  for (std::size_t i = 0; i < state.num_stages(); ++i) {
    names.push_back(state.operation(i).name);
  }
  return names;
}

}  // namespace tensorsmith::test
