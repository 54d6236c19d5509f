// SPDX-License-Identifier: Apache-2.0
// Race: decides after every timed call whether a candidate deserves another one.
//
// Floor 6. Own design: stop hopeless candidates after one to four calls. A pure state machine over
// samples, so the worker and the simulated device take the same decisions. Not here: clocks, calls.
#pragma once

#include <cstdint>
#include <vector>

#include "tensorsmith/measure/policy.hpp"

namespace tensorsmith {

/// The stage a race ended in; later stages mean better known times.
enum class RaceStage : std::uint8_t { warm_up, single, triple, full };

/// Middle element, or the mean of the two middle ones; 0 for no samples.
inline double median_of(std::vector<double> samples) {
  if (samples.empty()) {
    return 0;
  }
  // By insertion: there are tens of samples, and <algorithm> costs 8,000 preprocessed lines.
  for (std::size_t i = 1; i < samples.size(); ++i) {
    const double value = samples[i];
    std::size_t at = i;
    for (; at > 0 && samples[at - 1] > value; --at) {
      samples[at] = samples[at - 1];
    }
    samples[at] = value;
  }
  const std::size_t middle = samples.size() / 2;
  return samples.size() % 2 == 1 ? samples[middle] : 0.5 * (samples[middle - 1] + samples[middle]);
}

/// Usage: `while (race.wants_warm_up()) race.add_warm_up(t); while (race.wants_sample())
/// race.add_sample(t);`
class Race {
 public:
  /// `best_ns` 0: nothing to race against, the candidate runs to the end.
  Race(const RacingPolicy& policy, double best_ns) : policy_(policy), best_ns_(best_ns) {}

  bool wants_warm_up() const {
    const bool is_warm = warm_ups_ > 0 && is_long(last_ns_);
    return !is_over_ && !is_warm && warm_ups_ < policy_.warm_up_calls;
  }
  void add_warm_up(double ns) {
    const double most = is_long(ns) ? policy_.stop_after_long_warm_up : policy_.stop_after_warm_up;
    if (warm_ups_ == 0 && loses(ns, most)) {
      samples_.push_back(ns);
      is_over_ = true;
    } else if (warm_ups_ == 0 && policy_.only_call_ns > 0 &&
               ns >= static_cast<double>(policy_.only_call_ns)) {
      samples_.push_back(ns);
      is_over_ = true;
      stage_ = RaceStage::single;
    } else if (warm_ups_ == 0 && is_long(ns)) {
      samples_.push_back(ns);
      spent_ns_ += ns;
      counted_ = 1;
    }
    ++warm_ups_;
    last_ns_ = ns;
  }

  bool wants_sample() const { return !is_over_; }
  void add_sample(double ns) {
    if (policy_.first_calls > 0) {
      const auto calls = static_cast<double>(calls_per_sample());
      const auto least = static_cast<double>(policy_.min_sample_ns);
      if (ns * calls < least && calls < 1e9) {
        const double enough = ns > 0 ? least / ns + 1 : 1e9, grown = 1.618 * calls;
        calls_ = static_cast<std::int64_t>(enough > grown ? enough : grown);
        return;
      }
    }
    samples_.push_back(ns);
    spent_ns_ += ns * static_cast<double>(calls_per_sample());
    last_ns_ = ns;
    const std::int32_t count = static_cast<std::int32_t>(samples_.size());
    if (count == 1 + counted_) {
      stage_ = RaceStage::single;
      is_over_ = counted_ > 0 ? loses(min_ns(), policy_.stop_after_long_single)
                              : loses(ns, policy_.stop_after_single);
    } else if (count == 1 + policy_.triple_calls) {
      stage_ = RaceStage::triple;
      is_over_ = loses(min_ns(), policy_.stop_after_triple);
    }
    const std::int64_t enough_ns = policy_.long_budget_ns > policy_.full_budget_ns
                                       ? policy_.long_budget_ns
                                       : policy_.full_budget_ns;
    if (!is_over_ && spent_ns_ >= static_cast<double>(enough_ns)) {
      // One slow call may be the machine's doing.
      const bool is_slow = loses(min_ns(), policy_.stop_after_triple);
      is_over_ = !is_slow || count > 1;
      stage_ = is_slow ? stage_ : RaceStage::full;
    }
    if (!is_over_ && count > 1 + policy_.triple_calls) {
      stage_ = RaceStage::full;
    }
    if (!is_over_ && count >= 1 + policy_.triple_calls) {
      is_over_ =
          count >= policy_.full_calls || spent_ns_ >= static_cast<double>(policy_.full_budget_ns);
      stage_ = is_over_ ? RaceStage::full : stage_;
    }
  }

  /// How many back-to-back calls the next sample takes; 1 for kernels that are long enough.
  std::int64_t calls_per_sample() const {
    if (policy_.first_calls > 0) {
      return calls_ > 0 ? calls_ : policy_.first_calls;
    }
    const double fill = static_cast<double>(policy_.min_sample_ns);
    if (last_ns_ <= 0 || last_ns_ >= fill) {
      return 1;
    }
    const double calls = last_ns_ < 1 ? fill + 1 : fill / last_ns_ + 1;
    return calls < 100'000 ? static_cast<std::int64_t>(calls) : 100'000;
  }

  RaceStage stage() const { return stage_; }
  const std::vector<double>& samples() const { return samples_; }
  double min_ns() const {
    double least = samples_.empty() ? 0 : samples_.front();
    for (const double sample : samples_) {
      least = sample < least ? sample : least;
    }
    return least;
  }
  double median_ns() const { return median_of(samples_); }

 private:
  bool is_long(double ns) const { return ns >= static_cast<double>(policy_.long_call_ns); }
  bool loses(double ns, double factor) const { return best_ns_ > 0 && ns > factor * best_ns_; }

  RacingPolicy policy_;
  double best_ns_;
  std::int32_t warm_ups_ = 0;
  std::int32_t counted_ = 0;  ///< of them
  double last_ns_ = 0;
  std::int64_t calls_ = 0;  ///< of the next sample, where they grow
  double spent_ns_ = 0;
  bool is_over_ = false;
  RaceStage stage_ = RaceStage::warm_up;
  std::vector<double> samples_;
};

}  // namespace tensorsmith
