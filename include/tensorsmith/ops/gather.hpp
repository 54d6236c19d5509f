// SPDX-License-Identifier: Apache-2.0
// Gather: rows of a table by their numbers, as an embedding looks them up.
//
// Floor 3. Own design; ONNX's Gather along axis 0 and PyTorch's embedding, for numbers that are not
// negative. Verification draws numbers of rows that there are (te/index_values.hpp).
#pragma once

#include "tensorsmith/ops/workload_text.hpp"
#include "tensorsmith/support/compiled.hpp"

namespace tensorsmith::ops {

/// out[n, c] = T[I[n], c]. Arguments: T [rows, columns], I [count], O [count, columns].
TENSORSMITH_INLINE Workload gather(const GatherParams& p);

}  // namespace tensorsmith::ops

#ifndef TENSORSMITH_COMPILED
#include "tensorsmith/ops/gather_body.hpp"
#endif
