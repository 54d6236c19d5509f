// SPDX-License-Identifier: Apache-2.0
// Smooth formulas: the released ones have the values of the specification, the repaired ones
// become the exact ones as the temperature falls.
#include "tensorsmith/felix/smooth.hpp"

#include <vector>

#include "support/catch.hpp"
#include "unit/felix/random_formulas.hpp"

namespace tensorsmith::felix::test {

using tensorsmith::test::RandomFormulas;

namespace {

/// Smoothed and evaluated, at a point by symbol of the pool.
double released_value(const std::string& text, const std::vector<double>& at) {
  FormulaPool pool;
  const FormulaId formula = *read_formula(pool, text);
  std::vector<FormulaId> exponents;
  for (std::uint32_t i = 0; i < pool.num_symbols(); ++i) {
    if (pool.kind_of_symbol(i) == SymbolKind::knob) {
      exponents.push_back(pool.symbol(std::string(pool.name_of_symbol(i)), SymbolKind::knob));
    }
  }
  return evaluate(pool, Smoother(pool, Smoothing::released, exponents).smooth(formula), at);
}

}  // namespace

TEST_CASE("released logic and conditions have the specification's values", "[felix]") {
  // C2: a = S(0), b = S(1).
  CHECK(released_value("(&& (< 0 x:k) (< 0 y:k))", {0, 1}) == Approx(0.426777).margin(5e-7));
  CHECK(released_value("(|| (< 0 x:k) (< 0 y:k))", {0, 1}) == Approx(0.926777).margin(5e-7));
  CHECK(released_value("(! (< 0 x:k))", {1}) == Approx(0.146447).margin(5e-7));
  CHECK(released_value("(select (< 0 x:k) 10 2)", {1}) == Approx(8.828427).margin(5e-7));
  // C3: extent > 1 of an extent with four primes, of which one occurs; and of one of one base.
  const double four[] = {0.9375, 0.981694, 0.993402}, one[] = {0.5, 0.853553, 0.947214};
  for (int e = 0; e < 3; ++e) {
    const double x = e;
    CHECK(released_value("(< 1 (* (* (* (pow 2 a:k) (pow 3 b:k)) (pow 5 c:k)) (pow 7 d:k)))",
                         {x, 0, 0, 0}) == Approx(four[e]).margin(5e-7));
    CHECK(released_value("(> (pow 2 a:k) 1)", {x}) == Approx(one[e]).margin(5e-7));
  }
  CHECK(released_value("(== x:k y:k)", {2, 3}) == Approx(0.707107).margin(5e-7));
}

TEST_CASE("a division rounded up is relaxed as the specification says", "[felix]") {
  // C8: 256 elements, vectors of 2, 64 threads.
  const std::string text = "(+ (// (// (- n:s 1) v:k) t:k) 1)";
  CHECK(released_value(text, {256, 2, 64}) == Approx(2.992188).margin(5e-7));
  FormulaPool pool;
  const FormulaId formula = *read_formula(pool, text);
  CHECK(evaluate(pool, formula, {256, 2, 64}) == 2);
  const FormulaId plain = *read_formula(pool, "(+ (// (- n:s 1) v:k) 1)");
  const FormulaId repaired = Smoother(pool, Smoothing::repaired).smooth(plain);
  CHECK(evaluate(pool, repaired, {256, 2, 64, 1e-3}) == Approx(128));
  CHECK(evaluate(pool, repaired, {2, 8, 64, 1e-3}) == Approx(1).margin(1e-2));
}

TEST_CASE("repaired formulas become exact as the temperature falls", "[felix]") {
  CounterRng rng(41);
  for (int i = 0; i < 120; ++i) {
    FormulaPool pool;
    RandomFormulas draw(pool, rng, 3);
    // Sizes alone: what a division leaves no rest of.
    const FormulaId condition =
        pool.make(static_cast<Op>(static_cast<int>(Op::eq) + i % 6), draw.size(2), draw.size(2));
    const FormulaId other = pool.make(Op::lt, draw.leaf(), draw.size(1));
    const FormulaId formula =
        pool.make(Op::select, pool.make(i % 2 == 0 ? Op::and_ : Op::or_, condition, other),
                  draw.size(3), pool.make(Op::log, draw.size(2)));
    Smoother smoother(pool, Smoothing::repaired);
    const std::vector<FormulaId> smooth = smoother.smooth({formula, condition});
    temperature(pool);
    for (int k = 0; k < 5; ++k) {
      std::vector<double> at = draw.values(6);
      const std::vector<double> exact = evaluate(pool, {formula, condition}, at);
      INFO(text_of(pool, formula));
      at.back() = 1e-6;
      const std::vector<double> cold = evaluate(pool, smooth, at);
      CHECK(cold[0] == Approx(exact[0]).epsilon(1e-3).margin(1e-3));
      CHECK(cold[1] == Approx(exact[1]).margin(1e-4));
      at.back() = 1;
      const double warm = evaluate(pool, smooth[1], at);
      CHECK((warm >= 0 && warm <= 1));
    }
  }
}

TEST_CASE("conditions on shapes stay as they are", "[felix]") {
  FormulaPool pool;
  const FormulaId formula = *read_formula(pool, "(select (< 3 n:s) x:k 1)");
  const FormulaId smooth = Smoother(pool, Smoothing::repaired).smooth(formula);
  CHECK(evaluate(pool, smooth, {4, 7}) == 7);
  CHECK(evaluate(pool, smooth, {3, 7}) == 1);
  const FormulaId given =
      substitute(pool, smooth, {{pool.symbol("n:s", SymbolKind::shape), pool.number(9)}});
  CHECK(given == pool.symbol("x:k", SymbolKind::knob));
}

}  // namespace tensorsmith::felix::test
