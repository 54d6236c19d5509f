// SPDX-License-Identifier: Apache-2.0
#include "tensorsmith/lower/hoist_invariants.hpp"

#include <cmath>

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
  CHECK(text_of_rows([](auto x, auto s) { return x / s; }) == R"(scale: f32[] register
reciprocal: f32[] register
for i in 3:
  alloc scale:
    alloc reciprocal:
      scale[] = select(abs(S[i]) < 5.421010862427522e-20, 18446744073709551616.0, select(18446744073709551616.0 < abs(S[i]), 5.421010862427522e-20, 1.0))
      reciprocal[] = 1.0/(S[i]*scale[])
      for j in 8 vectorized:
        B[i, j] = A[i, j]*reciprocal[]*scale[]
)");
}

TEST_CASE("quotients are right for divisors of every size") {
  const auto dag_of = [](DType type, std::int64_t rows, std::int64_t columns) {
    te::Program p;
    auto a = p.placeholder("A", {rows, columns}, type), s = p.placeholder("S", {rows}, type);
    auto b = p.compute("B", {rows, columns}, [&](auto i, auto j) { return a(i, j) / s(i); });
    return p.dag({a, s, b});
  };
  for (const DType type : {DType::f32, DType::f64}) {
    const double least = type == DType::f32 ? 0x1.0p-149 : 0x1.0p-1074;
    const double normal = type == DType::f32 ? 0x1.0p-126 : 0x1.0p-1022;
    const double most = type == DType::f32 ? 0x1.fffffep127 : 0x1.fffffffffffffp1023;
    const double infinity = HUGE_VAL;
    std::vector<double> numbers = {
        0,    least, 5 * least, normal / 2, normal,   3 * normal,         0.75, 1, 3,
        1e20, most,  most / 4,  most / 8,   infinity, infinity - infinity};
    for (std::size_t i = numbers.size(); i-- > 0;) {
      numbers.push_back(-numbers[i]);
    }
    const auto count = static_cast<std::int64_t>(numbers.size());
    const auto dag = dag_of(type, count, count);
    const LoopProgram program = lowered(State::initial(dag));
    REQUIRE(to_text(program).find("reciprocal") != std::string::npos);
    HostArray a(type, {count, count}), s(type, {count});
    for (std::int64_t i = 0; i < count; ++i) {
      s.set_real(i, numbers[static_cast<std::size_t>(i)]);
      for (std::int64_t j = 0; j < count; ++j) {
        a.set_real(i * count + j, numbers[static_cast<std::size_t>(j)]);
      }
    }
    const auto wanted = eval_dag(*dag, {a, s});
    REQUIRE(wanted.has_value());
    std::vector<HostArray> arguments = {a, s, HostArray(type, {count, count})};
    EvalOptions options;
    options.is_output = {false, false, true};
    REQUIRE(eval(program, arguments, options).has_value());
    const double step = type == DType::f32 ? 0x1.0p-22 : 0x1.0p-51;
    for (std::int64_t n = 0; n < count * count; ++n) {
      const double want = wanted->front().get_real(n), got = arguments[2].get_real(n);
      CAPTURE(name_of(type), a.get_real(n), s.get_real(n / count), want, got);
      CHECK((got == want || (got != got && want != want) ||
             std::fabs(got - want) <= std::fabs(want) * step + 2 * least));
    }
  }
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
  hoist_invariants(program, small_target());
  CHECK(program.as<For>(program.body) != nullptr);
}
