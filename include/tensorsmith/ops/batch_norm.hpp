// SPDX-License-Identifier: Apache-2.0
// Batch norm with known statistics: a scale and a shift per channel, alone or behind a convolution.
//
// Floor 3. Own design; the inference form of PyTorch's BatchNorm and ONNX's BatchNormalization:
//     norm_scale[c] = gamma[c] / sqrt(var[c] + 1e-5)
//     Y = (X - mean[c]) * norm_scale[c] + beta[c]
// The mean is subtracted first, so values far from zero lose nothing.
#pragma once

#include "tensorsmith/ops/workload_text.hpp"
#include "tensorsmith/support/compiled.hpp"

namespace tensorsmith::ops {

/// Arguments: X, gamma, beta, mean, var, Y. X and Y are [n, h, w, c] or [n, c, h, w] of the dtype;
/// the others are [c], f32 for 16-bit types, which are computed in f32.
TENSORSMITH_INLINE Workload batch_norm(const BatchNormParams& p);

}  // namespace tensorsmith::ops

#ifndef TENSORSMITH_COMPILED
#include "tensorsmith/ops/batch_norm_body.hpp"
#endif
