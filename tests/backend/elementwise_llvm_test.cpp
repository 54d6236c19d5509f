// SPDX-License-Identifier: Apache-2.0
// requires: llvm
// Elementary functions of compiled code, as vectors and one by one, on all numbers of 16 bits and a
// dense sample of f32.
#include "codegen_fixture.hpp"
#include "support/elementwise_sweep.hpp"

using namespace tensorsmith;
using namespace tensorsmith::test;

TEST_CASE("elementwise functions keep their stated bounds in compiled code", "[codegen]") {
  for (const DType type : {DType::f32, DType::f16, DType::bf16}) {
    const ElementwiseJudge& judge = judge_of(type);
    for (const ForKind kind : {ForKind::vectorized, ForKind::serial}) {
      const LoopProgram program = sweep_program(type, {{judge.count(), kind}});
      for (const Target& target : code_targets()) {
        if (!host_runs(target)) {
          continue;
        }
        const auto outputs = run_compiled_as(false, program, judge.arguments(), target, 1);
        REQUIRE(outputs);
        INFO(name_of(type) << (kind == ForKind::serial ? ", one by one" : "") << " on "
                           << target.name);
        CHECK(judge.problems((*outputs)[1]) == "");
      }
    }
  }
}
