// SPDX-License-Identifier: Apache-2.0
#include "tune/polish.hpp"

#include <algorithm>
#include <utility>

#include "tensorsmith/support/rng.hpp"

namespace tensorsmith {
namespace {

/// A round of neighbours: a better one among them is to be the next centre soon.
constexpr std::size_t most_at_once = 16;

}  // namespace

void Polish::spend(const BudgetUse& use) {
  use_ = use;
  SourceLayer::spend(use);
}

void Polish::turn_to_best() {
  is_turned_ = true;
  waiting_ = options_.neighbours(best_.front());
  CounterRng rng(options_.seed, 0x70, num_turns_++);
  rng.shuffle(waiting_);
}

std::vector<State> Polish::propose(std::size_t n) {
  proposed_.clear();
  const double kept = 1 - options_.share;
  const auto first = static_cast<std::int64_t>(kept * static_cast<double>(use_.all_trials) + 0.5);
  const bool is_by_trials = use_.all_trials > 0 && use_.trials < first;
  if (!has_begun() && best_ns_ > 0 && use_.share >= kept && !is_by_trials) {
    begins_at_ns_ = best_ns_;
  }
  if (!has_begun()) {
    return source().propose(
        is_by_trials ? std::min(n, static_cast<std::size_t>(first - use_.trials)) : n);
  }
  if (!is_turned_) {
    turn_to_best();
  }
  proposed_ = known_->take_new(waiting_, std::min(n, most_at_once));
  return proposed_.empty() ? source().propose(n) : proposed_;
}

void Polish::observe(std::span<const TrialOutcome> outcomes) {
  for (const TrialOutcome& outcome : outcomes) {
    const std::uint64_t steps = hash_steps(outcome.state.steps());
    const bool is_neighbour = std::any_of(proposed_.begin(), proposed_.end(), [&](const State& s) {
      return hash_steps(s.steps()) == steps;
    });
    num_trials_ += is_neighbour ? 1 : 0;
    if (!outcome.result.is_ok()) {
      continue;
    }
    const double ns = outcome.result.min_ns;
    if (is_neighbour && (polished_ns_ <= 0 || ns < polished_ns_)) {
      polished_ns_ = ns;
    }
    if (best_ns_ <= 0 || ns < best_ns_) {
      best_ns_ = ns;
      best_.assign(1, outcome.state);
      is_turned_ = false;
    }
  }
  SourceLayer::observe(outcomes);
}

void Polish::describe(TuneSummary& summary) const {
  summary.polish.trials += num_trials_;
  summary.polish.before_ns = begins_at_ns_;
  summary.polish.after_ns =
      polished_ns_ > 0 ? std::min(begins_at_ns_, polished_ns_) : begins_at_ns_;
  SourceLayer::describe(summary);
}

}  // namespace tensorsmith
