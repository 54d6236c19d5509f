// SPDX-License-Identifier: Apache-2.0
// definition_of: what a workload is to compute, written from its mathematical definition.
//
// Floor 3. Own design. References of verification are computed from it in f64, not from the
// program under test: a form that cancels, overflows or sums in 16 bits would do the same there.
// Sums and functions have the types that the workload promises (f32 for narrow types), from which
// bounds of rounding follow (lib/tune/error_twin.hpp). Where a program is its own definition, a sum
// of products or a chain of single operations, it is that program. Shares nothing with
// ops/softmax.hpp, ops/layernorm.hpp and ops/attention.hpp but the order of the arguments.
#pragma once

#include "tensorsmith/ops/op.hpp"
#include "tensorsmith/support/compiled.hpp"

namespace tensorsmith::ops {

/// Arguments as those of workload.dag. One result.
TENSORSMITH_INLINE Shared<const ComputeDag> definition_of(const Workload& workload);

}  // namespace tensorsmith::ops

#ifndef TENSORSMITH_COMPILED
#include "tensorsmith/ops/definition_body.hpp"
#endif
