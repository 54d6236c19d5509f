// SPDX-License-Identifier: Apache-2.0
// requires: json
#include "tensorsmith/tune/driver.hpp"

#include <atomic>
#include <csignal>
#include <cstring>
#include <filesystem>
#include <memory>
#include <thread>

#include <sys/resource.h>
#include <unistd.h>

#include "support/catch.hpp"
#include "tensorsmith/measure/simulated.hpp"

using namespace tensorsmith;

namespace {

Shared<const ComputeDag> one_axis_dag() {
  auto pool = make_shared_of<ExprPool>();
  const VarId i = pool->new_var("i");
  const TensorId a{0}, b{1};
  Operation in, out;
  in.kind = OperationKind::placeholder;
  in.name = "A";
  in.axes = {{i, 64}};
  in.outputs = {a};
  out.name = "B";
  out.axes = {{i, 64}};
  out.outputs = {b};
  out.bodies = {pool->add(pool->read(a, DType::f32, {pool->var(i)}), pool->float_imm(1))};
  TensorInfo ta, tb;
  ta.name = "A";
  ta.shape = {64};
  tb.name = "B";
  tb.shape = {64};
  return make_shared_of<const ComputeDag>(pool, std::vector<TensorInfo>{ta, tb},
                                          std::vector<Operation>{in, out},
                                          std::vector<TensorId>{a, b});
}

/// Proposes states that differ in one number; keeps what it is told.
class CountingSource final : public CandidateSource {
 public:
  explicit CountingSource(std::int64_t limit = 1 << 30) : dag_(one_axis_dag()), limit_(limit) {}
  std::vector<State> propose(std::size_t n) override {
    std::vector<State> states;
    for (; n > 0 && next_ < limit_; --n) {
      State state = State::initial(dag_);
      state.mutable_steps().push_back(
          PragmaStep{1, 0, "auto_unroll_max_step$" + std::to_string(next_++)});
      states.push_back(std::move(state));
    }
    return states;
  }
  void observe(std::span<const TrialOutcome> outcomes) override {
    observed_rounds.push_back(outcomes.size());
    for (const TrialOutcome& outcome : outcomes) {
      observed.push_back(outcome);
    }
  }
  std::vector<std::size_t> observed_rounds;
  std::vector<TrialOutcome> observed;

 private:
  Shared<const ComputeDag> dag_;
  std::int64_t limit_;
  std::int64_t next_ = 0;
};

std::int64_t number_of(const State& state) {
  const std::string& text = std::get<PragmaStep>(state.steps().front()).hint.text();
  return std::stoll(text.substr(text.find('$') + 1));
}

/// The "object code" is the state's number. Every `fail_every`-th build fails.
class FakeBuilder final : public CandidateBuilder {
 public:
  explicit FakeBuilder(std::int64_t fail_every = 0) : fail_every_(fail_every) {}
  Result<BuiltCandidate, MeasureFault> build(const State& state) override {
    ++num_builds;
    const std::int64_t number = number_of(state);
    if (fail_every_ > 0 && number % fail_every_ == 0) {
      return fail(MeasureFault{MeasureStatus::compile_error, "no luck"});
    }
    BuiltCandidate built;
    built.object.resize(8);
    std::memcpy(built.object.data(), &number, 8);
    built.entry = "kernel";
    return built;
  }
  std::atomic<std::int64_t> num_builds{0};

 private:
  std::int64_t fail_every_;
};

std::int64_t number_of(const CompiledCandidate& candidate) {
  std::int64_t number = 0;
  std::memcpy(&number, candidate.object.data(), 8);
  return number;
}

/// Fastest at number 77.
SimulatedMeasurer measurer_with(const SimulatedFaults& faults = {}) {
  SimulatedDevice device;
  device.faults = faults;
  return SimulatedMeasurer(
      [](const CompiledCandidate& candidate) {
        const double off = static_cast<double>(number_of(candidate) - 77);
        return 1e5 + 1e3 * off * off;
      },
      device);
}

DriverOptions trials(std::int64_t count) {
  DriverOptions options;
  options.budget.seconds = 0;
  options.budget.trials = count;
  options.flop = 1e6;
  options.record_template.workload = "test";
  return options;
}

struct TemporaryJournal {
  TemporaryJournal() {
    path = (std::filesystem::temp_directory_path() /
            ("tensorsmith-driver-" + std::to_string(::getpid()) + ".jsonl"))
               .string();
    std::filesystem::remove(path);
  }
  ~TemporaryJournal() { std::filesystem::remove(path); }
  std::string path;
};

}  // namespace

TEST_CASE("the driver spends exactly the trials it may and finds the fastest") {
  CountingSource source;
  FakeBuilder builder;
  SimulatedMeasurer measurer = measurer_with();
  const DriverResult result = run_driver(source, builder, measurer, nullptr, trials(100));
  CHECK(result.summary.trials == 100);
  CHECK(source.observed_rounds == std::vector<std::size_t>{32, 32, 32, 4});
  REQUIRE(result.best);
  CHECK(number_of(result.best->state) == 77);
  CHECK(result.summary.best_ns == test::Approx(1e5).epsilon(0.1));
  CHECK(result.summary.gflops == test::Approx(1e6 / result.summary.best_ns));
  CHECK(result.summary.peak_fraction == test::Approx(result.summary.gflops / 100));
  CHECK(result.summary.is_verified);
  CHECK_FALSE(result.summary.is_cancelled);
  REQUIRE(result.summary.curve.size() >= 2);
  for (std::size_t i = 2; i < result.summary.curve.size(); ++i) {
    CHECK(result.summary.curve[i].trial > result.summary.curve[i - 1].trial);
  }
}

TEST_CASE("rounds may begin small and grow with the trials") {
  CountingSource source;
  FakeBuilder builder;
  SimulatedMeasurer measurer = measurer_with();
  DriverOptions options = trials(100);
  options.first_round_size = 8;
  options.round_size = 12;
  CHECK(run_driver(source, builder, measurer, nullptr, options).summary.trials == 100);
  CHECK(source.observed_rounds == std::vector<std::size_t>{8, 8, 8, 8, 8, 8, 8, 8, 8, 9, 10, 9});
}

TEST_CASE("instant mode takes the first candidate that succeeds and measures no other") {
  CountingSource source;
  FakeBuilder builder(2);  // number 0 fails
  SimulatedMeasurer measurer = measurer_with();
  DriverOptions options = trials(0);
  options.is_instant = true;
  const DriverResult result = run_driver(source, builder, measurer, nullptr, options);
  CHECK(result.summary.trials == 2);
  CHECK(builder.num_builds == 2);
  REQUIRE(result.best);
  CHECK(number_of(result.best->state) == 1);
  CHECK(result.summary.is_verified);
  CHECK(result.summary.best_ns > 0);
  CHECK(result.summary.peak_fraction == 0);  // not calibrated

  CountingSource hopeless;
  FakeBuilder never(1);
  const DriverResult none = run_driver(hopeless, never, measurer, nullptr, options);
  CHECK_FALSE(none.best);
  CHECK(none.summary.trials == 8);
}

TEST_CASE("results come back in the order proposed, build failures among them") {
  CountingSource source;
  FakeBuilder builder(7);
  SimulatedFaults faults;
  faults.crash = 0.1;
  faults.wrong_result = 0.1;
  SimulatedMeasurer measurer = measurer_with(faults);
  const DriverResult result = run_driver(source, builder, measurer, nullptr, trials(90));
  REQUIRE(source.observed.size() == 90);
  std::int64_t failed_builds = 0, others = 0;
  for (std::size_t i = 0; i < 90; ++i) {
    CHECK(number_of(source.observed[i].state) == static_cast<std::int64_t>(i));
    const bool failed = source.observed[i].result.status == MeasureStatus::compile_error;
    CHECK(failed == (i % 7 == 0));
    failed_builds += failed ? 1 : 0;
    others += !failed && !source.observed[i].result.is_ok() ? 1 : 0;
  }
  const auto count = [&](MeasureStatus status) {
    return result.summary.statuses[static_cast<std::size_t>(status)];
  };
  CHECK(count(MeasureStatus::compile_error) == failed_builds);
  CHECK(count(MeasureStatus::crashed) > 0);
  CHECK(count(MeasureStatus::wrong_result) > 0);
  CHECK(count(MeasureStatus::crashed) + count(MeasureStatus::wrong_result) == others);
  CHECK(result.summary.first_failure == "compile_error: no luck");
}

TEST_CASE("every trial is in the journal, failures included") {
  TemporaryJournal file;
  CountingSource source;
  FakeBuilder builder(5);
  SimulatedMeasurer measurer = measurer_with();
  Result<Journal, RecordError> journal = Journal::open(file.path);
  REQUIRE(journal);
  const DriverResult result = run_driver(source, builder, measurer, &journal.value(), trials(50));
  const auto contents = read_journal(file.path);
  REQUIRE(contents);
  REQUIRE(contents->records.size() == 50);
  CHECK(contents->skipped.empty());
  for (std::size_t i = 0; i < 50; ++i) {
    const Record& record = contents->records[i];
    CHECK(record.trial == static_cast<std::int64_t>(i));
    CHECK(record.round == static_cast<std::int64_t>(i / 32));
    CHECK(record.workload == "test");
    CHECK(record.status == source.observed[i].result.status);
    CHECK(record.steps == source.observed[i].state.steps());
  }
  CHECK(best_record(contents->records, "test")->min_ns == result.summary.curve.end()[-2].best_ns);
  // The final ranking's choice is known to whoever reads the journal later.
  REQUIRE(contents->winners.size() == 1);
  const Record& winner = contents->winners[0].record;
  CHECK(winner.steps == result.best->state.steps());
  CHECK(winner.median_ns == result.summary.best_ns);
  CHECK(winner.is_verified);
  CHECK(winner.low_ns == result.summary.best_low_ns);
  CHECK(winner.high_ns == result.summary.best_high_ns);
  CHECK(winner.num_ties == result.summary.num_ties);
  CHECK(*best_record(*contents, "test") == winner);
}

TEST_CASE("two runs with the same seed propose and record the same") {
  std::vector<std::string> lines[2];
  for (auto& run : lines) {
    TemporaryJournal file;
    CountingSource source;
    FakeBuilder builder(6);
    SimulatedMeasurer measurer = measurer_with();
    Result<Journal, RecordError> journal = Journal::open(file.path);
    REQUIRE(journal);
    DriverOptions options = trials(70);
    options.clock = [] { return 1.0; };
    (void)run_driver(source, builder, measurer, &journal.value(), options);
    const auto contents = read_journal(file.path);
    REQUIRE(contents);
    for (const Record& record : contents->records) {
      run.push_back(record_to_line(record));
    }
  }
  CHECK(lines[0].size() == 70);
  CHECK(lines[0] == lines[1]);
}

TEST_CASE("cancelling keeps the best so far") {
  CountingSource source;
  FakeBuilder builder;
  SimulatedMeasurer measurer = measurer_with();
  DriverOptions options = trials(0);
  options.budget.trials = 1 << 30;
  auto seen = std::make_shared<std::atomic<std::int64_t>>(0);
  options.on_progress = [seen](const TuneProgress& progress) { *seen = progress.trials; };
  options.is_cancelled = [seen] { return *seen >= 40; };
  const DriverResult result = run_driver(source, builder, measurer, nullptr, options);
  CHECK(result.summary.is_cancelled);
  CHECK(result.summary.trials >= 40);
  CHECK(result.summary.trials < 49);
  REQUIRE(result.best);
  CHECK(result.summary.best_ns > 0);
  CHECK(builder.num_builds < 90);
}

TEST_CASE("a journal that cannot be written ends the run") {
  TemporaryJournal file;
  CountingSource source;
  FakeBuilder builder;
  SimulatedMeasurer measurer = measurer_with();
  Result<Journal, RecordError> journal = Journal::open(file.path);
  REQUIRE(journal);
  const auto old_handler = std::signal(SIGXFSZ, SIG_IGN);
  rlimit old_limit = {};
  REQUIRE(::getrlimit(RLIMIT_FSIZE, &old_limit) == 0);
  const rlimit limit = {4000, old_limit.rlim_max};
  REQUIRE(::setrlimit(RLIMIT_FSIZE, &limit) == 0);
  const DriverResult result = run_driver(source, builder, measurer, &journal.value(), trials(1000));
  REQUIRE(::setrlimit(RLIMIT_FSIZE, &old_limit) == 0);
  std::signal(SIGXFSZ, old_handler);
  CHECK(result.summary.is_journal_broken);
  CHECK(result.summary.message.find("cannot write") == 0);
  CHECK(result.summary.trials < 100);
  CHECK(result.best);
}

TEST_CASE("sixteen trials in a row without a worker end the run, single ones do not") {
  SimulatedFaults all_lost;
  all_lost.worker_lost = 1;
  CountingSource source;
  FakeBuilder builder;
  SimulatedMeasurer lost = measurer_with(all_lost);
  const DriverResult ended = run_driver(source, builder, lost, nullptr, trials(1000));
  CHECK(ended.summary.trials >= 16);
  CHECK(ended.summary.trials < 24);  // the rest of what was handed to the measurer at once
  CHECK(ended.summary.message == "stopped, no worker survives: simulated: worker_lost");
  CHECK_FALSE(ended.best);

  SimulatedFaults many_lost;
  many_lost.worker_lost = 0.3;
  CountingSource again;
  SimulatedMeasurer shaky = measurer_with(many_lost);
  const DriverResult went_on = run_driver(again, builder, shaky, nullptr, trials(200));
  CHECK(went_on.summary.trials == 200);
  CHECK(went_on.summary.message.empty());
  CHECK(went_on.best);
}

TEST_CASE("the clock ends the run, and the final ranking still fits") {
  CountingSource source;
  FakeBuilder builder;
  SimulatedMeasurer measurer = measurer_with();
  DriverOptions options = trials(0);
  options.budget.trials = 0;
  options.budget.seconds = 10;
  // Every question takes 10 ms of this clock.
  auto ticks = std::make_shared<std::atomic<std::int64_t>>(0);
  options.clock = [ticks] { return static_cast<double>((*ticks)++) * 0.01; };
  const DriverResult result = run_driver(source, builder, measurer, nullptr, options);
  CHECK(result.summary.trials > 10);
  CHECK(result.summary.seconds >= 10 - options.ranking_seconds);
  CHECK(result.summary.seconds <= 10.5);
  CHECK(result.best);
}

TEST_CASE("a budget that setting up has used still gives the first good candidate") {
  CountingSource source;
  DriverOptions options = trials(0);
  options.budget.trials = 0;
  options.budget.seconds = 1;
  options.clock = [] { return 100.0; };
  FakeBuilder builder;
  SimulatedMeasurer measurer = measurer_with();
  const DriverResult result = run_driver(source, builder, measurer, nullptr, options);
  CHECK(result.summary.trials == 1);
  CHECK(result.best);

  FakeBuilder all_fail(1);
  CountingSource again;
  const DriverResult failed = run_driver(again, all_fail, measurer, nullptr, options);
  CHECK(failed.summary.trials == 8);
  CHECK_FALSE(failed.best);
  CHECK_FALSE(failed.summary.first_failure.empty());
}

TEST_CASE("an exhausted space ends the run, and nothing at all is no best") {
  FakeBuilder builder;
  SimulatedMeasurer measurer = measurer_with();
  CountingSource few(5);
  const DriverResult small = run_driver(few, builder, measurer, nullptr, trials(100));
  CHECK(small.summary.trials == 5);
  CHECK(small.summary.is_exhausted);
  CHECK(small.best);
  CountingSource none(0);
  const DriverResult empty = run_driver(none, builder, measurer, nullptr, trials(100));
  CHECK_FALSE(empty.best);
  CHECK(empty.summary.best_ns == 0);
  CHECK(empty.summary.curve.empty());
  FakeBuilder broken(1);
  CountingSource source;
  const DriverResult failed = run_driver(source, broken, measurer, nullptr, trials(10));
  CHECK_FALSE(failed.best);
  CHECK(failed.summary.trials == 10);
}
