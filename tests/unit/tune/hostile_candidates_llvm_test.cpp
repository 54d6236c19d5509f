// SPDX-License-Identifier: Apache-2.0
// requires: json
// Candidates that do everything wrong, in a whole run of the driver on a real worker: each is in
// the journal with its own reason, the search goes on, and the one good candidate wins.
#include <filesystem>
#include <map>

#include <unistd.h>

#include "support/catch.hpp"
#include "tensorsmith/te/program.hpp"
#include "tensorsmith/tune/driver.hpp"
#include "unit/measure/worker_fixture.hpp"

using namespace tensorsmith;
using namespace tensorsmith::test;

namespace {

constexpr std::int64_t n = 1000;

struct Kind {
  const char* entry;
  MeasureStatus status;
};
constexpr std::array<Kind, 12> kinds{{{"forever", MeasureStatus::run_timeout},
                                      {"one_past", MeasureStatus::out_of_bounds},
                                      {"one_before", MeasureStatus::out_of_bounds},
                                      {"far_past", MeasureStatus::out_of_bounds},
                                      {"nan_value", MeasureStatus::nan_result},
                                      {"wrong", MeasureStatus::wrong_result},
                                      {"unwritten", MeasureStatus::wrong_result},
                                      {"null_write", MeasureStatus::crashed},
                                      {"aborts", MeasureStatus::crashed},
                                      {"exits", MeasureStatus::crashed},
                                      {"no_such_entry", MeasureStatus::load_error},
                                      {"good", MeasureStatus::ok}}};

std::string pragma_of(const State& state) {
  return std::get<PragmaStep>(state.steps().front()).hint.text();
}

/// Two rounds of every kind, told apart by a pragma.
class EveryKind final : public CandidateSource {
 public:
  EveryKind() {
    te::Program p;
    auto a = p.placeholder("A", {n});
    auto b = p.compute("B", {n}, [&](auto i) { return a(i) * 2.0 + 1.0; });
    dag_ = p.dag({a, b});
  }
  std::vector<State> propose(std::size_t most) override {
    std::vector<State> states;
    for (; most > 0 && next_ < 2 * kinds.size(); --most, ++next_) {
      State state = State::initial(dag_);
      state.mutable_steps().push_back(PragmaStep{1, 0, kinds[next_ % kinds.size()].entry});
      states.push_back(std::move(state));
    }
    return states;
  }
  void observe(std::span<const TrialOutcome> outcomes) override { num_observed += outcomes.size(); }
  std::size_t num_observed = 0;

 private:
  Shared<const ComputeDag> dag_;
  std::size_t next_ = 0;
};

/// "Compiles" a pragma to the kernel of that name.
class ZooBuilder final : public CandidateBuilder {
 public:
  explicit ZooBuilder(const std::vector<std::byte>& object) : object_(object) {}
  Result<BuiltCandidate, MeasureFault> build(const State& state) override {
    return BuiltCandidate{object_, pragma_of(state), 0, 0};
  }

 private:
  const std::vector<std::byte>& object_;
};

}  // namespace

TEST_CASE("every kind of hostile candidate is recorded with its reason and the search goes on") {
  const std::vector<std::byte> zoo = compile_c(kernel_zoo(n));
  TENSORSMITH_NEEDS(!zoo.empty(), "no C compiler");
  const std::string path = (std::filesystem::temp_directory_path() /
                            ("tensorsmith-hostile-" + std::to_string(::getpid()) + ".jsonl"))
                               .string();
  std::filesystem::remove(path);
  EveryKind source;
  ZooBuilder builder(zoo);
  WorkerMeasurer measurer(worker_options());
  REQUIRE(measurer.prepare(affine_task(n)).has_value());
  Result<Journal, RecordError> journal = Journal::open(path);
  REQUIRE(journal);
  DriverOptions options;
  options.budget.seconds = 0;
  options.budget.trials = 1000;
  options.round_size = 7;
  options.racing.first_timeout_ns = 300'000'000;
  const DriverResult result = run_driver(source, builder, measurer, &journal.value(), options);
  const auto contents = read_journal(path);
  std::filesystem::remove(path);

  REQUIRE(result.best);
  CHECK(pragma_of(result.best->state) == "good");
  CHECK(result.summary.is_verified);
  CHECK(result.summary.is_exhausted);
  CHECK(result.summary.trials == 2 * std::int64_t{kinds.size()});
  CHECK(source.num_observed == 2 * kinds.size());
  REQUIRE(contents);
  REQUIRE(contents->records.size() == 2 * kinds.size());
  std::map<std::string, std::string> reasons;
  for (std::size_t i = 0; i < contents->records.size(); ++i) {
    const Record& record = contents->records[i];
    const Kind& kind = kinds[i % kinds.size()];
    CAPTURE(kind.entry, record.message);
    CHECK(name_of(record.status) == name_of(kind.status));
    CHECK(record.message.empty() == (kind.status == MeasureStatus::ok));
    CHECK(record.is_verified == (kind.status == MeasureStatus::ok));
    CHECK((record.min_ns > 0) == (kind.status == MeasureStatus::ok));
    reasons.emplace(record.message, kind.entry);
  }
  // Even those that share a status say different things (aside from how late a call was killed).
  CHECK(reasons.size() >= kinds.size());
}
