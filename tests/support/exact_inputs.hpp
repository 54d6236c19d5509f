// SPDX-License-Identifier: Apache-2.0
// Inputs of a workload for which results are exact in any order of summation.
//
// Test support.
#pragma once

#include <utility>
#include <vector>

#include "tensorsmith/ir/host_array.hpp"
#include "tensorsmith/support/rng.hpp"
#include "tensorsmith/te/compute_dag.hpp"

namespace tensorsmith::test {

struct ExactInputs {
  std::vector<HostArray> all;     // with room for the output, which is the last
  std::vector<HostArray> inputs;  // placeholders only
};

/// Small whole numbers, times 2^-10 where they scale bytes: sums and products are exact in f32.
inline ExactInputs exact_inputs(const ComputeDag& dag, CounterRng& rng) {
  ExactInputs made;
  const double unit = bytes_of(dag.tensor(dag.arguments().back()).dtype) == 1 ? 0x1p-10 : 1;
  for (TensorId id : dag.arguments()) {
    const TensorInfo& info = dag.tensor(id);
    HostArray array(info.dtype, std::vector<std::int64_t>(info.shape.begin(), info.shape.end()));
    const auto bytes = static_cast<std::size_t>(bytes_of(info.dtype));
    if (dag.operation(info.operation).is_placeholder()) {
      for (std::size_t i = 0; i < array.data.size() / bytes; ++i) {
        const std::int64_t value = bytes == 1 ? static_cast<std::int64_t>(rng.next_below(256)) - 128
                                              : static_cast<std::int64_t>(rng.next_below(9)) - 4;
        store_scalar(array.data.data() + i * bytes, info.dtype,
                     is_float(info.dtype) ? scalar_of_real(unit * static_cast<double>(value))
                                          : scalar_of(value));
      }
      made.inputs.push_back(array);
    }
    made.all.push_back(std::move(array));
  }
  return made;
}

}  // namespace tensorsmith::test
