// SPDX-License-Identifier: Apache-2.0
#include "tensorsmith/lower/stream_k.hpp"

#include <string>

#include "support/catch.hpp"
#include "support/gpu_programs.hpp"
#include "tensorsmith/ir/print.hpp"
#include "tensorsmith/lower/lower.hpp"
#include "tensorsmith/ops/workload.hpp"
#include "unit/lower/shared_product.hpp"

namespace tensorsmith {
namespace {

/// In tiles of 8 x 8 by blocks of 16 threads.
State product_in_blocks(const Shared<const ComputeDag>& dag, std::int64_t depth,
                        std::int64_t num_blocks) {
  return test::shared_product(dag, {4, 2, depth}, "stream_k$" + std::to_string(num_blocks));
}

}  // namespace

TEST_CASE("blocks share the steps of all tiles out, whatever their number") {
  // 3 x 4 tiles with edges, 12 steps of 4 terms each; 36 steps of 20 blocks are too few for a tile.
  const auto workload = ops::parse_workload("gemm:18x28x48:i32");
  REQUIRE(workload.has_value());
  const test::KnownResults known(*workload->dag);
  for (const std::int64_t num_blocks : {2, 3, 5, 7, 9, 10, 11}) {
    const auto program = lower(product_in_blocks(workload->dag, 4, num_blocks), test::gpu_target());
    REQUIRE(program.has_value());
    const std::string text = to_text(*program);
    INFO(num_blocks << " blocks\n" << text);
    CHECK(known.wrong_with(*program) == "");
    const bool is_even = 12 % num_blocks == 0;
    CHECK((text.find(".parts") == std::string::npos) == is_even);
  }
}

}  // namespace tensorsmith
