// SPDX-License-Identifier: Apache-2.0
// Interleaved timing A B A B ... and the statistics of its pairs.
//
// Own design. Two numbers from different minutes of a shared machine are not comparable; two
// samples that follow each other are. Clock and contestants are parameters, so the tests run it on
// a synthetic clock. Not here: calibration (calibrate.hpp), what the contestants do.
#pragma once

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdint>
#include <functional>
#include <vector>

#include "tensorsmith/support/assert.hpp"

namespace tensorsmith::bench {

/// Nanoseconds of a monotonic clock.
struct SteadyClock {
  double operator()() const {
    return std::chrono::duration<double, std::nano>(
               std::chrono::steady_clock::now().time_since_epoch())
        .count();
  }
};

/// p in [0, 1]; linear interpolation between order statistics. Empty input is our bug.
inline double percentile(std::vector<double> values, double p) {
  TENSORSMITH_ASSERT(!values.empty() && p >= 0 && p <= 1,
                     "percentile needs values and 0 <= p <= 1");
  std::sort(values.begin(), values.end());
  const double position = p * static_cast<double>(values.size() - 1);
  const auto below = static_cast<std::size_t>(position);
  const std::size_t above = std::min(below + 1, values.size() - 1);
  const double weight = position - static_cast<double>(below);
  return values[below] + weight * (values[above] - values[below]);
}
inline double median(std::vector<double> values) { return percentile(std::move(values), 0.5); }

struct PairOptions {
  int pairs = 30;                  ///< rounds; fewer than 30 is not a result
  int warm_up = 2;                 ///< untimed calls of each contestant before
  double min_sample_ns = 200'000;  ///< calls are repeated until a sample lasts this long
  double max_total_ns = 0;  ///< stop early after this time, but never before 5 rounds; 0: none
  int warm_calls = 0;       ///< untimed calls of a contestant before each of its samples
  double warm_ns = 0;       ///< more of them until the turn has lasted this long
  std::function<void()> before_turn;  ///< runs before the untimed calls of every sample
  std::function<bool()> is_stopped;   ///< asked after every round; true ends the measurement
  /// Cold measurements: runs before every sample (evict the caches) and forces one call per sample.
  std::function<void()> before_sample;
};

struct ContestantTimes {
  std::vector<double> sample_ns;  ///< per call, one per round
  double median_ns = 0, min_ns = 0;
  int calls_per_sample = 1;
  double ratio = 1;  ///< median over rounds of time(i) / time(0); above 1: contestant 0 is faster
  double ratio_p10 = 1, ratio_p90 = 1;
  int slow_samples = 0;  ///< samples longer than twice the minimum: signs of a stolen core
};

/// Runs rounds of contestant 0, 1, 2, ..., 0, 1, 2, ... and compares within each round.
/// Contestant 0 is "ours".
template <class Clock = SteadyClock>
std::vector<ContestantTimes>
measure_interleaved(const std::vector<std::function<void()>>& contestants,
                    const PairOptions& options = {}, Clock clock = Clock{}) {
  TENSORSMITH_ASSERT(!contestants.empty() && options.pairs > 0, "nothing to measure");
  std::vector<ContestantTimes> times(contestants.size());
  for (std::size_t i = 0; i < contestants.size(); ++i) {
    for (int call = 0; call < options.warm_up; ++call)
      contestants[i]();
    if (options.before_sample) {
      continue;
    }
    double once = 0;  // the shorter of two calls decides how many make a sample
    for (int call = 0; call < 2; ++call) {
      const double begin = clock();
      contestants[i]();
      const double elapsed = clock() - begin;
      once = call == 0 ? elapsed : std::min(once, elapsed);
    }
    const double calls = std::ceil(options.min_sample_ns / std::max(once, 1.0));
    times[i].calls_per_sample = static_cast<int>(std::clamp(calls, 1.0, 1e6));
  }
  const double start = clock();
  for (int round = 0; round < options.pairs; ++round) {
    for (std::size_t i = 0; i < contestants.size(); ++i) {
      if (options.before_turn) {
        options.before_turn();
      }
      const double turn = options.warm_ns > 0 ? clock() : 0;
      for (int call = 0; call < options.warm_calls; ++call)
        contestants[i]();
      while (options.warm_ns > 0 && clock() - turn < options.warm_ns)
        contestants[i]();
      if (options.before_sample) {
        options.before_sample();
      }
      const double begin = clock();
      for (int call = 0; call < times[i].calls_per_sample; ++call)
        contestants[i]();
      times[i].sample_ns.push_back((clock() - begin) / times[i].calls_per_sample);
    }
    const bool out_of_time =
        options.max_total_ns > 0 && clock() - start > options.max_total_ns && round + 1 >= 5;
    if (out_of_time || (options.is_stopped && options.is_stopped())) {
      break;
    }
  }
  for (ContestantTimes& t : times) {
    t.median_ns = median(t.sample_ns);
    t.min_ns = *std::min_element(t.sample_ns.begin(), t.sample_ns.end());
    for (const double sample : t.sample_ns)
      t.slow_samples += sample > 2 * t.min_ns ? 1 : 0;
    std::vector<double> ratios;
    for (std::size_t round = 0; round < t.sample_ns.size(); ++round) {
      ratios.push_back(t.sample_ns[round] / std::max(times[0].sample_ns[round], 1e-3));
    }
    t.ratio = median(ratios);
    t.ratio_p10 = percentile(ratios, 0.1);
    t.ratio_p90 = percentile(ratios, 0.9);
  }
  return times;
}

/// Two contestants.
struct PairedResult {
  ContestantTimes ours, peer;
  double ratio = 1, ratio_p10 = 1, ratio_p90 = 1;  ///< peer's time / our time
  int pairs = 0;
};
template <class Clock = SteadyClock>
PairedResult measure_pairs(const std::function<void()>& ours, const std::function<void()>& peer,
                           const PairOptions& options = {}, Clock clock = Clock{}) {
  const std::vector<ContestantTimes> times = measure_interleaved({ours, peer}, options, clock);
  PairedResult result;
  result.ours = times[0];
  result.peer = times[1];
  result.ratio = times[1].ratio;
  result.ratio_p10 = times[1].ratio_p10;
  result.ratio_p90 = times[1].ratio_p90;
  result.pairs = static_cast<int>(times[0].sample_ns.size());
  return result;
}

}  // namespace tensorsmith::bench
