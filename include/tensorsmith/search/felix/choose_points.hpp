// SPDX-License-Identifier: Apache-2.0
// Which rounded points are measured: each once, the best predicted first, every sketch its share.
//
// Floor 7. Felix, ch. 6.5. A point and its prediction are one item, so that leaving out a point
// leaves out its prediction (the released code pairs those behind with the predictions of others);
// points are told apart by sketch and values in all rounds. Own design: shares of sketches.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "tensorsmith/support/algorithm.hpp"
#include "tensorsmith/support/hash_map.hpp"
#include "tensorsmith/support/math.hpp"
#include "tensorsmith/support/sort.hpp"

namespace tensorsmith {

struct RoundedPoint {
  std::uint32_t sketch = 0;
  std::vector<std::int32_t> values;  ///< of all variables of the sketch, in its order
  double prediction = 0;             ///< higher is better
  bool is_feasible = true;
};

/// The feasible ones with a number for a prediction, best first; equals keep their order.
inline std::vector<RoundedPoint> ranked_points(std::vector<RoundedPoint> points) {
  std::vector<RoundedPoint> kept;
  for (RoundedPoint& point : points) {
    if (point.is_feasible && !math::is_nan(point.prediction)) {
      kept.push_back(std::move(point));
    }
  }
  sort_items(kept, [](const RoundedPoint& a, const RoundedPoint& b) {
    return a.prediction > b.prediction;
  });
  return kept;
}

/// The points of all rounds of a task.
class SeenPoints {
 public:
  /// Whether the point is new; then it is no more.
  bool claim(const RoundedPoint& point) {
    std::string key = std::to_string(point.sketch);
    for (const std::int32_t value : point.values) {
      key += ' ' + std::to_string(value);
    }
    return seen_.insert(key);
  }

 private:
  HashSet<std::string> seen_;
};

/// How many of `count` programs each sketch gives: at least `quota` of each that has that many,
/// the rest in the proportion of exp(best prediction / temperature). `available[s]`: how many
/// sketch s has; fewer than `count` in all: all of them.
inline std::vector<std::size_t> sketch_shares(std::span<const double> best,
                                              std::span<const std::size_t> available,
                                              std::size_t count, std::size_t quota,
                                              double temperature) {
  const std::size_t n = best.size();
  std::vector<std::size_t> shares(n, 0);
  std::size_t left = count;
  for (std::size_t q = 0; q < quota; ++q) {
    for (std::size_t s = 0; s < n && left > 0; ++s) {
      if (shares[s] < available[s] && shares[s] == q) {
        ++shares[s];
        --left;
      }
    }
  }
  double most = -math::infinity;
  for (std::size_t s = 0; s < n; ++s) {
    most = available[s] > 0 && best[s] > most ? best[s] : most;
  }
  std::vector<double> weights(n, 0);
  double sum = 0;
  for (std::size_t s = 0; s < n; ++s) {
    weights[s] = available[s] > 0 ? math::exp((best[s] - most) / temperature) : 0;
    sum += weights[s];
  }
  // One by one to the sketch that is furthest below its part of the rest.
  std::vector<double> owed(n, 0);
  while (left > 0) {
    std::size_t next = n;
    for (std::size_t s = 0; s < n; ++s) {
      if (shares[s] < available[s]) {
        owed[s] += weights[s] / sum;
        next = next == n || owed[s] > owed[next] ? s : next;
      }
    }
    if (next == n) {
      break;
    }
    owed[next] -= 1;
    ++shares[next];
    --left;
  }
  return shares;
}

}  // namespace tensorsmith
