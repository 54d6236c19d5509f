// SPDX-License-Identifier: Apache-2.0
// Every rule of the reference's rewriting is true: for random numbers for which its condition
// holds, what it rewrites and what that becomes have one value.
#include "tensorsmith/ir/algebra/rule_match.hpp"

#include <array>
#include <optional>
#include <string>
#include <vector>

#include "support/catch.hpp"
#include "tensorsmith/ir/algebra/rule_parser.hpp"
#include "tensorsmith/ir/algebra/rules.hpp"
#include "tensorsmith/ir/algebra/truth_rules.hpp"
#include "tensorsmith/support/rng.hpp"

namespace tensorsmith::algebra {

namespace {

using Names = std::array<std::int64_t, num_pattern_names>;
using Value = std::optional<std::int64_t>;  // none: a division by zero

Value value_of(const Rule& rule, std::int16_t at, const Names& names) {
  const PatternNode& node = rule.nodes[static_cast<std::size_t>(at)];
  if (node.part == Part::any || node.part == Part::constant) {
    return names[static_cast<std::size_t>(node.value)];
  }
  if (node.part == Part::literal) {
    return node.value;
  }
  const Value a = value_of(rule, node.a, names);
  if (!a) {
    return std::nullopt;
  }
  if (node.part == Part::show_zero) {
    return *a == 0 ? 1 : 0;
  }
  if (node.op == Op::not_) {
    return *a == 0 ? 1 : 0;
  }
  const Value b = value_of(rule, node.b, names);
  if (!b) {
    return std::nullopt;
  }
  switch (node.op) {
  case Op::add:
    return *a + *b;
  case Op::sub:
    return *a - *b;
  case Op::mul:
    return *a * *b;
  case Op::floordiv:
    return *b == 0 ? Value() : floor_div(*a, *b);
  case Op::floormod:
    return *b == 0 ? Value() : floor_mod(*a, *b);
  case Op::min:
    return smaller_of(*a, *b);
  case Op::max:
    return larger_of(*a, *b);
  case Op::eq:
    return *a == *b ? 1 : 0;
  case Op::ne:
    return *a != *b ? 1 : 0;
  case Op::lt:
    return *a < *b ? 1 : 0;
  case Op::le:
    return *a <= *b ? 1 : 0;
  case Op::gt:
    return *a > *b ? 1 : 0;
  case Op::ge:  // also what is to be shown
    return *a >= *b ? 1 : 0;
  case Op::and_:
    return *a != 0 && *b != 0 ? 1 : 0;
  case Op::or_:
    return *a != 0 || *b != 0 ? 1 : 0;
  case Op::select: {
    const Value c = value_of(rule, node.c, names);
    return *a != 0 ? b : c;
  }
  default:
    FAIL("an operation that no rule has");
    return std::nullopt;
  }
}

/// `is_truth`: only whether values are zero counts.
template <std::size_t N>
void check_rules(const std::string_view (&lines)[N], bool is_truth) {
  const Rules parsed = parse_rules(lines);
  const std::vector<Rule> all(parsed.begin(), parsed.end());
  REQUIRE(all.size() == N);
  for (std::size_t r = 0; r < N; ++r) {
    const Rule& rule = all[r];
    INFO(lines[r]);
    CounterRng rng(test::seed(), 31, static_cast<std::uint32_t>(r));
    std::size_t num_held = 0;
    for (int trial = 0; trial < 60000 && num_held < 400; ++trial) {
      Names names{};
      for (std::int64_t& value : names) {
        value = static_cast<std::int64_t>(rng.next_below(25)) - 9;
      }
      if (rule.condition >= 0 && value_of(rule, rule.condition, names).value_or(0) == 0) {
        continue;
      }
      for (std::int16_t pattern : rule.patterns) {
        const Value before = value_of(rule, pattern, names);
        const Value after = value_of(rule, rule.result, names);
        if (!before) {
          continue;
        }
        ++num_held;
        const bool same = after && (is_truth ? (*before != 0) == (*after != 0) : *before == *after);
        if (!same) {
          std::string numbers;
          for (std::int64_t value : names) {
            numbers += std::to_string(value) + " ";
          }
          FAIL("x y z s t p q c1 c2 c3 are " << numbers << ": " << *before << " becomes "
                                             << after.value_or(-999));
        }
      }
    }
    CHECK(num_held > 0);
  }
}

}  // namespace

TEST_CASE("rules of sums, differences and products are true", "[algebra]") {
  check_rules(rules::sum_lines, false);
  check_rules(rules::difference_lines, false);
  check_rules(rules::real_difference_lines, false);
  check_rules(rules::product_lines, false);
}

TEST_CASE("rules of quotients and remainders are true", "[algebra]") {
  check_rules(rules::quotient_first_lines, false);
  check_rules(rules::quotient_lines, false);
  check_rules(rules::remainder_lines, false);
}

TEST_CASE("rules of minima, maxima and choices are true", "[algebra]") {
  check_rules(rules::min_lines, false);
  check_rules(rules::max_lines, false);
  check_rules(rules::choice_sum_lines, false);
  check_rules(rules::choice_difference_lines, false);
  check_rules(rules::choice_min_lines, false);
  check_rules(rules::choice_max_lines, false);
}

TEST_CASE("rules of comparisons and of what joins them are true", "[algebra]") {
  check_rules(rules::equal_lines, true);
  check_rules(rules::less_lines, true);
  check_rules(rules::not_lines, true);
  check_rules(rules::and_lines, true);
  check_rules(rules::or_lines, true);
}

TEST_CASE("a rule that is wrong would be seen", "[algebra]") {
  static constexpr std::string_view wrong[] = {"x // c1 * c1 -> x ; c1 > 0"};
  const Rule rule = *parse_rules(wrong).begin();
  Names names{};
  names[0] = 7;  // x
  names[7] = 4;  // c1
  CHECK(value_of(rule, rule.patterns[0], names) == 4);
  CHECK(value_of(rule, rule.result, names) == 7);
  CHECK(value_of(rule, rule.condition, names) == 1);
}

TEST_CASE("a pattern fits what has its form, and builds its result with constants folded",
          "[algebra]") {
  static constexpr std::string_view line[] = {"(x + c1) + c2 -> x + (c1 + c2)"};
  const Rule rule = *parse_rules(line).begin();
  Pool pool;
  const Ref x = pool.var(pool.new_var());
  const Ref sum = pool.add(pool.add(x, pool.integer(3)), pool.integer(4));
  Match match(pool);
  REQUIRE(match.fits(rule, rule.patterns[0], sum));
  CHECK(match.built(rule, rule.result, DType::i32) == pool.add(x, pool.integer(7)));
  CHECK(!match.fits(rule, rule.patterns[0], pool.add(pool.add(x, x), pool.integer(4))));
}

TEST_CASE("a table tries the patterns that operands may have, in their order", "[algebra]") {
  static constexpr std::string_view lines[] = {"x + x -> x * 2", "x * y + x ~ y * x + x -> x",
                                               "c1 + x -> x", "x + y * c1 -> x"};
  const Rules all = parse_rules(lines);
  const auto tried = [&](Op a, Op b) {
    std::string names;
    (void)all.first(a, b, [&](const Rule& rule, std::int16_t pattern) {
      std::size_t at = 0;
      for (const Rule& other : all) {
        at += &other < &rule ? 1 : 0;
      }
      names += std::to_string(at) + (pattern == rule.patterns[0] ? " " : "' ");
      return no_ref;
    });
    return names;
  };
  CHECK(tried(Op::var, Op::var) == "0 ");
  CHECK(tried(Op::mul, Op::load) == "0 1 1' ");
  CHECK(tried(Op::integer, Op::mul) == "0 2 3 ");
  CHECK(tried(Op::mul, Op::mul) == "0 1 1' 3 ");
  CHECK(all.first(Op::mul, Op::mul, [](const Rule&, std::int16_t) { return Ref{5}; }) == 5);
}

}  // namespace tensorsmith::algebra
