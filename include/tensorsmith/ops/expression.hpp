// SPDX-License-Identifier: Apache-2.0
// Workloads that have no name: index notation (te/notation.hpp), and einsum as its short form.
//
// Floor 3. Own design. An einsum is subscripts and extents,
// `einsum:ik,kj->ij,i=64,k=32,j=16[,f16]`: a letter per index, those that the result lacks are
// summed up. Its inputs are A, B, C, ...
#pragma once

#include <string_view>

#include "tensorsmith/ops/op.hpp"
#include "tensorsmith/support/compiled.hpp"

namespace tensorsmith::ops {

/// Whether a text is none of the named forms but a computation itself.
inline bool is_expression(std::string_view text) {
  return text.find('[') != std::string_view::npos || text.starts_with("einsum:");
}

/// Its name is the canonical text. Throws Error.
TENSORSMITH_INLINE Workload expression(const ExpressionParams& params);

}  // namespace tensorsmith::ops

#ifndef TENSORSMITH_COMPILED
#include "tensorsmith/ops/expression_body.hpp"
#endif
