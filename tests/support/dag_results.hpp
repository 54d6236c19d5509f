// SPDX-License-Identifier: Apache-2.0
// Does the dag of a state still compute what the workload computes?
//
// Test support. By the dag interpreter, on whole numbers small enough to be exact.
#pragma once

#include <vector>

#include "tensorsmith/sched/state.hpp"
#include "tensorsmith/te/eval_dag.hpp"

namespace tensorsmith::test {

/// Whole numbers from 0 to 12 for every placeholder among the arguments.
inline std::vector<HostArray> whole_number_inputs(const ComputeDag& dag) {
  std::vector<HostArray> inputs;
  std::int64_t next = 5;
  for (TensorId id : dag.arguments()) {
    const TensorInfo& info = dag.tensor(id);
    if (!dag.operation(info.operation).is_placeholder()) {
      continue;
    }
    HostArray array(info.dtype, {info.shape.begin(), info.shape.end()});
    for (std::int64_t i = 0; i < array.num_elements(); ++i) {
      next = (next * 7 + 3 + i / 13) % 13;
      array.set_int(i, next);
    }
    inputs.push_back(std::move(array));
  }
  return inputs;
}

/// The current dag gives the results of the initial one, bit for bit.
inline bool computes_the_same(const State& state) {
  const auto inputs = whole_number_inputs(*state.initial_dag());
  const auto expected = eval_dag(*state.initial_dag(), inputs);
  const auto got = eval_dag(state.dag(), inputs);
  return expected && got && *expected == *got;
}

}  // namespace tensorsmith::test
