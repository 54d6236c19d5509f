// SPDX-License-Identifier: Apache-2.0
// Simplified formulas keep their values, cost no more, and are those of the specification.
#include "tensorsmith/felix/simplify.hpp"

#include <string>

#include "support/catch.hpp"
#include "unit/felix/random_formulas.hpp"

namespace tensorsmith::felix::test {

using tensorsmith::test::RandomFormulas;

namespace {

void check_same_values(const FormulaPool& pool, FormulaId a, FormulaId b, RandomFormulas& draw) {
  for (int i = 0; i < 12; ++i) {
    const std::vector<double> at = draw.values(8);
    const std::vector<double> values = evaluate(pool, {a, b}, at);
    CHECK(values[0] == Approx(values[1]).epsilon(1e-9).margin(1e-9));
  }
}

std::string simplified_text(const std::string& text, bool is_approximate) {
  FormulaPool pool;
  SimplifyOptions options;
  options.is_approximate = is_approximate;
  return text_of(pool, simplify(pool, *read_formula(pool, text), options).formula);
}

}  // namespace

TEST_CASE("simplified formulas have the same value and no higher cost", "[felix]") {
  CounterRng rng(77);
  SimplifyOptions options;
  options.nodes = 2000;
  std::size_t cheaper = 0;
  for (int i = 0; i < 60; ++i) {
    FormulaPool pool;
    RandomFormulas draw(pool, rng, 3);
    const FormulaId formula = i % 3 == 0   ? draw.condition(2)
                              : i % 3 == 1 ? draw.number(3)
                                           : draw.whole(3);
    const Simplified found = simplify(pool, formula, options);
    INFO(text_of(pool, formula) << " became " << text_of(pool, found.formula));
    CHECK(found.is_sound);
    CHECK(found.cost == cost_of(pool, found.formula, false));
    CHECK(found.cost <= cost_of(pool, formula, false));
    cheaper += found.cost < cost_of(pool, formula, false) ? 1 : 0;
    check_same_values(pool, formula, found.formula, draw);
  }
  CHECK(cheaper > 20);
}

TEST_CASE("products of sizes are simplified in the approximate mode, too", "[felix]") {
  CounterRng rng(78);
  SimplifyOptions options;
  options.is_approximate = true;
  options.nodes = 2000;
  for (int i = 0; i < 30; ++i) {
    FormulaPool pool;
    RandomFormulas draw(pool, rng, 3);
    FormulaId product = draw.leaf();
    for (std::uint32_t k = rng.next_below(3) + 1; k > 0; --k) {
      product = pool.make(rng.next_below(4) == 0 ? Op::min : Op::mul, product, draw.leaf());
    }
    const Op ops[3] = {Op::lt, Op::eq, Op::ne};
    const FormulaId formula = pool.make(ops[rng.next_below(3)], pool.number(1), product);
    const Simplified found = simplify(pool, formula, options);
    INFO(text_of(pool, formula) << " became " << text_of(pool, found.formula));
    CHECK(found.cost <= cost_of(pool, formula, true));
    check_same_values(pool, formula, found.formula, draw);
  }
}

TEST_CASE("a minimum of equals and a quotient that only may be whole are repaired", "[felix]") {
  CHECK(simplified_text("(min a a)", false) == "a");
  CHECK(simplified_text("(! (! p:b))", false) == "p:b");
  CHECK(simplified_text("(* (/ N (* a b)) a)", true) == "(/ N b)");
  // N/s is in the graph, and N is s times it: that does not make N//s a quotient without rest.
  FormulaPool pool;
  const FormulaId both = *read_formula(pool, "(+ (// N s) (/ N s))");
  SimplifyOptions released;
  released.rules = RuleSet::released;
  const FormulaId kept = simplify(pool, both).formula;
  CHECK(evaluate(pool, kept, {7, 2}) == 6.5);
  const FormulaId product = *read_formula(pool, "(+ (// N s) (* s (/ N s)))");
  CHECK(evaluate(pool, simplify(pool, product).formula, {7, 2}) == 10);
  CHECK(evaluate(pool, simplify(pool, product, released).formula, {7, 2}) == 10.5);
}

TEST_CASE("contradictions are reported and change nothing", "[felix]") {
  // x = 0 at x/x: the rules say 1, and multiplying it by 0 says 0.
  FormulaPool pool;
  EGraph graph;
  const ClassId one = graph.add(pool, pool.number(1)), two = graph.add(pool, pool.number(2));
  CHECK(graph.is_sound());
  graph.unite(one, two);
  graph.rebuild();
  CHECK_FALSE(graph.is_sound());
}

TEST_CASE("the e-graph joins what follows", "[felix]") {
  FormulaPool pool;
  EGraph graph;
  const ClassId fa = graph.add(pool, *read_formula(pool, "(log (exp a))"));
  const ClassId fb = graph.add(pool, *read_formula(pool, "(log (exp b))"));
  graph.rebuild();
  CHECK(graph.find(fa) != graph.find(fb));
  graph.unite(graph.add(pool, pool.symbol("a")), graph.add(pool, pool.symbol("b")));
  graph.rebuild();
  CHECK(graph.find(fa) == graph.find(fb));
  // A symbol that turns out to be a number makes numbers of what uses it.
  const ClassId sum = graph.add(pool, *read_formula(pool, "(+ (* c 3) 1)"));
  graph.unite(graph.add(pool, pool.symbol("c")), graph.add(pool, pool.number(5)));
  graph.rebuild();
  CHECK(graph.constant_of_class(graph.find(sum)).is_known);
  CHECK(graph.constant_of_class(graph.find(sum)).value == 16);
}

}  // namespace tensorsmith::felix::test
