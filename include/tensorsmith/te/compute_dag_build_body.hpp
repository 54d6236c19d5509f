// SPDX-License-Identifier: Apache-2.0
// The definitions of compute_dag_build.hpp.
//
// Floor 2. Included by te/compute_dag_build.hpp or compiled once (support/compiled.hpp).
#pragma once

#include <cstdint>
#include <utility>
#include <vector>

#include "tensorsmith/support/error.hpp"
#include "tensorsmith/te/check_operation.hpp"
#include "tensorsmith/te/compute_dag_build.hpp"
#include "tensorsmith/te/stage_order.hpp"

namespace tensorsmith::te {

TENSORSMITH_INLINE ComputeDag build_compute_dag(Shared<const ExprPool> pool,
                                                std::vector<TensorInfo> tensors,
                                                const std::vector<Operation>& operations,
                                                std::vector<TensorId> arguments) {
  if (arguments.empty()) {
    throw Error("te: dag: expected at least one tensor, got none");
  }
  std::vector<Operation> ordered;
  for (std::uint32_t op : stage_order(*pool, operations, arguments)) {
    check_operation(*pool, tensors, operations[op]);
    ordered.push_back(operations[op]);
  }
  for (TensorInfo& tensor : tensors) {
    tensor.operation = UINT32_MAX;
  }
  return ComputeDag(std::move(pool), std::move(tensors), std::move(ordered), std::move(arguments));
}

}  // namespace tensorsmith::te
