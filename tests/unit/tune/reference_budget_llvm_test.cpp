// SPDX-License-Identifier: Apache-2.0
// requires: llvm
// A reference takes a part of the budget, whatever the workload.
#include "support/catch.hpp"
#include "tensorsmith/host.hpp"
#include "tensorsmith/ops/workload.hpp"
#include "tensorsmith/tune.hpp"

using namespace tensorsmith;

TEST_CASE("a budget of seconds bounds the rows of the reference, one of trials does not") {
  for (const char* text :
       {"gemm:640x512x512:f32", "gemm:640x512x512:u8,weights=i8", "pointwise:3000x1000:f32,gelu"}) {
    CAPTURE(text);
    const auto named = ops::parse_workload(text);
    REQUIRE(named);
    const TuneTask task{named->dag, host_target(), named->name, named->nominal_flop};
    TuneOptions options;
    options.budget = {0.1, 1};
    const TuneResult some = tune(task, options);
    REQUIRE(some.has_best());
    CHECK(some.summary.is_verified);
    CHECK(some.summary.verified_share > 0);
    CHECK(some.summary.verified_share < 0.5);
    options.budget = {0, 1};
    const TuneResult all = tune(task, options);
    REQUIRE(all.has_best());
    CHECK(all.summary.verified_share == 1);
  }
}
