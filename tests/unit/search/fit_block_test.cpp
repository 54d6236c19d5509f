// SPDX-License-Identifier: Apache-2.0
// The native space for GPUs: what no block can hold is not drawn; the reference's is as it was.
#include "tensorsmith/search/population/fit_block.hpp"

#include "support/catch.hpp"
#include "tensorsmith/ops/workload.hpp"
#include "tensorsmith/search/evolution/native_gpu_mutators.hpp"
#include "tensorsmith/search/population/sample.hpp"
#include "tensorsmith/search/tile_templates.hpp"
#include "tensorsmith/sketch/generate.hpp"
#include "tensorsmith/sketch/gpu_rules.hpp"
#include "tensorsmith/sketch/native_gpu_rules.hpp"

using namespace tensorsmith;

namespace {

SearchSpace gpu_space_of(const char* workload) {
  const auto built = ops::parse_workload(workload);
  REQUIRE(built.has_value());
  const HardwareParams hardware = hardware_params(*Target::cuda(80));
  return SearchSpace(generate_sketches(built->dag, ansor_gpu_rules(), gpu_sketch_options(hardware)),
                     gpu_space_options(hardware));
}

std::optional<Candidate> first_native(const SearchSpace& space) {
  std::optional<Candidate> drawn;
  for (std::uint32_t i = 0; !drawn && i < 20; ++i) {
    CounterRng rng(1, 0, 0, i);
    drawn = draw_candidate(space, NativeGpuPopulation{}, rng);
  }
  REQUIRE(drawn.has_value());
  return drawn;
}

}  // namespace

TEST_CASE("programs of the native GPU space fit a block; many of the reference's do not") {
  for (const char* workload : {"gemm:512x512x512:f32", "gemm:512x512x512:f64", "softmax:64x256",
                               "max_pool:n=1,c=8,h=16,w=16,k=3,s=2,p=1"}) {
    INFO(workload);
    const SearchSpace space = gpu_space_of(workload);
    const HardwareParams& hardware = space.options().hardware;
    int num_native = 0, num_reference = 0, num_too_large = 0;
    for (std::uint32_t i = 0; i < 60; ++i) {
      CounterRng native(1, 0, 0, i), reference(1, 0, 0, i), same(1, 0, 0, i);
      if (const auto drawn = draw_candidate(space, NativeGpuPopulation{}, native)) {
        ++num_native;
        CHECK(fits_block(drawn->state, hardware));
        const auto again = draw_candidate(space, NativeGpuPopulation{}, same);
        REQUIRE(again.has_value());
        CHECK(state_text(again->state) == state_text(drawn->state));
      }
      if (const auto drawn = draw_candidate(space, AnsorGpuPopulation{}, reference)) {
        ++num_reference;
        num_too_large += fits_block(drawn->state, hardware) ? 0 : 1;
      }
    }
    CHECK(num_native >= 40);
    CHECK(num_native >= num_reference - num_too_large);
    if (std::string_view(workload).starts_with("gemm")) {
      CHECK(num_too_large > num_reference / 4);
    }
  }
}

TEST_CASE("tiles of several products fit together") {
  const auto dag =
      ops::parse_workload("A[i:32,j:64] += X[i,k:64]*T[k,j]; B[i:32,j:64] += A[i,k:64]*U[k,j]; "
                          "C[i:32,j:64] += B[i,k:64]*V[k,j]; D[i:32,j:64] += C[i,k:64]*W[k,j]")
          ->dag;
  const SpaceOptions options = native_gpu_space_options(*Target::cuda(80));
  const SearchSpace space(
      generate_sketches(dag, native_gpu_rules(), gpu_sketch_options(options.hardware)), options);
  const auto population = population_of<NativeGpuPopulation>(space);
  int num_drawn = 0;
  for (std::uint32_t i = 0; i < 20; ++i) {
    CounterRng rng(1, 0, 0, i), same(1, 0, 0, i);
    if (const auto drawn = draw_candidate(space, population, rng)) {
      ++num_drawn;
      CHECK(fits_block(drawn->state, options));
      CHECK(space.sketch_of(drawn->state.steps()) == drawn->sketch);
      const auto again = draw_candidate(space, population, same);
      REQUIRE(again.has_value());
      CHECK(state_text(again->state) == state_text(drawn->state));
    }
  }
  CHECK(num_drawn >= 18);
}

TEST_CASE("tiles are drawn from templates, of partial sums too") {
  const SpaceOptions options = native_gpu_space_options(*Target::from_name("a100"));
  const SearchSpace space(generate_sketches(ops::parse_workload("gemm:16x4096x4096:f32")->dag,
                                            native_gpu_rules(),
                                            gpu_sketch_options(options.hardware)),
                          options);
  const auto together = tiles_by_templates(space);
  int num_drawn = 0, num_with_parts = 0;
  for (std::uint32_t i = 0; i < space.sketches().size(); ++i) {
    if (together->is_of[i] != 0) {
      const auto lengths = together->draw(i, 7);
      REQUIRE(lengths.has_value());
      CHECK(*lengths == *together->draw(i, 7));
      CHECK(lengths->size() == count_items(space.sketches()[i].steps(), [](const Step& step) {
              return std::holds_alternative<SplitStep>(step);
            }));
      ++num_drawn;
      num_with_parts += any_item(space.sketches()[i].steps(), [](const Step& step) {
        return std::holds_alternative<RfactorStep>(step);
      });
    }
  }
  CHECK(num_drawn > num_with_parts);
  CHECK(num_with_parts > 0);
}

TEST_CASE("mutations of the native GPU space fit a block") {
  const SearchSpace space = gpu_space_of("gemm:512x512x512:f32");
  std::optional<Candidate> parent = first_native(space);
  int num_children = 0;
  for (std::uint32_t i = 0; i < 40; ++i) {
    CounterRng own(2, 0, 0, i);
    if (std::optional<Candidate> child = NativeGpuMutators{}.mutate(space, *parent, own)) {
      ++num_children;
      CHECK(fits_block(child->state, space.options().hardware));
      parent = std::move(child);
    }
  }
  CHECK(num_children >= 5);
}

TEST_CASE("a block's threads, shared memory and registers are counted") {
  const SearchSpace space = gpu_space_of("gemm:512x512x512:f32");
  HardwareParams small = space.options().hardware;
  const std::optional<Candidate> drawn = first_native(space);
  REQUIRE(fits_block(drawn->state, small));
  small.max_threads_per_block = 8;  // a product of this size has a warp at least
  CHECK_FALSE(fits_block(drawn->state, small));
  small = space.options().hardware;
  small.max_shared_memory_per_block = 4;
  CHECK_FALSE(fits_block(drawn->state, small));
}
