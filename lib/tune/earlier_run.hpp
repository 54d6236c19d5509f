// SPDX-License-Identifier: Apache-2.0
// EarlierRun: the trials that an ended run has left in the journal, for one that goes on with it.
//
// Private to lib/ and tests. Own design. The run is replayed, not restored: the same search
// proposes the same candidates again, their results come from the journal, and everything that
// depends on results (cost model, task scheduler, early stopping) is thereby as it was. Its time is
// spent too: the clock stands at what the journal says until something is measured that is not in
// it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "tensorsmith/measure/measurer.hpp"
#include "tensorsmith/record/record.hpp"
#include "tensorsmith/support/callback.hpp"
#include "tensorsmith/tune/known_trials.hpp"

namespace tensorsmith {

/// Seconds since a run began. Stands still while an earlier run is replayed.
class RunClock {
 public:
  /// `steady`: a clock that never goes back; `start`: what it said when the run began.
  RunClock(Callback<double()> steady, double start) : steady_(std::move(steady)), origin_(start) {}

  double now() const { return is_standing_ ? at_ : steady_() - origin_; }
  /// From 0 on, unless something has been measured already.
  void stand() {
    if (!is_standing_ && !has_run_) {
      is_standing_ = true;
      at_ = 0;
    }
  }
  /// Never back.
  void move_to(double seconds) {
    if (is_standing_) {
      at_ = seconds > at_ ? seconds : at_;
    } else if (seconds > now()) {
      origin_ = steady_() - seconds;
    }
  }
  /// Goes on from where it stands, for good.
  void run() {
    if (is_standing_) {
      origin_ = steady_() - at_;
    }
    is_standing_ = false;
    has_run_ = true;
  }

 private:
  Callback<double()> steady_;
  double origin_;
  double at_ = 0;
  bool is_standing_ = false;
  bool has_run_ = false;
};

/// Whether two trials are of runs with the same task, target, search and seed.
bool is_of_same_run(const Record& a, const Record& b);

class EarlierRun {
 public:
  EarlierRun() = default;
  /// A run that goes on with what these hold.
  explicit EarlierRun(std::vector<Record> records, std::vector<Record> winners = {})
      : records_(std::move(records)), winners_(std::move(winners)),
        uses_(records_.size(), Use::none), is_wanted_(true) {}

  /// Those of runs with the same task, target, search and seed as `like`; of a candidate that
  /// several of them tried the last one.
  KnownTrials trials_like(const Record& like);
  /// The last choice of a final ranking of such a run.
  std::optional<Record> winner_like(const Record& like) const;
  /// The run that goes on has come to that trial.
  void take(const KnownTrial& trial) { uses_[trial.record] = Use::taken; }
  /// One sentence on trials that the run which goes on has not come to; empty: there are none.
  std::string problem(const std::string& path) const;

 private:
  enum class Use : std::uint8_t { none, expected, taken };
  std::vector<Record> records_, winners_;
  std::vector<Use> uses_;
  bool is_wanted_ = false;
};

}  // namespace tensorsmith
