// SPDX-License-Identifier: Apache-2.0
#include "tensorsmith/ir/loop_program.hpp"

#include "support/catch.hpp"

using namespace tensorsmith;

TEST_CASE("buffers are row-major unless strides say otherwise") {
  LoopProgram p;
  const BufferId a = p.add(Buffer{"A", DType::f16, {3, 4, 5}, {}});
  CHECK(p[a].strides == SmallVector<std::int64_t, 6>{20, 5, 1});
  CHECK(p[a].num_elements() == 60);
  CHECK(p[a].num_bytes() == 120);
  const BufferId b = p.add(Buffer{"B", DType::f32, {3, 4}, {7, 1}});
  CHECK(p[b].num_elements() == 18);
  const BufferId scalar = p.add(Buffer{"S", DType::f64, {}, {}});
  CHECK(p[scalar].num_elements() == 1);
  CHECK(p[scalar].num_bytes() == 8);
}

TEST_CASE("a program stands on the workload's pool") {
  auto base = make_shared_of<ExprPool>();
  const ExprId one = base->int_imm(1);
  LoopProgram p(base);
  CHECK(p.pool.int_imm(1) == one);
  const StmtId body = p.add(Seq{});
  CHECK(p.as<Seq>(body) != nullptr);
  CHECK(p.as<For>(body) == nullptr);
}
