// SPDX-License-Identifier: Apache-2.0
// best_by_sketch: scored programs in the order in which a batch takes them, every sketch its share.
//
// Floor 7. Own design, for Felix, ch. 6.5 (D30).
#pragma once

#include <utility>
#include <vector>

#include "tensorsmith/search/evaluator.hpp"
#include "tensorsmith/search/felix/choose_points.hpp"

namespace tensorsmith {

/// First the shares of the sketches of a batch of n, best first, then all others. `temperature` is
/// in units of how far the best one is above the one in the middle.
inline std::vector<Individual> best_by_sketch(std::vector<Individual> ranked, std::size_t n,
                                              std::size_t num_sketches, std::size_t quota,
                                              double temperature) {
  sort_items(ranked, is_better);
  std::vector<double> best(num_sketches, -math::infinity);
  std::vector<std::size_t> available(num_sketches, 0);
  for (const Individual& individual : ranked) {
    const std::uint32_t sketch = individual.candidate.sketch;
    if (sketch < num_sketches) {
      best[sketch] = larger_of(best[sketch], double{individual.score});
      ++available[sketch];
    }
  }
  const double spread =
      ranked.empty() ? 0 : double{ranked.front().score} - ranked[ranked.size() / 2].score;
  const std::vector<std::size_t> shares =
      sketch_shares(best, available, n, quota, spread > 0 ? temperature * spread : 1);
  std::vector<std::size_t> given(num_sketches, 0);
  std::vector<Individual> first, rest;
  for (Individual& individual : ranked) {
    const std::uint32_t sketch = individual.candidate.sketch;
    const bool is_first = sketch < num_sketches && given[sketch]++ < shares[sketch];
    (is_first ? first : rest).push_back(std::move(individual));
  }
  for (Individual& individual : rest) {
    first.push_back(std::move(individual));
  }
  return first;
}

}  // namespace tensorsmith
