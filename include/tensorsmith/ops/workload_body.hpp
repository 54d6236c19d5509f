// SPDX-License-Identifier: Apache-2.0
// The definitions of build_workload and parse_workload.
//
// Floor 3. Included by ops/workload.hpp or compiled once (support/compiled.hpp).
#pragma once

#include <string>
#include <string_view>
#include <variant>

#include "tensorsmith/ops/workload.hpp"
#include "tensorsmith/ops/workload_reader.hpp"
#include "tensorsmith/support/error.hpp"
#include "tensorsmith/support/overloaded.hpp"

namespace tensorsmith::ops {

TENSORSMITH_INLINE Workload build_workload(const OpParams& params) {
  return std::visit(Overloaded{[](const GemmParams& p) { return gemm(p); },
                               [](const ConvParams& p) { return conv(p); },
                               [](const PoolParams& p) { return pool(p); },
                               [](const RowParams& p) { return row_op(p); },
                               [](const PointwiseParams& p) { return pointwise(p); },
                               [](const AttentionParams& p) { return attention(p); },
                               [](const BatchNormParams& p) { return batch_norm(p); },
                               [](const GatherParams& p) { return gather(p); },
                               [](const ExpressionParams& p) { return expression(p); }},
                    params);
}

TENSORSMITH_INLINE Result<Workload, std::string> parse_workload(std::string_view text) {
  if (is_expression(text)) {
    try {
      return expression({std::string(text)});
    } catch (const Error& error) {
      return fail(std::string(error.what()));
    }
  }
  try {
    return build_workload(detail::WorkloadReader(text).read());
  } catch (const Error& error) {
    const std::string reason = error.what();
    const bool is_ours = reason.rfind("workload \"", 0) == 0;
    return fail(is_ours ? reason : "workload \"" + std::string(text) + "\": " + reason);
  }
}

}  // namespace tensorsmith::ops
