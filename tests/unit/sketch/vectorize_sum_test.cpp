// SPDX-License-Identifier: Apache-2.0
#include "tensorsmith/sketch/rules/vectorize_sum.hpp"

#include <string>

#include "support/catch.hpp"
#include "tensorsmith/lower/known_intrinsics.hpp"
#include "tensorsmith/ops/workload.hpp"
#include "tensorsmith/sketch/generate.hpp"
#include "tensorsmith/sketch/native_rules.hpp"

using namespace tensorsmith;

namespace {

/// How many sketches have vectors along a sum; none of them reads a packed copy there.
std::size_t num_along_sum(const std::string& workload, const char* target = "x86-64-v2") {
  const auto parsed = ops::parse_workload(workload);
  REQUIRE(parsed.has_value());
  SketchOptions options;
  options.hardware.num_cores = 4;
  options.intrinsics = intrinsics_of(*Target::from_name(target));
  std::size_t count = 0;
  for (const State& sketch : generate_sketches(parsed->dag, native_cpu_rules(), options)) {
    for (std::size_t s = 0; s < sketch.num_stages(); ++s) {
      const bool is_one = sketch.stage(s).hints.has<hints::VectorizeSum>();
      count += is_one ? 1 : 0;
      CHECK_FALSE((is_one && sketch.operation(s - 1).name.ends_with(".packed")));
    }
  }
  return count;
}

}  // namespace

TEST_CASE("products of few rows whose operands lie along the sum may have their vectors there") {
  CHECK(num_along_sum("gemm:4x64x96:f32,tb") == 1);
  CHECK(num_along_sum("gemm:64x2x96:f16,tb") == 1);
  CHECK(num_along_sum("gemm:4x64x96:f32,tb,bias,relu") == 1);
  CHECK(num_along_sum("bmm:3x8x64x96:f32,tb") == 1);
}

TEST_CASE("not where an operand lies across the sum, is used often, or the sum is short") {
  CHECK(num_along_sum("gemm:4x64x96:f32") == 0);
  CHECK(num_along_sum("gemm:256x256x96:f32,tb") == 0);
  CHECK(num_along_sum("gemm:4x64x16:f32,tb") == 0);
  CHECK(num_along_sum("reduce_sum:64x96:f32") == 0);
}

TEST_CASE("an intrinsic that the product has across the sum is not given up") {
  CHECK(num_along_sum("gemm:4x64x256:i8,tb", "znver3") == 1);
  CHECK(num_along_sum("gemm:4x64x256:bf16,tb", "znver4") == 1);
  CHECK(num_along_sum("gemm:4x64x256:u8,weights=i8,tb", "znver4") == 1);
  CHECK(num_along_sum("gemm:4x64x250:i8,tb", "znver3") == 0);  // no whole groups
  CHECK(num_along_sum("gemm:4x64x256:i8,tb", "znver4") == 0);  // one operand has an offset
}
