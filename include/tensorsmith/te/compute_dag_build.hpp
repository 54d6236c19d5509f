// SPDX-License-Identifier: Apache-2.0
// From operations in any order to a ComputeDag in stage order.
//
// Floor 2. Ansor reference, ch. 1.1. Not here: construction by people (te/program.hpp), access
// analysis (te/access_analysis.hpp).
#pragma once

#include <vector>

#include "tensorsmith/support/compiled.hpp"
#include "tensorsmith/support/shared.hpp"
#include "tensorsmith/te/compute_dag.hpp"

namespace tensorsmith::te {

/// Checks every operation that `arguments` need and puts them into stage order. Operations that no
/// argument needs are left out; their tensors stay in the list without a stage (UINT32_MAX).
TENSORSMITH_INLINE ComputeDag build_compute_dag(Shared<const ExprPool> pool,
                                                std::vector<TensorInfo> tensors,
                                                const std::vector<Operation>& operations,
                                                std::vector<TensorId> arguments);

}  // namespace tensorsmith::te

#ifndef TENSORSMITH_COMPILED
#include "tensorsmith/te/compute_dag_build_body.hpp"
#endif
