// SPDX-License-Identifier: Apache-2.0
#include "tensorsmith/sketch/rules/expand_sums.hpp"

#include <string>
#include <vector>

#include "support/catch.hpp"
#include "tensorsmith/ops/workload.hpp"
#include "tensorsmith/sketch/native_rules.hpp"

namespace tensorsmith {
namespace {

std::vector<State> sketches_of(const std::string& text) {
  const auto parsed = ops::parse_workload(text);
  REQUIRE(parsed);
  SketchOptions options;
  options.hardware.num_cores = 4;
  return generate_sketches(parsed->dag, native_cpu_rules(), options);
}
bool is_expanded(const State& state) {
  return !state.steps().empty() && std::holds_alternative<ExpandReductionStep>(state.steps()[0]);
}

}  // namespace

TEST_CASE("short sums become formulas, which are inlined where they are cheap") {
  const std::vector<State> sketches =
      sketches_of("L[i:50] += X[i,j:3]*X[i,j]; Y[i:50,j:3] = X[i,j]/sqrt(L[i])");
  int num_inlined = 0, num_kept = 0;
  for (const State& state : sketches) {
    const bool is_inlined = state.stage(1).compute_at == ComputeAt::inlined;
    CHECK((!is_inlined || is_expanded(state)));
    num_inlined += is_inlined ? 1 : 0;
    num_kept += is_expanded(state) ? 0 : 1;
  }
  CHECK(num_inlined > 0);
  CHECK(num_kept > 0);
}

TEST_CASE("all short sums of a program are expanded at once, long ones are not") {
  for (const State& state :
       sketches_of("A[i:50] += X[i,j:4]; B[i:50] += Z[i,j:5]; Y[i:50] max= A[i]*W[k:2,l:2]*B[i]")) {
    if (is_expanded(state)) {
      CHECK(std::holds_alternative<ExpandReductionStep>(state.steps()[1]));
      CHECK_FALSE(std::holds_alternative<ExpandReductionStep>(state.steps()[2]));
    }
  }
  for (const State& state : sketches_of("Y[i:50] += X[i,j:5]")) {
    CHECK_FALSE(is_expanded(state));
  }
}

}  // namespace tensorsmith
