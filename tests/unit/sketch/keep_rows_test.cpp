// SPDX-License-Identifier: Apache-2.0
#include "tensorsmith/sketch/rules/keep_rows.hpp"

#include <string>

#include "support/catch.hpp"
#include "tensorsmith/ops/workload.hpp"
#include "tensorsmith/sketch/generate.hpp"
#include "tensorsmith/sketch/native_rules.hpp"

using namespace tensorsmith;

namespace {

/// How many sketches leave some stage with a reduction and a product untiled.
std::size_t num_untiled(const std::string& workload) {
  const auto parsed = ops::parse_workload(workload);
  REQUIRE(parsed.has_value());
  SketchOptions options;
  options.hardware.num_cores = 4;
  std::size_t count = 0;
  for (const State& sketch : generate_sketches(parsed->dag, native_cpu_rules(), options)) {
    for (std::size_t s = 0; s < sketch.num_stages(); ++s) {
      const Operation& op = sketch.operation(s);
      const bool is_untouched =
          !op.reduce_axes.empty() && sketch.stage(s).compute_at == ComputeAt::root &&
          sketch.stage(s).iterators.size() == op.axes.size() + op.reduce_axes.size();
      count += is_untouched && sketch.steps().empty() ? 1 : 0;
    }
  }
  return count;
}

}  // namespace

TEST_CASE("a matrix times a vector is left untiled where it is read along its rows") {
  CHECK(num_untiled("gemm:64x1x96:f32") == 1);
  CHECK(num_untiled("gemm:1x64x96:f32,tb") == 1);
  CHECK(num_untiled("bmm:3x1x64x96:f32,tb") == 1);
}

TEST_CASE("products that use an operand again, or read along their result, are always tiled") {
  CHECK(num_untiled("gemm:1x64x96:f32") == 0);
  CHECK(num_untiled("gemm:64x64x96:f32") == 0);
  CHECK(num_untiled("gemm:64x2x96:f32,tb") == 0);
  CHECK(num_untiled("bmm:3x32x64x96:f32,tb") == 0);
}
