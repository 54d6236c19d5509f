// SPDX-License-Identifier: Apache-2.0
// Finalists: the fastest few candidates of a run, among which its end chooses; trials as records.
//
// Private to lib/tune. Own design. Not here: the final ranking itself (Measurer).
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "tensorsmith/tune/driver.hpp"

namespace tensorsmith {

struct Finalist {
  State state;
  BuiltCandidate code;  ///< empty for a trial of an earlier run, until it is needed
  MeasureResult result;
  Record record;
};

/// Fewer steps are simpler; of as many, fewer packed copies.
inline std::int64_t complexity_of(const State& state) {
  std::int64_t packs = 0;
  for (const Step& step : state.steps()) {
    packs += std::holds_alternative<CacheReadStep>(step) ? 1 : 0;
  }
  return 1024 * static_cast<std::int64_t>(state.steps().size()) + packs;
}

/// A trial that ended at that moment, the next one of the run that `summary` is about.
inline Record trial_record(const Record& run, const TuneSummary& summary, const State& state,
                           const MeasureResult& result, double seconds) {
  Record record = run;
  record.round = summary.rounds;
  record.trial = summary.trials;
  record.steps = state.steps();
  record.status = result.status;
  record.is_verified = result.is_verified;
  record.min_ns = result.is_ok() ? result.min_ns : 0;
  record.median_ns = result.is_ok() ? result.median_ns : 0;
  record.message = result.message;
  record.seconds = seconds;
  return record;
}

/// So many of the trials of a budget, 0: it has none, and such a share of its seconds.
inline BudgetUse use_of(std::int64_t trials, std::int64_t all_trials, double share_of_seconds) {
  const double share =
      all_trials > 0 ? static_cast<double>(trials) / static_cast<double>(all_trials) : 0;
  return {std::max(share, share_of_seconds), trials, all_trials};
}

inline std::vector<Record> records_of(const std::vector<Finalist>& finalists) {
  std::vector<Record> records;
  for (const Finalist& one : finalists) {
    records.push_back(one.record);
  }
  return records;
}

/// Of a run with a budget of `all_seconds`, 0: no limit; without the best.
inline TuneProgress progress_of(const TuneSummary& summary, double seconds, double all_seconds) {
  TuneProgress progress;
  progress.seconds = seconds;
  progress.seconds_left = all_seconds > 0 ? std::max(0.0, all_seconds - seconds) : 0;
  progress.trials = summary.trials;
  progress.round = summary.rounds;
  progress.statuses = summary.statuses;
  progress.virtual_time = summary.virtual_time;
  return progress;
}

/// Puts one in by its time, the earlier of equals first; at most `capacity` stay.
inline void keep_fastest(std::vector<Finalist>& kept, Finalist one, std::size_t capacity) {
  const auto at = std::find_if(kept.begin(), kept.end(), [&](const Finalist& other) {
    return one.result.min_ns < other.result.min_ns;
  });
  if (at == kept.end() && kept.size() >= capacity) {
    return;
  }
  kept.insert(at, std::move(one));
  if (kept.size() > capacity) {
    kept.pop_back();
  }
}

/// Takes out what a final ranking found wrong, whoever else is there; why, or "".
inline std::string drop_wrong(std::vector<Finalist>& kept,
                              const std::vector<MeasureResult>& results) {
  std::string reason;
  for (std::size_t i = kept.size(); i-- > 0;) {
    const MeasureStatus status = i < results.size() ? results[i].status : MeasureStatus::ok;
    if (status == MeasureStatus::wrong_result || status == MeasureStatus::nan_result ||
        status == MeasureStatus::out_of_bounds) {
      reason = results[i].message;
      kept.erase(kept.begin() + static_cast<std::ptrdiff_t>(i));
    }
  }
  return reason;
}

/// What a run says of a ranking that nobody won, and why, if a result says so.
inline std::string failure_of(const std::vector<MeasureResult>& results) {
  const auto said = std::find_if(results.begin(), results.end(), [](const MeasureResult& result) {
    return !result.is_ok() && !result.message.empty();
  });
  const std::string why = said == results.end() ? "" : " (" + said->message + ")";
  return "the final ranking failed" + why + "; the fastest trial is taken as the best";
}

/// How many of them a ranking of that time can call as often as it must.
inline std::size_t num_rankable(const std::vector<Finalist>& kept, double seconds) {
  constexpr double least_calls = 4;  // of each: two to verify, two rounds
  double needed = 0;
  std::size_t fit = 0;
  while (fit < kept.size()) {
    needed += least_calls * kept[fit].result.min_ns * 1e-9;
    if (needed > seconds) {
      break;
    }
    ++fit;
  }
  return fit;
}

/// Which of them a final ranking chose before, with what it said about it.
inline std::optional<std::size_t> take_winner(std::vector<Finalist>& kept, const Record& winner) {
  const std::uint64_t wanted = hash_steps(winner.steps);
  for (std::size_t i = 0; i < kept.size(); ++i) {
    if (hash_steps(kept[i].state.steps()) == wanted) {
      kept[i].result.min_ns = winner.min_ns;
      kept[i].result.median_ns = winner.median_ns;
      kept[i].result.is_verified = winner.is_verified;
      return i;
    }
  }
  return std::nullopt;
}

}  // namespace tensorsmith
