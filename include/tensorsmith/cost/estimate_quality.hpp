// SPDX-License-Identifier: Apache-2.0
// EstimateQuality: how well estimates agree with measured times, by rank and by size.
//
// Floor 6. Not here: where either comes from.
#pragma once

#include <cstddef>
#include <span>
#include <vector>

#include "tensorsmith/support/assert.hpp"
#include "tensorsmith/support/math.hpp"
#include "tensorsmith/support/sort.hpp"

namespace tensorsmith {

namespace detail {

/// 0 for the least; equal values share the mean of their ranks.
inline std::vector<double> mean_ranks(std::span<const double> values) {
  struct Placed {
    double value;
    std::size_t at;
  };
  std::vector<Placed> sorted;
  for (std::size_t i = 0; i < values.size(); ++i) {
    sorted.push_back({values[i], i});
  }
  sort_items(sorted, [](const Placed& a, const Placed& b) { return a.value < b.value; });
  std::vector<double> ranks(values.size());
  for (std::size_t first = 0; first < sorted.size();) {
    std::size_t last = first;
    while (last + 1 < sorted.size() && sorted[last + 1].value <= sorted[first].value) {
      ++last;
    }
    for (std::size_t i = first; i <= last; ++i) {
      ranks[sorted[i].at] = static_cast<double>(first + last) / 2;
    }
    first = last + 1;
  }
  return ranks;
}

}  // namespace detail

/// Spearman's rank correlation; 0 where one of them is constant.
inline double rank_correlation(std::span<const double> a, std::span<const double> b) {
  TENSORSMITH_ASSERT(a.size() == b.size(), "pairs of values");
  const std::vector<double> x = detail::mean_ranks(a), y = detail::mean_ranks(b);
  const double mean = (static_cast<double>(x.size()) - 1) / 2;
  double xy = 0, xx = 0, yy = 0;
  for (std::size_t i = 0; i < x.size(); ++i) {
    xy += (x[i] - mean) * (y[i] - mean);
    xx += (x[i] - mean) * (x[i] - mean);
    yy += (y[i] - mean) * (y[i] - mean);
  }
  return xx > 0 && yy > 0 ? xy / math::sqrt(xx * yy) : 0;
}

struct EstimateQuality {
  std::size_t count = 0;
  double spearman = 0;
  double mean_factor = 0;  ///< geometric mean of estimate / measured
  /// Of estimate / measured.
  double lower_quartile = 0, median = 0, upper_quartile = 0;
};

/// Of programs that ran: all times are above 0.
inline EstimateQuality estimate_quality(std::span<const double> estimates,
                                        std::span<const double> measured) {
  EstimateQuality quality;
  quality.count = estimates.size();
  if (estimates.empty()) {
    return quality;
  }
  quality.spearman = rank_correlation(estimates, measured);
  std::vector<double> factors;
  double logs = 0;
  for (std::size_t i = 0; i < estimates.size(); ++i) {
    factors.push_back(estimates[i] / measured[i]);
    logs += math::log2(factors.back());
  }
  sort_items(factors, [](double a, double b) { return a < b; });
  const std::size_t n = factors.size();
  quality.mean_factor = math::exp2(logs / static_cast<double>(n));
  quality.lower_quartile = factors[(n - 1) / 4];
  quality.median = factors[(n - 1) / 2];
  quality.upper_quartile = factors[(n - 1) - (n - 1) / 4];
  return quality;
}

}  // namespace tensorsmith
