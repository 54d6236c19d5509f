// SPDX-License-Identifier: Apache-2.0
// requires: llvm json
// Runs of several tasks that were ended and go on: as they would have, with what has been spent.
#include <algorithm>
#include <fstream>

#include "support/catch.hpp"
#include "tensorsmith/record/journal.hpp"
#include "unit/tune/tasks_fixtures.hpp"

using namespace tensorsmith;
using namespace tensorsmith::test;

namespace {

/// Trials of a journal, without what depends on the hour.
std::vector<std::string> journaled_trials(const std::string& path) {
  const auto contents = read_journal(path);
  REQUIRE(contents);
  std::vector<std::string> lines;
  for (const Record& record : contents->records) {
    lines.push_back(record.workload + " " + std::to_string(record.trial) + " " +
                    steps_to_text(record.steps) + " " + std::to_string(record.min_ns));
  }
  return lines;
}

std::vector<std::string> file_lines(const std::string& path) {
  std::ifstream in(path);
  std::vector<std::string> lines;
  for (std::string line; std::getline(in, line);) {
    lines.push_back(line);
  }
  return lines;
}

void write_lines(const std::string& path, const std::vector<std::string>& lines) {
  std::ofstream out(path, std::ios::trunc);
  for (const std::string& line : lines) {
    out << line << "\n";
  }
}

/// What the scheduler of a run has come to.
struct SchedulerState {
  std::vector<std::int64_t> rounds, trials;
  std::vector<double> best, gradients;
  std::vector<bool> is_dead;
  bool operator==(const SchedulerState&) const = default;
};

SchedulerState state_of(const TaskScheduler& scheduler) {
  SchedulerState state;
  for (std::size_t i = 0; i < scheduler.num_tasks(); ++i) {
    state.rounds.push_back(scheduler.rounds(i));
    state.trials.push_back(scheduler.trials(i));
    state.best.push_back(scheduler.best_seconds(i));
    state.gradients.push_back(scheduler.rounds(i) > 0 ? scheduler.gradient(i) : 0);
    state.is_dead.push_back(scheduler.is_dead(i));
  }
  return state;
}

}  // namespace

TEST_CASE("a run of several tasks that was ended goes on as it would have") {
  const std::string models[] = {
    "draft",
#if defined(TENSORSMITH_HAS_EIGEN)
    "mlp",
#endif
#if defined(TENSORSMITH_HAS_XGB)
    "xgb",
#endif
    "random"
  };
  for (const std::string& model : models) {
    CAPTURE(model);
    TasksJournal journal;
    SimulatedMeasurer measurer = simulated();
    TasksOptions options = options_with(measurer, 18);
    options.tune.cost_model = model;
    options.tune.database = journal.path;
    const TasksResult whole = tune_tasks(small_tasks(), options);
    const std::vector<std::string> expected = journaled_trials(journal.path);
    REQUIRE(expected.size() == 18);

    // As it is after kill -9: the file ends in the middle of the eighth line.
    std::vector<std::string> lines = file_lines(journal.path);
    lines.resize(8);
    const std::string torn = lines.back().substr(0, lines.back().size() / 2);
    lines.pop_back();
    write_lines(journal.path, lines);
    std::ofstream(journal.path, std::ios::app) << torn;

    std::size_t num_measured = 0;
    SimulatedMeasurer rest([&](const CompiledCandidate& candidate) {
      ++num_measured;
      return time_by_id(candidate);
    });
    options.tune.measurer = &rest;
    options.tune.resumes = true;
    const TasksResult again = tune_tasks(small_tasks(), options);
    CHECK(again.order == whole.order);
    CHECK(again.trials == 18);
    CHECK(again.message ==
          "1 line(s) of \"" + journal.path + "\" are no records; the first is line 8");
    CHECK(journaled_trials(journal.path) == expected);
    CHECK(num_measured > 0);
    for (std::size_t i = 0; i < 3; ++i) {
      CHECK(again.tasks[i].steps == whole.tasks[i].steps);
    }
    // All there: nothing is left to be measured but the finalists.
    const auto before = journaled_trials(journal.path);
    CHECK(tune_tasks(small_tasks(), options).order == whole.order);
    CHECK(journaled_trials(journal.path) == before);
  }
  SimulatedMeasurer measurer = simulated();
  TasksOptions options = options_with(measurer, 6);
  options.tune.resumes = true;
  CHECK(refusal(small_tasks(), options).find("without a journal") != std::string::npos);
}

TEST_CASE("ended after any round, the scheduler goes on from where it was", "[long]") {
  for (const TaskStrategy strategy :
       {TaskStrategy::gradient, TaskStrategy::round_robin, TaskStrategy::fastest}) {
    CAPTURE(static_cast<int>(strategy));
    // Few different times: the best one is found soon, and the task is given up.
    SimulatedDevice exact;
    exact.noise = 0;
    exact.hiccups = 0;
    SimulatedMeasurer measurer(
        [](const CompiledCandidate& candidate) {
          return 1e4 + 1e3 * static_cast<double>(candidate.id % 5);
        },
        exact);
    TasksJournal journal;
    TasksOptions options = options_with(measurer, 24);
    options.tune.database = journal.path;
    options.schedule.strategy = strategy;
    options.schedule.task_early_stopping = 2;
    std::vector<SchedulerState> states;  // after each round
    options.after_round = [&](const TasksProgress& progress) {
      states.push_back(state_of(progress.scheduler));
    };
    const TasksResult whole = tune_tasks(small_tasks(), options);
    const std::vector<SchedulerState> expected = states;
    const std::vector<std::string> trials = journaled_trials(journal.path);
    REQUIRE(expected.size() == whole.order.size());
    REQUIRE(expected.size() > 5);
    CHECK(std::count(expected.back().is_dead.begin(), expected.back().is_dead.end(), true) > 0);

    for (std::size_t rounds = 1; rounds < expected.size(); rounds += 8 / scaled(4)) {
      CAPTURE(rounds);
      std::filesystem::remove(journal.path);
      bool is_cancelled = false;
      options.tune.resumes = false;
      options.tune.is_cancelled = [&] { return is_cancelled; };
      states.clear();
      options.after_round = [&](const TasksProgress& progress) {
        states.push_back(state_of(progress.scheduler));
        is_cancelled = states.size() == rounds;
      };
      REQUIRE(tune_tasks(small_tasks(), options).is_cancelled);
      REQUIRE(journaled_trials(journal.path).size() < trials.size());

      options.tune.resumes = true;
      options.tune.is_cancelled = {};
      states.clear();
      options.after_round = [&](const TasksProgress& progress) {
        states.push_back(state_of(progress.scheduler));
      };
      const TasksResult again = tune_tasks(small_tasks(), options);
      CHECK(again.order == whole.order);
      CHECK(again.trials == whole.trials);
      CHECK(states == expected);
      CHECK(journaled_trials(journal.path) == trials);
      CHECK(again.message.empty());
    }
  }
}

TEST_CASE("ended in the middle of a large round, the rest of it is made") {
  TasksJournal journal;
  SimulatedMeasurer measurer = simulated();
  TasksOptions options = options_with(measurer, 66);
  options.tune.round_size = 22;
  options.tune.database = journal.path;
  const TasksResult whole = tune_tasks(small_tasks(), options);
  const std::vector<std::string> expected = journaled_trials(journal.path);
  std::vector<std::string> lines = file_lines(journal.path);
  REQUIRE(expected.size() == 66);
  lines.resize(33);
  write_lines(journal.path, lines);
  options.tune.resumes = true;
  const TasksResult again = tune_tasks(small_tasks(), options);
  CHECK(again.order == whole.order);
  CHECK(journaled_trials(journal.path) == expected);
}

TEST_CASE("damage and other runs in a journal are told and left alone") {
  TasksJournal journal;
  SimulatedMeasurer measurer = simulated();
  TasksOptions options = options_with(measurer, 18);
  options.tune.database = journal.path;
  const TasksResult whole = tune_tasks(small_tasks(), options);
  const std::vector<std::string> lines = file_lines(journal.path);
  REQUIRE(lines.size() >= 18);

  // Ten trials, of which the third is damaged, and between them those of another seed and of
  // another machine.
  std::vector<std::string> mixed(lines.begin(), lines.begin() + 10);
  mixed[2].resize(mixed[2].size() / 2);
  Record other = *record_from_line(lines[0]);
  other.seed = 77;
  other.min_ns = other.median_ns = 1;
  mixed.insert(mixed.begin() + 4, record_to_line(other));
  other.seed = options.tune.seed;
  other.cpu = "another";
  mixed.insert(mixed.begin() + 6, record_to_line(other));
  mixed.insert(mixed.begin() + 8, "{\"v\":\"tensorsmith-1\",\"workload\":7}");
  write_lines(journal.path, mixed);

  options.tune.resumes = true;
  const TasksResult again = tune_tasks(small_tasks(), options);
  CHECK(again.order == whole.order);
  CHECK(again.trials == 18);
  CHECK(again.message ==
        "2 line(s) of \"" + journal.path + "\" are no records; the first is line 3");
  const std::vector<std::string> after = file_lines(journal.path);
  REQUIRE(after.size() > mixed.size());
  CHECK(std::equal(mixed.begin(), mixed.end(), after.begin()));
  CHECK(journaled_trials(journal.path).size() == 18 + 2);  // the damaged one was made again

  // Nothing of this run: it begins anew, and says so.
  write_lines(journal.path, {record_to_line(other)});
  const TasksResult anew = tune_tasks(small_tasks(), options);
  CHECK(anew.order == whole.order);
  CHECK(anew.message.find("there was no run to go on with") != std::string::npos);
  CHECK(journaled_trials(journal.path).size() == 1 + 18);
}

TEST_CASE("trials that other options do not come to again are counted in the message") {
  TasksJournal journal;
  SimulatedMeasurer measurer = simulated();
  TasksOptions options = options_with(measurer, 18);
  options.tune.database = journal.path;
  (void)tune_tasks(small_tasks(), options);
  const std::vector<std::string> before = file_lines(journal.path);
  options.tune.resumes = true;
  options.tune.budget.trials = 6;
  const TasksResult shorter = tune_tasks(small_tasks(), options);
  CHECK(shorter.trials == 6);
  CHECK(shorter.message == "12 of the 18 trials of this run in \"" + journal.path +
                               "\" were not proposed again, so they were not used: the options "
                               "or the version of the search differ, or lines of the file are "
                               "missing");
  const std::vector<std::string> after = file_lines(journal.path);
  CHECK(std::equal(before.begin(), before.end(), after.begin()));
}

TEST_CASE("seconds that an ended run has spent are not there again") {
  TasksJournal journal;
  SimulatedMeasurer measurer = simulated();
  TasksOptions options = options_with(measurer, 18);
  options.tune.database = journal.path;
  options.tune.budget.seconds = 1000;
  const TasksResult whole = tune_tasks(small_tasks(), options);
  REQUIRE(whole.trials == 18);

  // The same run, at whose twelfth trial all its time was over.
  std::vector<std::string> lines;
  double seconds = 0;
  for (const std::string& line : file_lines(journal.path)) {
    Result<Record, RecordError> record = record_from_line(line);
    if (record && lines.size() < 12) {
      record->seconds = lines.size() < 11 ? seconds += 80 : 1000;
      lines.push_back(record_to_line(*record));
    }
  }
  REQUIRE(lines.size() == 12);
  write_lines(journal.path, lines);
  options.tune.resumes = true;
  const TasksResult over = tune_tasks(small_tasks(), options);
  CHECK(over.trials == 12);
  CHECK(over.seconds >= 1000);
  CHECK(over.has_all());
  CHECK(journaled_trials(journal.path).size() == 12);

  // Without its last trial it has 120 s left, and takes up at 880 s.
  lines.pop_back();
  write_lines(journal.path, lines);
  CHECK(tune_tasks(small_tasks(), options).order == whole.order);
  const auto contents = read_journal(journal.path);
  REQUIRE(contents);
  REQUIRE(contents->records.size() == 18);
  for (std::size_t i = 11; i < 18; ++i) {
    CHECK(contents->records[i].seconds >= 880);
    CHECK(contents->records[i].seconds < 1000);
  }
}
