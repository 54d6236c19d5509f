// SPDX-License-Identifier: Apache-2.0
#include "tensorsmith/search/drafted_seeds.hpp"

#include <atomic>
#include <set>

#include "support/catch.hpp"
#include "support/native_gpu_space.hpp"
#include "tensorsmith/cost/gpu_latency.hpp"
#include "tensorsmith/lower/lower.hpp"
#include "unit/search/search_fixtures.hpp"

namespace tensorsmith {
namespace {

constexpr DraftedEffort small_effort{6, 24, 4, 6, 6, 2};

double latency_of(const State& state, const Target& target) {
  const auto program = lower(state, target);
  if (!program) {
    return math::infinity;
  }
  const auto latency = gpu_latency(*program, target);
  return latency ? latency->ns : math::infinity;
}

SearchCallbacks gpu_callbacks(const Target& target, ParallelFor parallel_for = {}) {
  SearchCallbacks callbacks;
  callbacks.extract = test::extents_of;
  callbacks.is_valid = [target](const State& state) {
    return latency_of(state, target) < math::infinity;
  };
  callbacks.draft = [target](const State& state) { return latency_of(state, target); };
  callbacks.parallel_for = std::move(parallel_for);
  return callbacks;
}

std::vector<Seed> gpu_seeds(const SearchSpace& space, const SearchCallbacks& callbacks,
                            const DraftedEffort& effort = small_effort) {
  return drafted_seeds(space, NativeGpuPopulation{}, NativeGpuMutators{}, callbacks,
                       RoundKey{1, 0, 0}, effort);
}

}  // namespace

TEST_CASE("drafted seeds are distinct members of the space, best draft first") {
  const Target a100 = *Target::from_name("a100");
  for (const char* text : {"gemm:256x256x128:f32", "softmax:64x100", "gemm:64x64x64:f16,relu"}) {
    CAPTURE(text);
    const SearchSpace space = test::native_gpu_space(ops::parse_workload(text)->dag, a100);
    const SearchCallbacks callbacks = gpu_callbacks(a100);
    const std::vector<Seed> seeds = gpu_seeds(space, callbacks);
    REQUIRE_FALSE(seeds.empty());
    CHECK(seeds.size() <= small_effort.count);
    std::set<std::string> texts;
    for (std::size_t i = 0; i < seeds.size(); ++i) {
      const State& state = seeds[i].candidate.state;
      CHECK(texts.insert(state_text(state)).second);
      CHECK(seeds[i].draft == callbacks.draft(state));
      CHECK((i == 0 || seeds[i - 1].draft <= seeds[i].draft));
      CHECK(space.build(state.steps(), seeds[i].candidate.sketch).has_value());
    }
  }
}

TEST_CASE("drafted seeds do not depend on the number of threads") {
  const Target a100 = *Target::from_name("a100");
  const SearchSpace space =
      test::native_gpu_space(ops::parse_workload("gemm:128x128x128:f32")->dag, a100);
  const std::vector<Seed> one = gpu_seeds(space, gpu_callbacks(a100));
  const std::vector<Seed> three = gpu_seeds(space, gpu_callbacks(a100, test::threads(3)));
  REQUIRE(one.size() == three.size());
  for (std::size_t i = 0; i < one.size(); ++i) {
    CHECK(one[i].text == three[i].text);
  }
}

TEST_CASE("mutations never lose the best draw, and find better than draws alone") {
  const Target a100 = *Target::from_name("a100");
  const SearchSpace space =
      test::native_gpu_space(ops::parse_workload("gemm:512x512x512:f32")->dag, a100);
  const SearchCallbacks callbacks = gpu_callbacks(a100);
  DraftedEffort draws = small_effort;
  draws.max_rounds = 0;
  const std::vector<Seed> drawn = gpu_seeds(space, callbacks, draws);
  const std::vector<Seed> mutated = gpu_seeds(space, callbacks);
  REQUIRE_FALSE(drawn.empty());
  REQUIRE_FALSE(mutated.empty());
  CHECK(mutated[0].draft <= drawn[0].draft);
  std::atomic<int> calls{0};
  SearchCallbacks counting = callbacks;
  counting.draft = [&](const State& state) {
    ++calls;
    return callbacks.draft(state);
  };
  (void)gpu_seeds(space, counting);
  CHECK(calls <= static_cast<int>(small_effort.num_drawn + small_effort.max_rounds *
                                                               small_effort.num_parents *
                                                               small_effort.num_children));
}
}  // namespace tensorsmith
