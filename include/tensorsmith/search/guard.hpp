// SPDX-License-Identifier: Apache-2.0
// Guard: whether advice (a draft, a learned or transferred model) is better than none, by what was
// measured.
//
// Floor 7. Own design. A share of every batch, the minority, goes the other way: without the advice
// as long as it is trusted, with it while it is not. Programs of one batch are compared pair by
// pair. The advice is given up where those without it win clearly, and taken again as soon as they
// do not win any more; old batches count less. Not here: what a policy proposes without the advice.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>

#include "tensorsmith/search/guard_report.hpp"
#include "tensorsmith/support/algorithm.hpp"
#include "tensorsmith/support/math.hpp"

namespace tensorsmith {

class Guard {
 public:
  /// Of a batch, for the minority.
  static constexpr double share = 0.1;

  explicit Guard(std::string_view name) { report_.name = name; }

  bool is_trusted() const { return !report_.is_given_up; }
  const GuardReport& report() const { return report_; }

  /// Speeds of one batch, 0 for programs that failed.
  void compare(std::span<const double> with, std::span<const double> without) {
    report_.num_with += static_cast<std::int64_t>(with.size());
    report_.num_without += static_cast<std::int64_t>(without.size());
    if (with.empty() || without.empty()) {
      return;
    }
    double ahead = 0;
    for (const double one : with) {
      for (const double other : without) {
        ahead += one > other ? 1.0 : one < other ? -1.0 : 0.0;
      }
    }
    const auto num_pairs = static_cast<double>(with.size() * without.size());
    pairs_ += num_pairs;
    pairs_ahead_ += ahead;
    report_.advantage = pairs_ahead_ / pairs_;
    // Pairs of one program of the minority are no independent ones: it counts as a single draw,
    // uniform in -1 .. 1 where the advice makes no difference.
    const auto num_draws = static_cast<double>(smaller_of(with.size(), without.size()));
    sum_ = sum_ * kept + ahead / num_pairs * num_draws;
    variance_ = variance_ * kept * kept + num_draws / 3;
    const double deviations = sum_ / math::sqrt(variance_);
    if (is_trusted() && deviations < -clearly) {
      report_.is_given_up = true;
      ++report_.times_given_up;
    } else if (!is_trusted() && deviations > 0) {
      report_.is_given_up = false;
    }
  }

 private:
  static constexpr double kept = 0.9;     ///< of what earlier batches said, by every batch
  static constexpr double clearly = 2.0;  ///< standard deviations; a single draw has 1.7 at most

  GuardReport report_;
  double pairs_ = 0, pairs_ahead_ = 0;
  double sum_ = 0, variance_ = 0;
};

}  // namespace tensorsmith
