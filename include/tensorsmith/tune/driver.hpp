// SPDX-License-Identifier: Apache-2.0
// The driver of a tuning run: budget, pipelining of building and measuring, journal, cancellation,
// failures, curve, final ranking. It knows neither how candidates are found nor how they are built.
//
// Floor 10; compiled in lib/tune. Own design. One round: the source proposes states, a thread
// builds them in order, the caller's thread measures what is built, the source observes all results
// of the round in the order proposed. So what is proposed depends on the results alone, never on
// how fast building and measuring overlapped.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "tensorsmith/cost/ranking.hpp"
#include "tensorsmith/measure/measurer.hpp"
#include "tensorsmith/record/journal.hpp"
#include "tensorsmith/sched/state.hpp"
#include "tensorsmith/support/owned.hpp"
#include "tensorsmith/tune.hpp"
#include "tensorsmith/tune/candidate_builder.hpp"
#include "tensorsmith/tune/known_trials.hpp"

namespace tensorsmith {

/// One proposed state and what became of it.
struct TrialOutcome {
  State state;
  MeasureResult result;
};

/// How much of a budget is spent.
struct BudgetUse {
  double share = 0;  ///< 0..1, up to the last trial; of trials or seconds, whichever ends first
  std::int64_t trials = 0;      ///< so far
  std::int64_t all_trials = 0;  ///< of the budget; 0: no limit
};

/// Where states come from.
class CandidateSource {
 public:
  CandidateSource() = default;
  CandidateSource(const CandidateSource&) = delete;
  CandidateSource& operator=(const CandidateSource&) = delete;
  virtual ~CandidateSource() = default;
  /// At most n; none: the space is exhausted.
  virtual std::vector<State> propose(std::size_t n) = 0;
  /// In the order proposed; those that the end of the budget left out are missing.
  virtual void observe(std::span<const TrialOutcome> outcomes) = 0;
  /// As SearchPolicy::model_rank.
  virtual RankReport model_rank() const { return {}; }
  /// Said in front of every propose().
  virtual void spend(const BudgetUse& use) { (void)use; }
  /// What it did, at the end.
  virtual void describe(TuneSummary& summary) const { (void)summary; }
};

struct DriverOptions {
  TuneBudget budget;
  std::size_t round_size = 32;
  /// Rounds begin with so many and are an eighth of all trials from then on, up to round_size:
  /// early ones teach most. 0: all are of round_size.
  std::size_t first_round_size = 0;
  std::size_t num_ranked = 8;    ///< candidates of the final interleaved ranking
  double ranking_seconds = 0.3;  ///< kept free at the end of the budget for it
  /// Trials without a better one that end the run, once there is one; 0: no limit.
  std::int64_t early_stopping = 0;
  double build_limit_seconds = 5;  ///< a slower build is a failure
  double flop = 0;                 ///< of one call, for GFLOP/s
  std::int32_t num_threads = 1;
  /// Of candidates on a board that is simulated; nothing: seconds are real.
  std::optional<VirtualCost> virtual_cost;
  bool is_f32 = true;  ///< else the calibrated peak says nothing about the work
  /// One candidate that succeeds is enough: no calibration, no ranking, no other limit.
  bool is_instant = false;
  RacingPolicy racing;
  Record record_template;  ///< workload, target, space, policy, seed of every record
  /// Trials of an earlier run. They count as trials, are neither built nor measured again and not
  /// written to the journal again; so a run that was killed goes on as it would have.
  KnownTrials known;
  /// What the final ranking of that run chose, if it came to one: it is the best again if nothing
  /// new was measured.
  std::optional<Record> known_winner;
  /// Before one of them is counted.
  Callback<void(const KnownTrial&)> on_known;
  /// Before candidates that are none of them are measured.
  Callback<void()> before_unknown;
  /// Once, in front of the first use of the measurer: the first candidates are proposed and built
  /// while somebody else prepares it.
  Callback<void()> before_measuring;
  Callback<bool()> is_cancelled;
  Callback<void(const TuneProgress&)> on_progress;
  /// Seconds since the budget began; empty: the steady clock, which knows of no beginning.
  Callback<double()> clock;
  /// Of a budget that is not this run's alone; empty: it is.
  Callback<BudgetUse()> budget_use;

  /// Of the budget, for everything in front of the final ranking; without one very many.
  double search_seconds() const {
    const double all = budget.seconds, most = all - ranking_seconds;
    return all <= 0 ? 1e18 : most > all * 0.5 ? most : all * 0.5;
  }
};

struct DriverBest {
  State state;
  BuiltCandidate code;
  MeasureResult result;  ///< of the final ranking if it took place
};

struct DriverResult {
  std::optional<DriverBest> best;
  TuneSummary summary;
};

/// A run step by step, for callers with several of them. `options` is read at every step, so its
/// owner may move the limits in between.
class Driver {
 public:
  /// `journal` may be null. All must outlive it.
  Driver(CandidateSource& source, CandidateBuilder& builder, Measurer& measurer, Journal* journal,
         const DriverOptions& options);
  Driver(const Driver&) = delete;
  Driver& operator=(const Driver&) = delete;
  ~Driver();

  /// Once, before the first round.
  void begin();
  /// False: the budget is spent, or there is nothing more to propose.
  bool run_round();
  /// Final ranking and summary; nothing may follow.
  DriverResult finish();

  const TuneSummary& summary() const;   ///< so far
  double best_ns() const;               ///< 0: none yet
  double last_trial_seconds() const;    ///< when it was recorded; 0: none was
  std::vector<Record> fastest() const;  ///< the fastest few trials so far, best first

 private:
  class Impl;
  Owned<Impl> impl_;
};

/// All steps of one run.
DriverResult run_driver(CandidateSource& source, CandidateBuilder& builder, Measurer& measurer,
                        Journal* journal, const DriverOptions& options);

/// The steady clock in seconds.
double steady_seconds();

}  // namespace tensorsmith
