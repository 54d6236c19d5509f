// SPDX-License-Identifier: Apache-2.0
// nearest_lengths: the legal lengths of a split that are nearest to real ones.
//
// Floor 7. Own design, for Felix, ch. 6.5. Distances are taken between logarithms, where one octave
// is one octave for long and for short loops; whatever primes an extent has, and never beyond it.
// The nearest ones are neighbours of each other: where a factor lies halfway between two levels,
// both are among the first.
#pragma once

#include <cstdint>
#include <span>
#include <utility>
#include <vector>

#include "tensorsmith/support/algorithm.hpp"
#include "tensorsmith/support/factorize.hpp"
#include "tensorsmith/support/math.hpp"
#include "tensorsmith/support/sort.hpp"

namespace tensorsmith {

struct RoundedLengths {
  std::vector<std::int64_t> lengths;  ///< their product divides the extent
  double distance = 0;                ///< sum of squares, in octaves
};

namespace detail {

class LengthRounding {
 public:
  LengthRounding(std::span<const double> wanted, std::size_t count, std::int64_t max_innermost)
      : wanted_(wanted), count_(count), max_innermost_(max_innermost) {}

  std::vector<RoundedLengths> run(std::int64_t extent) {
    walk(extent, 0);
    return std::move(best_);
  }

 private:
  void walk(std::int64_t rest, double so_far) {
    if (best_.size() == count_ && so_far >= best_.back().distance) {
      return;
    }
    const std::size_t level = lengths_.size();
    if (level == wanted_.size()) {
      std::size_t at = best_.size();
      while (at > 0 && best_[at - 1].distance > so_far) {
        --at;
      }
      best_.insert(best_.begin() + static_cast<std::ptrdiff_t>(at), {lengths_, so_far});
      best_.resize(smaller_of(best_.size(), count_));
      return;
    }
    std::vector<std::pair<double, std::int64_t>> nearest;
    for (const std::int64_t length : divisors(rest)) {
      if (level + 1 < wanted_.size() || length <= max_innermost_) {
        const double off = math::log2(static_cast<double>(length)) - wanted_[level];
        nearest.emplace_back(off * off, length);
      }
    }
    sort_items(nearest);
    for (const auto& [distance, length] : nearest) {
      lengths_.push_back(length);
      walk(rest / length, so_far + distance);
      lengths_.pop_back();
    }
  }

  std::span<const double> wanted_;
  std::size_t count_;
  std::int64_t max_innermost_;
  std::vector<std::int64_t> lengths_;
  std::vector<RoundedLengths> best_;  ///< nearest first
};

}  // namespace detail

/// The `count` nearest to 2^wanted, one length per number, outermost first; nearest first. The last
/// length is at most `max_innermost`.
inline std::vector<RoundedLengths> nearest_lengths(std::int64_t extent,
                                                   std::span<const double> wanted,
                                                   std::size_t count = 1,
                                                   std::int64_t max_innermost = INT64_MAX) {
  return count == 0 ? std::vector<RoundedLengths>()
                    : detail::LengthRounding(wanted, count, max_innermost).run(extent);
}

/// Of a list that ascends: the value whose logarithm is nearest to `wanted` (a base-2 logarithm);
/// of equally near ones the first. Values below 1 count as half.
inline std::size_t nearest_entry(std::span<const std::int32_t> values, double wanted) {
  std::size_t best = 0;
  double least = math::infinity;
  for (std::size_t i = 0; i < values.size(); ++i) {
    const double log = values[i] < 1 ? -1 : math::log2(static_cast<double>(values[i]));
    const double distance = math::fabs(log - wanted);
    if (distance < least) {
      least = distance;
      best = i;
    }
  }
  return best;
}

}  // namespace tensorsmith
