// SPDX-License-Identifier: Apache-2.0
// Every row of the table of rules holds on the values that the row says.
#include "tensorsmith/felix/rules.hpp"

#include <cmath>

#include "support/catch.hpp"
#include "tensorsmith/support/rng.hpp"

namespace tensorsmith::felix::test {
namespace {

double draw_value(RuleDomain domain, CounterRng& rng) {
  switch (domain) {
  case RuleDomain::nonzero: {
    const double size = 0.1 + 4 * rng.next_double();
    return rng.next_below(2) == 0 ? size : -size;
  }
  case RuleDomain::positive:
    return 0.1 + 4 * rng.next_double();
  default:
    return 1 + rng.next_below(6);
  }
}

/// Values for the symbols of the table that a row's condition allows.
std::vector<double> draw_values(const RuleTable& table, const RuleRow& row, CounterRng& rng) {
  std::vector<double> values(table.pool.num_symbols());
  std::uint32_t a = 0, b = 0;
  for (std::uint32_t i = 0; i < values.size(); ++i) {
    values[i] = table.pool.kind_of_symbol(i) == SymbolKind::boolean ? rng.next_below(2)
                                                                    : draw_value(row.domain, rng);
    a = table.pool.name_of_symbol(i) == "?a" ? i : a;
    b = table.pool.name_of_symbol(i) == "?b" ? i : b;
  }
  if (row.condition == RuleCondition::a_power_of_b) {
    values[b] = 2 + rng.next_below(5);
    values[a] = std::pow(values[b], static_cast<int>(rng.next_below(7)) - 3);
  } else if (row.condition == RuleCondition::a_at_least_two) {
    values[a] = 2 + rng.next_below(6);
  } else if (row.condition == RuleCondition::b_not_negative) {
    values[b] = rng.next_below(5);
  }
  return values;
}

}  // namespace

TEST_CASE("the table has the rules of the reference", "[felix]") {
  std::size_t exact = 0, approximate = 0;
  for (const RuleRow& row : rule_rows()) {
    if (row.of != RowOf::repaired) {
      (row.is_approximate ? approximate : exact) += 1;
    }
  }
  CHECK(exact == 53);
  CHECK(approximate == 8);
}

TEST_CASE("every rule holds on its values", "[felix]") {
  const RuleTable& table = rule_table();
  CounterRng rng(61);
  std::size_t differs = 0;
  for (const Rule& rule : table.rules) {
    INFO(rule.row->name);
    CHECK(table.pool.is_condition(rule.pattern) == table.pool.is_condition(rule.replacement));
    for (int i = 0; i < 400; ++i) {
      const std::vector<double> at = draw_values(table, *rule.row, rng);
      double left = evaluate(table.pool, rule.pattern, at);
      const double right = evaluate(table.pool, rule.replacement, at);
      if (rule.row->domain == RuleDomain::limit) {
        left = 0;  // 1 / sqrt(1 + (a/t)^2) as t becomes 0, where a is not
      }
      if (rule.row->domain == RuleDomain::implies) {
        CHECK((left == 0 || right == 1));
        differs += left != right ? 1 : 0;
      } else if (table.pool.is_condition(rule.pattern)) {
        CHECK(left == right);
      } else {
        CHECK(left == Approx(right).epsilon(1e-9).margin(1e-9));
      }
    }
  }
  CHECK(differs > 0);  // the one-sided rule is one-sided
}

}  // namespace tensorsmith::felix::test
