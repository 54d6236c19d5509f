// SPDX-License-Identifier: Apache-2.0
#include "tensorsmith/lower/hoist_rows.hpp"

#include "lower_fixtures.hpp"

using namespace tensorsmith;
using namespace tensorsmith::test;

namespace {

/// `formula(a(i, j), s(j))` over rows and columns, f32.
template <class Formula>
Shared<const ComputeDag> columns_dag(std::int64_t rows, std::int64_t columns,
                                     const Formula& formula) {
  te::Program p;
  auto a = p.placeholder("A", {rows, columns}), s = p.placeholder("S", {columns});
  auto b = p.compute("B", {rows, columns}, [&](auto i, auto j) { return formula(a(i, j), s(j)); });
  return p.dag({a, s, b});
}

/// Of the untouched state: a loop of rows around a loop of columns.
template <class Formula>
std::string text_of_columns(std::int64_t rows, std::int64_t columns, const Formula& formula) {
  const auto dag = columns_dag(rows, columns, formula);
  const LoopProgram program = lowered(State::initial(dag));
  CHECK(wrong_with(program, *dag) == "");
  return text_of(program);
}

bool has_row(const std::string& text) { return text.find("row") != std::string::npos; }

}  // namespace

TEST_CASE("what a column has in common is computed once, not in every row") {
  CHECK(text_of_columns(6, 40, [](auto x, auto s) { return x * (s * 2.0 + 1.0); }) ==
        R"(row: f32[32] register
row: f32[8] local
alloc row:
  alloc row:
    for x in 32 vectorized:
      row[x] = S[x]*2.0 + 1.0
    for x in 8 vectorized:
      row[x] = S[x + 32]*2.0 + 1.0
    for i in 6:
      for x in 32 vectorized:
        B[i, x] = A[i, x]*row[x]
      for x in 8 vectorized:
        B[i, x + 32] = A[i, x + 32]*row[x]
)");
}

TEST_CASE("short rows that are only read are held in registers") {
  CHECK(text_of_columns(6, 16, [](auto x, auto s) { return x * s; }) == R"(row: f32[16] register
alloc row:
  for j in 16 vectorized:
    row[j] = S[j]
  for i in 6:
    for j in 16 vectorized:
      B[i, j] = A[i, j]*row[j]
)");
  CHECK_FALSE(has_row(text_of_columns(6, 64, [](auto x, auto s) { return x * s; })));
}

TEST_CASE("a row is not worth it where it is used a few times, or too long") {
  const auto formula = [](auto x, auto s) { return x * (s * 2.0 + 1.0); };
  CHECK_FALSE(has_row(text_of_columns(3, 16, formula)));
  CHECK(has_row(text_of_columns(4, 16, formula)));
  CHECK(has_row(text_of_columns(4, 2000, formula)));
  CHECK_FALSE(has_row(text_of_columns(4, 20000, formula)));
}

TEST_CASE("arms of choices, values of single rows and what is stored stay where they are") {
  CHECK_FALSE(has_row(text_of_columns(
      6, 16, [](auto x, auto s) { return te::if_then_else(x > 0.0, s * 2.0, x); })));
  CHECK_FALSE(has_row(text_of_columns(6, 16, [](auto x, auto) { return x * 2.0 + 1.0; })));
  CHECK_FALSE(has_row(text_of_columns(6, 16, [](auto, auto s) { return s * 2.0 + 1.0; })));

  // for k: for j: B[j] = B[j] * 2 + A[k, j]
  LoopProgram program;
  const BufferId a = program.add(Buffer{"A", DType::f32, {9, 16}});
  const BufferId b = program.add(Buffer{"B", DType::f32, {16}});
  ExprPool& pool = program.pool;
  const VarId k = pool.new_var("k"), j = pool.new_var("j");
  const ExprId twice =
      pool.mul(pool.load(b, DType::f32, {pool.var(j)}), pool.float_imm(2, DType::f32));
  const ExprId sum = pool.add(twice, pool.load(a, DType::f32, {pool.var(k), pool.var(j)}));
  const StmtId row = program.add(
      For{j, pool.int_imm(16), ForKind::vectorized, program.add(Store{b, {pool.var(j)}, sum})});
  program.body = program.add(For{k, pool.int_imm(9), ForKind::serial, row});
  hoist_rows(program, small_target());
  CHECK(program.as<For>(program.body) != nullptr);
}

TEST_CASE("threads share the rows of a parallel loop") {
  const auto dag = columns_dag(8, 16, [](auto x, auto s) { return x - te::sqrt(s * s + 1.0); });
  const auto state = apply_step(State::initial(dag), AnnotationStep{2, 0, Annotation::parallel});
  REQUIRE(state);
  const LoopProgram program = lowered(*state);
  CHECK(wrong_with(program, *dag) == "");
  CHECK(text_of(program) == R"(row: f32[16] global
alloc row:
  for j in 16 vectorized:
    row[j] = sqrt(S[j]*S[j] + 1.0)
  for i in 8 parallel:
    for j in 16 vectorized:
      B[i, j] = A[i, j] - row[j]
)");
}
