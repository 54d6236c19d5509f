// SPDX-License-Identifier: Apache-2.0
#include "lib/tune/search.hpp"

#include <algorithm>
#include <variant>

#include "support/catch.hpp"
#include "unit/search/search_fixtures.hpp"

using namespace tensorsmith;
using namespace tensorsmith::test;

namespace {

TuneTask small_task() {
  TuneTask task;
  task.dag = matmul_dag(32, 32, 32);
  task.target = Target::x86_64_v3();
  return task;
}

std::string refusal(const TuneTask& task, const TuneOptions& options) {
  try {
    (void)make_search(task, options);
  } catch (const Error& error) {
    return error.what();
  }
  return "";
}

/// The first batch of a small search with that draft.
std::string first_proposals(const TuneTask& task, const char* policy, const char* draft) {
  TuneOptions options;
  options.policy = policy;
  options.cost_model = "random";
  options.draft = draft;
  options.policy_params = {{"evolutionary_search_population", "48"},
                           {"evolutionary_search_num_iters", "1"},
                           {"eps_greedy", "0"}};
  std::string texts;
  for (const Proposal& proposal : make_search(task, options).policy->propose(4)) {
    texts += proposal.text + "\n";
  }
  REQUIRE(!texts.empty());
  return texts;
}

}  // namespace

TEST_CASE("unknown names are refused with the known ones") {
  const TuneTask task = small_task();
  TuneOptions options;
  options.policy = "luck";
  CHECK(refusal(task, options) ==
        "unknown policy \"luck\"; known: evolution, ansor, pruner, pruner-offline, felix");
  options = {};
  options.space = "everything";
  CHECK(refusal(task, options) == "unknown space \"everything\"; known: native, ansor");
  options = {};
  options.cost_model = "oracle";
  CHECK(refusal(task, options).find("unknown cost model \"oracle\"; known: draft, ") == 0);
  options.cost_model = "draft";
  options.space = "ansor";
  CHECK(refusal(task, options).find("the cost model draft is there for CPUs") == 0);
}

TEST_CASE("drafts are chosen by name") {
  TuneTask task = small_task();
  TuneOptions options;
  options.draft = "luck";
  CHECK(refusal(task, options) == "unknown draft \"luck\"; known: psa-fixed, psa, estimate");
  options.draft = "psa";
  CHECK(refusal(task, options).find("the draft psa is for boards of GPUs") == 0);
  options.policy = options.space = "ansor";
  CHECK(refusal(task, options).find("the draft \"psa\" has nobody to use it") == 0);

  task.target = *Target::from_name("sim:a100");
  std::vector<std::string> first_of;  // every draft has an order of its own
  for (const char* const policy : {"pruner", "evolution"}) {
    for (const char* const draft : {"psa-fixed", "psa", "estimate", ""}) {
      first_of.push_back(first_proposals(task, policy, draft));
    }
  }
  for (std::size_t policy = 0; policy < 2; ++policy) {
    const std::size_t first = 4 * policy;
    CHECK(first_of[first] != first_of[first + 1]);
    CHECK(first_of[first] != first_of[first + 2]);
    CHECK(first_of[first + 1] != first_of[first + 2]);
  }
  CHECK(first_of[3] == first_of[0]);  // pruner's own: none by which the board answers
  CHECK(first_of[7] == first_of[6]);  // elsewhere the analytic estimate
  task.target = *Target::from_name("a100");
  CHECK(first_proposals(task, "pruner", "") == first_proposals(task, "pruner", "estimate"));
  task.target = Target::x86_64_v3();
  CHECK(first_proposals(task, "pruner", "") == first_proposals(task, "pruner", "estimate"));
}

TEST_CASE("search parameters have the reference's names") {
  const TuneTask task = small_task();
  TuneOptions options;
  options.policy_params = {{"eps_greedi", "0.1"}};
  CHECK(refusal(task, options).find("unknown search parameter \"eps_greedi\"; known: ") == 0);
  options.policy_params = {{"eps_greedy", "2"}};
  CHECK(refusal(task, options).find("search parameter eps_greedy: expected ") == 0);
  options.policy_params = {};
  options.random_numbers = RandomSource::mersenne_twister;
  options.policy = "ansor";
  options.space = "ansor";
  options.policy_params = {{"evolutionary_search_population", "32"},
                           {"evolutionary_search_num_iters", "1"},
                           {"cpu_multi_level_tiling_structure", "SRS"}};
  const Search search = make_search(task, options);
  const std::vector<Proposal> proposals = search.policy->propose(4);
  REQUIRE(proposals.size() == 4);
  for (const Proposal& proposal : proposals) {
    for (const Step& step : proposal.state.steps()) {  // two levels of space, one of reduction
      const SplitStep* split = std::get_if<SplitStep>(&step);
      CHECK((split == nullptr || split->lengths.size() == 1));
    }
  }
}

TEST_CASE("a model of the caller takes the place of the named one and learns") {
  ExtentModel model;
  TuneOptions options;
  options.model = &model;
  options.cost_model = "the caller's";  // a name only
  const Search search = make_search(small_task(), options);
  CHECK_FALSE(search.model);
  std::vector<Observation> observed;
  for (Proposal& proposal : search.policy->propose(6)) {
    observed.push_back({std::move(proposal.state), 1e9});
  }
  REQUIRE_FALSE(observed.empty());
  search.policy->observe(observed);
  CHECK(model.num_samples == observed.size());
}

TEST_CASE("sketches of the caller are all that is searched") {
  TuneOptions options;
  options.space = "split by two";  // a name only
  std::int32_t num_cores = 0;
  options.sketches = [&](const Shared<const ComputeDag>& dag, const SketchOptions& sketch_options) {
    num_cores = sketch_options.hardware.num_cores;
    State sketch = State::initial(dag);
    grow(sketch, SplitStep{2, 0, 32, {unknown_length}, true});
    return std::vector<State>{sketch};
  };
  options.num_threads = 3;
  const Search search = make_search(small_task(), options);
  CHECK(num_cores == 3);
  const std::vector<Proposal> proposals = search.policy->propose(4);
  REQUIRE_FALSE(proposals.empty());
  for (const Proposal& proposal : proposals) {
    const std::vector<Step>& steps = proposal.state.steps();
    const auto num_splits = std::count_if(steps.begin(), steps.end(), [](const Step& step) {
      return std::holds_alternative<SplitStep>(step);
    });
    REQUIRE(num_splits >= 1);
    CHECK(std::get<SplitStep>(steps[0]).stage == 2);
    CHECK(proposal.state.is_concrete());
  }
}

TEST_CASE("sketches that do not fit are refused") {
  TuneOptions options;
  using Dag = Shared<const ComputeDag>;
  options.sketches = [](const Dag&, const SketchOptions&) { return std::vector<State>(); };
  CHECK(refusal(small_task(), options) == "the search space of this workload is empty");
  const Dag other = matmul_dag(8, 8, 8);
  options.sketches = [other](const Dag&, const SketchOptions&) {
    return std::vector<State>{State::initial(other)};
  };
  CHECK(refusal(small_task(), options) ==
        "TuneOptions::sketches: expected sketches of the task's dag, got one of another");
}
