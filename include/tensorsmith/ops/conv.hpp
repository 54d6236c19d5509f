// SPDX-License-Identifier: Apache-2.0
// Convolution of rank 1 to 3: stride, padding, dilation, groups, depthwise, transposed, epilogues,
// Winograd's filtering (ops/winograd.hpp), and windows over the result (ops/pool.hpp) or a
// depthwise convolution of it.
//
// Floor 3. Stage and axis names follow the programs of the Ansor reference (X, Pad, W, Y, bias,
// Ybias, Yrelu; Ynorm, a residual R and Yadd come between, Yrequant and Ypool, or Ypad, V, D, Dbias
// and Drelu, behind), so that workload hashes agree. Layouts: ConvParams in ops/op.hpp.
#pragma once

#include "tensorsmith/ops/workload_text.hpp"
#include "tensorsmith/support/compiled.hpp"

namespace tensorsmith::ops {

/// Throws Error for parameters that describe none.
TENSORSMITH_INLINE Workload conv(const ConvParams& params);

}  // namespace tensorsmith::ops

#ifndef TENSORSMITH_COMPILED
#include "tensorsmith/ops/conv_body.hpp"
#endif
