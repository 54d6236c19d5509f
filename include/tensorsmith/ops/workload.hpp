// SPDX-License-Identifier: Apache-2.0
// From a workload string such as "gemm:512x512x512:f32" to its operator.
//
// Floor 3. Own design. Every kind of wrong input gives one sentence that names the text, what was
// expected and what came. Grammar: ops/workload_grammar.hpp; its reader: ops/workload_reader.hpp;
// the way back: ops/workload_text.hpp.
#pragma once

#include <string>
#include <string_view>

#include "tensorsmith/ops/attention.hpp"
#include "tensorsmith/ops/batch_norm.hpp"
#include "tensorsmith/ops/conv.hpp"
#include "tensorsmith/ops/expression.hpp"
#include "tensorsmith/ops/gather.hpp"
#include "tensorsmith/ops/gemm.hpp"
#include "tensorsmith/ops/pointwise.hpp"
#include "tensorsmith/ops/pool.hpp"
#include "tensorsmith/ops/row.hpp"
#include "tensorsmith/support/compiled.hpp"
#include "tensorsmith/support/result.hpp"

namespace tensorsmith::ops {

/// The operator of some parameters. Throws Error for parameters that describe none.
TENSORSMITH_INLINE Workload build_workload(const OpParams& params);

/// The operator that a workload string names, or the computation that a text in index notation or
/// an einsum is (ops/expression.hpp); else one sentence that says what is wrong with it.
TENSORSMITH_INLINE Result<Workload, std::string> parse_workload(std::string_view text);

}  // namespace tensorsmith::ops

#ifndef TENSORSMITH_COMPILED
#include "tensorsmith/ops/workload_body.hpp"
#endif
