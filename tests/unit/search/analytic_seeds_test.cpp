// SPDX-License-Identifier: Apache-2.0
#include "tensorsmith/search/analytic_seeds.hpp"

#include <atomic>
#include <set>

#include "support/catch.hpp"
#include "tensorsmith/cost/draft_model.hpp"
#include "tensorsmith/ops/workload.hpp"
#include "tensorsmith/search/drafted_seeds.hpp"
#include "unit/search/search_fixtures.hpp"

namespace tensorsmith {
namespace {

Target machine() {
  Target target = *Target::from_name("znver5");
  target.caches.l3_bytes = 32 << 20;
  return target;
}

SearchCallbacks callbacks_of(const Target& target, ParallelFor parallel_for = {}) {
  SearchCallbacks callbacks;
  callbacks.extract = test::extents_of;
  callbacks.draft = [target](const State& state) { return draft_cycles(state, target); };
  callbacks.parallel_for = std::move(parallel_for);
  return callbacks;
}

Shared<const ComputeDag> dag_of(const char* text) {
  const auto workload = ops::parse_workload(text);
  REQUIRE(workload);
  return workload->dag;
}

std::vector<Seed> seeds_of(const SearchSpace& space, const SearchCallbacks& callbacks,
                           std::size_t count = 12) {
  return analytic_seeds(space, NativeCpuPopulation{}, callbacks, machine(), RoundKey{1, 0, 0},
                        {.count = count, .num_checked = count});
}

}  // namespace

TEST_CASE("seeds are distinct members of the space, best draft first") {
  for (const char* text : {"gemm:127x509x251:f32", "gemm:16x64x64:f32,relu", "softmax:64x100",
                           "conv2d:n=1,h=14,w=14,ci=32,co=64,k=3,s=1,p=1,layout=free"}) {
    CAPTURE(text);
    const SearchSpace space = test::space_of(dag_of(text), 1, native_space_options());
    const SearchCallbacks callbacks = callbacks_of(machine());
    const std::vector<Seed> seeds = seeds_of(space, callbacks);
    REQUIRE(seeds.size() >= 2);
    std::set<std::string> texts;
    for (std::size_t i = 0; i < seeds.size(); ++i) {
      const Candidate& candidate = seeds[i].candidate;
      CHECK(texts.insert(state_text(candidate.state)).second);
      CHECK(seeds[i].draft == callbacks.draft(candidate.state));
      CHECK((i == 0 || seeds[i - 1].draft <= seeds[i].draft));
      CHECK(candidate.state.is_concrete());
      CHECK(space.sketch_of(candidate.state.steps()) != Candidate::no_sketch);
      const auto again = space.build(candidate.state.steps(), candidate.sketch);
      REQUIRE(again);
      CHECK(state_text(again->state) == seeds[i].text);
    }
  }
}

TEST_CASE("the best seed keeps the arithmetic units busy") {
  const SearchSpace space =
      test::space_of(dag_of("gemm:512x512x512:f32"), 1, native_space_options());
  const SearchCallbacks callbacks = callbacks_of(machine());
  const std::vector<Seed> seeds = seeds_of(space, callbacks);
  REQUIRE_FALSE(seeds.empty());
  const double least = 512.0 * 512 * 512 / 32;  // two multiply-adds of 16 lanes per cycle
  CHECK(seeds[0].draft >= least);
  CHECK(seeds[0].draft < 1.3 * least);
  std::size_t num_worse = 0;
  for (std::uint32_t i = 0; i < 40; ++i) {
    num_worse += callbacks.draft(test::sample_of(space, i).state) > seeds[0].draft ? 1 : 0;
  }
  CHECK(num_worse == 40);
}

TEST_CASE("the same seeds on one thread and on three", "[threads]") {
  const SearchSpace space = test::space_of(dag_of("gemm:61x67x71:f32"), 2, native_space_options());
  std::string one, three;
  for (const Seed& seed : seeds_of(space, callbacks_of(machine()))) {
    one += seed.text;
  }
  for (const Seed& seed : seeds_of(space, callbacks_of(machine(), test::threads(3)))) {
    three += seed.text;
  }
  CHECK_FALSE(one.empty());
  CHECK(one == three);
}

TEST_CASE("fewer programs are looked at where only the first seeds matter") {
  const SearchSpace space = test::space_of(dag_of("gemm:61x67x71:f32"), 2, native_space_options());
  SearchCallbacks callbacks = callbacks_of(machine());
  std::set<std::string> asked;
  callbacks.is_regular = [&asked](const State& state) {
    const std::string text = state_text(state);
    CHECK(asked.insert(text).second);  // nothing is lowered twice
    return text.size() % 3 != 0;
  };
  const std::vector<Seed> all = seeds_of(space, callbacks);
  const std::size_t num_asked = asked.size();
  REQUIRE(all.size() == 12);
  for (const std::size_t num_checked : {std::size_t{1}, std::size_t{5}}) {
    CAPTURE(num_checked);
    asked.clear();
    const std::vector<Seed> some =
        analytic_seeds(space, NativeCpuPopulation{}, callbacks, machine(), RoundKey{1, 0, 0},
                       {.count = 12, .num_checked = num_checked});
    REQUIRE(some.size() == all.size());
    for (std::size_t i = 0; i < num_checked; ++i) {
      CHECK(some[i].text == all[i].text);
    }
    CHECK(asked.size() < num_asked);
  }
}

TEST_CASE("the best seed alone takes half of the drafts, and is as good") {
  SearchCallbacks callbacks = callbacks_of(machine());
  std::atomic<int> num_drafts{0};
  callbacks.draft = [&num_drafts, draft = callbacks.draft](const State& state) {
    ++num_drafts;
    return draft(state);
  };
  const SearchSpace space =
      test::space_of(dag_of("gemm:128x768x768:f32"), 1, native_space_options());
  const std::vector<Seed> all = analytic_seeds(space, NativeCpuPopulation{}, callbacks, machine(),
                                               RoundKey{1, 0, 0}, SeedEffort{});
  const int num_of_all = num_drafts.exchange(0);
  const std::vector<Seed> single = analytic_seeds(
      space, NativeCpuPopulation{}, callbacks, machine(), RoundKey{1, 0, 0}, SeedEffort::single());
  REQUIRE_FALSE(all.empty());
  REQUIRE_FALSE(single.empty());
  CHECK(num_drafts < 0.6 * num_of_all);
  CHECK(single[0].draft <= 1.02 * all[0].draft);
}

TEST_CASE("sketches that leave no tile open get seeds of their own") {
  const SearchCallbacks callbacks = callbacks_of(machine());
  for (const char* const workload :
       {"max_pool:n=1,c=64,h=56,w=56,k=3,s=2,p=1,layout=nhwc",
        "avg_pool:n=1,c=30,h=28,w=28,k=3,s=1,p=1,layout=nchw", "pointwise:512x1000:f32,relu,exp"}) {
    CAPTURE(workload);
    const SearchSpace space = test::space_of(dag_of(workload), 1, native_space_options());
    DraftedEffort drawn = DraftedEffort::single();
    drawn.num_drawn = 512;
    const std::vector<Seed> best = drafted_seeds(space, NativeCpuPopulation{}, NativeCpuMutators{},
                                                 callbacks, RoundKey{7, 0, 0}, drawn);
    for (const SeedEffort& effort : {SeedEffort::single(), SeedEffort{}}) {
      const std::vector<Seed> seeds = analytic_seeds(space, NativeCpuPopulation{}, callbacks,
                                                     machine(), RoundKey{1, 0, 0}, effort);
      REQUIRE_FALSE(seeds.empty());
      CHECK(seeds[0].draft <= 1.1 * best[0].draft);
    }
  }
}

TEST_CASE("a policy that knows the machine proposes seeds first, and only once") {
  test::ExtentModel model;
  PolicyOptions options;
  options.evolution.population = 32;
  options.target = machine();
  const SearchCallbacks callbacks = callbacks_of(machine());
  const auto make_space = [] {
    return test::space_of(dag_of("gemm:64x64x64:f32"), 1, native_space_options());
  };
  const std::vector<Seed> seeds =
      analytic_seeds(make_space(), NativeCpuPopulation{}, callbacks, machine(),
                     RoundKey{options.seed, 0, 0}, options.seeds);
  EvolutionaryPolicy policy(make_space(), model, callbacks, options);
  const std::vector<Proposal> single = policy.propose(1);
  REQUIRE(single.size() == 1);
  CHECK(single[0].text == seeds[0].text);
  const std::vector<Proposal> next = policy.propose(8);
  REQUIRE(next.size() == 8);
  for (std::size_t i = 0; i < 4; ++i) {
    CHECK(next[i].text == seeds[i + 1].text);
  }
  std::set<std::string> texts;
  for (const Proposal& proposal : next) {
    CHECK(texts.insert(proposal.text).second);
  }
}

}  // namespace tensorsmith
