// SPDX-License-Identifier: Apache-2.0
// Reductions whose partial results go from lane to lane: rows of every type.
//
// Test support of this folder.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "tensorsmith/te/program.hpp"
#include "unit/sched/sched_fixtures.hpp"

namespace tensorsmith::test {

struct LaneSum {
  std::string name;
  Shared<const ComputeDag> dag;
  State state;
};

/// M[i] = max, S[i] = sum of row i of 3 rows. `threads` share a row; a block has one, or all of
/// them in rows of threads.
inline LaneSum lane_sum(DType type, std::int32_t threads, bool is_block_of_rows) {
  te::Program p;
  const std::int64_t columns = 2 * threads - 1;
  auto A = p.placeholder("A", {3, columns}, type);
  auto k1 = p.reduce_axis("k1", columns), k2 = p.reduce_axis("k2", columns);
  auto M = p.compute("M", {3}, [&](auto i) { return te::max(A(i, k1), {k1}); });
  auto S = p.compute("S", {3}, [&](auto i) { return te::sum(A(i, k2), {k2}); });
  auto dag = p.dag({A, M, S});
  ScheduleBuilder s(dag);
  for (std::int32_t stage = 1; stage < 3; ++stage) {
    s.split(stage, 1, {threads});
    s.annotate(stage, 0, is_block_of_rows ? Annotation::thread_y : Annotation::block_x);
    s.annotate(stage, 2, Annotation::thread_x);
  }
  return {std::string(name_of(type)) + ", " + std::to_string(threads) +
              (is_block_of_rows ? " threads in each of 3 rows" : " threads"),
          dag, s.state()};
}

/// Sum and largest element at once: one exchange of two results.
inline LaneSum two_lane_sums(std::int32_t threads) {
  auto dag = two_output_dag(4, threads);
  ScheduleBuilder s(dag);
  s.annotate(1, 0, Annotation::block_x);
  s.annotate(1, 1, Annotation::thread_x);
  s.annotate(2, 0, Annotation::thread_x);
  return {"two results, " + std::to_string(threads) + " threads", dag, s.state()};
}

inline std::vector<LaneSum> lane_sums() {
  std::vector<LaneSum> all;
  for (const DType type : {DType::f64, DType::f32, DType::f16, DType::bf16, DType::i64, DType::i32,
                           DType::i8, DType::u8}) {
    all.push_back(lane_sum(type, 32, false));
    all.push_back(lane_sum(type, 96, false));
    all.push_back(lane_sum(type, 8, true));
  }
  for (const std::int32_t threads : {2, 16, 64, 1024}) {
    all.push_back(lane_sum(DType::f32, threads, false));
  }
  all.push_back(lane_sum(DType::f32, 16, true));
  all.push_back(lane_sum(DType::f32, 64, true));
  all.push_back(two_lane_sums(8));
  all.push_back(two_lane_sums(96));
  return all;
}

}  // namespace tensorsmith::test
