// SPDX-License-Identifier: Apache-2.0
#include "tune/serial_twins.hpp"

#include <utility>
#include <variant>

#include "tensorsmith/search/serial_twin.hpp"

namespace tensorsmith {
namespace {

/// Cycles of a parallel loop beside its work, some microsecond: until the other threads have begun
/// and the last one is done. Drafts leave it out: it is the same for all programs with one.
constexpr double fork_cycles = 3000;

double num_forks(const State& state) {
  double count = 0;
  for (const Step& step : state.steps()) {
    const AnnotationStep* annotation = std::get_if<AnnotationStep>(&step);
    count += annotation != nullptr && annotation->annotation == Annotation::parallel ? 1 : 0;
  }
  return count;
}

}  // namespace

bool SerialTwins::is_new(const State& state) {
  return proposed_.insert(hash_steps(state.steps())).second;
}

std::optional<State> SerialTwins::next_twin(const State& of) {
  std::optional<State> twin = serial_twin(of);
  return twin && is_new(*twin) ? std::move(twin) : std::nullopt;
}

std::vector<State> SerialTwins::propose(std::size_t n) {
  std::vector<State> states = std::exchange(held_, {});
  if (n <= states.size()) {
    held_.assign(states.begin() + static_cast<std::ptrdiff_t>(n), states.end());
    states.erase(states.begin() + static_cast<std::ptrdiff_t>(n), states.end());
    return states;
  }
  n -= states.size();
  std::optional<State> twin = best_ ? next_twin(*best_) : std::nullopt;
  const bool is_first = std::exchange(is_first_, false);
  const std::size_t room = twin || (is_first && n > 1) ? 1 : 0;
  for (State& state : source_->propose(n - room)) {
    (void)is_new(state);
    states.push_back(std::move(state));
  }
  if (is_first && !states.empty()) {  // nothing is known yet: of the one that stands first
    twin = next_twin(states.front());
    if (room == 0 && twin) {
      const State& parallel = states.front();
      const bool is_better =
          draft_ && draft_(*twin) < draft_(parallel) + num_forks(parallel) * fork_cycles;
      if (!is_better) {
        return states;
      }
      held_.push_back(std::move(states.front()));
      states.clear();
    }
  }
  if (twin) {
    states.insert(states.begin() + (states.empty() ? 0 : 1), std::move(*twin));
  }
  return states;
}

void SerialTwins::observe(std::span<const TrialOutcome> outcomes) {
  for (const TrialOutcome& outcome : outcomes) {
    if (outcome.result.is_ok() && (best_ns_ <= 0 || outcome.result.min_ns < best_ns_)) {
      best_ns_ = outcome.result.min_ns;
      best_ = outcome.state;
    }
  }
  source_->observe(outcomes);
}

}  // namespace tensorsmith
