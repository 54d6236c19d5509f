// SPDX-License-Identifier: Apache-2.0
// requires: llvm json
#include <map>

#include "support/catch.hpp"
#include "tensorsmith/record/journal.hpp"
#include "unit/tune/tasks_fixtures.hpp"

using namespace tensorsmith;
using namespace tensorsmith::test;

TEST_CASE("tasks share the trials, all get some, the journal has every one") {
  SimulatedMeasurer measurer = simulated();
  TasksOptions options = options_with(measurer, 14);
  TasksJournal journal;
  options.tune.database = journal.path;
  std::size_t num_before = 0, num_after = 0;
  options.before_round = [&](const TasksProgress&) { ++num_before; };
  options.after_round = [&](const TasksProgress& progress) {
    ++num_after;
    CHECK(progress.scheduler.trials() == progress.trials);
  };
  const TasksResult result = tune_tasks(small_tasks(), options);
  REQUIRE(result.tasks.size() == 3);
  CHECK(result.trials == 14);
  CHECK(result.has_all());
  CHECK(result.order.size() >= 7);  // a round of two may find one program that is new
  CHECK(std::vector<std::size_t>(result.order.begin(), result.order.begin() + 3) ==
        std::vector<std::size_t>{0, 1, 2});
  CHECK(num_before == result.order.size());
  CHECK(num_after == result.order.size());
  CHECK_FALSE(result.is_cancelled);
  double sum = 0;
  for (const TuneResult& task : result.tasks) {
    CHECK(task.summary.trials >= 2);
    sum += task.summary.best_ns;
  }
  CHECK(result.weighted_ns == Approx(sum));

  const auto contents = read_journal(journal.path);
  REQUIRE(contents);
  std::map<std::string, std::int64_t> trials;
  for (const Record& record : contents->records) {
    ++trials[record.workload];
  }
  for (std::size_t i = 0; i < 3; ++i) {
    CHECK(trials[small_tasks()[i].task.workload] == result.tasks[i].summary.trials);
  }
}

TEST_CASE("round robin takes turns; the same seed takes the same order") {
  SimulatedMeasurer measurer = simulated();
  TasksOptions options = options_with(measurer, 12);
  options.schedule.strategy = TaskStrategy::round_robin;
  const std::vector<std::size_t> turns = tune_tasks(small_tasks(), options).order;
  CHECK(turns.size() >= 6);
  for (std::size_t i = 0; i < turns.size(); ++i) {
    CHECK(turns[i] == i % 3);
  }
  options.schedule.strategy = TaskStrategy::gradient;
  options.tune.budget.trials = 20;
  CHECK(tune_tasks(small_tasks(), options).order == tune_tasks(small_tasks(), options).order);
}

TEST_CASE("fastest: of ways to compute the same the one with the least time") {
  SimulatedMeasurer measurer = simulated();
  TasksOptions options = options_with(measurer, 12);
  options.schedule.strategy = TaskStrategy::fastest;
  const TasksResult result = tune_tasks(small_tasks(), options);
  REQUIRE(result.fastest() != nullptr);
  for (const TuneResult& task : result.tasks) {
    CHECK(result.fastest()->summary.best_ns <= task.summary.best_ns);
  }
  CHECK(TasksResult{}.fastest() == nullptr);
}

TEST_CASE("an interruption ranks with the operands of the task that is measured, or not at all") {
  /// Notes which tasks' candidates are measured and ranked with whose operands.
  class Watching final : public Measurer {
   public:
    Result<Done, MeasureFault> prepare(const MeasureTask& task) override {
      prepared_ = task.arguments[0].num_elements;
      return inner_.prepare(task);
    }
    std::vector<MeasureResult> measure(std::span<const CompiledCandidate> candidates,
                                       const MeasureContext& context) override {
      for (const CompiledCandidate& candidate : candidates) {
        sizes_[code_of(candidate)] = prepared_;
      }
      return inner_.measure(candidates, context);
    }
    RankingResult final_ranking(std::span<const CompiledCandidate> candidates,
                                const RankingPolicy& policy) override {
      for (const CompiledCandidate& candidate : candidates) {
        num_ranked += 1;
        num_wrong += sizes_.at(code_of(candidate)) == prepared_ ? 0 : 1;
      }
      return inner_.final_ranking(candidates, policy);
    }
    Result<Calibration, MeasureFault> calibrate() override { return inner_.calibrate(); }
    int num_ranked = 0, num_wrong = 0;

   private:
    static std::string code_of(const CompiledCandidate& candidate) {
      return std::string(reinterpret_cast<const char*>(candidate.object.data()),
                         candidate.object.size());
    }
    SimulatedMeasurer inner_ = simulated();
    std::int64_t prepared_ = 0;
    std::map<std::string, std::int64_t> sizes_;
  };
  for (const bool is_interrupted : {true, false}) {
    Watching measurer;
    TasksOptions options = options_with(measurer, 12);
    bool is_cancelled = false;
    options.tune.is_cancelled = [&] { return is_cancelled; };
    options.after_round = [&](const TasksProgress& progress) {
      is_cancelled = is_interrupted && progress.trials >= 6;
    };
    const TasksResult result = tune_tasks(small_tasks(), options);
    CAPTURE(is_interrupted);
    CHECK(result.is_cancelled == is_interrupted);
    CHECK(measurer.num_ranked > 0);
    CHECK(measurer.num_wrong == 0);
    for (const TuneResult& task : result.tasks) {
      CHECK(task.has_best());
    }
  }
}

TEST_CASE("an interruption keeps what there is, in the result and in the journal") {
  SimulatedMeasurer measurer = simulated();
  TasksOptions options = options_with(measurer, 60);
  TasksJournal journal;
  options.tune.database = journal.path;
  bool is_cancelled = false;
  options.tune.is_cancelled = [&] { return is_cancelled; };
  options.after_round = [&](const TasksProgress& progress) { is_cancelled = progress.trials >= 4; };
  const TasksResult result = tune_tasks(small_tasks(), options);
  CHECK(result.is_cancelled);
  CHECK(result.trials == 4);
  CHECK(result.tasks[0].has_best());
  CHECK(result.tasks[1].has_best());
  CHECK_FALSE(result.tasks[2].has_best());
  CHECK(result.tasks[2].summary.trials == 0);
  const auto contents = read_journal(journal.path);
  REQUIRE(contents);
  CHECK(contents->records.size() == 4);
}

TEST_CASE("a budget in seconds ends too") {
  SimulatedMeasurer measurer = simulated();
  TasksOptions options = options_with(measurer, 0);
  options.tune.budget.seconds = 0.5;
  const TasksResult result = tune_tasks(small_tasks(), options);
  // That it ends is the point. How far it comes depends on the machine.
  CHECK(result.tasks.size() == small_tasks().size());
  CHECK(result.tasks[0].has_best() == (result.tasks[0].summary.trials > 0));
  CHECK_FALSE(result.is_cancelled);
}

TEST_CASE("trials without progress end all tasks") {
  SimulatedMeasurer measurer([](const CompiledCandidate&) { return 1e4; });
  TasksOptions options = options_with(measurer, 200);
  options.tune.early_stopping = 8;
  const TasksResult result = tune_tasks(small_tasks(), options);
  CHECK(result.trials < 100);  // a trial may be the best by the noise of the simulated clock
  CHECK(result.has_all());
}

TEST_CASE("wrong arguments are refused") {
  SimulatedMeasurer measurer = simulated();
  CHECK(refusal({}, options_with(measurer, 3)) == "tune_tasks: there are no tasks");
  CHECK(refusal(small_tasks(), options_with(measurer, 2)) ==
        "tune_tasks: expected at least one trial per task, got 2 for 3 tasks");
  CHECK(refusal(small_tasks(), options_with(measurer, 0)).find("expected a budget") !=
        std::string::npos);
  auto tasks = small_tasks();
  tasks[1].weight = 0;
  CHECK(refusal(tasks, options_with(measurer, 3)).find("weight") != std::string::npos);
}
