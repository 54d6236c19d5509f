// SPDX-License-Identifier: Apache-2.0
// requires: llvm
// Maxima, minima and relu of infinities and NaN in programs as the search draws them: dag, loop
// program and machine code agree.
#include "codegen_fixture.hpp"
#include "support/extreme_inputs.hpp"
#include "tensorsmith/lower/lower.hpp"
#include "tensorsmith/ops/workload.hpp"
#include "tensorsmith/search/population/sample.hpp"
#include "tensorsmith/sketch/generate.hpp"
#include "tensorsmith/sketch/native_rules.hpp"
#include "tensorsmith/te/eval_dag.hpp"

using namespace tensorsmith;
using namespace tensorsmith::test;

TEST_CASE("maxima and minima of infinities and NaN, as they are drawn for a processor",
          "[codegen]") {
  SketchOptions options = native_cpu_sketch_options();
  options.hardware = hardware_params(host_target());
  options.hardware.num_cores = 2;
  SpaceOptions native = native_space_options();
  native.hardware = options.hardware;
  for (const std::string& text : extreme_workloads()) {
    const auto workload = ops::parse_workload(text);
    INFO(text << (workload ? "" : workload.error()));
    REQUIRE(workload.has_value());
    const std::vector<HostArray> arrays = extreme_arguments(*workload->dag);
    const auto want = eval_dag(*workload->dag, {arrays.begin(), arrays.end() - 1});
    REQUIRE(want.has_value());
    const SearchSpace space(generate_sketches(workload->dag, native_cpu_rules(), options), native);
    const std::uint32_t count = scaled(12);
    std::uint32_t num_checked = 0;
    for (std::uint32_t number = 0; number < count; ++number) {
      CounterRng rng(seed(), 31, number);
      const auto candidate = draw_candidate(space, NativeCpuPopulation{}, rng);
      if (!candidate) {
        continue;
      }
      const auto program = lower(candidate->state, host_target());
      if (!program) {
        continue;
      }
      INFO(text << ", seed " << seed() << ", number " << number);
      std::vector<HostArray> interpreted = arrays;
      REQUIRE(eval(*program, interpreted));
      CHECK(unequal(interpreted.back(), want->front()) == "");
      CHECK(difference(*program, arrays, host_target(), 2) == "");
      ++num_checked;
    }
    INFO(text);
    CHECK(num_checked > count / 2);
  }
}
