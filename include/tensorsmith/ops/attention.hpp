// SPDX-License-Identifier: Apache-2.0
// Attention: softmax of the products of queries and keys, times values, for several heads.
//
// Floor 3. Own design. Formula: AttentionParams in ops/op.hpp. Rows are divided by the sums of
// their exponentials behind the second product, where there are fewer numbers.
//     S = Q K^T;  T_exp = exp((S - row maxima) / sqrt(D));  O = 1 / row sums * (T_exp V)
// The sums are a stage in front of the second product: the rules of the reference for GPUs make a
// shared copy of T_exp for every reader where a product is the first one.
#pragma once

#include "tensorsmith/ops/workload_text.hpp"
#include "tensorsmith/support/compiled.hpp"

namespace tensorsmith::ops {

/// Narrow types are computed in f32.
TENSORSMITH_INLINE Workload attention(const AttentionParams& p);

}  // namespace tensorsmith::ops

#ifndef TENSORSMITH_COMPILED
#include "tensorsmith/ops/attention_body.hpp"
#endif
