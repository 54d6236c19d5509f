// SPDX-License-Identifier: Apache-2.0
// requires: llvm json
// A backend that the library does not know, and the pieces below tune(), one by one: public headers
// only.
#include "methods/methods_fixtures.hpp"
#include "support/catch.hpp"
#include "tensorsmith/tune/backend.hpp"
#include "tensorsmith/tune/defaults.hpp"
#include "tensorsmith/tune/driver.hpp"
#include "tensorsmith/tune/measure_once.hpp"
#include "tensorsmith/tune/replay.hpp"
#include "tensorsmith/tune/task_file.hpp"

using namespace tensorsmith;
using namespace tensorsmith::test;

namespace {

struct Asked {
  int num_builders = 0, num_measurers = 0, num_references = 0, num_builds = 0;
};

class CountingBuilder final : public CandidateBuilder {
 public:
  CountingBuilder(Owned<CandidateBuilder> builder, Asked& asked)
      : builder_(std::move(builder)), asked_(asked) {}
  Result<BuiltCandidate, MeasureFault> build(const State& state) override {
    ++asked_.num_builds;
    return builder_->build(state);
  }

 private:
  Owned<CandidateBuilder> builder_;
  Asked& asked_;
};

/// Builds as the target's own backend does, and measures by a clock that knows ids only.
class OwnBackend final : public Backend {
 public:
  OwnBackend(const Target& target, Asked& asked) : inner_(make_backend(target)), asked_(asked) {}

  BackendFacts facts() const override {
    return {.device_name = "a machine elsewhere", .build_limit_seconds = 60};
  }
  Owned<CandidateBuilder> make_builder(std::int32_t num_threads) const override {
    ++asked_.num_builders;
    return make_owned<CountingBuilder>(inner_->make_builder(num_threads), asked_);
  }
  Owned<Measurer> make_measurer(const MeasurerOptions&) const override {
    ++asked_.num_measurers;
    return make_owned<SimulatedMeasurer>([](const CompiledCandidate& candidate) {
      return 1e4 + static_cast<double>(candidate.id % 1000);
    });
  }
  PlainRunner make_reference() const override {
    ++asked_.num_references;
    return inner_->make_reference();
  }
  State untuned(const Shared<const ComputeDag>& dag) const override { return inner_->untuned(dag); }
  std::string source(const LoopProgram& program, std::int32_t num_threads, const std::string& name,
                     const std::string& comment) const override {
    return inner_->source(program, num_threads, name, comment);
  }
  std::string assembly(const State& state, std::int32_t num_threads) const override {
    return inner_->assembly(state, num_threads);
  }

 private:
  Owned<Backend> inner_;
  Asked& asked_;
};

}  // namespace

TEST_CASE("a backend of the caller's builds, measures and computes the reference") {
  const MethodsJournal journal;
  Asked asked;
  SimulatedMeasurer unused = clock_by_id();
  TuneOptions options = quick_options(unused, 6);
  options.measurer = nullptr;
  options.verifies = true;
  options.database = journal.path;
  options.make_backend = [&asked](const Target& target) -> Owned<Backend> {
    return make_owned<OwnBackend>(target, asked);
  };
  const TuneResult result = tune(product_task(), options);
  CHECK(result.has_best());
  CHECK(asked.num_builders == 1);
  CHECK(asked.num_measurers == 1);
  CHECK(asked.num_references == 1);
  CHECK(asked.num_builds >= 6);
  const auto contents = read_journal(journal.path);
  REQUIRE(contents.has_value());
  for (const Record& record : contents->records) {
    CHECK(record.cpu == "a machine elsewhere");
  }
  options.make_backend = [](const Target&) { return Owned<Backend>(); };
  CHECK(refusal_of(product_task(), options) ==
        "TuneOptions::make_backend: expected a backend, got none");
}

TEST_CASE("every kind of target has a backend that says what it is") {
  const Owned<Backend> cpu = make_backend(Target::x86_64_v2());
  CHECK(cpu->facts().runs_code);
  CHECK(cpu->facts().has_threads);
  CHECK_FALSE(cpu->facts().device_name.empty());
  CHECK(cpu->call_problem().empty());
  const TuneTask task = product_task();
  const State plain = cpu->untuned(task.dag);
  CHECK(plain.steps().empty());
  CHECK(cpu->model_text(plain).empty());
  CHECK_FALSE(cpu->assembly(plain, 1).empty());

  const Owned<Backend> board = make_backend(*Target::from_name("sim:a100"));
  CHECK_FALSE(board->facts().runs_code);
  CHECK_FALSE(board->facts().has_threads);
  CHECK(board->facts().device_name == "simulated");
  CHECK_FALSE(board->call_problem().empty());
  const State drawn = board->untuned(task.dag);
  CHECK_FALSE(drawn.steps().empty());
  CHECK(board->model_text(drawn).find("kernel 0: ") == 0);
  CHECK_THROWS_AS(board->assembly(drawn, 1), Error);
  CHECK(board->make_builder(1)->build(drawn).has_value());
}

TEST_CASE("the driver runs any source of states") {
  class Tiles final : public CandidateSource {
   public:
    explicit Tiles(const State& plain) : plain_(plain) {}
    std::vector<State> propose(std::size_t n) override {
      std::vector<State> states;
      for (; states.size() < n && tile_ <= 16; tile_ *= 2) {
        states.push_back(replay_steps(plain_.initial_dag(), {SplitStep{2, 1, 32, {tile_}, true}}));
      }
      return states;
    }
    void observe(std::span<const TrialOutcome> outcomes) override {
      num_observed += outcomes.size();
    }
    std::size_t num_observed = 0;

   private:
    State plain_;
    std::int64_t tile_ = 2;
  };
  const TuneTask task = product_task();
  const Owned<Backend> backend = make_backend(task.target);
  Tiles tiles(State::initial(task.dag));
  const Owned<CandidateBuilder> builder = backend->make_builder(1);
  SimulatedMeasurer measurer = clock_by_id();
  DriverOptions options;
  options.budget = {0, 100};
  options.racing.verify = false;
  const DriverResult result = run_driver(tiles, *builder, measurer, nullptr, options);
  REQUIRE(result.best.has_value());
  CHECK(result.summary.trials == 4);
  CHECK(result.summary.is_exhausted);
  CHECK(tiles.num_observed == 4);
}

TEST_CASE("one known program is compiled, measured and called") {
  const TuneTask task = [] {
    TuneTask host = product_task(16);
    host.target = host_target();
    return host;
  }();
  const State state = replay_steps(task.dag, {SplitStep{2, 1, 16, {8}, true}});
  const MeasureResult measured = measure_once(task, state);
  CHECK(measured.is_ok());
  CHECK(measured.is_verified);
  CHECK(measured.min_ns > 0);
  const TuneResult compiled = compile_once(task, state);
  REQUIRE(compiled.has_best());
  CHECK(compiled.summary.trials == 0);
  std::vector<float> a(256, 1), b(256, 2), c(256);
  compiled.kernel()(a, b, c);
  CHECK(c == std::vector<float>(256, 32));
  TuneTask simulated = task;
  simulated.target = *Target::from_name("sim:a100");
  CHECK_THROWS_AS(measure_once(simulated, state), Error);
}

TEST_CASE("names and places are those of the command line") {
  CHECK(named_target("x86-64-v3").value() == Target::x86_64_v3());
  CHECK(named_target("host").value() == host_target());
  REQUIRE_FALSE(named_target("pdp11").has_value());
  CHECK(named_target("pdp11").error().find("unknown target \"pdp11\"; known: ") == 0);
  const std::string journal = default_journal("gemm:8x8x8:f32");
  CHECK((journal.empty() || journal == cache_folder() + "/gemm_8x8x8_f32.jsonl"));
  CHECK(named_task("gemm:8x4x2:f32", host_target()).flop == 128);
  CHECK_THROWS_AS(named_task("gem:8x4x2", host_target()), Error);
}

TEST_CASE("files of tasks: workloads, weights, remarks, and the line of what is none") {
  const Target target = Target::x86_64_v2();
  const std::vector<WeightedTask> tasks =
      tasks_of_text("# two\ngemm:8x8x8:f32 3\n\n  softmax:8x8 # one\n", "list", target);
  REQUIRE(tasks.size() == 2);
  CHECK(tasks[0].weight == 3);
  CHECK(tasks[1].task.workload == "softmax:8x8");
  CHECK(tasks[1].weight == 1);
  const auto refusal = [&](const char* text) {
    try {
      (void)tasks_of_text(text, "list", target);
    } catch (const Error& error) {
      return std::string(error.what());
    }
    return std::string();
  };
  CHECK(refusal("").find("there are no tasks in \"list\"") == 0);
  CHECK(refusal("gemm:8x8x8:f32\ngem:1\n").find("list:2: ") == 0);
  CHECK(refusal("gemm:8x8x8:f32 -1").find("list:1: expected a weight above 0") == 0);
}
