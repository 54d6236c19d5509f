// SPDX-License-Identifier: Apache-2.0
// CHR of scope "lanes": a copy for those reads of a stage that its last axis moves.
//
// Floor 3. Own design. A tensor that a stage reads at two places may be packed for one of them: the
// other read stays. Legal if the last axis of every reader moves one of its reads.
//   G[i,j] += X[i,k] * X[j,k]  -->  X.lanes[ax0,ax1] = X[ax0,ax1]
//                                   G[i,j] += X[i,k] * X.lanes[j,k]
#pragma once

#include <string_view>
#include <vector>

#include "tensorsmith/ir/rewrite.hpp"
#include "tensorsmith/support/algorithm.hpp"
#include "tensorsmith/te/compute_dag.hpp"

namespace tensorsmith {

/// Elsewhere it is as any other scope in global memory.
inline constexpr std::string_view lanes_scope = "lanes";

namespace detail {

/// Whether the last axis of `reader` moves what is read at `indices`.
inline bool runs_along_lanes(const ExprPool& pool, const Operation& reader,
                             const ExprList& indices) {
  return !reader.axes.empty() && any_item(indices, [&](ExprId index) {
    return uses_var(pool, index, reader.axes.back().var);
  });
}

/// The one place among `reads` that the last axis of `reader` moves; nullptr if there are none or
/// several.
inline const ExprList* only_read_along_lanes(const ExprPool& pool, const Operation& reader,
                                             const std::vector<ExprList>& reads) {
  const ExprList* found = nullptr;
  for (const ExprList& indices : reads) {
    if (runs_along_lanes(pool, reader, indices)) {
      if (found != nullptr && *found != indices) {
        return nullptr;
      }
      found = &indices;
    }
  }
  return found;
}

}  // namespace detail
}  // namespace tensorsmith
