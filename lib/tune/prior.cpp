// SPDX-License-Identifier: Apache-2.0
#include "tune/prior.hpp"

#include <algorithm>
#include <cmath>
#include <iterator>
#include <map>
#include <utility>
#include <variant>

#include "tune/earlier_run.hpp"

namespace tensorsmith {
namespace {

/// Of every solved task.
constexpr std::size_t most_of_task = 3;

void keep_fastest_of(std::vector<SolvedProgram>& kept, SolvedProgram one) {
  kept.push_back(std::move(one));
  std::stable_sort(kept.begin(), kept.end(),
                   [](const SolvedProgram& a, const SolvedProgram& b) { return a.ns < b.ns; });
  if (kept.size() > most_of_task) {
    kept.pop_back();
  }
}

/// Octaves between the extents that two histories split, one by one.
double extents_apart(const std::vector<Step>& a, const std::vector<Step>& b) {
  double sum = 0;
  std::size_t j = 0;
  for (const Step& step : a) {
    const SplitStep* one = std::get_if<SplitStep>(&step);
    while (one != nullptr && j < b.size() && !std::holds_alternative<SplitStep>(b[j])) {
      ++j;
    }
    if (one == nullptr || j == b.size()) {
      continue;
    }
    const auto other = static_cast<double>(std::get<SplitStep>(b[j++]).extent);
    const auto extent = static_cast<double>(one->extent);
    sum += extent > 0 && other > 0 ? std::abs(std::log2(extent / other)) : 0;
  }
  return sum;
}

}  // namespace

std::vector<SolvedProgram> solved_before(const std::vector<Record>& records,
                                         std::span<const Record> runs) {
  std::map<std::string, std::vector<SolvedProgram>> by_task;  // in an order that is always the same
  for (const Record& record : records) {
    if (std::any_of(runs.begin(), runs.end(),
                    [&](const Record& run) { return is_of_same_run(record, run); })) {
      break;
    }
    const Record& run = runs.front();
    const bool is_like = record.target == run.target && record.space == run.space &&
                         is_of_same_machine(record, run) && record.num_threads == run.num_threads;
    if (is_like && record.is_ok() && record.min_ns > 0 && !record.workload_key.empty()) {
      keep_fastest_of(by_task[record.workload_key],
                      {record.workload_key, record.steps, record.min_ns});
    }
  }
  std::vector<SolvedProgram> all;
  for (auto& [key, programs] : by_task) {
    std::move(programs.begin(), programs.end(), std::back_inserter(all));
  }
  return all;
}

std::vector<State> carried_over(const std::vector<SolvedProgram>& solved,
                                const std::string& workload_key,
                                const Callback<std::vector<State>(const std::vector<Step>&)>& carry,
                                std::size_t most) {
  struct Carried {
    double apart, ns;
    State state;
  };
  std::vector<Carried> carried;
  for (const SolvedProgram& program : solved) {
    if (program.workload_key == workload_key) {
      continue;
    }
    for (State& state : carry(program.steps)) {
      const double apart = extents_apart(program.steps, state.steps());
      carried.push_back({apart, program.ns, std::move(state)});
    }
  }
  std::stable_sort(carried.begin(), carried.end(), [](const Carried& a, const Carried& b) {
    return a.apart != b.apart ? a.apart < b.apart : a.ns < b.ns;
  });
  std::vector<State> states;
  std::unordered_set<std::uint64_t> known;
  for (Carried& one : carried) {
    if (states.size() < most && known.insert(hash_steps(one.state.steps())).second) {
      states.push_back(std::move(one.state));
    }
  }
  return states;
}

std::vector<State> Prior::propose(std::size_t n) {
  if (!std::exchange(is_asked_, true)) {
    waiting_ = programs_();
    std::reverse(waiting_.begin(), waiting_.end());
  }
  const auto room = static_cast<std::size_t>(share_ * static_cast<double>(n));
  std::vector<State> carried = known_->take_new(waiting_, room);
  std::vector<State> states = source().propose(n - carried.size());
  for (State& state : carried) {
    proposed_.insert(hash_steps(state.steps()));
    states.push_back(std::move(state));
  }
  return states;
}

void Prior::observe(std::span<const TrialOutcome> outcomes) {
  bool has_carried = false;
  for (const TrialOutcome& outcome : outcomes) {
    const bool is_carried = proposed_.count(hash_steps(outcome.state.steps())) > 0;
    has_carried = has_carried || is_carried;
    summary_.trials += is_carried ? 1 : 0;
    double& best = is_carried ? summary_.best_ns : others_ns_;
    const double ns = outcome.result.min_ns;
    best = outcome.result.is_ok() && (best <= 0 || ns < best) ? ns : best;
  }
  if (has_carried) {
    summary_.others_ns = others_ns_;
    if (others_ns_ > 0 && (summary_.best_ns <= 0 || others_ns_ < summary_.best_ns)) {
      summary_.is_dropped = summary_.is_dropped || !waiting_.empty();
      waiting_.clear();
    }
  }
  SourceLayer::observe(outcomes);
}

void Prior::describe(TuneSummary& summary) const {
  summary.prior = summary_;
  SourceLayer::describe(summary);
}

}  // namespace tensorsmith
