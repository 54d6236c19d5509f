// SPDX-License-Identifier: Apache-2.0
// From operations in any order to a ComputeDag in stage order.
//
// Floor 2. Ansor reference, ch. 1.1. Not here: construction by people (te/program.hpp), access
// analysis (te/access_analysis.hpp).
#pragma once

#include <cstdint>
#include <utility>
#include <vector>

#include "tensorsmith/support/error.hpp"
#include "tensorsmith/support/shared.hpp"
#include "tensorsmith/te/check_operation.hpp"
#include "tensorsmith/te/compute_dag.hpp"
#include "tensorsmith/te/stage_order.hpp"

namespace tensorsmith::te {

/// Checks every operation that `arguments` need and puts them into stage order. Operations that no
/// argument needs are left out; their tensors stay in the list without a stage (UINT32_MAX).
inline ComputeDag build_compute_dag(Shared<const ExprPool> pool, std::vector<TensorInfo> tensors,
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
