// requires: llvm json
#include "tensorsmith/tune_tasks.hpp"

#include <filesystem>
#include <fstream>
#include <map>
#include <set>

#include <unistd.h>

#include "support/catch.hpp"
#include "tensorsmith/measure/simulated.hpp"
#include "tensorsmith/record/journal.hpp"
#include "unit/sketch/sketch_fixtures.hpp"

using namespace tensorsmith;

namespace {

std::vector<WeightedTask> small_tasks() {
  std::vector<WeightedTask> tasks;
  for (std::int64_t size : {16, 24, 32}) {
    TuneTask task;
    task.dag = test::matmul_dag(size, size, size);
    task.target = Target::x86_64_v2();
    task.workload = "matmul " + std::to_string(size);
    task.flop = 2.0 * static_cast<double>(size * size * size);
    tasks.push_back({task, 1});
  }
  return tasks;
}

/// Any time that depends on the candidate alone.
SimulatedMeasurer simulated() {
  return SimulatedMeasurer([](const CompiledCandidate& candidate) {
    return 1e4 + static_cast<double>(candidate.id % 1000);
  });
}

struct TemporaryFile {
  TemporaryFile()
      : path((std::filesystem::temp_directory_path() /
              ("tensorsmith-tasks-" + std::to_string(::getpid()) + ".jsonl"))
                 .string()) {
    std::filesystem::remove(path);
  }
  ~TemporaryFile() { std::filesystem::remove(path); }
  std::string path;
};

TasksOptions options_with(Measurer& measurer, std::int64_t trials) {
  TasksOptions options;
  options.tune.budget = {0, trials};
  options.tune.measurer = &measurer;
  options.tune.verifies = false;
  options.tune.cost_model = "random";
  options.tune.round_size = 2;
  return options;
}

std::string refusal(const std::vector<WeightedTask>& tasks, const TasksOptions& options) {
  try {
    (void)tune_tasks(tasks, options);
  } catch (const Error& error) {
    return error.what();
  }
  return "";
}

}  // namespace

TEST_CASE("tasks share the trials, all get some, the journal has every one") {
  SimulatedMeasurer measurer = simulated();
  TasksOptions options = options_with(measurer, 14);
  TemporaryFile journal;
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
  CHECK(result.order.size() == 7);
  CHECK(std::vector<std::size_t>(result.order.begin(), result.order.begin() + 3) ==
        std::vector<std::size_t>{0, 1, 2});
  CHECK(num_before == 7);
  CHECK(num_after == 7);
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

TEST_CASE("a run of several tasks that was ended goes on as it would have") {
  const auto journaled = [](const std::string& path) {
    const auto contents = read_journal(path);
    REQUIRE(contents);
    std::vector<std::string> lines;
    for (const Record& record : contents->records) {
      lines.push_back(record.workload + " " + std::to_string(record.trial) + " " +
                      steps_to_text(record.steps) + " " + std::to_string(record.min_ns));
    }
    return lines;
  };
  const std::string models[] = {
#if defined(TENSORSMITH_HAS_EIGEN)
    "mlp",
#endif
    "random"
  };
  for (const std::string& model : models) {
    CAPTURE(model);
    TemporaryFile journal;
    SimulatedMeasurer measurer = simulated();
    TasksOptions options = options_with(measurer, 18);
    options.tune.cost_model = model;
    options.tune.database = journal.path;
    const TasksResult whole = tune_tasks(small_tasks(), options);
    const std::vector<std::string> expected = journaled(journal.path);
    REQUIRE(expected.size() == 18);

    // As it is after kill -9: the file ends in the middle of the eighth line.
    std::ifstream in(journal.path);
    std::string text, line;
    for (int i = 0; i < 8 && std::getline(in, line); ++i) {
      text += i < 7 ? line + "\n" : line.substr(0, line.size() / 2);
    }
    in.close();
    std::ofstream(journal.path, std::ios::trunc) << text;

    std::size_t num_measured = 0;
    SimulatedMeasurer rest([&](const CompiledCandidate& candidate) {
      ++num_measured;
      return 1e4 + static_cast<double>(candidate.id % 1000);
    });
    options.tune.measurer = &rest;
    options.tune.resumes = true;
    const TasksResult again = tune_tasks(small_tasks(), options);
    CHECK(again.order == whole.order);
    CHECK(again.trials == 18);
    CHECK(journaled(journal.path) == expected);
    CHECK(num_measured > 0);
    for (std::size_t i = 0; i < 3; ++i) {
      CHECK(again.tasks[i].steps == whole.tasks[i].steps);
    }
    // All there: nothing is left to be measured but the finalists.
    const auto before = journaled(journal.path);
    CHECK(tune_tasks(small_tasks(), options).order == whole.order);
    CHECK(journaled(journal.path) == before);
  }
  SimulatedMeasurer measurer = simulated();
  TasksOptions options = options_with(measurer, 6);
  options.tune.resumes = true;
  CHECK(refusal(small_tasks(), options).find("without a journal") != std::string::npos);
}

TEST_CASE("round robin takes turns; the same seed takes the same order") {
  SimulatedMeasurer measurer = simulated();
  TasksOptions options = options_with(measurer, 12);
  options.schedule.strategy = TaskStrategy::round_robin;
  CHECK(tune_tasks(small_tasks(), options).order == std::vector<std::size_t>{0, 1, 2, 0, 1, 2});
  options.schedule.strategy = TaskStrategy::gradient;
  options.tune.budget.trials = 20;
  CHECK(tune_tasks(small_tasks(), options).order == tune_tasks(small_tasks(), options).order);
}

TEST_CASE("an interruption keeps what there is, in the result and in the journal") {
  SimulatedMeasurer measurer = simulated();
  TasksOptions options = options_with(measurer, 60);
  TemporaryFile journal;
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
