// SPDX-License-Identifier: Apache-2.0
// Every sketch of the native spaces has programs: one without takes its share of all draws in vain.
#include <string>
#include <vector>

#include "support/catch.hpp"
#include "support/native_gpu_space.hpp"
#include "support/row_workloads.hpp"
#include "support/small_workloads.hpp"
#include "tensorsmith/lower/lower.hpp"
#include "tensorsmith/sched/print_state.hpp"
#include "tensorsmith/search/tile_templates.hpp"
#include "tensorsmith/sketch/native_rules.hpp"

using namespace tensorsmith;

namespace {

constexpr std::uint32_t most_draws = 200;

/// Whether one of the draws from this sketch can be lowered.
template <class Population>
bool has_programs(const SearchSpace& space, const Population& population, const Target& target,
                  std::uint32_t sketch) {
  for (std::uint32_t i = 0; i < most_draws; ++i) {
    CounterRng rng(test::seed(), 211, sketch, i);
    const auto drawn = complete_sketch(space, population, sketch, rng);
    if (drawn && lower(drawn->state, target)) {
      return true;
    }
  }
  return false;
}

template <class Population>
void check_sketches(const std::string& name, const SearchSpace& space, const Target& target) {
  const Population population = population_of<Population>(space);
  REQUIRE(!space.sketches().empty());
  for (std::uint32_t sketch = 0; sketch < space.sketches().size(); ++sketch) {
    INFO(name << ", " << target.name << ", sketch " << sketch << "\n"
              << state_text(space.sketches()[sketch]));
    CHECK(has_programs(space, population, target, sketch));
  }
}

std::vector<test::SmallWorkload> all_workloads() {
  std::vector<test::SmallWorkload> all = test::small_workloads(DType::f32);
  for (const auto& [name, dag] : test::row_workloads()) {
    all.push_back({name, dag});
  }
  for (const char* text : {"gemm:512x512x512:f32", "gemm:16x4096x4096:f32", "gemm:8x12x512:f32",
                           "bmm:12x128x128x64:f32", "conv2d:n=1,h=14,w=14,ci=256,co=256,k=3,p=1",
                           "softmax:64x1000:f32"}) {
    all.push_back({text, ops::parse_workload(text)->dag});
  }
  return all;
}

}  // namespace

TEST_CASE("every sketch of the native GPU space has programs") {
  const Target target = Target::from_name("a100").value();
  for (const auto& [name, dag] : all_workloads()) {
    check_sketches<NativeGpuPopulation>(name, test::native_gpu_space(dag, target), target);
  }
}

TEST_CASE("every sketch of the native CPU space has programs") {
  const Target target = Target::from_name("znver4").value();
  for (const auto& [name, dag] : all_workloads()) {
    SketchOptions options = native_cpu_sketch_options();
    options.hardware = hardware_params(target);
    options.hardware.num_cores = 4;
    options.intrinsics = intrinsics_of(target);
    SpaceOptions native = native_space_options();
    native.hardware = options.hardware;
    native.intrinsics = options.intrinsics;
    check_sketches<NativeCpuPopulation>(
        name, SearchSpace(generate_sketches(dag, native_cpu_rules(), options), native), target);
  }
}
