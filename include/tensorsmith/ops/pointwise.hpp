// SPDX-License-Identifier: Apache-2.0
// Chains of pointwise operations, one stage each, whose operands may be broadcast.
//
// Narrow types are computed in f32 and rounded once, at the end of the chain.
//
// Floor 3. Own design; add + relu is the program of the Ansor reference. Inputs are called A, B,
// X2, X3, ..., stages C, D, T2, T3, ...
#pragma once

#include "tensorsmith/ops/workload_text.hpp"
#include "tensorsmith/support/compiled.hpp"

namespace tensorsmith::ops {

/// out[...] of p.shape, or of that permuted. Arguments: A of p.shape, an operand per binary step,
/// the result. Throws Error without an operation, for types that an operation does not take and for
/// more than 8 dimensions.
TENSORSMITH_INLINE Workload pointwise(const PointwiseParams& p);

}  // namespace tensorsmith::ops

#ifndef TENSORSMITH_COMPILED
#include "tensorsmith/ops/pointwise_body.hpp"
#endif
