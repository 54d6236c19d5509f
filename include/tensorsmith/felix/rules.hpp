// SPDX-License-Identifier: Apache-2.0
// The rules of the simplifier, as one table: pattern, replacement, where they hold.
//
// Floor 6.5. The 61 rules of Felix's simplifier, 53 exact ones and 8 of the approximate mode, and
// what repairs them: released rules have no idempotent minimum (its row repeats that of the
// maximum), no symmetric minimum and maximum, no (ab)^c, no double negation, and one rule that
// holds in one direction only, which `repaired` leaves out. Each row says on which values it holds;
// tests/unit/felix/rules_test.cpp draws such values for every row.
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "tensorsmith/felix/formula_text.hpp"

namespace tensorsmith::felix {

/// Values for which both sides of a rule are the same.
enum class RuleDomain : std::uint8_t {
  nonzero,   ///< reals but 0
  positive,  ///< reals above 0
  sizes,     ///< whole numbers from 1 on
  implies,   ///< sizes, and the left side implies the right one: no equality
  limit,     ///< a bump that is infinitely narrow
};

enum class RuleCondition : std::uint8_t {
  none,
  b_not_zero,      ///< b is not the constant 0
  b_not_negative,  ///< b is a constant >= 0
  a_power_of_b,    ///< both are constants, a a whole power of b
  a_at_least_two,  ///< a is a constant >= 2
  a_has_symbol,    ///< a symbol is known to be the same as a
  a_not_zero,      ///< a is a constant, not 0
  b_is_whole,      ///< b is known to be a whole number
};

/// Which rows a run uses.
enum class RuleSet : std::uint8_t { released, repaired };
enum class RowOf : std::uint8_t { both, released, repaired };

struct RuleRow {
  std::string_view name, pattern, replacement;
  RuleDomain domain = RuleDomain::nonzero;
  RuleCondition condition = RuleCondition::none;
  bool is_approximate = false;
  RowOf of = RowOf::both;
};

inline const std::vector<RuleRow>& rule_rows() {
  using D = RuleDomain;
  using C = RuleCondition;
  static const std::vector<RuleRow> rows = {
      // Rings.
      {"mul-commutes", "(* ?a ?b)", "(* ?b ?a)"},
      {"mul-associates", "(* ?a (* ?b ?c))", "(* (* ?a ?b) ?c)"},
      {"add-commutes", "(+ ?a ?b)", "(+ ?b ?a)"},
      {"add-associates", "(+ ?a (+ ?b ?c))", "(+ (+ ?a ?b) ?c)"},
      {"mul-one", "(* ?a 1)", "?a"},
      {"mul-zero", "(* ?a 0)", "0"},
      {"add-zero", "(+ ?a 0)", "?a"},
      {"sub-as-add", "(- ?a ?b)", "(+ ?a (* -1 ?b))"},
      {"add-as-sub", "(+ ?a (* -1 ?b))", "(- ?a ?b)"},
      {"add-negative", "(+ ?a (* -1 ?a))", "0"},
      {"div-as-mul", "(/ ?a ?b)", "(* ?a (pow ?b -1))"},
      {"mul-as-div", "(* ?a (pow ?b -1))", "(/ ?a ?b)", D::nonzero, C::b_not_zero},
      {"mul-inverse", "(* ?a (pow ?a -1))", "1"},
      {"distribute", "(* ?a (+ ?b ?c))", "(+ (* ?a ?b) (* ?a ?c))"},
      {"factor", "(+ (* ?a ?b) (* ?a ?c))", "(* ?a (+ ?b ?c))"},
      // Powers.
      {"pow-product", "(* (pow ?a ?b) (pow ?a ?c))", "(pow ?a (+ ?b ?c))", D::positive},
      {"pow-one", "(pow ?a 1)", "?a"},
      {"pow-of-pow", "(pow (pow ?a ?b) ?c)", "(pow ?a (* ?b ?c))", D::positive},
      {"mul-into-pow", "(* ?a (pow ?b ?c))", "(pow ?b (+ (logk ?b ?a) ?c))", D::positive,
       C::a_power_of_b},
      {"div-into-pow", "(/ ?a (pow ?b ?c))", "(pow ?b (- (logk ?b ?a) ?c))", D::positive,
       C::a_power_of_b},
      // Minimum and maximum.
      {"max-same", "(max ?a ?a)", "?a"},
      {"max-of-sum", "(max ?a (+ ?a ?b))", "(+ ?a ?b)", D::positive, C::b_not_negative},
      {"min-same-as-released", "(max ?a ?a)", "?a", D::nonzero, C::none, false, RowOf::released},
      {"min-of-pows", "(min (pow ?a ?b) (pow ?a ?c))", "(pow ?a (min ?b ?c))", D::sizes},
      // Logarithms.
      {"logk-as-log", "(logk ?a ?b)", "(/ (log ?b) (log ?a))", D::positive},
      {"log-of-product", "(log (* ?a ?b))", "(+ (log ?a) (log ?b))", D::positive},
      {"log-of-pow", "(log (pow ?a ?b))", "(* ?b (log ?a))", D::positive},
      // Division rounded down.
      {"floordiv-product-as-released", "(// (* ?a ?b) ?a)", "?b", D::sizes, C::none, false,
       RowOf::released},
      {"floordiv-twice", "(// (// ?a ?b) ?c)", "(// (/ ?a ?b) ?c)", D::sizes},
      {"floordiv-minus-one", "(// -1 ?a)", "-1", D::sizes},
      // Selections and the exponential.
      {"select-same", "(select ?c:b ?b ?b)", "?b"},
      {"select-true", "(select true ?a ?b)", "?a"},
      {"select-false", "(select false ?a ?b)", "?b"},
      {"exp-not-zero", "(== (exp ?a) 0)", "false"},
      // Conditions.
      {"and-commutes", "(&& ?a:b ?b:b)", "(&& ?b:b ?a:b)"},
      {"and-associates", "(&& ?a:b (&& ?b:b ?c:b))", "(&& (&& ?a:b ?b:b) ?c:b)"},
      {"or-commutes", "(|| ?a:b ?b:b)", "(|| ?b:b ?a:b)"},
      {"or-associates", "(|| ?a:b (|| ?b:b ?c:b))", "(|| (|| ?a:b ?b:b) ?c:b)"},
      {"or-same", "(|| ?a:b ?a:b)", "?a:b"},
      {"or-absorbs", "(|| ?a:b (&& ?a:b ?b:b))", "?a:b"},
      {"or-distributes", "(|| ?a:b (&& ?b:b ?c:b))", "(&& (|| ?a:b ?b:b) (|| ?a:b ?c:b))"},
      {"and-distributes", "(&& ?a:b (|| ?b:b ?c:b))", "(|| (&& ?a:b ?b:b) (&& ?a:b ?c:b))"},
      {"and-true", "(&& ?a:b true)", "?a:b"},
      {"and-false", "(&& ?a:b false)", "false"},
      {"or-true", "(|| ?a:b true)", "true"},
      {"or-false", "(|| ?a:b false)", "?a:b"},
      // Comparisons.
      {"ne-as-eq", "(!= ?a ?b)", "(! (== ?a ?b))"},
      {"ge-as-lt", "(>= ?a ?b)", "(! (< ?a ?b))"},
      {"gt-as-lt", "(> ?a ?b)", "(< ?b ?a)"},
      {"le-as-lt", "(<= ?a ?b)", "(! (< ?b ?a))"},
      {"eq-commutes", "(== ?a ?b)", "(== ?b ?a)"},
      {"lt-min", "(< ?a (min ?b ?c))", "(&& (< ?a ?b) (< ?a ?c))"},
      {"eq-min", "(== ?a (min ?b ?c))", "(|| (== ?a ?b) (== ?a ?c))", D::implies, C::none, false,
       RowOf::released},
      // Of the approximate mode.
      {"one-lt-product", "(< 1 (* ?a ?b))", "(|| (< 1 ?a) (< 1 ?b))", D::sizes, C::none, true},
      {"pow-lt", "(< (pow ?a ?b) ?c)", "(< ?b (logk ?a ?c))", D::positive, C::a_at_least_two, true},
      {"lt-pow", "(< ?c (pow ?a ?b))", "(< (logk ?a ?c) ?b)", D::positive, C::a_at_least_two, true},
      {"one-eq-size", "(== 1 ?a)", "(! (< 1 ?a))", D::sizes, C::a_has_symbol, true},
      {"one-eq-product", "(== 1 (* ?a ?b))", "(&& (== 1 ?a) (== 1 ?b))", D::sizes, C::none, true},
      {"zero-eq-negative", "(== 0 (* -1 ?a))", "false", D::sizes, C::none, true},
      {"hump-zero", "(hump 0)", "1", D::nonzero, C::none, true},
      {"hump-constant", "(hump ?a)", "0", D::limit, C::a_not_zero, true},
      // Repairs.
      {"floordiv-product", "(// (* ?a ?b) ?a)", "?b", D::sizes, C::b_is_whole, false,
       RowOf::repaired},
      {"min-same", "(min ?a ?a)", "?a", D::nonzero, C::none, false, RowOf::repaired},
      {"min-commutes", "(min ?a ?b)", "(min ?b ?a)", D::nonzero, C::none, false, RowOf::repaired},
      {"max-commutes", "(max ?a ?b)", "(max ?b ?a)", D::nonzero, C::none, false, RowOf::repaired},
      {"min-of-sum", "(min ?a (+ ?a ?b))", "?a", D::positive, C::b_not_negative, false,
       RowOf::repaired},
      {"pow-of-product", "(pow (* ?a ?b) ?c)", "(* (pow ?a ?c) (pow ?b ?c))", D::positive, C::none,
       false, RowOf::repaired},
      {"not-not", "(! (! ?a:b))", "?a:b", D::nonzero, C::none, false, RowOf::repaired},
  };
  return rows;
}

/// A row with its two sides as formulas over symbols "?a", "?b:b" ...
struct Rule {
  const RuleRow* row;
  FormulaId pattern, replacement;
};
struct RuleTable {
  FormulaPool pool;
  std::vector<Rule> rules;
};
inline const RuleTable& rule_table() {
  static const RuleTable table = [] {
    RuleTable made;
    for (const RuleRow& row : rule_rows()) {
      const std::optional<FormulaId> pattern = read_formula(made.pool, row.pattern);
      const std::optional<FormulaId> replacement = read_formula(made.pool, row.replacement);
      TENSORSMITH_ASSERT(pattern.has_value() && replacement.has_value(), "a rule is no formula");
      made.rules.push_back({&row, *pattern, *replacement});
    }
    return made;
  }();
  return table;
}

}  // namespace tensorsmith::felix
