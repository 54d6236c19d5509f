// SPDX-License-Identifier: Apache-2.0
// count_terms: the share of a reduction's terms that count, the others being padding.
//
// Floor 6. Own design. Conditions on the same axes are tried at every point of those axes, so that
// the answer is exact for stride, dilation and planes smaller than the filter.
#pragma once

#include <cstdint>
#include <vector>

#include "tensorsmith/lower/term_conditions.hpp"
#include "tensorsmith/support/algorithm.hpp"

namespace tensorsmith::detail {

using AxisMask = std::uint64_t;  ///< bit a: axis a of the operation, spatial axes first

struct DraftTerms {
  double share = 1;
  double solved = 1;  ///< share that is left by loops that are values (lower/solved_loops.hpp)
  AxisMask axes = 0;  ///< that decide which of the others count
};

/// Whether `condition` is a conjunction of conditions of the terms: then it is not evaluated.
inline bool is_left_out(const ExprPool& pool, const std::vector<TermCondition>& conditions,
                        ExprId condition) {
  const Binary* both = pool.as<Binary>(condition);
  if (both != nullptr && both->op == BinaryOp::and_) {
    return is_left_out(pool, conditions, both->a) && is_left_out(pool, conditions, both->b);
  }
  return any_item(conditions,
                  [&](const TermCondition& known) { return known.comparison == condition; });
}

/// `extents` of all axes of the stage. More than 65536 points: as if all counted.
inline DraftTerms count_terms(const std::vector<TermCondition>& conditions,
                              const std::vector<double>& extents) {
  constexpr double most_points = 1 << 16;
  DraftTerms result;
  std::vector<AxisMask> masks;
  for (std::size_t c = 0; c < conditions.size(); ++c) {
    AxisMask mask = 0;
    for (std::size_t a = 0; a < extents.size(); ++a) {
      mask |= conditions[c].is_about(a) ? AxisMask{1} << a : 0;
    }
    masks.push_back(mask);
    result.axes |= conditions[c].modulus > 0 ? 0 : mask;
    result.solved /= conditions[c].modulus > 0 ? static_cast<double>(conditions[c].modulus) : 1;
  }
  for (std::size_t first = 0; first < masks.size(); ++first) {
    bool is_new = true;
    for (std::size_t before = 0; before < first; ++before) {
      is_new = is_new && masks[before] != masks[first];
    }
    double points = 1;
    std::vector<std::size_t> axes;
    for (std::size_t a = 0; a < extents.size(); ++a) {
      if ((masks[first] >> a & 1) != 0) {
        axes.push_back(a);
        points *= extents[a];
      }
    }
    if (!is_new || points > most_points) {
      continue;
    }
    double counted = 0;
    std::vector<std::int64_t> at(extents.size(), 0);
    for (bool is_done = false; !is_done;) {
      bool counts = true;
      for (std::size_t c = first; c < masks.size() && counts; ++c) {
        counts = masks[c] != masks[first] || conditions[c].holds(at);
      }
      counted += counts ? 1 : 0;
      is_done = true;
      for (std::size_t i = 0; is_done && i < axes.size(); ++i) {
        const std::size_t a = axes[i];
        is_done = static_cast<double>(++at[a]) >= extents[a];
        at[a] = is_done ? 0 : at[a];
      }
    }
    result.share *= counted / points;
  }
  return result;
}

}  // namespace tensorsmith::detail
