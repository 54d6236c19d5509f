// SPDX-License-Identifier: Apache-2.0
// Formulas: no duplicates, text that reads back, exact values.
#include "tensorsmith/felix/formula_text.hpp"

#include <cmath>

#include "support/catch.hpp"
#include "unit/felix/random_formulas.hpp"

namespace tensorsmith::felix::test {

using tensorsmith::test::RandomFormulas;

TEST_CASE("equal formulas are one formula", "[felix]") {
  FormulaPool pool;
  const FormulaId a = pool.symbol("a"), b = pool.symbol("b");
  CHECK(pool.make(Op::add, a, b) == pool.make(Op::add, a, b));
  CHECK_FALSE(pool.make(Op::add, a, b) == pool.make(Op::add, b, a));
  CHECK(pool.number(0.0) == pool.number(-0.0));
  CHECK_FALSE(pool.number(1) == pool.truth(true));
  const std::size_t size = pool.size();
  CHECK(pool.symbol("a") == a);
  CHECK(pool.size() == size);
}

TEST_CASE("text of a formula reads back as the same formula", "[felix]") {
  CounterRng rng(20);
  FormulaPool pool;
  RandomFormulas draw(pool, rng, 4);
  for (int i = 0; i < 300; ++i) {
    const FormulaId formula = i % 2 == 0 ? draw.number(4) : draw.condition(4);
    const std::string text = text_of(pool, formula);
    INFO(text);
    const std::optional<FormulaId> again = read_formula(pool, text);
    REQUIRE(again.has_value());
    CHECK(*again == formula);
  }
  const FormulaId small = pool.number(0.1 + 0.2);
  CHECK(read_formula(pool, text_of(pool, small)) == small);
}

TEST_CASE("what is no formula is not read", "[felix]") {
  FormulaPool pool;
  for (const char* text :
       {"", "(", ")", "()", "(+ a)", "(+ a b", "(+ a b c)", "(foo a b)", "a b", "1x", "(! a)",
        "(&& a:b 1)", "(+ a:b 1)", "(select a b c)", "(select c:b a d:b)", "(+ a b))"}) {
    INFO(text);
    CHECK_FALSE(read_formula(pool, text).has_value());
  }
  CHECK_FALSE(read_formula(pool, std::string(100000, '(')).has_value());
}

TEST_CASE("formulas have exact values", "[felix]") {
  FormulaPool pool;
  const FormulaId n = pool.symbol("n:s", SymbolKind::shape);
  const FormulaId s = pool.symbol("s:k", SymbolKind::knob);
  const FormulaId ceil = *read_formula(pool, "(+ (// (- n:s 1) s:k) 1)");
  const FormulaId rest = pool.make(Op::mod, n, s);
  for (std::int64_t x = 1; x < 60; ++x) {
    for (std::int64_t y = 1; y < 20; ++y) {
      const std::vector<double> at{static_cast<double>(x), static_cast<double>(y)};
      CHECK(evaluate(pool, ceil, at) == static_cast<double>((x + y - 1) / y));
      CHECK(evaluate(pool, rest, at) == static_cast<double>(x % y));
    }
  }
  CHECK(value_of(Op::floordiv, -1, 7) == -1);
  CHECK(value_of(Op::mod, -1, 7) == 6);
  // Largest whole number of a real: no rounding up to the next quotient.
  CHECK(value_of(Op::floordiv, 9007199254740991.0, 3) == 3002399751580330.0);
  CHECK(value_of(Op::floordiv, 9007199254740990.0, 9007199254740991.0) == 0);
}

TEST_CASE("the smooth functions have the values of the specification's table", "[felix]") {
  const double at[] = {-2, -1, 0, 0.5, 1, 2, 3};
  const double sigmoid[] = {0.052786, 0.146447, 0.5, 0.723607, 0.853553, 0.947214, 0.974342};
  const double hump[] = {0.447214, 0.707107, 1, 0.894427, 0.707107, 0.447214, 0.316228};
  for (std::size_t i = 0; i < 7; ++i) {
    CHECK(value_of(Op::sigmoid, at[i]) == Approx(sigmoid[i]).margin(5e-7));
    CHECK(value_of(Op::hump, at[i]) == Approx(hump[i]).margin(5e-7));
  }
  CHECK(value_of(Op::soft_min, 3, 8, 1) == Approx(1 / (1.0 / 3 + 1.0 / 8)));
  CHECK(value_of(Op::soft_max, 3, 8, 1) == Approx(11));
  CHECK(value_of(Op::soft_min, 3, 8, 1e-6) == Approx(3));
  CHECK(value_of(Op::soft_max, 3, 8, 1e-6) == Approx(8));
}

}  // namespace tensorsmith::felix::test
