// SPDX-License-Identifier: Apache-2.0
// AddCacheWrite: gives a stage a local cache that later rules tile and fuse with the copy.
//
// Floor 5. Ansor reference, ch. 4.3. Legal for a stage of one result that needs multi-level tiling
// and has no elementwise consumer to fuse with, or one that is tiled already. On CPUs the stage
// without a cache is tried as well.
//     C[i, j] += A[i, k] * B[k, j]  -->  C.local[i_c, j_c] += A * B;  C[i, j] = C.local[i, j]
#pragma once

#include <string_view>
#include <vector>

#include "tensorsmith/sketch/grow.hpp"
#include "tensorsmith/sketch/rule.hpp"
#include "tensorsmith/sketch/stage_query.hpp"

namespace tensorsmith {

struct AddCacheWrite {
  static constexpr std::string_view name() { return "add_cache_write"; }

  Applicability applicability(const RuleInput& input) const {
    const Operation& op = input.state.operation(static_cast<std::size_t>(input.stage));
    const bool applies = op.outputs.size() == 1 && needs_tiling(input.analysis, input.stage) &&
                         !untiled_elementwise_consumer(input.state, input.analysis, input.stage);
    if (!applies) {
      return Applicability::skip;
    }
    return input.options.is_gpu() ? Applicability::apply_and_skip_rest : Applicability::apply;
  }

  /// The id of the stage now denotes its cache, which is looked at next.
  std::vector<Derivation> expand(const RuleInput& input) const {
    State state = input.state;
    grow(state, CacheWriteStep{input.stage, "local"});
    return {Derivation{std::move(state), input.stage}};
  }
};

}  // namespace tensorsmith
