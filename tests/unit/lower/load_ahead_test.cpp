// SPDX-License-Identifier: Apache-2.0
#include "tensorsmith/lower/load_ahead.hpp"

#include "support/catch.hpp"
#include "support/gpu_programs.hpp"
#include "tensorsmith/ir/print.hpp"
#include "tensorsmith/lower/known_intrinsics.hpp"
#include "tensorsmith/lower/lower.hpp"
#include "tensorsmith/ops/workload.hpp"
#include "unit/lower/shared_product.hpp"

namespace tensorsmith {
namespace {

/// In tiles of 4 x 4 per thread of 16.
State product_with_sets(const Shared<const ComputeDag>& dag, std::int64_t depth,
                        std::int32_t sets) {
  return test::shared_product(dag, {4, 4, depth}, "load_ahead$" + std::to_string(sets));
}

std::string text_below(const std::string& text, const std::string& from) {
  const std::size_t at = text.find(from);
  return at == std::string::npos ? "" : text.substr(at);
}

}  // namespace

TEST_CASE("operands of the next step are loaded into other registers than those in use") {
  const auto workload = ops::parse_workload("gemm:16x32x64:i32");
  REQUIRE(workload.has_value());
  const auto program = lower(product_with_sets(workload->dag, 32, 2), test::gpu_target());
  REQUIRE(program.has_value());
  const std::string text = to_text(*program);
  INFO(text);
  CHECK(text.find("A.shared.ahead: i32[2, 4] local") != std::string::npos);
  CHECK(text.find("B.shared.ahead: i32[2, 4] local") != std::string::npos);
  CHECK(text.find("if k.1*2 + k.1_2 + 1 < 32:") != std::string::npos);
  CHECK(text.find("C.acc[i.2, j.2] + A.shared.ahead[k.1_2, i.2]*B.shared.ahead[k.1_2, j.2]") !=
        std::string::npos);
}

TEST_CASE("loads ahead change no value, whatever the depth and the number of sets") {
  const auto workload = ops::parse_workload("gemm:18x20x48:i32");
  REQUIRE(workload.has_value());
  const test::KnownResults known(*workload->dag);
  for (const std::int64_t depth : {2, 3, 4, 16, 24, 48}) {
    for (std::int32_t sets = 1; sets <= 4; ++sets) {
      const auto program = lower(product_with_sets(workload->dag, depth, sets), test::gpu_target());
      REQUIRE(program.has_value());
      const std::string text = to_text(*program);
      INFO(depth << " terms, " << sets << " sets\n" << text);
      CHECK(known.wrong_with(*program) == "");
      if (sets == 1 || depth < sets) {
        CHECK(text.find(".ahead") == std::string::npos);
      }
    }
  }
}

TEST_CASE("a sum over global memory, or behind a condition, is left as it is") {
  LoopProgram program;
  ExprPool& pool = program.pool;
  const BufferId a = program.add(Buffer{"A", DType::f32, {8}, {}});
  const BufferId s = program.add(Buffer{"S", DType::f32, {8}, {}, Scope::shared});
  const BufferId c = program.add(Buffer{"C", DType::f32, {1}, {}, Scope::local});
  const VarId k = pool.new_var("k");
  const auto sum_of = [&](ExprId value) {
    const ExprId old = pool.load(c, DType::f32, {pool.int_imm(0)});
    const StmtId store = program.add(Store{c, {pool.int_imm(0)}, pool.add(old, value)});
    return program.add(For{k, pool.int_imm(8), ForKind::serial, store});
  };
  const ExprId at = pool.var(k);
  const ExprId global = pool.load(a, DType::f32, {at}), shared = pool.load(s, DType::f32, {at});
  const ExprId chosen =
      pool.if_then_else(pool.lt(at, pool.int_imm(3)), shared, pool.float_imm(0.0));
  for (const ExprId value : {global, pool.mul(global, shared), chosen}) {
    const StmtId loop = sum_of(value);
    const std::string before = debug_string(loop, program);
    load_ahead(program, loop, 2);
    CHECK(debug_string(loop, program) == before);
  }
  const StmtId loop = sum_of(shared);
  load_ahead(program, loop, 2);
  CHECK(text_below(debug_string(loop, program), "alloc S.ahead") != "");
}

TEST_CASE("loops of tensor cores are marked: their fragments are the registers") {
  LoopProgram program;
  ExprPool& pool = program.pool;
  const BufferId c = program.add(Buffer{"C", DType::f32, {1}, {}, Scope::local});
  const VarId step = pool.new_var("k.1"), k = pool.new_var("k.2");
  const StmtId store = program.add(Store{c, {pool.int_imm(0)}, pool.float_imm(0.0)});
  for (const std::int64_t steps : {1, 2, 8, 9}) {
    const StmtId inner =
        program.add(For{k, pool.int_imm(16), ForKind::serial, store, &mma_m16n8k16_f16});
    const StmtId loop = program.add(For{step, pool.int_imm(steps), ForKind::serial, inner});
    load_ahead(program, loop, 2);
    CHECK((debug_string(loop, program).find(" with 2 sets of operands:") != std::string::npos) ==
          (steps == 2 || steps == 8));
  }
}

TEST_CASE("a pragma of no or too many sets is refused") {
  const auto workload = ops::parse_workload("gemm:16x16x16:i32");
  State state = State::initial(workload->dag);
  for (const char* text : {"load_ahead$0", "load_ahead$5", "load_ahead", "load_ahead$x"}) {
    const auto error = try_apply(state, PragmaStep{2, 0, text});
    REQUIRE(error);
    CHECK(error->code == ScheduleErrorCode::pragma_value);
  }
  CHECK(!try_apply(state, PragmaStep{2, 0, "load_ahead$4"}));
}

}  // namespace tensorsmith
