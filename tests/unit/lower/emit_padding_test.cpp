// SPDX-License-Identifier: Apache-2.0
#include "tensorsmith/lower/emit_padding.hpp"

#include "lower_fixtures.hpp"
#include "support/gpu_programs.hpp"
#include "support/native_gpu_space.hpp"

using namespace tensorsmith;
using namespace tensorsmith::test;

namespace {

/// C[rows, columns] = sum over k < depth of A * B, of matrices that may go on behind it.
DagPtr sum_of_part(std::int64_t rows, std::int64_t columns, std::int64_t depth,
                   std::int64_t columns_of_a, std::int64_t rows_of_b) {
  te::Program p;
  auto a = p.placeholder("A", {rows, columns_of_a}, DType::f16);
  auto b = p.placeholder("B", {rows_of_b, columns}, DType::f16);
  auto k = p.reduce_axis("k", depth);
  auto c = p.compute("C", {rows, columns}, [&](auto i, auto j) {
    return te::sum(te::cast(DType::f32, a(i, k)) * te::cast(DType::f32, b(k, j)), {k});
  });
  return p.dag({a, b, c});
}

/// A schedule of 64 x 64 x 64 on tensor cores, of this product.
State schedule_of_64(const DagPtr& dag) {
  const auto space = native_gpu_space(sum_of_part(64, 64, 64, 64, 64), gpu_target(), 256);
  CounterRng rng(1);
  const auto drawn = draw_candidate(space, NativeGpuPopulation{}, rng);
  REQUIRE(drawn);
  State state = State::initial(dag);
  for (const Step& step : drawn->state.steps()) {
    REQUIRE(!try_apply(state, step));
  }
  const auto bounded = infer_bounds(state);
  REQUIRE(bounded);
  return *bounded;
}

LoopProgram multiplied(const DagPtr& dag) {
  auto program = lower(schedule_of_64(dag), gpu_target());
  REQUIRE(program);
  INFO(to_text(*program));
  CHECK(KnownResults(*dag).wrong_with(*program) == "");
  return std::move(*program);
}

bool contains_branch(const LoopProgram& program, StmtId id) {
  bool found = program.as<If>(id) != nullptr;
  for_each_child(program[id],
                 [&](StmtId child) { found = found || contains_branch(program, child); });
  return found;
}

/// The loop of the instruction.
StmtId loop_of_instruction(const LoopProgram& program) {
  StmtId found;
  for (std::uint32_t id = 0; id < program.stmts.size(); ++id) {
    const For* loop = program.as<For>(StmtId{id});
    found = loop != nullptr && loop->intrinsic != nullptr ? StmtId{id} : found;
  }
  REQUIRE(found.valid());
  return found;
}

std::size_t num_choices_of_zero(const LoopProgram& program) {
  std::size_t count = 0;
  for (const Stmt& stmt : program.stmts) {
    const Store* store = std::get_if<Store>(&stmt);
    const Call* call = store == nullptr ? nullptr : program.pool.as<Call>(store->value);
    count += call != nullptr && call->op == CallOp::if_then_else ? 1 : 0;
  }
  return count;
}

}  // namespace

TEST_CASE("whole tiles need neither conditions nor zeros") {
  const LoopProgram program = multiplied(sum_of_part(64, 64, 64, 64, 64));
  CHECK_FALSE(contains_branch(program, loop_of_instruction(program)));
  CHECK(num_choices_of_zero(program) == 0);
}

TEST_CASE("a warp multiplies whole tiles of any size, zeros behind the ends of matrices") {
  for (const auto& [rows, columns, depth] :
       {std::tuple{61, 64, 64}, std::tuple{64, 50, 64}, std::tuple{64, 64, 41},
        std::tuple{50, 63, 33}, std::tuple{7, 33, 17}, std::tuple{100, 9, 90}}) {
    INFO(rows << " x " << columns << " x " << depth);
    const LoopProgram program = multiplied(sum_of_part(rows, columns, depth, depth, depth));
    CHECK_FALSE(contains_branch(program, loop_of_instruction(program)));
    CHECK(num_choices_of_zero(program) >= 1);
  }
}

TEST_CASE("sums that end before their matrices keep their conditions") {
  for (const auto& [of_a, of_b] : {std::pair{64, 41}, std::pair{41, 64}, std::pair{64, 64}}) {
    const LoopProgram program = multiplied(sum_of_part(64, 64, 41, of_a, of_b));
    CHECK(contains_branch(program, loop_of_instruction(program)));
  }
  const LoopProgram rows_only = multiplied(sum_of_part(50, 64, 48, 64, 64));  // 48 is whole
  CHECK_FALSE(contains_branch(rows_only, loop_of_instruction(rows_only)));
}
