// SPDX-License-Identifier: Apache-2.0
// requires: json llvm
// Whole searches on a simulated board: no program is measured twice, the best one's neighbours are
// measured at the end, and one task learns from another.
#include <filesystem>
#include <set>

#include <unistd.h>

#include "support/catch.hpp"
#include "tensorsmith/ir/program_hash.hpp"
#include "tensorsmith/lower/lower.hpp"
#include "tensorsmith/ops/workload.hpp"
#include "tensorsmith/record/journal.hpp"
#include "tensorsmith/sched/bounds.hpp"
#include "tensorsmith/sched/replay.hpp"
#include "tensorsmith/tune.hpp"
#include "tensorsmith/tune_tasks.hpp"

using namespace tensorsmith;

namespace {

struct UniqueJournal {
  std::string path = (std::filesystem::temp_directory_path() /
                      ("tensorsmith_unique_" + std::to_string(::getpid()) + ".jsonl"))
                         .string();
  UniqueJournal() { std::filesystem::remove(path); }
  UniqueJournal(const UniqueJournal&) = delete;
  UniqueJournal& operator=(const UniqueJournal&) = delete;
  ~UniqueJournal() { std::filesystem::remove(path); }

  std::vector<Record> records() const {
    auto contents = read_journal(path);
    REQUIRE(contents.has_value());
    return std::move(contents->records);
  }
};

TuneTask simulated_task(const char* workload) {
  const auto built = ops::parse_workload(workload);
  REQUIRE(built.has_value());
  return {built->dag, *Target::from_name("sim:a100"), workload, built->nominal_flop};
}

TuneOptions small_search(const UniqueJournal& journal, std::int64_t trials) {
  TuneOptions options;
  options.budget = {0, trials};
  options.policy_params = {{"evolutionary_search_population", "24"},
                           {"evolutionary_search_num_iters", "1"},
                           {"sample_init_min_population", "16"}};
  options.cost_model = "random";
  options.round_size = 12;
  options.database = journal.path;
  return options;
}

}  // namespace

TEST_CASE("no two trials of a run lower to the same program", "[long]") {
  for (const char* workload : {"gemm:32x16x8:f32", "softmax:16x64"}) {
    INFO(workload);
    const UniqueJournal journal;
    const TuneTask task = simulated_task(workload);
    const TuneResult result = tune(task, small_search(journal, 60));
    std::set<ProgramHash> hashes;
    for (const Record& record : journal.records()) {
      const auto replayed = replay(task.dag, record.steps);
      REQUIRE(replayed.has_value());
      const auto state = infer_bounds(*replayed);
      REQUIRE(state.has_value());
      const auto program = lower(*state, task.target);
      REQUIRE(program.has_value());
      CHECK(hashes.insert(program_hash(*program)).second);
    }
    CHECK(hashes.size() == static_cast<std::size_t>(result.summary.trials));
    CHECK(result.summary.trials > 20);
  }
}

TEST_CASE("the end of a run measures neighbours, unless nobody wants it or it is the reference's") {
  const UniqueJournal journal;
  TuneOptions options = small_search(journal, 40);
  const TuneTask task = simulated_task("gemm:128x128x64:f32");
  const PolishSummary usual = tune(task, options).summary.polish;
  CHECK(usual.trials == 4);
  CHECK(usual.before_ns > 0);
  CHECK(usual.after_ns <= usual.before_ns);
  CHECK(usual.after_ns > 0);
  options.polish = 0.5;
  options.seed = 2;
  CHECK(tune(task, options).summary.polish.trials == 20);
  options.polish = 0;
  options.seed = 3;
  CHECK(tune(task, options).summary.polish.trials == 0);
  options.polish = std::nullopt;
  options.policy = options.space = "ansor";
  CHECK(tune(task, options).summary.polish.trials == 0);
}

TEST_CASE("a task learns from another one, and goes on as it began", "[long]") {
  const UniqueJournal journal;
  TuneOptions options = small_search(journal, 24);
  const TuneTask first = simulated_task("gemm:256x128x64:f32");
  const TuneTask second = simulated_task("gemm:128x256x128:f32");
  CHECK(tune(first, options).summary.prior.trials == 0);
  const TuneResult learned = tune(second, options);
  CHECK(learned.summary.prior.trials > 0);
  CHECK(learned.summary.prior.trials <= 8);
  CHECK(learned.summary.trials == 24);
  const std::size_t num_records = journal.records().size();
  CHECK(num_records == 48);

  options.resumes = true;  // all is there, also what it learned from, and nothing else
  for (const TuneTask& task : {second, first}) {
    const TuneResult again = tune(task, options);
    CHECK(again.summary.trials == 24);
    CHECK(again.summary.message.empty());
    CHECK(journal.records().size() == num_records);
  }
  options.resumes = false;
  options.seed = 9;
  options.prior = 0;
  CHECK(tune(second, options).summary.prior.trials == 0);
}

TEST_CASE("tasks of one run learn from each other", "[long]") {
  const UniqueJournal journal;
  TasksOptions options;
  options.tune = small_search(journal, 48);
  const std::vector<WeightedTask> tasks = {{simulated_task("gemm:256x128x64:f32"), 1},
                                           {simulated_task("gemm:128x256x128:f32"), 1}};
  const TasksResult result = tune_tasks(tasks, options);
  REQUIRE(result.has_all());
  CHECK(result.tasks[0].summary.prior.trials == 0);  // it was the first
  CHECK(result.tasks[1].summary.prior.trials > 0);
  const std::size_t num_records = journal.records().size();
  options.tune.resumes = true;
  const TasksResult again = tune_tasks(tasks, options);
  CHECK(again.order == result.order);
  CHECK(again.message.empty());
  CHECK(journal.records().size() == num_records);
}
