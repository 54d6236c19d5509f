// SPDX-License-Identifier: Apache-2.0
#include "tensorsmith/search/evolution/evolve.hpp"

#include "support/catch.hpp"

#include "unit/search/search_fixtures.hpp"
#include <span>

namespace tensorsmith {
namespace {

/// Likes programs with a loop k.1 of extent 2 (ch. 11.7).
class SplitModel final : public CostModel {
 public:
  std::string_view name() const override { return "k1"; }
  void update(std::span<const TrainingSample>) override {}
  void predict(std::span<const Features> programs, std::span<float> scores) const override {
    for (std::size_t i = 0; i < programs.size(); ++i) {
      scores[i] =
          programs[i].empty() ? invalid_score : programs[i].block(ansor_block_name).row(0)[0];
    }
  }
  Result<std::string, CostModelFault> save() const override {
    return refuse(CostModelError::not_supported);
  }
  Result<Done, CostModelFault> load(std::string_view) override {
    return refuse(CostModelError::not_supported);
  }
};

FeatureMatrix has_k1_of_two(const State& state) {
  FeatureMatrix features;
  auto row = features.add_row();
  for (std::size_t stage = 0; stage < state.num_stages(); ++stage) {
    for (const auto& it : state.stage(stage).iterators) {
      row[0] = it.name == "k.1" && it.extent == std::int64_t{2} ? 1.0F : row[0];
    }
  }
  return features;
}

std::vector<Individual> evolve_with(const SearchSpace& space, const SearchCallbacks& callbacks,
                                    const CostModel& model, std::vector<Candidate> start,
                                    std::size_t out_size) {
  Evaluator evaluator(callbacks, &model, 1, 0);
  EvolutionOptions options;
  options.population = 128;
  return evolve(space, NativeCpuMutators{}, options, RoundKey{1, 0, 0}, callbacks, evaluator,
                evaluator.evaluate(std::move(start)), out_size,
                [](const std::string&) { return true; });
}

}  // namespace

TEST_CASE("conformance 11.7: evolution finds k.1 of extent 2 from programs without it") {
  const SearchSpace space = test::space_of(test::matmul_dag(10, 10, 4));
  std::vector<Candidate> start;
  for (std::uint32_t i = 0; start.size() < 20; ++i) {
    Candidate candidate = test::sample_of(space, i);
    if (has_k1_of_two(candidate.state).row(0)[0] == 0.0F) {
      start.push_back(std::move(candidate));
    }
  }
  SearchCallbacks callbacks;
  callbacks.extract = has_k1_of_two;
  const auto best = evolve_with(space, callbacks, SplitModel{}, start, 10);
  REQUIRE_FALSE(best.empty());
  CHECK(best.front().score == 1.0F);
}

TEST_CASE("the result is sorted, distinct, not larger than asked for and better than the start") {
  const SearchSpace space = test::space_of(test::matmul_dag(128, 128, 128));
  std::vector<Candidate> start;
  float best_start = 0.0F;
  for (std::uint32_t i = 0; i < 40; ++i) {
    start.push_back(test::sample_of(space, i));
    best_start =
        std::max(best_start, test::ExtentModel::score(test::extents_of(start.back().state)));
  }
  SearchCallbacks callbacks;
  callbacks.extract = test::extents_of;
  const auto best = evolve_with(space, callbacks, test::ExtentModel{}, start, 16);
  REQUIRE(best.size() == 16);
  CHECK(best.front().score > best_start);
  for (std::size_t i = 1; i < best.size(); ++i) {
    CHECK(is_better(best[i - 1], best[i]));
    CHECK(best[i - 1].text != best[i].text);
  }
}

TEST_CASE("ranks are drawn in range and the better ones more often") {
  CounterRng rng(1);
  int upper_half = 0;
  for (int i = 0; i < 1000; ++i) {
    const std::size_t rank = draw_rank(10, rng);
    REQUIRE(rank < 10);
    upper_half += rank < 5 ? 1 : 0;
  }
  CHECK(upper_half > 650);  // 3/4 expected
  CHECK(upper_half < 850);
  CHECK(draw_rank(1, rng) == 0);
}

TEST_CASE("the reference's roulette: parents in proportion to their scores, none below zero") {
  std::vector<Individual> ranked;
  for (float score : {6.0F, 3.0F, 1.0F, 0.0F, -5.0F}) {
    ranked.push_back({Candidate{State::initial(test::matmul_dag(2, 2, 2)), 0, nullptr}, "", score});
  }
  CounterRng rng(1);
  std::vector<int> drawn(5, 0);
  const ParentDraw parents(ranked, true);
  for (int i = 0; i < 1000; ++i) {
    ++drawn[static_cast<std::size_t>(
        std::find_if(ranked.begin(), ranked.end(),
                     [&, chosen = &parents.next(rng)](const Individual& individual) {
                       return &individual.candidate == chosen;
                     }) -
        ranked.begin())];
  }
  CHECK(drawn[0] > 540);
  CHECK(drawn[0] < 660);
  CHECK(drawn[1] > 240);
  CHECK(drawn[2] > 60);
  CHECK(drawn[3] + drawn[4] == 0);
  for (Individual& individual : ranked) {
    individual.score = -1.0F;
  }
  const ParentDraw by_rank(ranked, true);
  int others = 0;
  for (int i = 0; i < 100; ++i) {
    others += &by_rank.next(rng) != &ranked[0].candidate ? 1 : 0;
  }
  CHECK(others > 20);
}

TEST_CASE("attempts that fail are replaced, up to the limit") {
  const SearchSpace space = test::space_of(test::matmul_dag(8, 8, 8));
  const Candidate some = space.sketch(0);
  std::size_t asked = 0;
  const auto every_second = [&](std::size_t i) -> std::optional<Candidate> {
    ++asked;
    if (i % 2 == 0) {
      return some;
    }
    return std::nullopt;
  };
  CHECK(make_candidates({}, 10, 100, every_second).size() == 10);
  CHECK(asked <= 20);
  asked = 0;
  CHECK(make_candidates({}, 10, 8, every_second).size() == 4);
  CHECK(asked == 8);
}

TEST_CASE("sizes fit the budget") {
  CHECK(EvolutionOptions::for_budget(20).population < 512);
  CHECK(EvolutionOptions::for_budget(3600).population == 2048);
  CHECK(EvolutionOptions::reference().num_generations == 4);
  CHECK(EvolutionOptions::reference().population == 2048);
  CHECK(EvolutionOptions::reference().mutation_probability == 0.85);
  CHECK(EvolutionOptions::reference().crossover_probability == 0);
}

}  // namespace tensorsmith
