// SPDX-License-Identifier: Apache-2.0
#include "tensorsmith/lower/write_out_sums.hpp"

#include "lower_fixtures.hpp"

using namespace tensorsmith;
using namespace tensorsmith::test;

namespace {

/// Y[n, i] = sum over j of M[i, j] X[n, j].
Shared<const ComputeDag> points_dag(std::int64_t points, std::int64_t rows, std::int64_t terms) {
  te::Program p;
  auto m = p.placeholder("M", {rows, terms}), x = p.placeholder("X", {points, terms});
  auto j = p.reduce_axis("j", terms);
  auto y = p.compute("Y", {points, rows},
                     [&](auto n, auto i) { return te::sum(m(i, j) * x(n, j), {j}); });
  return p.dag({m, x, y});
}

std::string text_of_points(std::int64_t points, std::int64_t rows, std::int64_t terms) {
  const auto dag = points_dag(points, rows, terms);
  ScheduleBuilder s(dag);
  s.reorder(2, {0, 2, 1});  // n j i
  const LoopProgram program = lowered(s.state());
  CHECK(wrong_with(program, *dag) == "");
  return text_of(program);
}

}  // namespace

TEST_CASE("sums of a few terms in narrow tiles are formulas, added in the same order") {
  CHECK(text_of_points(5, 2, 3).find(
            "Y[i, k] = 0.0 + M[k, 0]*X[i, 0] + M[k, 1]*X[i, 1] + M[k, 2]*X[i, 2]") !=
        std::string::npos);
  CHECK(text_of_points(5, 7, 4).find("+ M[k, 3]*X[i, 3]") != std::string::npos);
  CHECK(text_of_points(5, 7, 5).find("+ M[k, 1]*X[i, 1]") == std::string::npos);
  CHECK(text_of_points(5, 8, 4).find("+ M[k, 1]*X[i, 1]") == std::string::npos);
}

TEST_CASE("a maximum of a few elements is written out as well") {
  te::Program p;
  auto x = p.placeholder("X", {6, 4, 2});
  auto k = p.reduce_axis("k", 2);
  auto y = p.compute("Y", {6, 4}, [&](auto i, auto j) { return te::max(x(i, j, k), {k}); });
  const auto dag = p.dag({x, y});
  ScheduleBuilder s(dag);
  s.reorder(1, {0, 2, 1});
  const LoopProgram program = lowered(s.state());
  CHECK(wrong_with(program, *dag) == "");
  CHECK(text_of(program).find(", X[i, j, 0]), X[i, j, 1])") != std::string::npos);
}

TEST_CASE("what the store replaces is not read behind it") {
  // acc = Y[0]; for k in 2: acc = acc + X[k] * Y[0]; Y[0] = acc
  LoopProgram program;
  const BufferId x = program.add(Buffer{"X", DType::f32, {2}});
  const BufferId y = program.add(Buffer{"Y", DType::f32, {1}});
  Buffer tile{"acc", DType::f32, {1}};
  tile.scope = Scope::register_;
  const BufferId acc = program.add(tile);
  ExprPool& pool = program.pool;
  const VarId k = pool.new_var("k");
  const ExprList zero = {pool.int_imm(0)};
  const ExprId old = pool.load(acc, DType::f32, zero), result = pool.load(y, DType::f32, zero);
  const ExprId term = pool.mul(pool.load(x, DType::f32, {pool.var(k)}), result);
  const StmtId update = program.add(Store{acc, zero, pool.add(old, term)});
  program.body = program.add(
      Alloc{acc, program.add(Seq{{program.add(Store{acc, zero, result}),
                                  program.add(For{k, pool.int_imm(2), ForKind::serial, update}),
                                  program.add(Store{y, zero, old})}})});
  write_out_sums(program, small_target());
  CHECK(program.as<Alloc>(program.body) != nullptr);
}
