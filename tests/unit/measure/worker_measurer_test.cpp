// SPDX-License-Identifier: Apache-2.0
// requires: llvm
#include "tensorsmith/measure/worker_measurer.hpp"

#include "support/catch.hpp"

#include <atomic>
#include <fstream>
#include <thread>

#include <unistd.h>

#include "worker_fixture.hpp"

using namespace tensorsmith;
using namespace tensorsmith::test;

namespace {

constexpr std::int64_t uneven_n = 1000;

MeasureContext quick() {
  MeasureContext context;
  context.racing.first_timeout_ns = 300'000'000;
  return context;
}

MeasureResult measure_one(Measurer& measurer, const CompiledCandidate& candidate,
                          const MeasureContext& context = quick()) {
  const auto results = measurer.measure(std::span(&candidate, 1), context);
  REQUIRE(results.size() == 1);
  return results[0];
}

struct Expectation {
  const char* entry;
  MeasureStatus status;
  const char* message;  // a part of it
};

}  // namespace

TEST_CASE("calls that all take long get twice as long") {
  TENSORSMITH_NEEDS(!zoo<uneven_n>().empty(), "no C compiler");
  WorkerMeasurer measurer(worker_options());
  REQUIRE(measurer.prepare(affine_task(uneven_n)).has_value());
  MeasureContext context;
  context.racing.first_timeout_ns = 40'000'000;
  const std::vector<CompiledCandidate> batch(2, candidate_of(zoo<uneven_n>(), "forever"));
  // Of a slow machine or a long kernel: nothing has ended yet, in this batch or before.
  for (std::int64_t timeout = context.racing.first_timeout_ns; timeout < 200'000'000;
       timeout *= 4) {
    const auto results = measurer.measure(batch, context);
    CHECK(name_of(results[0].status) == "run_timeout");
    CHECK(name_of(results[1].status) == "run_timeout");
    CHECK(results[0].wall_ns >= timeout);
    CHECK(results[1].wall_ns >= 2 * timeout);
  }
}

TEST_CASE("every way to fail is recognised, and the next measurement works") {
  TENSORSMITH_NEEDS(!zoo<uneven_n>().empty(), "no C compiler");
  const auto measurer = std::make_unique<WorkerMeasurer>(worker_options());
  const auto prepared = measurer->prepare(affine_task(uneven_n));
  REQUIRE(prepared.has_value());
  const Expectation expectations[] = {
      {"wrong", MeasureStatus::wrong_result, "first at 500"},
      {"unwritten", MeasureStatus::wrong_result, "never written"},
      {"nan_value", MeasureStatus::nan_result, "first at 3"},
      {"forever", MeasureStatus::run_timeout, "deadline"},
      {"null_write", MeasureStatus::crashed, "SIGSEGV on a write at 0x10"},
      {"bad_instruction", MeasureStatus::crashed, "SIGILL"},
      {"aborts", MeasureStatus::crashed, "SIGABRT"},
      {"exits", MeasureStatus::crashed, "code 0"},
      {"one_past", MeasureStatus::out_of_bounds, "0 bytes past the end of argument 'B'"},
      {"one_before", MeasureStatus::out_of_bounds, "before the start of argument 'B'"},
      {"far_before", MeasureStatus::out_of_bounds, "write 800000 bytes before argument 'B'"},
      {"reads_before", MeasureStatus::out_of_bounds, "read 800000 bytes before argument 'A'"},
      {"infinite", MeasureStatus::wrong_result, "first at 7"},
      {"overflows_stack", MeasureStatus::crashed, "SIGSEGV"},
      {"far_past", MeasureStatus::out_of_bounds, "write 20000 bytes past the end of argument 'B'"},
      {"reads_past", MeasureStatus::out_of_bounds, "read 256 bytes past the end of argument 'A'"},
      {"writes_input", MeasureStatus::out_of_bounds, "the input argument 'A'"},
      {"no_such_entry", MeasureStatus::load_error, "no_such_entry"},
  };
  for (const Expectation& expectation : expectations) {
    CAPTURE(expectation.entry);
    const MeasureResult bad =
        measure_one(*measurer, candidate_of(zoo<uneven_n>(), expectation.entry));
    CAPTURE(bad.message);
    CHECK(name_of(bad.status) == name_of(expectation.status));
    CHECK(bad.message.find(expectation.message) != std::string::npos);
    CHECK_FALSE(bad.is_verified);
    CHECK(bad.min_ns == 0);
    CHECK(bad.wall_ns > 0);
    const MeasureResult good = measure_one(*measurer, candidate_of(zoo<uneven_n>(), "good"));
    CAPTURE(good.message);
    CHECK(name_of(good.status) == "ok");
    CHECK(good.is_verified);
  }
}

TEST_CASE("a good kernel is timed in full and verified") {
  TENSORSMITH_NEEDS(!zoo<uneven_n>().empty(), "no C compiler");
  const auto measurer = std::make_unique<WorkerMeasurer>(worker_options());
  REQUIRE(measurer->prepare(affine_task(uneven_n)).has_value());
  for (const char* entry : {"good", "calls_library"}) {
    const MeasureResult result = measure_one(*measurer, candidate_of(zoo<uneven_n>(), entry));
    CAPTURE(entry, result.message);
    REQUIRE(result.is_ok());
    CHECK(result.is_verified);
    CHECK(result.stage == RaceStage::full);
    CHECK(result.runs() >= 4);
    CHECK(result.runs() <= 20);
    CHECK(result.min_ns > 0);
    CHECK(result.median_ns >= result.min_ns);
    CHECK(result.message.empty());
  }
}

TEST_CASE("a hopeless kernel is not run often") {
  TENSORSMITH_NEEDS(!zoo<uneven_n>().empty(), "no C compiler");
  const auto measurer = std::make_unique<WorkerMeasurer>(worker_options());
  REQUIRE(measurer->prepare(affine_task(uneven_n)).has_value());
  MeasureContext context = quick();
  context.best_ns = 1;  // whatever the machine: a thousand elements take longer than 4 ns
  const MeasureResult result =
      measure_one(*measurer, candidate_of(zoo<uneven_n>(), "slow"), context);
  CAPTURE(result.message);
  REQUIRE(result.is_ok());
  CHECK(result.stage == RaceStage::warm_up);
  CHECK(result.runs() == 1);
}

TEST_CASE("workspaces are given, poisoned and guarded") {
  TENSORSMITH_NEEDS(!zoo<uneven_n>().empty(), "no C compiler");
  const auto measurer = std::make_unique<WorkerMeasurer>(worker_options());
  REQUIRE(measurer->prepare(affine_task(uneven_n)).has_value());
  const std::int64_t bytes = 4 * uneven_n;
  CHECK(measure_one(*measurer, candidate_of(zoo<uneven_n>(), "workspace", bytes)).is_ok());
  const MeasureResult past =
      measure_one(*measurer, candidate_of(zoo<uneven_n>(), "past_workspace", bytes));
  CHECK(name_of(past.status) == "out_of_bounds");
  CHECK(past.message.find("the workspace") != std::string::npos);
  CHECK(measure_one(*measurer, candidate_of(zoo<uneven_n>(), "workspace", bytes)).is_ok());
  const MeasureResult before =
      measure_one(*measurer, candidate_of(zoo<uneven_n>(), "before_workspace", bytes));
  CHECK(name_of(before.status) == "out_of_bounds");
  CHECK(before.message.find("before the start of the workspace") != std::string::npos);
  // Right at first, wrong after some calls: seen because survivors are checked again.
  const MeasureResult drifting =
      measure_one(*measurer, candidate_of(zoo<uneven_n>(), "drifts", bytes));
  CHECK(name_of(drifting.status) == "wrong_result");
  const MeasureResult huge =
      measure_one(*measurer, candidate_of(zoo<uneven_n>(), "workspace", std::int64_t{1} << 43));
  CHECK(name_of(huge.status) == "load_error");
  CHECK(measure_one(*measurer, candidate_of(zoo<uneven_n>(), "good")).is_ok());
}

TEST_CASE("object code that cannot be linked is a load error") {
  TENSORSMITH_NEEDS(!zoo<uneven_n>().empty(), "no C compiler");
  const auto measurer = std::make_unique<WorkerMeasurer>(worker_options());
  REQUIRE(measurer->prepare(affine_task(uneven_n)).has_value());
  const std::vector<std::byte> garbage(5000, std::byte{0x42});
  const std::vector<std::byte> truncated(zoo<uneven_n>().begin(), zoo<uneven_n>().begin() + 700);
  const std::vector<std::byte> unresolved =
      compile_c("void no_such_function(void); KERNEL(good) { no_such_function(); }");
  REQUIRE_FALSE(unresolved.empty());
  for (const auto* object : {&garbage, &truncated, &unresolved}) {
    const MeasureResult bad = measure_one(*measurer, candidate_of(*object, "good"));
    CAPTURE(bad.message);
    CHECK(name_of(bad.status) == "load_error");
    CHECK_FALSE(bad.message.empty());
    CHECK(measure_one(*measurer, candidate_of(zoo<uneven_n>(), "good")).is_ok());
  }
  const MeasureResult none = measure_one(*measurer, candidate_of({}, "good"));
  CHECK(name_of(none.status) == "load_error");
  CHECK(measure_one(*measurer, candidate_of(unresolved, "good")).message.find("no_such_function") !=
        std::string::npos);
}

TEST_CASE("a batch is measured in order, with best-so-far carried along") {
  TENSORSMITH_NEEDS(!zoo<uneven_n>().empty(), "no C compiler");
  const auto measurer = std::make_unique<WorkerMeasurer>(worker_options());
  REQUIRE(measurer->prepare(affine_task(uneven_n)).has_value());
  std::vector<CompiledCandidate> batch;
  for (const char* entry : {"good", "forever", "wrong", "slow", "good", "null_write", "good"}) {
    batch.push_back(candidate_of(zoo<uneven_n>(), entry));
  }
  std::vector<std::size_t> order;
  MeasureContext context = quick();
  context.on_result = [&order](std::size_t index, const MeasureResult&) { order.push_back(index); };
  const auto results = measurer->measure(batch, context);
  REQUIRE(results.size() == batch.size());
  CHECK(order == std::vector<std::size_t>{0, 1, 2, 3, 4, 5, 6});
  CHECK(results[0].is_ok());
  CHECK(name_of(results[1].status) == "run_timeout");
  CHECK(name_of(results[2].status) == "wrong_result");
  CHECK(results[4].is_ok());
  CHECK(name_of(results[5].status) == "crashed");
  CHECK(results[6].is_ok());
  // "slow" is 2000 times slower than "good", so it loses or, at worst, runs into its deadline.
  CHECK((results[3].stage == RaceStage::warm_up || !results[3].is_ok()));

  context.on_result = [](std::size_t, const MeasureResult&) { throw 42; };
  CHECK_THROWS_AS(measurer->measure(batch, context), int);
  CHECK(measure_one(*measurer, batch[0]).is_ok());
}

TEST_CASE("several workers share a batch") {
  TENSORSMITH_NEEDS(!zoo<uneven_n>().empty(), "no C compiler");
  WorkerOptions options = worker_options();
  options.num_workers = 3;
  const auto measurer = std::make_unique<WorkerMeasurer>(options);
  REQUIRE(measurer->prepare(affine_task(uneven_n)).has_value());
  std::vector<CompiledCandidate> batch;
  for (int i = 0; i < 5; ++i) {
    for (const char* entry : {"good", "wrong", "null_write"}) {
      batch.push_back(candidate_of(zoo<uneven_n>(), entry));
    }
  }
  std::vector<int> reports(batch.size(), 0);
  MeasureContext context = quick();
  context.racing.first_timeout_ns = 30'000'000'000;  // sanitizers report a crash at leisure
  context.on_result = [&reports](std::size_t index, const MeasureResult&) { ++reports[index]; };
  const auto results = measurer->measure(batch, context);
  CHECK(reports == std::vector<int>(batch.size(), 1));
  for (std::size_t i = 0; i < results.size(); i += 3) {
    CHECK(name_of(results[i].status) == "ok");
    CHECK(name_of(results[i + 1].status) == "wrong_result");
    CHECK(name_of(results[i + 2].status) == "crashed");
  }
}

TEST_CASE("parallel kernels run on the worker's threads") {
  TENSORSMITH_NEEDS(!zoo<uneven_n>().empty(), "no C compiler");
  const auto measurer = std::make_unique<WorkerMeasurer>(worker_options());
  for (const std::int32_t threads : {2, 1, 3}) {
    REQUIRE(measurer->prepare(affine_task(uneven_n, threads)).has_value());
    const MeasureResult result = measure_one(*measurer, candidate_of(zoo<uneven_n>(), "parallel"));
    CAPTURE(threads, result.message);
    CHECK(result.is_ok());
    CHECK(result.is_verified);
  }
}

TEST_CASE("a thread of the pool that crashes or hangs is the candidate's fault too") {
  TENSORSMITH_NEEDS(!zoo<uneven_n>().empty(), "no C compiler");
  const auto measurer = std::make_unique<WorkerMeasurer>(worker_options());
  REQUIRE(measurer->prepare(affine_task(uneven_n, 3)).has_value());
  const auto crashed = measure_one(*measurer, candidate_of(zoo<uneven_n>(), "crashes_in_part"));
  CAPTURE(crashed.message);
  CHECK(name_of(crashed.status) == "crashed");
  CHECK(crashed.message.find("SIGSEGV") != std::string::npos);
  const auto hung = measure_one(*measurer, candidate_of(zoo<uneven_n>(), "hangs_in_part"));
  CAPTURE(hung.message);
  CHECK(name_of(hung.status) == "run_timeout");
  CHECK(measure_one(*measurer, candidate_of(zoo<uneven_n>(), "parallel")).is_ok());
}

TEST_CASE("as many threads as the largest machines have") {
  TENSORSMITH_NEEDS(!zoo<uneven_n>().empty(), "no C compiler");
  const auto measurer = std::make_unique<WorkerMeasurer>(worker_options());
  const auto prepared = measurer->prepare(affine_task(uneven_n, 512));
  CAPTURE(prepared ? "" : prepared.error().message);
  REQUIRE(prepared.has_value());
  const MeasureResult result =
      measure_one(*measurer, candidate_of(zoo<uneven_n>(), "parallel"), {});
  CAPTURE(result.message);
  CHECK(result.is_verified);
}

TEST_CASE("a stop flag drops what runs, a wall limit starts nothing more") {
  TENSORSMITH_NEEDS(!zoo<uneven_n>().empty(), "no C compiler");
  const auto measurer = std::make_unique<WorkerMeasurer>(worker_options());
  REQUIRE(measurer->prepare(affine_task(uneven_n)).has_value());
  const std::vector<CompiledCandidate> batch = {candidate_of(zoo<uneven_n>(), "forever"),
                                                candidate_of(zoo<uneven_n>(), "good")};
  std::atomic<bool> stop{false};
  MeasureContext context;
  context.is_stopped = [&stop] { return stop.load(); };
  context.racing.first_timeout_ns = 600'000'000'000;  // would take ten minutes
  std::thread stopper([&stop] {
    ::usleep(50'000);
    stop = true;
  });
  const auto results = measurer->measure(batch, context);
  stopper.join();
  CHECK(name_of(results[0].status) == "cancelled");
  CHECK(name_of(results[1].status) == "cancelled");

  context = quick();
  context.max_wall_ns = 1;
  const auto late = measurer->measure(batch, context);
  CHECK(name_of(late[0].status) == "cancelled");
  CHECK(measure_one(*measurer, batch[1]).is_ok());
}

TEST_CASE("the final ranking times candidates in turn and drops the bad") {
  TENSORSMITH_NEEDS(!zoo<uneven_n>().empty(), "no C compiler");
  const auto measurer = std::make_unique<WorkerMeasurer>(worker_options());
  REQUIRE(measurer->prepare(affine_task(uneven_n)).has_value());
  std::vector<CompiledCandidate> candidates;
  for (const char* entry : {"slow", "null_write", "good", "wrong", "forever", "one_past"}) {
    candidates.push_back(candidate_of(zoo<uneven_n>(), entry));
  }
  RankingPolicy policy;
  policy.budget_ns = 20'000'000;
  policy.call_timeout_ns = 300'000'000;
  for (const bool is_cold : {false, true}) {
    policy.is_cold_cache = is_cold;
    const RankingResult ranking = measurer->final_ranking(candidates, policy);
    REQUIRE(ranking.results.size() == candidates.size());
    CHECK(ranking.winner == 2);
    CHECK(name_of(ranking.results[0].status) == "ok");
    CHECK(name_of(ranking.results[1].status) == "crashed");
    CHECK(name_of(ranking.results[3].status) == "wrong_result");
    CHECK(name_of(ranking.results[4].status) == "run_timeout");
    CHECK(name_of(ranking.results[5].status) == "out_of_bounds");
    CHECK(ranking.results[0].runs() == ranking.results[2].runs());
    CHECK(ranking.results[2].runs() >= 1);
    CHECK(ranking.results[0].median_ns > ranking.results[2].median_ns);
    CHECK(ranking.min_peak_gflops > 0);
    CHECK(ranking.max_peak_gflops >= ranking.min_peak_gflops);
  }
  CHECK(measurer->final_ranking({}, policy).winner == RankingResult::no_winner);
}

TEST_CASE("calibration works before any task") {
  const auto measurer = std::make_unique<WorkerMeasurer>(worker_options());
  const auto calibration = measurer->calibrate();
  REQUIRE(calibration.has_value());
  CHECK(calibration->peak_gflops_f32 > 0.1);
  CHECK(calibration->vector_bits >= 128);
}

TEST_CASE("mistakes of the caller have clear answers") {
  const auto measurer = std::make_unique<WorkerMeasurer>(worker_options());
  const std::vector<CompiledCandidate> one(1);
  CHECK(measurer->measure(one, quick())[0].message == "no task was prepared");
  MeasureTask task = affine_task(4);
  task.arguments[1].reference.pop_back();
  const auto prepared = measurer->prepare(task);
  REQUIRE_FALSE(prepared.has_value());
  CHECK(prepared.error().message == "argument 'B': reference has 15 bytes, expected 16");

  WorkerOptions options;
  options.worker_path = "/no/such/worker";
  const auto missing = WorkerMeasurer(options).prepare(affine_task(4));
  REQUIRE_FALSE(missing.has_value());
  CHECK(missing.error().status == MeasureStatus::worker_lost);
  CHECK(missing.error().message.find("/no/such/worker") != std::string::npos);

  // A program that is no worker: it ends without a hello.
  options.worker_path = "/bin/true";
  const auto wrong = WorkerMeasurer(options).prepare(affine_task(4));
  REQUIRE_FALSE(wrong.has_value());
  CHECK(wrong.error().message.find("did not start") != std::string::npos);
}

TEST_CASE("references may follow when the inputs are there, of some rows") {
  TENSORSMITH_NEEDS(!zoo<uneven_n>().empty(), "no C compiler");
  const auto measurer = std::make_unique<WorkerMeasurer>(worker_options());
  MeasureTask task = affine_task(uneven_n);
  const std::vector<std::byte> reference = std::move(task.arguments[1].reference);
  task.arguments[1].reference.clear();
  REQUIRE(measurer->prepare(task));
  const MeasureResult unverified = measure_one(*measurer, candidate_of(zoo<uneven_n>(), "good"));
  CHECK(unverified.is_ok());
  CHECK_FALSE(unverified.is_verified);
  task.arguments[1].reference = reference;
  REQUIRE(measurer->prepare(task));
  CHECK(measure_one(*measurer, candidate_of(zoo<uneven_n>(), "good")).is_verified);
  const MeasureResult wrong = measure_one(*measurer, candidate_of(zoo<uneven_n>(), "wrong"));
  CHECK(wrong.status == MeasureStatus::wrong_result);

  // Elements 300 to 302: the wrong one, 500, is not among them, that the last is missing is seen.
  const auto from = reference.begin() + 300 * static_cast<std::ptrdiff_t>(sizeof(float));
  task.arguments[1].reference.assign(from, from + 3 * static_cast<std::ptrdiff_t>(sizeof(float)));
  task.arguments[1].reference_rows = {1, uneven_n, 300, 1, 3};
  REQUIRE(measurer->prepare(task));
  CHECK(measure_one(*measurer, candidate_of(zoo<uneven_n>(), "wrong")).is_verified);
  const MeasureResult unwritten =
      measure_one(*measurer, candidate_of(zoo<uneven_n>(), "unwritten"));
  CHECK(unwritten.status == MeasureStatus::wrong_result);

  // Other inputs are drawn anew.
  task = affine_task(uneven_n);
  task.input_seed = 8;
  REQUIRE(measurer->prepare(task));
  const MeasureResult other = measure_one(*measurer, candidate_of(zoo<uneven_n>(), "good"));
  CHECK(other.status == MeasureStatus::wrong_result);
}
