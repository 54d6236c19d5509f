// SPDX-License-Identifier: Apache-2.0
// Scheduled states and targets that tests of the draft share.
#pragma once

#include <utility>
#include <vector>

#include "support/catch.hpp"
#include "tensorsmith/cost/draft_model.hpp"
#include "tensorsmith/ops/workload.hpp"
#include "tensorsmith/sched/apply.hpp"
#include "tensorsmith/sched/bounds.hpp"

namespace tensorsmith::test {

inline State bounded(State state, std::vector<Step> steps) {
  for (Step& step : steps) {
    REQUIRE_FALSE(try_apply(state, std::move(step)));
  }
  const auto result = infer_bounds(state);
  REQUIRE(result);
  return *result;
}

/// C[i, j] in tiles of rows x columns, k outside of the tile.
inline State tiled(const State& initial, std::int64_t rows, std::int64_t columns) {
  return bounded(initial, {SplitStep{2, 0, 64, {rows}, true}, SplitStep{2, 2, 64, {columns}, true},
                           ReorderStep{2, {0, 2, 4, 1, 3}}});
}

inline Target avx512() {
  Target target = Target::x86_64_v4();
  target.fma_per_cycle = 2;
  target.fma_latency = 4;
  return target;
}

inline Shared<const ComputeDag> dag_of(const char* text) {
  const auto workload = ops::parse_workload(text);
  REQUIRE(workload);
  return workload->dag;
}

}  // namespace tensorsmith::test
