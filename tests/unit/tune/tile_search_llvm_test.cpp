// SPDX-License-Identifier: Apache-2.0
// requires: llvm
// The whole way to tile registers on a machine that has them in software: the search, its best
// program, code in the worker, verification. Small shapes: with sanitizers the software is slow,
// and the first call of a program has two seconds.
#include "support/catch.hpp"
#include "support/emulated_tiles.hpp"
#include "tensorsmith/ir/print.hpp"
#include "tensorsmith/lower/lower.hpp"
#include "tensorsmith/ops/workload.hpp"
#include "tensorsmith/tune.hpp"

using namespace tensorsmith;

TEST_CASE("the program that the analytic model puts first multiplies in tiles") {
  for (const auto& [workload, intrinsic] :
       {std::pair("gemm:128x128x128:bf16", " as tdpbf16ps"),
        std::pair("gemm:128x96x128:f16", " as tdpfp16ps"),
        std::pair("gemm:128x64x128:i8", " as tdpbssd"),
        std::pair("gemm:128x160x192:u8,weights=i8", " as tdpbusd")}) {
    CAPTURE(workload);
    const Target target = test::with_emulated_tiles();
    const TuneTask task{ops::parse_workload(workload)->dag, target, workload, 0};
    TuneOptions options;
    options.budget = {0, 0};  // nothing is compared
    const TuneResult result = tune(task, options);
    INFO(result.summary.message << result.summary.first_failure);
    REQUIRE(result.has_best());
    CHECK(result.summary.is_verified);
    const auto program = lower(result.state(), target);
    REQUIRE(program);
    CHECK(to_text(*program).find(intrinsic) != std::string::npos);
  }
}
