// SPDX-License-Identifier: Apache-2.0
#include "tensorsmith/search/population/thread_bind.hpp"

#include "support/catch.hpp"
#include "tensorsmith/sched/step_json.hpp"
#include "tensorsmith/search/reference_sampler.hpp"
#include "tensorsmith/sketch/generate.hpp"
#include "tensorsmith/sketch/gpu_rules.hpp"
#include "unit/sketch/sketch_fixtures.hpp"

namespace tensorsmith {
namespace {

constexpr HardwareParams cuda_hardware{-1, 16, 64, 49152, 2147483647, 1024, 8, 32};

SearchSpace cuda_space(Shared<const ComputeDag> dag) {
  return SearchSpace(
      generate_sketches(std::move(dag), ansor_gpu_rules(), gpu_sketch_options(cuda_hardware)),
      gpu_space_options(cuda_hardware));
}

/// The only sketch of `space` with these split lengths.
Candidate with_lengths(const SearchSpace& space, const std::vector<LengthList>& lengths) {
  std::vector<Step> steps = space.sketches().at(0).steps();
  std::size_t next = 0;
  for (Step& step : steps) {
    if (SplitStep* split = std::get_if<SplitStep>(&step)) {
      split->lengths = lengths.at(next++);
    }
  }
  auto candidate = space.build(steps, 0);
  REQUIRE(candidate);
  return *candidate;
}

std::string steps_from(const Candidate& candidate, std::size_t first) {
  const std::vector<Step>& steps = candidate.state.steps();
  return steps_json({steps.begin() + static_cast<std::ptrdiff_t>(first), steps.end()});
}

}  // namespace

TEST_CASE("the worked sample of the Ansor reference, ch. 5.6: steps and state") {
  const SearchSpace space = cuda_space(test::matmul_dag(512, 512, 512));
  Candidate candidate = with_lengths(space, {{1, 64, 1, 4}, {8, 8, 2, 1}, {16, 1}});
  CounterRng rng(1);
  REQUIRE(ThreadBind{}.apply(space, candidate, rng));
  CHECK(steps_from(candidate, 13) ==
        R"([["FU", 5, [0, 1]], ["AN", 5, 0, 5], ["FU", 5, [1, 2]], ["AN", 5, 1, 4], )"
        R"(["FU", 5, [2, 3]], ["AN", 5, 2, 6], ["FU", 3, [0, 1]], ["SP", 3, 0, 32, [1], 1], )"
        R"(["AN", 3, 1, 2], ["FFSP", 3, 0, [2, 1], 1, 1], ["AN", 3, 1, 6], ["FU", 1, [0, 1]], )"
        R"(["SP", 1, 0, 64, [1], 1], ["AN", 1, 1, 2], ["FFSP", 1, 0, [2, 1], 1, 1], )"
        R"(["AN", 1, 1, 6]])");
  REQUIRE(try_step(candidate.state, PragmaStep{4, 0, "auto_unroll_max_step$16"}));
  REQUIRE(space.refresh(candidate));
  CHECK(state_text(candidate.state) == R"(Placeholder: A, B
blockIdx.x i.0@j.0@ (0,8)
  vthread i.1@j.1@ (0,8)
    threadIdx.x i.2@j.2@ (0,512)
      C.local auto_unroll: 16
      for k.0 (0,32)
        for ax0@ax1@.0.0 (0,4)
          threadIdx.x ax0@ax1@.0.1 (0,512)
            B.shared = ...
        for ax0@ax1@.0.0 (0,8)
          threadIdx.x ax0@ax1@.0.1 (0,512)
            A.shared = ...
        for k.1 (0,16)
          for j_c.3 (0,2)
            for i_c.4 (0,4)
              C.local = ...
      for i.3 (0,4)
        for j.3 (0,2)
          C = ...
)");
}

TEST_CASE("too many virtual threads, or fewer threads than a warp: no program") {
  const SearchSpace space = cuda_space(test::matmul_dag(512, 512, 512));
  CounterRng rng(1);
  // i in .0 .1 .2 .3 .4: vthreads are the lengths at .1, threads those at .2.
  Candidate many = with_lengths(space, {{4, 64, 1, 1}, {4, 8, 1, 1}, {1, 1}});
  CHECK_FALSE(ThreadBind{}.apply(space, many, rng));
  Candidate few = with_lengths(space, {{1, 4, 1, 1}, {1, 4, 1, 1}, {1, 1}});
  CHECK_FALSE(ThreadBind{}.apply(space, few, rng));
  Candidate good = with_lengths(space, {{1, 8, 1, 1}, {1, 4, 1, 1}, {1, 1}});
  CHECK(ThreadBind{}.apply(space, good, rng));
  const SearchSpace tiny = cuda_space(test::matmul_dag(4, 4, 4));
  Candidate small = with_lengths(tiny, {{1, 2, 1, 1}, {1, 2, 1, 1}, {1, 1}});
  CHECK(ThreadBind{}.apply(tiny, small, rng));  // 64 points: as few threads as it likes
}

TEST_CASE("a reduction over threads runs in blocks, a plain stage in blocks of a warp") {
  const SearchSpace space = cuda_space(test::row_sum_dag(64, 1024));
  CounterRng rng(3);
  int num_cross = 0;
  for (std::uint32_t sketch = 0; sketch < space.sketches().size(); ++sketch) {
    Candidate candidate = space.sketch(sketch);
    REQUIRE(FillTileSize{}.apply(space, candidate, rng));
    REQUIRE(ThreadBind{}.apply(space, candidate, rng));
    const State& state = candidate.state;
    for (std::size_t id = 0; id < state.num_stages(); ++id) {
      const auto& stage = state.stage(id);
      if (stage.is_placeholder || stage.compute_at != ComputeAt::root) {
        continue;
      }
      const auto& outer = stage.iterators.front();
      if (has_cross_thread_reduction(state, static_cast<std::int32_t>(id))) {
        ++num_cross;
        CHECK(outer.annotation == Annotation::block_x);
      } else {
        const bool is_small = outer.annotation == Annotation::thread_x && outer.extent <= 32;
        CHECK((is_small || (outer.annotation == Annotation::block_x &&
                            stage.iterators[1].annotation == Annotation::thread_x)));
      }
    }
  }
  CHECK(num_cross > 0);
}

TEST_CASE("a seed of the reference's generators draws the same programs on any threads") {
  const SearchSpace space = cuda_space(test::matmul_dag(64, 64, 64));
  const auto draw = [&](std::uint32_t seed) {
    MersenneTwister policy(seed);
    ReferenceGenerators generators(policy, 64);
    std::string text;
    for (int batch = 0; batch < 2; ++batch) {
      for (const Candidate& candidate : generators.draw(space, AnsorGpuPopulation{}, {})) {
        text += state_text(candidate.state);
      }
    }
    return text;
  };
  CHECK(draw(123).size() > 1000);
  CHECK(draw(123) == draw(123));
  CHECK(draw(123) != draw(124));
}

}  // namespace tensorsmith
