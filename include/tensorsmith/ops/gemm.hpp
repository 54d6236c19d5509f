// SPDX-License-Identifier: Apache-2.0
// Matrix multiplication, plain and batched, with transposed operands, epilogues, and a layernorm of
// the rows behind them.
//
// Floor 3. Stage and axis names follow the programs of the Ansor reference (A, B, C, bias, D, E),
// so that workload hashes agree. Formula: GemmParams in ops/op.hpp.
#pragma once

#include "tensorsmith/ops/workload_text.hpp"
#include "tensorsmith/support/compiled.hpp"

namespace tensorsmith::ops {

/// Throws Error for parameters that describe none.
TENSORSMITH_INLINE Workload gemm(const GemmParams& p);

}  // namespace tensorsmith::ops

#ifndef TENSORSMITH_COMPILED
#include "tensorsmith/ops/gemm_body.hpp"
#endif
