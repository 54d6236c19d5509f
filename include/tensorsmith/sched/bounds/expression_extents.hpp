// SPDX-License-Identifier: Apache-2.0
// ExpressionExtents: extents of loops where regions are no affine forms of the loops around.
//
// Floor 3. (x * 8 + 3) // 12 and x * 8 // 12 may be one number, though both vary: the reference's
// arithmetic knows (range_inference.hpp). Slow beside affine forms; asked only where those leave a
// difference that is no number. An extent that varies is the largest.
#pragma once

#include <cstdint>
#include <vector>

#include "tensorsmith/ir/algebra/largest.hpp"
#include "tensorsmith/sched/bounds/range_inference.hpp"

namespace tensorsmith::bounds {

class ExpressionExtents : private tensorsmith::detail::RangeInference {
 public:
  explicit ExpressionExtents(const State& state) : RangeInference(state) {}

  /// Extents by stage and iterator, none for stages without loops; nothing if a stage cannot be
  /// placed.
  std::vector<std::vector<std::int64_t>> run() {
    if (!infer_ranges()) {
      return {};
    }
    std::vector<std::vector<std::int64_t>> extents(ranges_.size());
    algebra::VarCounts counts;
    for (std::size_t s = ranges_.size(); s-- > 0;) {  // what is around a stage comes after it
      for (std::size_t leaf = 0; ranges_[s].is_computed && leaf < derivations_[s].leaves.size();
           ++leaf) {
        const algebra::Ref extent = range_of({s, leaf}).extent;
        const std::int64_t largest = pool_.is_integer(extent)
                                         ? pool_.value(extent)
                                         : algebra::largest_value(pool_, extent, counts);
        counts.emplace_back(var_of({s, leaf}), largest);
        if (derivations_[s].leaves[leaf].iterator >= 0) {
          extents[s].push_back(largest);
        }
      }
    }
    return extents;
  }
};

}  // namespace tensorsmith::bounds
