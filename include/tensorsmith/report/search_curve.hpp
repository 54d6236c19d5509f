// SPDX-License-Identifier: Apache-2.0
// Searches side by side: when each was as good as what, and whether one is better than another.
//
// Floor 7. Own design; what is compared as in Pruner, ch. 8 and 9: the time to a given quality,
// geometric means of ratios, and a sign test over tasks and seeds. A unit of what is spent, trials
// or seconds of either kind, is the caller's. Not here: running searches.
#pragma once

#include <cstddef>
#include <span>

#include "tensorsmith/support/math.hpp"

namespace tensorsmith {

/// So much was spent when `best_ns` was reached. Along a curve what is spent grows and the best
/// falls.
struct SpentPoint {
  double spent = 0;
  double best_ns = 0;  ///< 0 or less: none yet
};

/// What was spent when the curve was as good as `wanted_ns`; infinity: it never was.
inline double spent_until(std::span<const SpentPoint> curve, double wanted_ns) {
  for (const SpentPoint& point : curve) {
    if (point.best_ns > 0 && point.best_ns <= wanted_ns) {
      return point.spent;
    }
  }
  return math::infinity;
}

/// The best that was reached for `spent`; 0: nothing.
inline double best_after(std::span<const SpentPoint> curve, double spent) {
  double best = 0;
  for (const SpentPoint& point : curve) {
    best = point.spent <= spent && point.best_ns > 0 ? point.best_ns : best;
  }
  return best;
}

/// A task of a network, as it was searched.
struct NetworkTask {
  std::span<const SpentPoint> curve;
  double spent = 0;   ///< at the end
  double weight = 1;  ///< calls of it in the network
};
inline double network_spent(std::span<const NetworkTask> tasks) {
  double sum = 0;
  for (const NetworkTask& task : tasks) {
    sum += task.spent;
  }
  return sum;
}
/// The network's time if so much was spent on every task, on those that ended before what they
/// took; infinity: one of them has nothing yet.
inline double network_ns_after(std::span<const NetworkTask> tasks, double spent_on_each) {
  double ns = 0;
  for (const NetworkTask& task : tasks) {
    const double best = best_after(task.curve, spent_on_each);
    ns += best > 0 ? task.weight * best : math::infinity;
  }
  return ns;
}
/// What was spent on all tasks together, on each alike, when the network was as fast as
/// `wanted_ns`; infinity: it never was.
inline double network_spent_until(std::span<const NetworkTask> tasks, double wanted_ns) {
  double least = math::infinity;
  for (const NetworkTask& task : tasks) {
    for (const SpentPoint& point : task.curve) {
      if (point.spent < least && network_ns_after(tasks, point.spent) <= wanted_ns) {
        least = point.spent;
      }
    }
  }
  double sum = 0;
  for (const NetworkTask& task : tasks) {
    sum += least < task.spent ? least : task.spent;
  }
  return least < math::infinity ? sum : least;
}

/// Of numbers above 0; 1 of none.
inline double geometric_mean(std::span<const double> values) {
  double logs = 0;
  for (const double value : values) {
    logs += math::log2(value);
  }
  return values.empty() ? 1 : math::exp2(logs / static_cast<double>(values.size()));
}

/// Pairs of which one is better.
struct SignTest {
  std::size_t num_wins = 0, num_losses = 0, num_ties = 0;

  /// `ours` and `others`: of pairs; a difference of up to `tie` of the smaller counts as none. Less
  /// is better; 0 or less is nothing at all, worse than anything.
  static SignTest of(std::span<const double> ours, std::span<const double> others,
                     double tie = 0.01) {
    SignTest test;
    for (std::size_t i = 0; i < ours.size(); ++i) {
      const double a = ours[i] > 0 ? ours[i] : math::infinity;
      const double b = others[i] > 0 ? others[i] : math::infinity;
      const bool is_tie = a == b || math::fabs(a - b) <= tie * (a < b ? a : b);
      test.num_ties += is_tie ? 1U : 0U;
      test.num_wins += !is_tie && a < b ? 1U : 0U;
      test.num_losses += !is_tie && a > b ? 1U : 0U;
    }
    return test;
  }

  /// How likely at least so unequal a number of wins is by chance, either way; ties do not count.
  double chance() const {
    const std::size_t n = num_wins + num_losses;
    const std::size_t most = num_wins > num_losses ? num_wins : num_losses;
    double log2_ways = 0, tail = 0;  // log2 of n over k, from k = 0
    for (std::size_t k = 0; k <= n; ++k) {
      if (k > 0) {
        log2_ways +=
            math::log2(static_cast<double>(n - k + 1)) - math::log2(static_cast<double>(k));
      }
      tail += k >= most ? math::exp2(log2_ways - static_cast<double>(n)) : 0;
    }
    return 2 * tail < 1 ? 2 * tail : 1;
  }
};

}  // namespace tensorsmith
