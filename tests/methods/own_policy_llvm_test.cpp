// SPDX-License-Identifier: Apache-2.0
// requires: llvm json
// A policy that the library does not know, given to tune(): public headers only.
#include <algorithm>
#include <set>

#include "methods/methods_fixtures.hpp"
#include "support/catch.hpp"
#include "tensorsmith/search/population/sample.hpp"

using namespace tensorsmith;
using namespace tensorsmith::test;

namespace {

/// What the policy was given and shown.
struct Seen {
  std::uint64_t seed = 0;
  std::int64_t trials = 0;
  std::string target, extra;
  std::size_t num_sketches = 0;
  bool has_features = false, has_draft = false;
  std::size_t num_observed = 0;
  std::vector<std::uint32_t> tasks;
};

/// Draws, and asks nobody which of them is good.
class DrawingPolicy final : public SearchPolicy {
 public:
  DrawingPolicy(SearchContext& context, Seen& seen)
      : space_(std::move(context.space)), seed_(context.options.seed), seen_(seen) {}

  std::string_view name() const override { return "drawing"; }
  std::vector<Proposal> propose(std::size_t n) override {
    std::vector<Proposal> proposals;
    for (int tries = 0; tries < 400 && proposals.size() < n; ++tries) {
      CounterRng rng(seed_, 0, 0, next_++);
      std::optional<Candidate> drawn = draw_candidate(space_, NativeCpuPopulation{}, rng);
      if (drawn && taken_.insert(hash_steps(drawn->state.steps())).second) {
        proposals.push_back({std::move(drawn->state), "", 0, true});
      }
    }
    return proposals;
  }
  void observe(std::span<const Observation> results) override {
    seen_.num_observed += results.size();
  }

 private:
  SearchSpace space_;
  std::uint64_t seed_;
  Seen& seen_;
  std::uint32_t next_ = 0;
  std::set<std::uint64_t> taken_;
};

TuneOptions drawing(Measurer& measurer, Seen& seen, std::int64_t trials) {
  TuneOptions options = quick_options(measurer, trials);
  options.policy = "drawing";
  options.policy_params = {{"luck", "7"}};  // the policy's own, not one of the library's
  options.seed = 5;
  options.make_policy = [&seen](SearchContext& context) -> Owned<SearchPolicy> {
    seen.seed = context.options.seed;
    seen.trials = context.options.budget.trials;
    seen.target = context.task.target.name;
    seen.extra = context.options.policy_params.at(0).second;
    seen.num_sketches = context.space.sketches().size();
    seen.tasks.push_back(context.index);
    const State& any = context.space.sketches().front();
    seen.has_features = bool(context.callbacks.extract) && any.num_stages() > 0;
    seen.has_draft = bool(context.callbacks.draft);
    return make_owned<DrawingPolicy>(context, seen);
  };
  return options;
}

}  // namespace

TEST_CASE("a policy of the caller's searches, and records carry its name") {
  const MethodsJournal journal;
  SimulatedMeasurer measurer = clock_by_id();
  Seen seen;
  TuneOptions options = drawing(measurer, seen, 12);
  options.database = journal.path;
  const TuneResult result = tune(product_task(), options);
  REQUIRE(result.has_best());
  CHECK(result.summary.trials == 12);
  CHECK(seen.seed == 5);
  CHECK(seen.trials == 12);
  CHECK(seen.target == product_task().target.name);
  CHECK(seen.extra == "7");
  CHECK(seen.num_sketches > 1);
  CHECK(seen.has_features);
  CHECK(seen.has_draft);
  CHECK(seen.num_observed == 12);
  const auto contents = read_journal(journal.path);
  REQUIRE(contents.has_value());
  REQUIRE(contents->records.size() == 12);
  for (const Record& record : contents->records) {
    CHECK(record.policy == "drawing");
  }
  // Going on asks it for the same programs again.
  options.resumes = true;
  Seen again;
  options.make_policy = drawing(measurer, again, 12).make_policy;
  options.budget.trials = 16;
  const TuneResult resumed = tune(product_task(), options);
  CHECK(resumed.summary.trials == 16);
  CHECK(resumed.summary.message.empty());
  CHECK(again.num_observed == 16);
}

TEST_CASE("several tasks have a policy each") {
  SimulatedMeasurer measurer = clock_by_id();
  Seen seen;
  TasksOptions options;
  options.tune = drawing(measurer, seen, 8);
  const TasksResult result = tune_tasks({{product_task(16), 1}, {product_task(24), 1}}, options);
  CHECK(result.has_all());
  CHECK(seen.tasks == std::vector<std::uint32_t>{0, 1});
}

TEST_CASE("what a factory of policies must not do is said") {
  SimulatedMeasurer measurer = clock_by_id();
  Seen seen;
  TuneOptions options = drawing(measurer, seen, 4);
  options.policy = "evolution";
  CHECK(refusal_of(product_task(), options) ==
        "TuneOptions::make_policy: records carry the name of the policy, and \"evolution\" is the "
        "library's; set TuneOptions::policy to another one");
  options = drawing(measurer, seen, 4);
  options.make_policy = [](SearchContext&) { return Owned<SearchPolicy>(); };
  CHECK(refusal_of(product_task(), options) ==
        "TuneOptions::make_policy: expected a policy, got none");
  options.make_policy = nullptr;
  CHECK(refusal_of(product_task(), options) ==
        "unknown policy \"drawing\"; known: evolution, ansor, pruner, pruner-offline, felix");
}

TEST_CASE("every policy of the table runs and says what it is") {
  for (const PolicyMethod& method : policy_methods()) {
    INFO(std::string(method.name));
    CHECK_FALSE(method.meaning.empty());
    SimulatedMeasurer measurer = clock_by_id();
    TuneOptions options = quick_options(measurer, 4);
    options.policy = method.name;
    CHECK(tune(product_task(), options).has_best());
  }
}
