// SPDX-License-Identifier: Apache-2.0
// A block of features and a cost model of a user, through the options of a search.
#include <atomic>

#include "lib/tune/search.hpp"
#include "support/catch.hpp"
#include "tensorsmith/cost/corrected_draft.hpp"
#include "tensorsmith/cost/model_factory.hpp"
#include "unit/search/search_fixtures.hpp"

using namespace tensorsmith;

namespace {

TuneTask product_task() {
  TuneTask task;
  task.dag = test::matmul_dag(32, 32, 32);
  task.target = Target::x86_64_v3();
  return task;
}

struct BlockCounts {
  std::atomic<int> extracted = 0, scored = 0, learned = 0;
};

/// One row: how many steps there are, and threads of the context.
FeatureExtractor counting_block(BlockCounts& counts, const std::string& name = "steps") {
  return {make_shared_of<const BlockSchema>(name, std::vector<std::string>{"steps", "threads"}, 1U),
          [&counts](const ProgramView& view, const FeatureContext& context, FeatureBlock& block) {
            ++counts.extracted;
            const auto row = block.add_row();
            row[0] = static_cast<float>(view.steps().size());
            row[1] = static_cast<float>(context.num_threads);
            return true;
          }};
}

/// Fewer steps are better. Checks that it sees what it asked for and nothing else.
class FewSteps {
 public:
  explicit FewSteps(BlockCounts& counts) : counts_(&counts) {}
  std::string_view name() const { return "few steps"; }
  std::span<const std::string_view> wanted_blocks() const {
    static constexpr std::string_view blocks[] = {"steps", "draft"};
    return blocks;
  }
  void update(std::span<const TrainingSample> samples) {
    for (const TrainingSample& sample : samples) {
      counts_->learned += is_as_wanted(sample.features) ? 1 : 0;
    }
  }
  void predict(std::span<const Features> programs, std::span<float> scores) const {
    for (std::size_t i = 0; i < programs.size(); ++i) {
      const bool is_known = is_as_wanted(programs[i]);
      scores[i] = is_known ? -programs[i].block("steps").row(0)[0] : invalid_score;
      counts_->scored += is_known ? 1 : 0;
    }
  }

 private:
  static bool is_as_wanted(const Features& features) {
    return features.blocks().size() == 2 && features.block("steps").row(0)[1] == 2 &&
           features.block("draft").values.size() == 9;
  }
  BlockCounts* counts_;
};

TuneOptions options_with(const FeatureExtractor& block) {
  TuneOptions options;
  options.num_threads = 2;
  options.features = {block};
  return options;
}

std::string reason(const TuneOptions& options, const TuneTask& task = product_task()) {
  try {
    (void)make_search(task, options);
  } catch (const Error& error) {
    return error.what();
  }
  return "";
}

std::vector<Observation> measured(std::vector<Proposal> proposals) {
  std::vector<Observation> observed;
  for (Proposal& proposal : proposals) {
    observed.push_back({std::move(proposal.state), 1e9});
  }
  return observed;
}

}  // namespace

TEST_CASE("an own block and an own model: the model gets its blocks, each program's once") {
  BlockCounts counts;
  CostModelAdapter<FewSteps> model{FewSteps(counts)};
  TuneOptions options = options_with(counting_block(counts));
  options.model = &model;
  const Search search = make_search(product_task(), options);
  const std::vector<Observation> first = measured(search.policy->propose(8));
  REQUIRE(first.size() == 8);
  search.policy->observe(first);
  CHECK(counts.learned == 8);
  CHECK(counts.scored == 0);  // chance decides before anything is measured
  counts.extracted = 0;
  counts.scored = 0;
  const std::vector<Observation> second = measured(search.policy->propose(8));
  REQUIRE_FALSE(second.empty());
  const int extracted = counts.extracted;
  CHECK(counts.scored == extracted);  // nothing is extracted that is not scored, or twice
  search.policy->observe(second);
  CHECK(counts.extracted == extracted);  // and not again for learning
  CHECK(counts.learned == 8 + static_cast<int>(second.size()));
}

TEST_CASE("a model that is made for the run is given what it is made for") {
  BlockCounts counts;
  TuneOptions options = options_with(counting_block(counts));
  options.seed = 77;
  ModelContext seen;
  options.make_model = [&](const ModelContext& context) {
    seen = context;
    return Shared<CostModel>(make_shared_of<CostModelAdapter<FewSteps>>(FewSteps(counts)));
  };
  options.cost_model = "any name";
  const Search search = make_search(product_task(), options);
  REQUIRE(search.model);
  CHECK(search.model->name() == "few steps");
  CHECK(seen.seed == 77);
  CHECK(seen.has_draft);
  CHECK(seen.target == product_task().target);
  options.make_model = [](const ModelContext&) { return Shared<CostModel>(); };
  CHECK(reason(options) == "TuneOptions::make_model: expected a cost model, got none");
}

TEST_CASE("blocks that cannot be are refused before anything is searched") {
  BlockCounts counts;
  CostModelAdapter<FewSteps> model{FewSteps(counts)};
  TuneOptions options;
  options.model = &model;
  CHECK(reason(options) ==
        "the cost model \"few steps\": unknown block of features \"steps\"; "
        "known: ansor164, draft, choices, psa, psa_kernels, pam_statements, pam_dataflow, "
        "workload_embedding, felix154");
  options = options_with(counting_block(counts, "draft"));
  CHECK(reason(options) == "TuneOptions::features: the name \"draft\" is taken");
  options.features = {FeatureExtractor{}};
  CHECK(reason(options) ==
        "TuneOptions::features: expected a schema and a function, got a block without");
  TuneTask gpu = product_task();
  gpu.target = Target::cuda(80).value();  // no board
  CorrectedDraft draft;
  options = {};
  options.model = &draft;
  CHECK(reason(options, gpu) ==
        "the cost model \"draft\": no block of features \"draft\": there is "
        "an analytic estimate for CPUs and boards of GPUs only");
}
