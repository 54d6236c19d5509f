// SPDX-License-Identifier: Apache-2.0
// Descent: the steps of a gradient search over many points at once, and when it is over.
//
// Floor 7. Felix, ch. 6.1 and 6.4. Moments and rates begin anew in every round, since the points do
// (the released code keeps both). Not here: what is descended on, constraints, rounding.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "tensorsmith/support/algorithm.hpp"
#include "tensorsmith/support/math.hpp"

namespace tensorsmith {

struct DescentOptions {
  std::uint32_t num_steps = 128;  ///< of the first round
  double rate = 0.5;
  double late_rate = 0.1;     ///< after the milestone
  double milestone = 0.3;     ///< share of the steps of a round
  double penalty_ratio = 5;   ///< length of the pull of constraints by that of the score
  std::uint32_t shorter = 4;  ///< later rounds have this part of the steps

  std::uint32_t steps_of_round(std::uint32_t round) const {
    return round == 0 ? num_steps : larger_of(1U, num_steps / larger_of(1U, shorter));
  }
  static std::uint32_t milestone_of(std::uint32_t steps, double share) {
    return static_cast<std::uint32_t>(share * steps);
  }
  double rate_at(std::uint32_t step, std::uint32_t steps) const {
    return step < milestone_of(steps, milestone) ? rate : late_rate;
  }
};

/// Adds the slope of the penalty to that of the cost, scaled to `ratio` times its length: a point
/// that breaks a limit is pushed back first of all. Without a penalty the slope stays.
inline void mix_penalty(std::span<double> cost, std::span<const double> penalty, double ratio) {
  double of_cost = 0, of_penalty = 0;
  for (std::size_t i = 0; i < cost.size(); ++i) {
    of_cost += cost[i] * cost[i];
    of_penalty += penalty[i] * penalty[i];
  }
  if (of_penalty == 0) {
    return;
  }
  // Where the cost is flat, the penalty counts as it is.
  const double scale = of_cost == 0 ? 1 : ratio * math::sqrt(of_cost / of_penalty);
  for (std::size_t i = 0; i < cost.size(); ++i) {
    cost[i] += scale * penalty[i];
  }
}

/// Adam (ICLR 2015) on all coordinates of all points.
class DescentAdam {
 public:
  explicit DescentAdam(std::size_t size) : first_(size, 0), second_(size, 0) {}

  /// Moves `points` against `slopes`; what is not finite does not move.
  void step(std::span<double> points, std::span<const double> slopes, double rate) {
    constexpr double keeps = 0.9, keeps_square = 0.999, least = 1e-8;
    power_ *= keeps;
    square_power_ *= keeps_square;
    for (std::size_t i = 0; i < points.size(); ++i) {
      const double slope = math::is_nan(slopes[i]) || math::is_infinite(slopes[i]) ? 0 : slopes[i];
      first_[i] = keeps * first_[i] + (1 - keeps) * slope;
      second_[i] = keeps_square * second_[i] + (1 - keeps_square) * slope * slope;
      const double length = math::sqrt(second_[i] / (1 - square_power_)) + least;
      points[i] -= rate * (first_[i] / (1 - power_)) / length;
    }
  }

 private:
  std::vector<double> first_, second_;
  double power_ = 1, square_power_ = 1;
};

/// Whether a task is worth another round: it is over after `patience` rounds in which the best did
/// not improve by the share `least`, or found nothing new.
class SearchProgress {
 public:
  explicit SearchProgress(std::uint32_t patience = 4, double least = 0.005)
      : patience_(patience), least_(least) {}

  /// The best throughput of a round's programs, 0 if there were none or all failed.
  void add_round(double best) {
    if (best > best_ * (1 + least_) && best > 0) {
      num_idle_ = 0;
    } else {
      ++num_idle_;
    }
    best_ = larger_of(best_, best);
  }
  bool is_over() const { return num_idle_ >= patience_; }
  double best() const { return best_; }

 private:
  std::uint32_t patience_, num_idle_ = 0;
  double least_, best_ = 0;
};

}  // namespace tensorsmith
