// SPDX-License-Identifier: Apache-2.0
// Indices and values of programs: what is not simplified any further would be the same if it were.
#include <optional>
#include <string>

#include "support/catch.hpp"
#include "support/every_workload.hpp"
#include "tensorsmith/feature/build_store_program.hpp"
#include "tensorsmith/search/population/sample.hpp"
#include "tensorsmith/sketch/cpu_rules.hpp"
#include "tensorsmith/sketch/generate.hpp"
#include "tensorsmith/sketch/gpu_rules.hpp"

using namespace tensorsmith;

namespace {

struct Seen {
  std::uint32_t programs = 0, expressions = 0, settled = 0;
};

void check(algebra::Analyzer& analyzer, algebra::Ref ref, Seen& seen) {
  const algebra::Ref result = analyzer.simplify(ref);
  CHECK(result == analyzer.simplify_in_full(ref));
  ++seen.expressions;
  seen.settled += analyzer.is_settled(result) ? 1 : 0;
}

void check(const State& state, Seen& seen) {
  const std::optional<StoreProgram> program = build_store_program(state);
  if (!program) {
    return;
  }
  ++seen.programs;
  algebra::Pool pool = program->pool;
  algebra::Workspace workspace;
  algebra::Analyzer analyzer(pool, workspace);
  for (const FeatureLoop& loop : program->loops) {
    for (const std::int32_t var : loop.vars) {
      analyzer.bind(var, pool.integer(0), pool.integer(loop.extent));
    }
  }
  for (const FeatureStore& store : program->stores) {
    for (const FeatureAccess& access : store.accesses) {
      for (const algebra::Ref index : access.indices) {
        check(analyzer, index, seen);
        check(analyzer, pool.floordiv(index, pool.like(index, 3)), seen);
        check(analyzer, pool.floormod(pool.add(index, index), pool.like(index, 8)), seen);
      }
    }
    if (store.value != algebra::no_ref) {
      check(analyzer, store.value, seen);
    }
  }
}

template <class Population>
void check_some(const SearchSpace& space, std::uint32_t count, Seen& seen) {
  for (std::uint32_t i = 0; i < count; ++i) {
    CounterRng rng(test::seed(), 41, i);
    const std::optional<Candidate> candidate = draw_candidate(space, Population{}, rng);
    if (candidate) {
      check(candidate->state, seen);
    }
  }
}

}  // namespace

TEST_CASE("indices that are settled are those of the reference's whole simplification",
          "[algebra]") {
  Seen cpu, gpu;
  const Target board = *Target::from_name("a100");
  for (const std::string& text : test::every_workload()) {
    INFO(text);
    const auto workload = ops::parse_workload(text);
    REQUIRE(workload);
    SketchOptions options;
    options.hardware = hardware_params(Target::x86_64_v3());
    options.hardware.num_cores = 4;
    SpaceOptions drawn;
    drawn.hardware = options.hardware;
    check_some<AnsorCpuPopulation>(
        SearchSpace(generate_sketches(workload->dag, ansor_cpu_rules(), options), drawn), 2, cpu);
    drawn = gpu_space_options(hardware_params(board));
    check_some<AnsorGpuPopulation>(
        SearchSpace(
            generate_sketches(workload->dag, ansor_gpu_rules(), gpu_sketch_options(drawn.hardware)),
            drawn),
        2, gpu);
  }
  CHECK(cpu.programs > 100);
  CHECK(gpu.programs > 100);
  CHECK(cpu.settled > cpu.expressions / 3);
  CHECK(gpu.settled > gpu.expressions / 3);
  CHECK(gpu.settled < gpu.expressions);
}
