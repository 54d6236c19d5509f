// From a workload string such as "gemm:512x512x512:f32" to its operator.
//
// Floor 3. Own design. Every kind of wrong input gives one sentence that names the text, what was
// expected and what came. Grammar: ops/workload_grammar.hpp; its reader: ops/workload_reader.hpp;
// the way back: ops/workload_text.hpp.
#pragma once

#include <string>
#include <string_view>

#include "tensorsmith/ops/attention.hpp"
#include "tensorsmith/ops/conv.hpp"
#include "tensorsmith/ops/gemm.hpp"
#include "tensorsmith/ops/pointwise.hpp"
#include "tensorsmith/ops/pool.hpp"
#include "tensorsmith/ops/row.hpp"
#include "tensorsmith/ops/workload_reader.hpp"
#include "tensorsmith/support/error.hpp"
#include "tensorsmith/support/result.hpp"

namespace tensorsmith::ops {

/// The operator of some parameters. Throws Error for parameters that describe none.
inline Workload build_workload(const OpParams& params) {
  return std::visit(Overloaded{[](const GemmParams& p) { return gemm(p); },
                               [](const ConvParams& p) { return conv(p); },
                               [](const PoolParams& p) { return pool(p); },
                               [](const RowParams& p) { return row_op(p); },
                               [](const PointwiseParams& p) { return pointwise(p); },
                               [](const AttentionParams& p) { return attention(p); }},
                    params);
}

/// The operator that a workload string names, or one sentence that says what is wrong with it.
inline Result<Workload, std::string> parse_workload(std::string_view text) {
  try {
    return build_workload(detail::WorkloadReader(text).read());
  } catch (const Error& error) {
    const std::string reason = error.what();
    const bool is_ours = reason.rfind("workload \"", 0) == 0;
    return fail(is_ours ? reason : "workload \"" + std::string(text) + "\": " + reason);
  }
}

}  // namespace tensorsmith::ops
