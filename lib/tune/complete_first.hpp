// SPDX-License-Identifier: Apache-2.0
// CompleteFirst: states that the caller made complete are candidates as they are.
//
// Private to lib/ and tests. Own design. They come before those of the source behind, which makes
// others of the same sketches; in instant mode, where one program is asked for, behind them. What
// that source proposed already is not proposed again here; what it proposes of these later is a
// trial more.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <unordered_set>
#include <utility>
#include <vector>

#include "tensorsmith/sched/bounds.hpp"
#include "tensorsmith/tune/driver.hpp"

namespace tensorsmith {

class CompleteFirst final : public CandidateSource {
 public:
  /// `is_last`: behind those of the source.
  CompleteFirst(std::unique_ptr<CandidateSource> source, std::vector<State> complete, bool is_last)
      : source_(std::move(source)), is_last_(is_last) {
    for (State& state : complete) {
      if (Result<State, ScheduleError> bounded = infer_bounds(state)) {
        complete_.push_back(std::move(bounded).value());
      }
    }
  }

  std::vector<State> propose(std::size_t n) override {
    std::vector<State> states = is_last_ ? source_->propose(n) : std::vector<State>();
    for (const State& state : states) {
      proposed_.insert(hash_steps(state.steps()));
    }
    while (states.size() < n && next_ < complete_.size() && (!is_last_ || states.empty())) {
      State& state = complete_[next_++];
      if (proposed_.insert(hash_steps(state.steps())).second) {
        states.push_back(std::move(state));
      }
    }
    return states.empty() && !is_last_ ? source_->propose(n) : states;
  }
  void observe(std::span<const TrialOutcome> outcomes) override { source_->observe(outcomes); }
  RankReport model_rank() const override { return source_->model_rank(); }
  void describe(TuneSummary& summary) const override { source_->describe(summary); }

 private:
  std::unique_ptr<CandidateSource> source_;
  bool is_last_;
  std::vector<State> complete_;
  std::size_t next_ = 0;
  std::unordered_set<std::uint64_t> proposed_;  ///< by hash_steps
};

}  // namespace tensorsmith
