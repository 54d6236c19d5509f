// SPDX-License-Identifier: Apache-2.0
// How a candidate is timed: the racing protocol's numbers and those of the final ranking.
//
// Floor 6. Own design: bad candidates must cost three calls, good ones up to twenty,
// long ones two. Plain data;
// the decisions are in race.hpp, the running in the worker. All times are nanoseconds.
#pragma once

#include <cstdint>

namespace tensorsmith {

struct RacingPolicy {
  std::int32_t warm_up_calls = 2;
  /// A first warm-up call slower than this times the best ends the race: the call is the result.
  double stop_after_warm_up = 2.5;
  /// The same for long calls.
  double stop_after_long_warm_up = 1.5;
  /// A call of at least this time is a long one: what a first call costs beside is little of it, so
  /// that it warms up and counts, and it varies by a few percent, where short ones vary by a half.
  std::int64_t long_call_ns = 2'000'000;
  /// After one timed call: stop if slower than this times the best.
  double stop_after_single = 1.5;
  double stop_after_long_single = 1.15;  ///< the faster one of two long calls
  std::int32_t triple_calls = 3;
  /// After the triple: stop if the minimum is above this times the best.
  double stop_after_triple = 1.1;
  /// Survivors run until this many samples or this much time, whichever comes first.
  std::int32_t full_calls = 20;
  std::int64_t full_budget_ns = 10'000'000;
  /// Timed calls of that much together (and of full_budget_ns) say enough, however few they are:
  /// the final ranking times the best ones again. One call that is slower than the best is
  /// repeated.
  std::int64_t long_budget_ns = 20'000'000;
  /// A sample of a shorter kernel is the mean over as many back-to-back calls as fill this time.
  std::int64_t min_sample_ns = 20'000;

  /// The first call is the only one, and the result, if it takes at least this time; 0: never.
  std::int64_t only_call_ns = 0;

  /// Above 0: a sample takes this many calls, and one that is shorter than min_sample_ns is taken
  /// again with more (Ansor reference, ch. 8.3).
  std::int64_t first_calls = 0;

  /// Hard deadline of one call: timeout_factor * best, never below the floor; first_timeout_ns as
  /// long as no best is known, and twice as much after each call that it ended (after_timeouts).
  double timeout_factor = 4.0;
  std::int64_t timeout_floor_ns = 20'000'000;
  std::int64_t first_timeout_ns = 2'000'000'000;

  /// Verify the outputs (first call, and the last one of survivors) and the guard bands.
  bool verify = true;

  /// One good candidate is enough: a call that warms up, then no more than it takes to say how fast
  /// it is.
  static RacingPolicy instant() {
    RacingPolicy policy;
    policy.warm_up_calls = 1;
    policy.triple_calls = 0;
    policy.full_budget_ns = 2'000'000;
    policy.only_call_ns = 5'000'000;
    return policy;
  }

  /// As the reference times: one call that does not count, then three, or as many more as take
  /// 100 ms; nothing ends early but what hangs for 10 s.
  static RacingPolicy reference() {
    RacingPolicy policy;
    policy.warm_up_calls = 1;
    policy.stop_after_warm_up = policy.stop_after_single = policy.stop_after_triple = 1e30;
    policy.long_call_ns = INT64_MAX;
    policy.triple_calls = 0;
    policy.full_calls = 1;
    policy.min_sample_ns = 100'000'000;
    policy.first_calls = 3;
    policy.timeout_floor_ns = policy.first_timeout_ns = 10'000'000'000;
    return policy;
  }
};

struct RankingPolicy {
  std::int64_t budget_ns = 200'000'000;  ///< for all candidates together
  std::int32_t min_rounds = 2;           ///< rounds A B C ... even if the budget is spent
  std::int32_t max_rounds = 1000;
  bool is_cold_cache = false;  ///< evict arguments and workspace from the caches before each call
  std::int64_t calibrator_ns = 3'000'000;
  std::int64_t call_timeout_ns = 2'000'000'000;  ///< hard deadline of one call
  /// The ranking is given up after this long, and takes on no more candidates before, while it can
  /// still tell apart those that it has; 0: never.
  std::int64_t max_wall_ns = 0;
  /// Two medians closer than this fraction are a tie ...
  double tie_fraction = 0.005;
  /// ... and up to this one if the interval of their ratio says so (winner.hpp).
  double most_tied = 0.02;
};

/// The policy after so many calls that did not end in time, none having ended so far: candidates
/// that all take long are no faulty ones, and a slow machine gets its time.
inline RacingPolicy after_timeouts(RacingPolicy policy, std::int32_t num_timeouts) {
  constexpr std::int32_t most_doublings = 4;
  policy.first_timeout_ns <<= num_timeouts < most_doublings ? num_timeouts : most_doublings;
  return policy;
}

/// Deadline of one call in a race against `best_ns` (0: none known).
inline std::int64_t call_timeout_ns(const RacingPolicy& policy, double best_ns) {
  if (best_ns <= 0) {
    return policy.first_timeout_ns;
  }
  const double limit = policy.timeout_factor * best_ns;
  const double most = 3.6e12;
  if (limit > most) {
    return static_cast<std::int64_t>(most);
  }
  const std::int64_t rounded = static_cast<std::int64_t>(limit);
  return rounded < policy.timeout_floor_ns ? policy.timeout_floor_ns : rounded;
}

}  // namespace tensorsmith
