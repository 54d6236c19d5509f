// SPDX-License-Identifier: Apache-2.0
#include "tensorsmith/search/pruner_policy.hpp"

#include <algorithm>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "support/catch.hpp"
#include "unit/search/search_fixtures.hpp"

namespace tensorsmith {
namespace {

using CpuPruner = PrunerPolicy<NativeCpuPopulation, NativeCpuMutators>;

/// Scores of the extent model, negated on demand; counts what it is asked for.
class CountingModel final : public CostModel {
 public:
  /// `noise`: of the score, up to this share, by the program.
  explicit CountingModel(float factor, float noise = 0) : factor_(factor), noise_(noise) {}
  std::string_view name() const override { return "counting"; }
  void update(std::span<const TrainingSample> samples) override { num_learned += samples.size(); }
  void predict(std::span<const Features> programs, std::span<float> scores) const override {
    num_scored += programs.size();
    for (std::size_t i = 0; i < programs.size(); ++i) {
      if (programs[i].empty()) {
        scores[i] = invalid_score;
        continue;
      }
      const auto drawn = static_cast<float>(hash_features(programs[i]) % 1024) / 1024;
      scores[i] = factor_ * test::ExtentModel::score(programs[i]) * (1 + noise_ * (drawn - 0.5F));
    }
  }
  Result<std::string, CostModelFault> save() const override {
    return refuse(CostModelError::not_supported);
  }
  Result<Done, CostModelFault> load(std::string_view) override {
    return refuse(CostModelError::not_supported);
  }
  std::size_t num_learned = 0;
  mutable std::size_t num_scored = 0;

 private:
  float factor_, noise_;
};

PrunerOptions small_options() {
  PrunerOptions options;
  options.evolution.population = 64;
  options.min_population = 32;
  options.draft_size = 24;
  return options;
}

SearchCallbacks extent_callbacks() {
  SearchCallbacks callbacks;
  callbacks.extract = test::extents_of;
  return callbacks;
}

CpuPruner policy_of(CostModel& model, const PrunerOptions& options, float draft_factor = 1,
                    float draft_noise = 0) {
  return CpuPruner(test::space_of(test::matmul_dag(64, 64, 64)), model, extent_callbacks(),
                   make_shared_of<CountingModel>(draft_factor, draft_noise), extent_callbacks(),
                   options);
}

/// The extent model is the truth.
double speed_of(const State& state) {
  return 1.0 + static_cast<double>(test::ExtentModel::score(test::extents_of(state)));
}

std::vector<Observation> measured(const std::vector<Proposal>& proposals) {
  std::vector<Observation> results;
  for (const Proposal& proposal : proposals) {
    results.push_back({proposal.state, speed_of(proposal.state)});
  }
  return results;
}

}  // namespace

TEST_CASE("what a round of Pruner is made of", "[search]") {
  const PrunerOptions options;
  const PrunerRound ten = pruner_round(options, 0, 1000, 10);
  CHECK(ten.sizes.num_good == 9);
  CHECK(ten.sizes.num_random == 1);
  CHECK(ten.sizes.num_kept == 20);
  CHECK(ten.sizes.num_random_drawn == 3);
  CHECK(ten.num_measured == 153);
  CHECK(ten.num_controls == 1);
  CHECK(pruner_round(options, 0, 40, 10).num_measured == 40);
  const PrunerRound large = pruner_round(options, 0, 0, 64);
  CHECK(large.sizes.num_good == 58);
  CHECK(large.sizes.num_random == 6);
  CHECK(large.num_controls == 6);
  std::size_t num_controls = 0;  // of small batches, too
  for (std::uint32_t round = 0; round < 20; ++round) {
    num_controls += pruner_round(options, round, 0, 4).num_controls;
  }
  CHECK(num_controls == 8);
  PrunerOptions careful;
  careful.epsilon = 0.05;
  CHECK(pruner_round(careful, 0, 0, 10).sizes.num_random == 0);
  for (std::uint32_t round = 0; round < 6; ++round) {
    CHECK(pruner_round(options, round, 0, 10).makes_draft == (round % 2 == 0));
  }
}

TEST_CASE("before anything is learned the draft chooses; later the model does", "[search]") {
  CountingModel model(1);
  CpuPruner policy = policy_of(model, small_options());
  const std::vector<Proposal> first = policy.propose(8);
  REQUIRE(first.size() == 8);
  CHECK(model.num_scored == 0);
  CHECK(policy.draft_set_size() == 24);
  // In the order of the draft, but for what is drawn at random.
  std::vector<double> speeds;
  for (const Proposal& proposal : first) {
    if (!proposal.is_random) {
      speeds.push_back(speed_of(proposal.state));
    }
  }
  CHECK(std::is_sorted(speeds.rbegin(), speeds.rend()));
  policy.observe(measured(first));
  CHECK(model.num_learned == 8);
  const std::vector<Proposal> second = policy.propose(8);
  CHECK(model.num_scored > 0);
  std::set<std::string> texts;
  for (const std::vector<Proposal>* proposals : {&first, &second}) {
    for (const Proposal& proposal : *proposals) {
      CHECK(texts.insert(proposal.text).second);
    }
  }
}

TEST_CASE("a model that orders worse than the draft is not asked", "[search]") {
  CountingModel model(-1);
  CpuPruner policy = policy_of(model, small_options());
  for (int round = 0; round < 3; ++round) {
    policy.observe(measured(policy.propose(8)));
  }
  CHECK(!policy.uses_model());
  const std::size_t scored = model.num_scored;
  CHECK(policy.propose(8).size() == 8);
  CHECK(model.num_scored == scored);

  PrunerOptions trusting = small_options();
  trusting.falls_back = false;
  trusting.control_share = 0;
  CpuPruner other = policy_of(model, trusting);
  for (int round = 0; round < 3; ++round) {
    other.observe(measured(other.propose(8)));
  }
  CHECK(other.uses_model());
}

TEST_CASE("a draft that misleads is given up, and what it is compared with is measured",
          "[search]") {
  // The draft mostly takes the slowest for the fastest, and the model is still worse, so that the
  // draft orders.
  CountingModel model(-1);
  CpuPruner misled = policy_of(model, small_options(), -1, 0.5F);
  CpuPruner led = policy_of(model, small_options(), 1);
  PrunerOptions trusting = small_options();
  trusting.control_share = 0;
  CpuPruner trusted = policy_of(model, trusting, -1, 0.5F);
  for (int round = 0; round < 8; ++round) {
    for (CpuPruner* const policy : {&misled, &led, &trusted}) {
      policy->observe(measured(policy->propose(10)));
    }
  }
  const GuardReport draft = misled.guards()[0];
  CHECK(draft.name == "draft");
  CHECK(draft.times_given_up >= 1);
  CHECK(draft.advantage < 0);
  CHECK(draft.num_without > 0);
  CHECK(led.guards()[0].times_given_up == 0);
  CHECK(led.guards()[0].advantage > 0);
  CHECK(trusted.guards()[0].num_without == 0);
  CHECK(!trusted.guards()[0].is_given_up);
}

TEST_CASE("a model that misleads is given up by what is measured beside it", "[search]") {
  CountingModel model(-1);
  PrunerOptions options = small_options();
  options.falls_back = false;  // so that only the guard is asked
  CpuPruner policy = policy_of(model, options);
  for (int round = 0; round < 10; ++round) {
    policy.observe(measured(policy.propose(10)));
  }
  const GuardReport report = policy.guards()[1];
  CHECK(report.name == "model");
  CHECK(report.times_given_up >= 1);
  CHECK(report.num_with > 0);
  CHECK(report.num_without > 0);
  CHECK(!policy.uses_model());
}

TEST_CASE("offline, the model is asked at once and learns nothing", "[search]") {
  CountingModel model(1);
  PrunerOptions options = small_options();
  options.learns = false;
  options.is_trained = true;
  CpuPruner policy = policy_of(model, options, -1);
  const std::vector<Proposal> first = policy.propose(8);
  CHECK(model.num_scored > 0);
  policy.observe(measured(first));
  CHECK(model.num_learned == 0);
}

TEST_CASE("the model scores what was drafted by what the draft has looked at", "[search]") {
  // Both read the same block, so the model looks at the children of its own generation only.
  CountingModel model(1);
  std::size_t num_looks = 0;
  SearchCallbacks callbacks = extent_callbacks();
  callbacks.extract = [&num_looks](const ProgramView& view) {
    ++num_looks;
    return test::extents_of(view);
  };
  CpuPruner policy(test::space_of(test::matmul_dag(64, 64, 64)), model, callbacks,
                   make_shared_of<CountingModel>(1.0F), extent_callbacks(), small_options());
  policy.observe(measured(policy.propose(8)));
  const std::size_t scored = model.num_scored;
  num_looks = 0;
  CHECK(policy.propose(8).size() == 8);
  CHECK(num_looks > 0);
  CHECK(num_looks <= small_options().evolution.population);
  CHECK(model.num_scored - scored > small_options().evolution.population);
}

TEST_CASE("programs that are not valid are never proposed", "[search]") {
  CountingModel model(1);
  SearchCallbacks callbacks = extent_callbacks();
  callbacks.is_valid = [](const ProgramView& view) {
    return hash_text(state_text(view.state())) % 2 == 0;
  };
  CpuPruner policy(test::space_of(test::matmul_dag(64, 64, 64)), model, callbacks,
                   make_shared_of<CountingModel>(1.0F), callbacks, small_options());
  for (int round = 0; round < 3; ++round) {
    const std::vector<Proposal> proposals = policy.propose(8);
    CHECK(!proposals.empty());
    for (const Proposal& proposal : proposals) {
      CHECK(hash_text(state_text(proposal.state)) % 2 == 0);
    }
    policy.observe(measured(proposals));
  }
}

TEST_CASE("the same seed proposes the same programs", "[search]") {
  std::string texts[2];
  for (std::string& all : texts) {
    CountingModel model(1);
    CpuPruner policy = policy_of(model, small_options());
    for (int round = 0; round < 3; ++round) {
      const std::vector<Proposal> proposals = policy.propose(8);
      for (const Proposal& proposal : proposals) {
        all += proposal.text;
      }
      policy.observe(measured(proposals));
    }
  }
  CHECK(texts[0] == texts[1]);
}

}  // namespace tensorsmith
