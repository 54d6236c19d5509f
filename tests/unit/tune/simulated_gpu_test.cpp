// SPDX-License-Identifier: Apache-2.0
// requires: json llvm
// The whole search for a GPU that is simulated: sketches, sampling, evolution, lowering, the
// latency model as the device, journal; with faults of every kind.
#include <algorithm>
#include <cstdlib>
#include <filesystem>

#include <unistd.h>

#include "lib/tune/gpu.hpp"
#include "support/catch.hpp"
#include "tensorsmith/ops/workload.hpp"
#include "tensorsmith/record/journal.hpp"
#include "tensorsmith/tune.hpp"
#include "tensorsmith/tune_tasks.hpp"

using namespace tensorsmith;

namespace {

TuneTask gpu_task(const char* workload, const char* target = "sim:a100") {
  const auto built = ops::parse_workload(workload);
  REQUIRE(built.has_value());
  return TuneTask{built->dag, *Target::from_name(target), workload, built->nominal_flop};
}

constexpr std::int64_t least_trials = test::scaled(32) == 32 ? 32 : 12;

/// Few trials of a small population.
TuneOptions quick(std::int64_t trials = least_trials) {
  TuneOptions options;
  options.budget = {0, trials};
  options.policy_params = {{"evolutionary_search_population", "32"},
                           {"evolutionary_search_num_iters", "2"},
                           {"sample_init_min_population", "16"}};
  options.cost_model = "random";
  options.round_size = 16;
  return options;
}

struct GpuJournalFile {
  std::string path = (std::filesystem::temp_directory_path() /
                      ("tensorsmith_gpu_" + std::to_string(::getpid()) + ".jsonl"))
                         .string();
  GpuJournalFile() { std::filesystem::remove(path); }
  ~GpuJournalFile() { std::filesystem::remove(path); }
};

std::string tune_refusal(const TuneTask& task, const TuneOptions& options) {
  try {
    (void)tune(task, options);
  } catch (const Error& error) {
    return error.what();
  }
  return "";
}

}  // namespace

TEST_CASE("a result says what the draft and the model of a search were worth") {
  constexpr std::int64_t num_rounds = least_trials == 32 ? 6 : 3;
  TuneOptions options = quick(10 * num_rounds);
  options.policy = "pruner";
  options.round_size = 10;
  const TuneResult result = tune(gpu_task("gemm:256x256x256:f32"), options);
  REQUIRE(result.summary.guards.size() == 2);
  std::int64_t num_without = 0;
  for (const GuardReport& guard : result.summary.guards) {
    CHECK((guard.name == "draft" || guard.name == "model"));
    CHECK(guard.num_with > 0);
    CHECK(std::abs(guard.advantage) <= 1);
    num_without += guard.is_given_up || guard.times_given_up > 0 ? 1 : guard.num_without;
  }
  CHECK(num_without >= num_rounds / 2);
  options = quick(8);
  CHECK(tune(gpu_task("gemm:64x64x64:f32"), options).summary.guards.empty());
}

TEST_CASE("a product, a convolution and a softmax are tuned on a board that is not there",
          "[long]") {
  for (const char* workload :
       {"gemm:256x256x256:f32", "conv2d:n=1,h=14,w=14,ci=32,co=32,k=3,s=1,p=1", "softmax:64x256"}) {
    INFO(workload);
    const TuneResult result = tune(gpu_task(workload), quick());
    REQUIRE(result.has_best());
    CHECK(result.summary.trials == least_trials);
    CHECK(result.summary.statuses[static_cast<std::size_t>(MeasureStatus::ok)] == least_trials);
    CHECK_FALSE(result.summary.is_verified);
    CHECK(result.summary.curve.front().best_ns >= result.summary.curve.back().best_ns / 1.1);
    CHECK(result.summary.peak_fraction > 0);
    CHECK(result.summary.peak_fraction < 1);
    // The program that won is a kernel of blocks and threads, and its time is that of the model.
    const auto latency = latency_on_board(result.state(), result.task.target);
    REQUIRE(latency.has_value());
    CHECK(latency->kernels.front().work.num_threads > 1);
    CHECK(result.summary.best_ns == test::Approx(latency->ns).epsilon(0.1));
    const std::string text = result.explain();
    CHECK(text.find("blocks of") != std::string::npos);
    CHECK(text.find("thread_x") != std::string::npos);
    CHECK_THROWS_AS(result.kernel(), Error);
    CHECK(result.source().find("extern \"C\" __global__") != std::string::npos);
  }
}

TEST_CASE("the same seed finds the same schedule, another board another time") {
  const TuneResult one = tune(gpu_task("gemm:128x128x128:f32"), quick());
  const TuneResult again = tune(gpu_task("gemm:128x128x128:f32"), quick());
  CHECK(hash_steps(one.steps) == hash_steps(again.steps));
  CHECK(one.summary.best_ns == again.summary.best_ns);
  TuneOptions other = quick();
  other.seed = 7;
  const TuneResult different = tune(gpu_task("gemm:128x128x128:f32"), other);
  CHECK(different.summary.curve.front().best_ns != one.summary.curve.front().best_ns);
  CHECK(tune(gpu_task("gemm:128x128x128:f32", "sim:orin"), quick()).summary.best_ns !=
        one.summary.best_ns);
}

TEST_CASE("a run on a simulated board says what it would have taken on the board") {
  TuneOptions options = quick(24);
  options.simulated.cost = {10, 5, 3, 2};
  std::vector<double> seen;
  options.on_progress = [&](const TuneProgress& progress) {
    seen.push_back(progress.virtual_time.count());
  };
  const TuneSummary summary = tune(gpu_task("gemm:128x128x128:f32"), options).summary;
  const double own = summary.propose_seconds + summary.train_seconds;
  // Every trial ran, for less than three seconds.
  // What the search waited for a core is not counted.
  CHECK(summary.virtual_time.count() > 24 * 18);
  CHECK(summary.virtual_time.count() <= (24 * 18 + own) * (1 + 1e-9));
  CHECK(summary.curve.back().virtual_time == summary.virtual_time);
  CHECK(std::is_sorted(seen.begin(), seen.end()));
  for (std::size_t i = 1; i < summary.curve.size(); ++i) {
    CHECK(summary.curve[i].virtual_time >= summary.curve[i - 1].virtual_time);
  }
}

TEST_CASE("the reference's space and policy run on a simulated board too") {
  TuneOptions options = quick(16);
  options.space = options.policy = "ansor";
  const TuneResult result = tune(gpu_task("gemm:128x128x128:f32", "sim:t4"), options);
  CHECK(result.has_best());
  CHECK(result.summary.trials == 16);
}

TEST_CASE("every fault of a device is survived, named, and in the journal") {
  for (const SimulatedFault& fault : simulated_faults) {
    INFO(fault.name);
    const GpuJournalFile file;
    TuneOptions options = quick(24);
    options.simulated.faults.*fault.probability = 0.4;
    options.database = file.path;
    const TuneResult result = tune(gpu_task("gemm:128x128x128:f32"), options);
    REQUIRE(result.has_best());
    const auto count = [&](MeasureStatus status) {
      return result.summary.statuses[static_cast<std::size_t>(status)];
    };
    CHECK(result.summary.trials == 24);
    const auto journal = read_journal(file.path);
    REQUIRE(journal.has_value());
    std::int64_t num_named = 0;
    for (const Record& record : journal->records) {
      CHECK(record.target == "sim:a100");
      CHECK(record.cpu == "simulated");
      num_named += record.message.find(fault.name) != std::string::npos ? 1 : 0;
    }
    CHECK(num_named >= 3);
    if (fault.status == MeasureStatus::ok) {
      CHECK(result.summary.num_repeated == num_named);
      CHECK(count(MeasureStatus::ok) == 24);
    } else {
      CHECK(count(fault.status) == num_named);
      CHECK(count(MeasureStatus::ok) == 24 - num_named);
      CHECK(result.summary.first_failure.find(fault.name) != std::string::npos);
    }
  }
}

TEST_CASE("a device that fails always ends the run without a winner") {
  TuneOptions options = quick(40);
  options.simulated.faults.worker_lost = 1;
  const TuneResult result = tune(gpu_task("gemm:128x128x128:f32"), options);
  CHECK_FALSE(result.has_best());
  CHECK(result.summary.trials < 40);
  CHECK(result.summary.message.find("no worker survives") != std::string::npos);
}

TEST_CASE("what cannot be tuned is refused with what to do") {
  CHECK(tune_refusal(gpu_task("gemm:64x64x64:f32", "a100"), quick()).find("sim:a100") !=
        std::string::npos);
  CHECK(tune_refusal(gpu_task("gemm:64x64x64:f32", "sm_80"), quick()).find("simulated") !=
        std::string::npos);
  TuneOptions instant = quick(0);
  instant.space = "ansor";
  CHECK(tune_refusal(gpu_task("gemm:64x64x64:f32"), instant).find("no analytic model") !=
        std::string::npos);
  TasksOptions tasks;
  tasks.tune = quick();
  const std::vector<WeightedTask> mixed = {{gpu_task("gemm:64x64x64:f32"), 1},
                                           {gpu_task("gemm:64x64x64:f32", "sim:t4"), 1}};
  CHECK_THROWS_AS(tune_tasks(mixed, tasks), Error);
}

TEST_CASE("instant mode takes the program with the best draft") {
  const TuneResult instant = tune(gpu_task("gemm:256x256x256:f32"), quick(0));
  REQUIRE(instant.has_best());
  CHECK(instant.summary.trials == 1);
  // A few dozen trials of random programs find nothing that is twice as fast.
  CHECK(instant.summary.best_ns <
        2 * tune(gpu_task("gemm:256x256x256:f32"), quick()).summary.best_ns);
}

TEST_CASE("several tasks share a simulated board", "[long]") {
  TasksOptions options;
  options.tune = quick(32);
  const TasksResult result =
      tune_tasks({{gpu_task("gemm:128x128x128:f32"), 1}, {gpu_task("softmax:64x256"), 2}}, options);
  REQUIRE(result.tasks.size() == 2);
  CHECK(result.tasks[0].has_best());
  CHECK(result.tasks[1].has_best());
  CHECK(result.trials == 32);
}
