// SPDX-License-Identifier: Apache-2.0
// choose_winner: which of the candidates of a final ranking is taken.
//
// Floor 6. Own design. Candidates ran in turn, so their times are compared round by round: what
// slows one round down slows all of them. The interval of a median is that of order statistics
// (Conover, "Practical Nonparametric Statistics", sec. 3.2), which assumes nothing about how times
// are distributed. Not here: measuring.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "tensorsmith/measure/measure_result.hpp"
#include "tensorsmith/measure/policy.hpp"
#include "tensorsmith/support/math.hpp"
#include "tensorsmith/support/sort.hpp"

namespace tensorsmith {

/// So few samples have no interval of 95 %.
constexpr std::size_t least_interval_samples = 6;

/// 95 % interval of the median of `samples`; 0 .. 0 if they are too few.
inline TimeInterval median_interval(std::vector<double> samples) {
  const std::size_t n = samples.size();
  if (n < least_interval_samples) {
    return {};
  }
  sort_items(samples, [](double a, double b) { return a < b; });
  // The number of samples below the median is binomial: n / 2 +- 1.96 * sqrt(n) / 2.
  const double reach = 0.98 * math::sqrt(static_cast<double>(n));
  const double below = static_cast<double>(n) / 2 - reach - 1;
  const auto first = below < 0 ? std::size_t{0} : static_cast<std::size_t>(below);
  return {samples[first], samples[n - 1 - first]};
}

namespace detail {

/// Whether `one` cannot be told from `best`, the fastest: half a percent, or an interval of the
/// ratio round by round that holds 1, as long as it is worth nothing (policy.most_tied).
inline bool is_tied(const MeasureResult& one, const MeasureResult& best,
                    const RankingPolicy& policy) {
  if (one.median_ns <= best.median_ns * (1 + policy.tie_fraction)) {
    return true;
  }
  if (one.median_ns > best.median_ns * (1 + policy.most_tied) ||
      one.samples_ns.size() != best.samples_ns.size()) {
    return false;
  }
  std::vector<double> ratios;
  for (std::size_t i = 0; i < one.samples_ns.size(); ++i) {
    ratios.push_back(one.samples_ns[i] / best.samples_ns[i]);
  }
  const TimeInterval interval = median_interval(std::move(ratios));
  return interval.low_ns > 0 && interval.low_ns <= 1;
}

}  // namespace detail

/// Sets winner, interval and num_ties from `results`: of those that cannot be told from the fastest
/// one the simplest, of equally simple ones the first. `complexity`: one number per candidate, the
/// smaller the simpler; empty: all alike.
inline void choose_winner(RankingResult& ranking, const RankingPolicy& policy,
                          std::span<const std::int64_t> complexity = {}) {
  ranking.winner = RankingResult::no_winner;
  ranking.interval = {};
  ranking.num_ties = 0;
  const std::vector<MeasureResult>& results = ranking.results;
  std::size_t best = RankingResult::no_winner;
  for (std::size_t i = 0; i < results.size(); ++i) {
    if (results[i].is_ok() &&
        (best == RankingResult::no_winner || results[i].median_ns < results[best].median_ns)) {
      best = i;
    }
  }
  if (best == RankingResult::no_winner) {
    return;
  }
  const auto is_simpler = [&](std::size_t a, std::size_t b) {
    return a < complexity.size() && b < complexity.size() && complexity[a] < complexity[b];
  };
  for (std::size_t i = 0; i < results.size(); ++i) {
    if (!results[i].is_ok() || (i != best && !detail::is_tied(results[i], results[best], policy))) {
      continue;
    }
    ranking.num_ties += i != best ? 1 : 0;
    if (ranking.winner == RankingResult::no_winner || is_simpler(i, ranking.winner)) {
      ranking.winner = i;
    }
  }
  ranking.interval = median_interval(results[ranking.winner].samples_ns);
}

}  // namespace tensorsmith
