// SPDX-License-Identifier: Apache-2.0
#include "tensorsmith/tune/replay.hpp"

#include <map>
#include <string>
#include <utility>

#include "tensorsmith/ops/workload.hpp"
#include "tensorsmith/sched/apply.hpp"
#include "tensorsmith/sched/bounds.hpp"
#include "tensorsmith/sched/explain_error.hpp"
#include "tensorsmith/support/error.hpp"
#include "tensorsmith/te/notation.hpp"
#include "tensorsmith/te/workload_key.hpp"

namespace tensorsmith {

namespace {

/// Schedules that searches make have a few hundred loops in all.
constexpr std::size_t most_loops = 2'000;

std::size_t num_loops(const State& state) {
  std::size_t count = 0;
  for (std::size_t stage = 0; stage < state.num_stages(); ++stage) {
    count += state.stage(stage).iterators.size();
  }
  return count;
}

/// Which workloads of a journal are a computation, whatever its tensors are called there.
class SameWorkloads {
 public:
  SameWorkloads(const ComputeDag& dag, std::string_view name)
      : dag_(dag), name_(name), key_(te::workload_key(dag)) {}

  bool operator()(const Record& record) {
    if (record.workload == name_ || record.workload_key == name_ || record.workload_key == key_) {
      return true;
    }
    const auto [known, is_new] = known_.emplace(record.workload, false);
    if (is_new && shapes_of(record.workload_key) == shapes_of(key_)) {
      const Result<ops::Workload, std::string> named = ops::parse_workload(record.workload);
      known->second = named && te::is_same_computation(*named->dag, dag_, te::Names::do_not_count);
    }
    return known->second;
  }

 private:
  /// What follows the hash in a key: the shapes of the arguments.
  static std::string_view shapes_of(std::string_view key) {
    const std::size_t comma = key.find(',');
    return comma == std::string_view::npos ? std::string_view() : key.substr(comma);
  }

  const ComputeDag& dag_;
  std::string_view name_;
  std::string key_;
  std::map<std::string, bool> known_;
};

}  // namespace

State replay_steps(const Shared<const ComputeDag>& dag, const std::vector<Step>& steps) {
  State state = State::initial(dag);
  for (const Step& step : steps) {
    Result<State, ScheduleError> next = apply_step(state, step);
    if (!next) {
      throw Error("the schedule does not apply: " + explain(next.error(), state));
    }
    state = std::move(next).value();
    if (num_loops(state) > most_loops) {
      throw Error("the schedule does not apply: step " + std::to_string(&step - steps.data()) +
                  " makes more than " + std::to_string(most_loops) + " loops");
    }
  }
  Result<State, ScheduleError> bounded = infer_bounds(state);
  if (!bounded) {
    throw Error("the schedule has no bounds: " + explain(bounded.error(), state));
  }
  return std::move(bounded).value();
}

std::optional<ReplayedRecord> best_replayed(const JournalContents& contents,
                                            const Shared<const ComputeDag>& dag,
                                            std::string_view workload, std::string_view target,
                                            std::int32_t num_threads,
                                            std::vector<std::string>& skipped) {
  std::optional<State> state;
  const auto applies = [&](const Record& record) {
    try {
      state = replay_steps(dag, record.steps);
      return true;
    } catch (const Error& error) {
      skipped.push_back("the record of trial " + std::to_string(record.trial) + " (seed " +
                        std::to_string(record.seed) + ") was skipped: " + error.what());
      return false;
    }
  };
  SameWorkloads is_same(*dag, workload);
  const auto is_wanted = [&](const Record& record) {
    return (target.empty() || record.target == target) &&
           (num_threads == 0 || record.num_threads == num_threads) && is_same(record);
  };
  std::optional<Record> best = best_record(contents, is_wanted, applies);
  if (!best) {
    return std::nullopt;
  }
  return ReplayedRecord{std::move(*best), std::move(*state)};
}

}  // namespace tensorsmith
