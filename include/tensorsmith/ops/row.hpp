// SPDX-License-Identifier: Apache-2.0
// Operations on the rows of a matrix: softmax and its logarithm (ops/softmax.hpp), layernorm,
// RMSnorm, reductions, mean and variance (ops/row_statistics.hpp), the place of the largest or
// least.
//
// Floor 3. Stages, names and formulas of softmax and the reductions are those of the programs of
// the Ansor reference, so that workload hashes agree.
#pragma once

#include "tensorsmith/ops/workload_text.hpp"
#include "tensorsmith/support/compiled.hpp"

namespace tensorsmith::ops {

/// Throws Error for a type or an option that the kind does not take.
TENSORSMITH_INLINE Workload row_op(const RowParams& p);

}  // namespace tensorsmith::ops

#ifndef TENSORSMITH_COMPILED
#include "tensorsmith/ops/row_body.hpp"
#endif
