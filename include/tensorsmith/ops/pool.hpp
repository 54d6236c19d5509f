// SPDX-License-Identifier: Apache-2.0
// Pooling: maximum and average over windows, global average.
//
// Floor 3. Stage and axis names follow the programs of the Ansor reference (X, Pad, Y). Parameters:
// PoolParams in ops/op.hpp.
#pragma once

#include "tensorsmith/ops/workload_text.hpp"
#include "tensorsmith/support/compiled.hpp"

namespace tensorsmith::ops {

/// A global pool takes its window from `spatial`; all else about windows is ignored.
TENSORSMITH_INLINE Workload pool(PoolParams p);

}  // namespace tensorsmith::ops

#ifndef TENSORSMITH_COMPILED
#include "tensorsmith/ops/pool_body.hpp"
#endif
