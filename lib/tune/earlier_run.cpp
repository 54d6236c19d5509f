// SPDX-License-Identifier: Apache-2.0
#include "tune/earlier_run.hpp"

#include <algorithm>
#include <utility>

#include "tensorsmith/record/journal.hpp"

namespace tensorsmith {

bool is_of_same_run(const Record& a, const Record& b) {
  return a.workload == b.workload && a.workload_key == b.workload_key && a.target == b.target &&
         is_of_same_machine(a, b) && a.space == b.space && a.policy == b.policy &&
         a.num_threads == b.num_threads && a.seed == b.seed;
}

KnownTrials EarlierRun::trials_like(const Record& like) {
  KnownTrials trials;
  for (std::size_t i = 0; i < records_.size(); ++i) {
    const Record& record = records_[i];
    if (!is_of_same_run(record, like)) {
      continue;
    }
    KnownTrial trial;
    trial.result.status = record.status;
    trial.result.is_verified = record.is_verified;
    trial.result.min_ns = record.min_ns;
    trial.result.median_ns = record.median_ns;
    trial.result.message = record.message;
    trial.seconds = record.seconds;
    trial.record = i;
    trials.insert_or_assign(hash_steps(record.steps), std::move(trial));
  }
  for (const auto& [steps, trial] : trials) {
    uses_[trial.record] = std::max(uses_[trial.record], Use::expected);
  }
  return trials;
}

std::optional<Record> EarlierRun::winner_like(const Record& like) const {
  const auto found = std::find_if(winners_.rbegin(), winners_.rend(), [&](const Record& record) {
    return is_of_same_run(record, like);
  });
  return found == winners_.rend() ? std::nullopt : std::optional<Record>(*found);
}

std::string EarlierRun::problem(const std::string& path) const {
  const auto count = [&](Use use) { return std::count(uses_.begin(), uses_.end(), use); };
  const auto num_missed = count(Use::expected), num_taken = count(Use::taken);
  if (is_wanted_ && num_missed + num_taken == 0) {
    return "there was no run to go on with: \"" + path +
           "\" holds no trial of these tasks, target, threads, space, policy and seed on this "
           "machine; the run began anew";
  }
  if (num_missed > 0) {
    return std::to_string(num_missed) + " of the " + std::to_string(num_missed + num_taken) +
           " trials of this run in \"" + path +
           "\" were not proposed again, so they were not used: the options or the version of the "
           "search differ, or lines of the file are missing";
  }
  return "";
}

}  // namespace tensorsmith
