// SPDX-License-Identifier: Apache-2.0
#include "tensorsmith/search/evolutionary_policy.hpp"

#include <set>

#include "support/catch.hpp"
#include "unit/search/search_fixtures.hpp"

namespace tensorsmith {
namespace {

struct Run {
  std::string transcript;  ///< every proposal of every round, texts and histories
  std::set<std::string> texts;
  std::vector<double> best;  ///< best throughput after each round
  std::size_t num_learned = 0;
};

/// Throughput of the simulated machine.
double measure(const State& state) {
  return 1.0 + static_cast<double>(test::ExtentModel::score(test::extents_of(state)));
}

PolicyOptions options_with(std::uint64_t seed) {
  PolicyOptions options;
  options.seed = seed;
  options.evolution.population = 48;
  options.evolution.num_generations = 2;
  options.min_population = 24;
  return options;
}

Run run(Shared<const ComputeDag> dag, std::uint64_t seed, ParallelFor parallel_for, int rounds = 3,
        std::size_t n = 8) {
  test::ExtentModel model;
  SearchCallbacks callbacks;
  callbacks.extract = test::extents_of;
  callbacks.parallel_for = std::move(parallel_for);
  EvolutionaryPolicy policy(test::space_of(std::move(dag)), model, callbacks, options_with(seed));
  Run result;
  double best = 0.0;
  for (int round = 0; round < rounds; ++round) {
    std::vector<Observation> observations;
    for (const Proposal& proposal : policy.propose(n)) {
      result.transcript += proposal.text + std::to_string(proposal.score) +
                           (proposal.is_random ? " random\n" : "\n");
      for (const Step& step : proposal.state.steps()) {
        result.transcript += std::string(tag_of(step)) + std::to_string(stage_of(step)) + " ";
      }
      CHECK(result.texts.insert(proposal.text).second);
      observations.push_back(Observation{proposal.state, measure(proposal.state)});
      best = std::max(best, observations.back().throughput);
    }
    policy.observe(observations);
    result.best.push_back(best);
  }
  result.num_learned = model.num_samples;
  return result;
}

}  // namespace

TEST_CASE("same seed, same proposals, on one thread and on two", "[threads]") {
  const auto dag = test::matmul_dag(64, 64, 64, true);
  const Run first = run(dag, 42, {});
  const Run again = run(dag, 42, {});
  const Run two = run(dag, 42, test::threads(2));
  const Run three = run(dag, 42, test::threads(3));
  CHECK(first.transcript.size() > 1000);
  CHECK(first.transcript == again.transcript);
  CHECK(first.transcript == two.transcript);
  CHECK(first.transcript == three.transcript);
  CHECK(run(dag, 43, {}).transcript != first.transcript);
}

TEST_CASE("proposals are distinct over all rounds and every one is learned from") {
  const Run result = run(test::matmul_dag(64, 64, 64), 1, {}, 4, 10);
  CHECK(result.texts.size() == 40);
  CHECK(result.num_learned == 40);
  CHECK(result.best.back() > result.best.front());
}

TEST_CASE("workloads with rfactor sketches and free stages are searched too") {
  CHECK(run(test::row_sum_dag(16, 1024), 1, {}, 3, 8).texts.size() == 24);
  CHECK(run(test::matmul_dag(4, 8, 512), 1, {}, 3, 8).texts.size() == 24);
}

TEST_CASE("a small space is exhausted without a duplicate and then proposes nothing") {
  test::ExtentModel model;
  SearchCallbacks callbacks;
  callbacks.extract = test::extents_of;
  te::Program p;
  auto a = p.placeholder("A", {4});
  auto b = p.compute("B", {4}, [&](auto i) { return a(i) + 1.0; });
  EvolutionaryPolicy policy(test::space_of(p.dag({a, b})), model, callbacks, options_with(1));
  std::set<std::string> texts;
  std::size_t rounds = 0;
  for (; rounds < 20; ++rounds) {
    const std::vector<Proposal> proposals = policy.propose(4);
    if (proposals.empty()) {
      break;
    }
    for (const Proposal& proposal : proposals) {
      CHECK(texts.insert(proposal.text).second);
    }
  }
  CHECK(rounds >= 1);
  CHECK(rounds < 20);
}

// The last rounds of a budget ask for one or two.
TEST_CASE("a small request finds what is new among many programs that lower to known ones") {
  test::ExtentModel model;
  SearchCallbacks callbacks;
  callbacks.extract = test::extents_of;
  constexpr std::uint64_t num_kernels = 100;
  callbacks.identity = [](const ProgramView& view) {
    return std::optional<ProgramHash>(
        ProgramHash{0, hash_text(state_text(view.state())) % num_kernels});
  };
  EvolutionaryPolicy policy(test::space_of(test::matmul_dag(64, 64, 64)), model, callbacks,
                            options_with(1));
  std::set<std::uint64_t> kernels;
  for (std::vector<Proposal> one; !(one = policy.propose(1)).empty();) {
    CHECK(one.size() == 1);
    CHECK(kernels.insert(hash_text(one[0].text) % num_kernels).second);
  }
  CHECK(kernels.size() == num_kernels);
}

TEST_CASE("the validity filter and empty features keep programs out") {
  test::ExtentModel model;
  SearchCallbacks callbacks;
  callbacks.extract = [](const State& state) {
    return test::count_steps<CacheWriteStep>(state) > 0 ? Features{} : test::extents_of(state);
  };
  callbacks.is_valid = [](const State& state) {
    return state.stage(2).auto_unroll_max_step != 512;
  };
  EvolutionaryPolicy policy(test::space_of(test::matmul_dag(64, 64, 64)), model, callbacks,
                            options_with(1));
  const auto proposals = policy.propose(10);
  REQUIRE(proposals.size() == 10);
  for (const Proposal& proposal : proposals) {
    CHECK(test::count_steps<CacheWriteStep>(proposal.state) == 0);
    CHECK(proposal.state.stage(2).auto_unroll_max_step != 512);
  }
}

TEST_CASE("programs that are not regular are proposed where there are no others") {
  for (const bool has_regular : {true, false}) {
    test::ExtentModel model;
    SearchCallbacks callbacks;
    callbacks.extract = test::extents_of;
    callbacks.is_regular = [has_regular](const State& state) {
      return has_regular && state.stage(2).auto_unroll_max_step != 512;
    };
    EvolutionaryPolicy policy(test::space_of(test::matmul_dag(64, 64, 64)), model, callbacks,
                              options_with(1));
    for (int round = 0; round < 3; ++round) {
      std::vector<Observation> observations;
      for (const Proposal& proposal : policy.propose(6)) {
        CHECK((!has_regular || proposal.is_random ||
               proposal.state.stage(2).auto_unroll_max_step != 512));
        observations.push_back(Observation{proposal.state, measure(proposal.state)});
      }
      CHECK(observations.size() == 6);
      policy.observe(observations);
    }
  }
}

TEST_CASE("nothing valid: nothing proposed") {
  test::ExtentModel model;
  SearchCallbacks callbacks;
  callbacks.extract = [](const State&) { return Features{}; };
  EvolutionaryPolicy policy(test::space_of(test::matmul_dag(16, 16, 16)), model, callbacks,
                            options_with(1));
  CHECK(policy.propose(4).empty());
  CHECK(policy.propose(0).empty());
}

TEST_CASE("the reference's search: evolution from the first round, the model after warm-up") {
  test::ExtentModel model;
  SearchCallbacks callbacks;
  callbacks.extract = test::extents_of;
  PolicyOptions options = PolicyOptions::reference();
  CHECK(options.num_warmup == 100);
  options.evolution.population = 64;
  options.num_warmup = 16;
  options.random = RandomSource::mersenne_twister;
  const auto run_rounds = [&](std::uint64_t seed) {
    options.seed = seed;
    BasicEvolutionaryPolicy<AnsorCpuPopulation, AnsorCpuMutators> policy(
        test::space_of(test::matmul_dag(64, 64, 64), 4), model, callbacks, options);
    std::set<std::string> texts;
    std::string transcript;
    std::vector<float> best_scores;
    for (int round = 0; round < 4; ++round) {
      std::vector<Observation> observations;
      const auto proposals = policy.propose(8);
      REQUIRE(proposals.size() == 8);
      best_scores.push_back(proposals.front().score);
      for (const Proposal& proposal : proposals) {
        CHECK(texts.insert(proposal.text).second);
        transcript += proposal.text;
        observations.push_back(Observation{proposal.state, measure(proposal.state)});
      }
      policy.observe(observations);
      // The model is asked from the fourth round on; that round's order is exactly its own.
      CHECK((policy.model_rank().num_pairs > 0) == (round == 3));
    }
    CHECK(policy.model_rank().correlation() == 1.0);
    // 8 and 16 observations are not more than 16: random scores lie in [0, 1).
    CHECK(best_scores[0] < 1.0F);
    CHECK(best_scores[1] < 1.0F);
    CHECK(best_scores[2] < 1.0F);
    CHECK(best_scores[3] > 1.0F);
    return transcript;
  };
  CHECK(run_rounds(1) == run_rounds(1));
  CHECK(run_rounds(1) != run_rounds(2));
}

TEST_CASE("a program that was scored is not looked at again when it is observed") {
  const auto dag = test::matmul_dag(64, 64, 64);
  test::ExtentModel model, blind;
  int num_extracted = 0;
  SearchCallbacks counting;
  counting.extract = [&](const State& state) {
    ++num_extracted;
    return test::extents_of(state);
  };
  EvolutionaryPolicy policy(test::space_of(dag), model, counting, options_with(1));
  EvolutionaryPolicy other(test::space_of(dag), blind, counting, options_with(2));
  std::vector<Observation> observations;
  for (int round = 0; round < 2; ++round) {
    observations.clear();
    for (const Proposal& proposal : policy.propose(8)) {
      observations.push_back(Observation{proposal.state, measure(proposal.state)});
    }
    REQUIRE(observations.size() == 8);
    num_extracted = 0;
    policy.observe(observations);
    CHECK(num_extracted == 0);
  }
  other.observe(observations);  // of another run: it never saw them
  CHECK(num_extracted == 8);
  policy.observe(observations);  // once more: its features are gone
  CHECK(num_extracted == 16);
  CHECK(model.num_samples == 24);
}

TEST_CASE("programs observed from an earlier run are not proposed again") {
  const auto dag = test::matmul_dag(64, 64, 64);
  test::ExtentModel model;
  SearchCallbacks callbacks;
  callbacks.extract = test::extents_of;
  EvolutionaryPolicy first(test::space_of(dag), model, callbacks, options_with(1));
  const auto before = first.propose(8);
  REQUIRE(before.size() == 8);

  EvolutionaryPolicy second(test::space_of(dag), model, callbacks, options_with(1));
  std::vector<Observation> observations;
  std::set<std::string> known;
  for (const Proposal& proposal : before) {
    observations.push_back(Observation{proposal.state, measure(proposal.state)});
    known.insert(proposal.text);
  }
  second.observe(observations);
  for (const Proposal& proposal : second.propose(8)) {
    CHECK(known.count(proposal.text) == 0);
  }
}

}  // namespace tensorsmith
