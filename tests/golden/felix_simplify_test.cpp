// SPDX-License-Identifier: Apache-2.0
// requires: json
// The simplifier of formulas against the reference's: costs, values and proofs of equality.
#include "tensorsmith/felix/simplify.hpp"

#include <string>
#include <vector>

#include "support/catch.hpp"
#include "support/golden_data.hpp"
#include "tensorsmith/support/rng.hpp"

namespace tensorsmith::felix::test {

using namespace tensorsmith::test;

namespace {

SimplifyOptions options_of(const Json& file, const Json& one, RuleSet rules) {
  SimplifyOptions options;
  options.is_approximate = one.at("mode") == "approx";
  options.rules = rules;
  options.rounds = file.at("iterations");
  options.nodes = file.at("nodes");
  return options;
}

FormulaId formula_of(FormulaPool& pool, const Json& text) {
  const std::optional<FormulaId> formula = read_formula(pool, text.get<std::string>());
  REQUIRE(formula.has_value());
  return *formula;
}

/// On sizes as the reference's data were checked with.
void check_equal_values(const FormulaPool& pool, FormulaId a, FormulaId b, CounterRng& rng) {
  const double sizes[] = {1, 2, 3, 4, 6, 8};
  for (int i = 0; i < 12; ++i) {
    std::vector<double> at;
    for (std::uint32_t s = 0; s < pool.num_symbols(); ++s) {
      at.push_back(pool.kind_of_symbol(s) == SymbolKind::boolean ? rng.next_below(2)
                                                                 : sizes[rng.next_below(6)]);
    }
    const std::vector<double> values = evaluate(pool, {a, b}, at);
    CHECK(values[0] == Approx(values[1]).epsilon(1e-9).margin(1e-9));
  }
}

}  // namespace

TEST_CASE("the reference's formulas are simplified as far as it does", "[golden][felix]") {
  for (const GoldenFile& file : felix_files("egraph.json")) {
    ComparedRows compared(file.name);
    compared.of("formulas");
    const Json all = Json::parse(read_text(file.path));
    CounterRng rng(5);
    for (const Json& one : all.at("simplify")) {
      FormulaPool pool;
      const FormulaId formula = formula_of(pool, one.at("expr"));
      const FormulaId expected = formula_of(pool, one.at("result"));
      const SimplifyOptions released = options_of(all, one, RuleSet::released);
      INFO(text_of(pool, formula));
      CHECK(cost_of(pool, formula, released.is_approximate) == one.at("cost_before"));
      CHECK(cost_of(pool, expected, released.is_approximate) == one.at("cost"));
      const Simplified as_released = simplify(pool, formula, released);
      CHECK(as_released.is_sound);
      CHECK(as_released.cost == one.at("cost"));
      check_equal_values(pool, as_released.formula, expected, rng);
      const Simplified repaired = simplify(pool, formula, options_of(all, one, RuleSet::repaired));
      CHECK(repaired.cost <= one.at("cost_before"));
      check_equal_values(pool, repaired.formula, formula, rng);
      ++compared;
    }
  }
}

TEST_CASE("the reference's formulas are equal where it proves it", "[golden][felix]") {
  for (const GoldenFile& file : felix_files("egraph.json")) {
    ComparedRows compared(file.name);
    compared.of("pairs");
    const Json all = Json::parse(read_text(file.path));
    for (const Json& one : all.at("equivalence")) {
      FormulaPool pool;
      const FormulaId a = formula_of(pool, one.at("lhs")), b = formula_of(pool, one.at("rhs"));
      INFO(text_of(pool, a) << " and " << text_of(pool, b));
      const bool is_proven = one.at("equivalent");
      CHECK(are_equal(pool, a, b, options_of(all, one, RuleSet::released)) == is_proven);
      CHECK((!is_proven || are_equal(pool, a, b, options_of(all, one, RuleSet::repaired))));
      ++compared;
    }
  }
}

}  // namespace tensorsmith::felix::test
