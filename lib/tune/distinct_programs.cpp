// SPDX-License-Identifier: Apache-2.0
#include "tune/distinct_programs.hpp"

namespace tensorsmith {
namespace {

/// Batches in a row of which nothing is new: the space is exhausted.
constexpr int most_batches = 8;

}  // namespace

std::vector<State> DistinctPrograms::propose(std::size_t n) {
  std::vector<State> fresh;
  for (int batch = 0; fresh.empty() && batch < most_batches; ++batch) {
    std::vector<State> states = source().propose(n);
    if (states.empty()) {
      break;
    }
    for (State& state : states) {
      std::vector<State>& to = known_->insert(state) ? fresh : repeated_;
      num_repeated_ += &to == &repeated_ ? 1 : 0;
      to.push_back(std::move(state));
    }
  }
  return fresh;
}

void DistinctPrograms::observe(std::span<const TrialOutcome> outcomes) {
  if (repeated_.empty()) {
    for (const TrialOutcome& outcome : outcomes) {
      known_->set_result(outcome.state, outcome.result);
    }
    source().observe(outcomes);
    return;
  }
  std::vector<TrialOutcome> all;
  for (const TrialOutcome& outcome : outcomes) {
    known_->set_result(outcome.state, outcome.result);
    all.push_back(outcome);
  }
  for (State& state : std::exchange(repeated_, {})) {
    if (const MeasureResult* result = known_->result_of(state)) {
      all.push_back({std::move(state), *result});
    }
  }
  source().observe(all);
}

void DistinctPrograms::describe(TuneSummary& summary) const {
  summary.num_equal_programs += num_repeated_;
  SourceLayer::describe(summary);
}

}  // namespace tensorsmith
