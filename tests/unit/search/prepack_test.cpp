// SPDX-License-Identifier: Apache-2.0
// Constant operands in the native space: their packed copies stay at root and cost nothing.
#include "support/catch.hpp"
#include "tensorsmith/cost/draft_model.hpp"
#include "tensorsmith/feature/extract.hpp"
#include "tensorsmith/ops/gemm.hpp"
#include "tensorsmith/sched/prepared.hpp"
#include "tensorsmith/search/evolution/weighted_mutators.hpp"
#include "tensorsmith/search/population/sample.hpp"
#include "tensorsmith/sketch/native_rules.hpp"
#include "unit/search/search_fixtures.hpp"

namespace tensorsmith {
namespace {

Shared<const ComputeDag> gemm_dag(bool has_constant) {
  ops::GemmParams p;
  p.m = 32;
  p.n = 64;
  p.k = 48;
  p.packing = has_constant ? ops::PackingClass::packed_weights : ops::PackingClass::plain;
  return ops::gemm(p).dag;
}

SearchSpace space_of(const Shared<const ComputeDag>& dag) {
  SketchOptions options;
  options.hardware.num_cores = 2;
  SpaceOptions space = native_space_options();
  space.hardware = options.hardware;
  return SearchSpace(generate_sketches(dag, native_cpu_rules(), options), space);
}

}  // namespace

TEST_CASE("a constant is worth a packed copy however small it is, and only it") {
  for (const bool has_constant : {false, true}) {
    const SearchSpace space = space_of(gemm_dag(has_constant));
    std::size_t num_packed = 0;
    for (const State& sketch : space.sketches()) {
      const PackedCopies copies(sketch.steps());
      for (std::int32_t copy : copies.stages()) {
        CHECK(sketch.operation(static_cast<std::size_t>(copy)).name == "B.packed");
        ++num_packed;
      }
    }
    CHECK((num_packed > 0) == has_constant);
  }
}

TEST_CASE("the copy of a constant stays at root through mutations, without rows or cycles") {
  const SearchSpace space = space_of(gemm_dag(true));
  const Target target = Target::x86_64_v4();
  std::uint32_t num_packed = 0;
  for (std::uint32_t number = 0; number < 60; ++number) {
    CounterRng rng(test::seed(), 77, number);
    std::optional<Candidate> candidate = draw_candidate(space, NativeCpuPopulation{}, rng);
    for (int i = 0; candidate && i < 3; ++i) {
      if (auto mutant = NativeCpuMutators{}.mutate(space, *candidate, rng)) {
        candidate = std::move(mutant);
      }
    }
    if (!candidate) {
      continue;
    }
    const State& state = candidate->state;
    const PackedCopies copies(state.steps());
    for (std::int32_t copy : copies.stages()) {
      const auto id = static_cast<std::size_t>(copy);
      INFO(state_text(state));
      CHECK(state.stage(id).compute_at == ComputeAt::root);
      CHECK(prepared_stages(state)[id]);
      const FeatureMatrix all =
          extract_features(state, FeatureOptions{.leaves_out_prepared = false});
      const FeatureMatrix timed =
          extract_features(state, FeatureOptions{.leaves_out_prepared = true});
      CHECK(timed.num_rows + 1 == all.num_rows);
      CHECK(draft_cycles(state, target) > 0);
      ++num_packed;
    }
  }
  CHECK(num_packed > 5);
}

}  // namespace tensorsmith
