#include "tensorsmith/lower/hoist_invariants.hpp"

#include "lower_fixtures.hpp"

using namespace tensorsmith;
using namespace tensorsmith::test;

namespace {

/// `formula(a(i, j), s(i))` over rows and columns, f32.
template <class Formula>
std::string text_of_rows(const Formula& formula) {
  te::Program p;
  auto a = p.placeholder("A", {3, 8}), s = p.placeholder("S", {3});
  auto b = p.compute("B", {3, 8}, [&](auto i, auto j) { return formula(a(i, j), s(i)); });
  return text_of(lowered(State::initial(p.dag({a, s, b}))));
}

}  // namespace

TEST_CASE("what a row has in common is computed before its vectors") {
  CHECK(text_of_rows([](auto x, auto s) { return x * te::rsqrt(s * 2.0 + 1.0); }) ==
        R"(invariant: f32[] register
for i in 3:
  alloc invariant:
    invariant[] = rsqrt(S[i]*2.0 + 1.0)
    for j in 8 vectorized:
      B[i, j] = A[i, j]*invariant[]
)");
}

TEST_CASE("a quotient by what a row has in common is a product by its reciprocal") {
  CHECK(text_of_rows([](auto x, auto s) { return x / s; }) == R"(invariant: f32[] register
for i in 3:
  alloc invariant:
    invariant[] = 1.0/S[i]
    for j in 8 vectorized:
      B[i, j] = A[i, j]*invariant[]
)");
}

TEST_CASE("a value that is only loaded stays in its instruction") {
  CHECK(text_of_rows([](auto x, auto s) { return x - s; }).find("invariant") == std::string::npos);
}

TEST_CASE("values that differ from lane to lane, choices and integers stay where they are") {
  CHECK(text_of_rows([](auto x, auto) { return te::exp(x) / (x + 1.0); }).find("invariant") ==
        std::string::npos);
  CHECK(text_of_rows([](auto x, auto s) {
          return te::if_then_else(s > 0.0, te::rsqrt(s), x);
        }).find("invariant") == std::string::npos);
  CHECK(text_of(lowered(State::initial(copy_dag(3, 8)))).find("invariant") == std::string::npos);
}

TEST_CASE("what the loops store is no invariant of them") {
  LoopProgram program;
  const BufferId b = program.add(Buffer{"B", DType::f32, {8}});
  ExprPool& pool = program.pool;
  const VarId j = pool.new_var("j");
  const ExprId zero = pool.int_imm(0);
  const ExprId first = pool.load(b, DType::f32, {zero});
  const StmtId store = program.add(
      Store{b, {pool.var(j)}, pool.mul(first, pool.load(b, DType::f32, {pool.var(j)}))});
  program.body = program.add(For{j, pool.int_imm(8), ForKind::vectorized, store});
  hoist_invariants(program);
  CHECK(program.as<For>(program.body) != nullptr);
}
