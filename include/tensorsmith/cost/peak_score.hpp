// SPDX-License-Identifier: Apache-2.0
// peak_score: how good the best of the first few is that a model would have measured.
//
// Floor 6. Felix, ch. 5.2. Not here: pairs that are in order (ranking.hpp).
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "tensorsmith/cost/ranking.hpp"
#include "tensorsmith/support/algorithm.hpp"

namespace tensorsmith {

/// The best label so far by the best label of all, the mean over the first `k` programs in the
/// order of their scores, or over all if there are fewer. Labels are not negative; 0 if none is
/// above 0.
inline double peak_score(std::span<const float> scores, std::span<const float> labels,
                         std::uint32_t k) {
  const std::vector<std::uint32_t> ranks = descending_ranks(scores);
  std::vector<float> in_order(labels.size());
  float best_of_all = 0;
  for (std::size_t i = 0; i < labels.size(); ++i) {
    in_order[ranks[i]] = labels[i];
    best_of_all = larger_of(best_of_all, labels[i]);
  }
  const std::size_t count = smaller_of<std::size_t>(k, labels.size());
  double sum = 0;
  float best = 0;
  for (std::size_t i = 0; i < count; ++i) {
    best = larger_of(best, in_order[i]);
    sum += best;
  }
  return best_of_all > 0 ? sum / static_cast<double>(count) / double{best_of_all} : 0;
}

}  // namespace tensorsmith
