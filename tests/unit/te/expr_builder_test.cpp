// SPDX-License-Identifier: Apache-2.0
#include "tensorsmith/te/expr_builder.hpp"

#include "support/catch.hpp"
#include "tensorsmith/te/dag_text.hpp"
#include "tensorsmith/te/program.hpp"

using namespace tensorsmith;
using te::Expr;

namespace {

struct Fixture {
  te::Program p;
  te::Tensor x = p.placeholder("x", {8});
  te::Tensor n = p.placeholder("n", {8}, DType::i32);
  te::Tensor b = p.placeholder("b", {8}, DType::i8);
  te::Tensor d = p.placeholder("d", {8}, DType::f64);

  /// The printed body of a compute.
  template <class F>
  std::string body(const F& f) {
    const auto out = p.compute("out" + std::to_string(count++), {8}, f);
    const std::string text = te::dag_text(*p.dag({out}));
    const auto at = text.rfind("(i) = ") + 6;
    return text.substr(at, text.size() - at - 1);
  }
  int count = 0;
};

}  // namespace

TEST_CASE("every operator builds its node", "[te]") {
  Fixture f;
  const auto& [p, x, n, b, d, count] = f;
  (void)p, (void)count;
  const te::Tensor xt = x, nt = n, bt = b, dt = d;
  CHECK(f.body([&](auto i) { return xt(i) + 1 - 2.5 * xt(i) / 3; }) ==
        "((x[i] + 1f) - ((2.5f*x[i])/3f))");
  CHECK(f.body([&](auto i) { return nt(i) % 3; }) == "(n[i] % 3)");
  CHECK(f.body([&](auto i) { return te::floordiv(nt(i), 3) + te::floormod(nt(i), 4); }) ==
        "(floordiv(n[i], 3) + floormod(n[i], 4))");
  CHECK(f.body([&](auto i) { return te::truncmod(nt(i), 3); }) == "(n[i] % 3)");
  CHECK(f.body([&](auto i) { return te::min(xt(i), 1) + te::max(2, xt(i)); }) ==
        "(min(x[i], 1f) + max(2f, x[i]))");
  CHECK(f.body([&](auto i) { return -xt(i); }) == "(0f - x[i])");
  CHECK(f.body([&](auto i) {
    return te::select((xt(i) > 0 && !(i == 3)) || nt(i) != 2, xt(i), 0);
  }) == "select((((x[i] > 0f) && !(i == 3)) || (n[i] != 2)), x[i], 0f)");
  CHECK(f.body([&](auto i) { return te::if_then_else(i < 4 && i >= 1, 1, xt(i)); }) ==
        "tir.if_then_else(((i < 4) && (i >= 1)), 1f, x[i])");
  CHECK(f.body([&](auto i) { return te::cast(DType::f32, nt(i) <= 2); }) == "float32((n[i] <= 2))");
  CHECK(f.body([&](auto i) { return te::cast(DType::f32, xt(i)); }) == "x[i]");
  CHECK(f.body([&](auto i) {
    return te::exp(te::log(te::sqrt(te::rsqrt(te::tanh(te::erf(xt(i)))))));
  }) == "tir.exp(tir.log(tir.sqrt(tir.rsqrt(tir.tanh(tir.erf(x[i]))))))");
  CHECK(f.body([&](auto i) {
    return te::sigmoid(te::pow(te::abs(te::floor(te::ceil(te::round(xt(i))))), 2));
  }) == "tir.sigmoid(tir.pow(tir.fabs(tir.floor(tir.ceil(tir.round(x[i])))), 2f))");
  CHECK(f.body([&](auto i) { return dt(i) * 0.1 + bt.extent(0); }) == "((d[i]*0.1) + 8)");
  CHECK(f.body([&](auto i) { return bt(i) + 100; }) == "(b[i] + (int8)100)");
  CHECK(f.body([&](auto i) { return te::abs(nt(i)); }) == "tir.fabs(n[i])");
}

TEST_CASE("integer constants fold, floats do not", "[te]") {
  Fixture f;
  const te::Tensor x = f.x, n = f.n;
  CHECK(f.body([&](auto i) { return n(i * 1 + 0) + 0; }) == "n[i]");
  CHECK(f.body([&](auto i) { return x(0 + 1 * i - 0); }) == "x[i]");
  CHECK(f.body([&](auto i) { return n(te::floordiv(i, 1)) * 0; }) == "0");
  CHECK(f.body([&](auto i) { return n(te::floormod(i, 1)) / 1; }) == "n[0]");
  CHECK(f.body([&](auto i) { return x(i) * 1 + 0; }) == "((x[i]*1f) + 0f)");
  const auto seven = [&](auto) { return f.p.constant(DType::i32, -7); };
  CHECK(f.body([&](auto i) { return te::floordiv(seven(i), 2); }) == "-4");
  CHECK(f.body([&](auto i) { return te::floormod(seven(i), 2); }) == "1");
  CHECK(f.body([&](auto i) { return te::min(seven(i), 2) - te::max(seven(i), 2) * 3; }) == "-13");
  // what leaves the type is not folded
  CHECK(f.body([&](auto) { return f.p.constant(DType::i8, 100) + 100; }) ==
        "((int8)100 + (int8)100)");
}

TEST_CASE("misuse of operators is named", "[te]") {
  Fixture f;
  te::Program other;
  const te::Tensor foreign = other.placeholder("y", {8});
  const Expr x = f.x(0), n = f.n(0), b = f.b(0);
  CHECK_THROWS_WITH(x + n, "te::operator +: expected operands of one type (use te::cast), got f32 "
                           "and i32");
  CHECK_THROWS_WITH(Expr(1) + Expr(2), "te::operator +: expected at least one operand that is no "
                                       "literal, got two literals");
  CHECK_THROWS_WITH(n + 0.5, "te::operator +: expected a literal that i32 can hold, got 0.500000");
  CHECK_THROWS_WITH(b * 128, "te::operator *: expected a literal that i8 can hold, got 128");
  CHECK_THROWS_WITH(n + INT64_MAX, "te::operator +: expected a literal that i32 can hold, got "
                                   "9223372036854775807");
  CHECK_THROWS_WITH(x && x, "te::operator and: expected conditions (bool), got f32");
  CHECK_THROWS_WITH(!x, "te::operator !: expected a condition (bool) as first argument, got f32");
  CHECK_THROWS_WITH((x > 0) + (x > 1), "te::operator +: expected numbers (use te::cast), got bool");
  CHECK_THROWS_WITH(-(x > 0), "te::operator -: expected a number, got bool");
  CHECK_THROWS_WITH(te::floordiv(x, 2), "te::operator floordiv: expected integers, got f32");
  CHECK_THROWS_WITH(te::exp(n), "te::exp: expected a float operand (use te::cast), got i32");
  CHECK_THROWS_WITH(te::exp(1.0), "te::exp: expected an operand that is no literal, got a literal");
  CHECK_THROWS_WITH(te::select(x, x, 0),
                    "te::select: expected a condition (bool) as first argument, got f32");
  CHECK_THROWS_AS(te::select(x > 0, 1, 0), Error);
  CHECK_THROWS_AS(te::if_then_else(1, x, 0), Error);
  CHECK_THROWS_AS(te::if_then_else(x > 0, x, n), Error);
  CHECK_THROWS_WITH(x + foreign(0), "te::operator +: expected expressions of one te::Program, got "
                                    "expressions of two programs");
  CHECK_THROWS_AS(te::select(foreign(0) > 0, x, 0), Error);
  CHECK_THROWS_AS(Expr(1).id(), Error);
  CHECK_THROWS_AS(Expr(UINT64_MAX), Error);
}
