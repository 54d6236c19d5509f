// SPDX-License-Identifier: Apache-2.0
// Runs every rule of the tables: on random operands both sides must have the same value, every rule
// must be reached often, and the matcher must find the rule's own pattern.
#include "tensorsmith/ir/simplify_rules.hpp"

#include "support/catch.hpp"

#include "support/random_expr.hpp"
#include <limits>

#include "tensorsmith/ir/print.hpp"

using namespace tensorsmith;
using namespace tensorsmith::detail;

namespace {

/// Constants of a pattern drawn once per trial, wild operands as variables of a pool.
class RuleTester {
 public:
  /// `types`: of wild operands 0..3. `exact`: numbers are index arithmetic.
  RuleTester(std::array<DType, 4> types, DType number)
      : types_(types), number_(number), rng_(test::seed(), 4) {}

  struct Always {
    template <class Match>
    bool operator()(const Match&) const {
      return true;
    }
  };
  struct View {
    const RuleMatch& match;
    const std::array<Interval, 4>& ranges;
    std::int64_t c(std::size_t n) const { return match.constant[n]; }
    Interval range(std::size_t n) const { return ranges[n]; }
  };

  template <class From, class To, class Condition = Always>
  bool operator()(From from, To to, Condition condition = {}) {
    ++num_rules;
    int reached = 0;
    std::string text;
    for (int trial = 0; trial < 4000 && reached < 200; ++trial) {
      ExprPool pool;
      RuleMatch match;
      match.number_type = number_;
      std::array<Interval, 4> ranges;
      std::vector<Scalar> values;
      const char* names[] = {"x", "y", "z", "w"};
      for (std::size_t v = 0; v < 4; ++v) {
        match.wild[v] = pool.var(pool.new_var(names[v], types_[v]));
        values.push_back(draw(types_[v], ranges[v]));
      }
      for (std::int64_t& c : match.constant) {
        Interval ignored;
        c = draw(is_float(number_) ? DType::i32 : number_, ignored).integer;
      }
      const ExprId left = RuleBuilder(pool, match)(from);
      const ExprId right = RuleBuilder(pool, match)(to);
      text = debug_string(left, pool) + "  -->  " + debug_string(right, pool);
      if (!condition(View{match, ranges})) {
        continue;
      }
      const test::ExprValue value{pool, values};
      const auto expected = value(left);
      if (!expected) {
        continue;
      }
      ++reached;
      const auto found = value(right);
      INFO("seed " << test::seed() << ": " << text);
      REQUIRE(found);
      REQUIRE(pool.dtype(right) == pool.dtype(left));
      const bool same = is_float(pool.dtype(left))
                            ? std::bit_cast<std::uint64_t>(expected->real) ==
                                      std::bit_cast<std::uint64_t>(found->real) ||
                                  (expected->real != expected->real && found->real != found->real)
                            : expected->integer == found->integer;
      if (!same) {
        for (std::size_t v = 0; v < 4; ++v) {
          UNSCOPED_INFO(names[v] << " = " << values[v].integer);
        }
        FAIL("the sides differ");
      }
      RuleMatcher matcher(pool);
      REQUIRE(matcher(from, left));
    }
    INFO("never fires: " << text);
    CHECK(reached >= 20);
    return false;  // so that the next rule is tried
  }

  int num_rules = 0;

 private:
  Scalar draw(DType type, Interval& range) {
    if (type == DType::boolean) {
      return scalar_of(rng_.next_below(2));
    }
    if (is_float(type)) {
      const double special[] = {0.0,
                                -0.0,
                                1.0,
                                -1.5,
                                1e300,
                                -1e-300,
                                std::numeric_limits<double>::infinity(),
                                -std::numeric_limits<double>::infinity(),
                                std::numeric_limits<double>::quiet_NaN()};
      return scalar_of_real(round_arithmetic(special[rng_.next_below(9)], type));
    }
    const std::int64_t low = static_cast<std::int64_t>(rng_.next_below(24)) - 12;
    const std::int64_t value = low + rng_.next_below(6);
    range = {wrap_integer(low, type), wrap_integer(low + 5, type)};
    if (range.min > range.max || rng_.next_below(4) == 0) {
      range = range_of_type(type);
    }
    return scalar_of(wrap_integer(value, type));
  }

  std::array<DType, 4> types_;
  DType number_;
  CounterRng rng_;
};

constexpr DType flag = DType::boolean;

RuleTester numbers(DType type) { return RuleTester({type, type, type, type}, type); }
RuleTester conditions() { return RuleTester({flag, flag, flag, flag}, DType::i32); }
RuleTester choices(DType type) { return RuleTester({flag, type, type, type}, type); }

}  // namespace

TEST_CASE("the integer tables hold for every integer type") {
  for (DType type : {DType::i32, DType::i64, DType::i8, DType::u8}) {
    CAPTURE(name_of(type));
    RuleTester tester = numbers(type);
    rules::integer_division_rules(tester);
    rules::extremum_rules(tester);
    rules::equal_operand_rules(tester);
    rules::integer_comparison_rules(tester);
    rules::comparison_order_rules(tester);
    rules::integer_comparison_order_rules(tester);
    rules::negation_rules(tester);
    rules::condition_rules(tester);
    rules::integer_choice_rules(tester);
    CHECK(tester.num_rules > 50);
  }
}

TEST_CASE("the tables of index arithmetic") {
  RuleTester tester = numbers(DType::i32);
  rules::index_division_rules(tester);
  CHECK(tester.num_rules == 6);
}

TEST_CASE("the tables of conditions") {
  RuleTester tester = conditions();
  rules::logic_rules(tester);
  rules::boolean_choice_rules(tester);
  CHECK(tester.num_rules > 20);
}

TEST_CASE("choices hold for every type") {
  for (DType type : {DType::i32, DType::f32, DType::boolean, DType::u8}) {
    RuleTester tester = choices(type);
    rules::choice_rules(tester);
    CHECK(tester.num_rules > 10);
  }
}

TEST_CASE("the tables of reals, special values included") {
  for (DType type : {DType::f64, DType::f32, DType::f16, DType::bf16}) {
    RuleTester tester = numbers(type);
    rules::real_rules(tester);
    rules::equal_operand_rules(tester);
    rules::comparison_order_rules(tester);
    rules::real_comparison_order_rules(tester);
    CHECK(tester.num_rules == 7);
  }
}

TEST_CASE("patterns match in both orders and remember their operands") {
  ExprPool pool;
  const ExprId i = pool.var(pool.new_var("i")), j = pool.var(pool.new_var("j"));
  using rules::c0;
  using rules::x;
  RuleMatcher matcher(pool);
  CHECK(matcher(x + c0, pool.add(pool.int_imm(3), i)));
  CHECK(matcher.found.wild[0] == i);
  CHECK(matcher.found.constant[0] == 3);
  CHECK(RuleMatcher(pool)(x - x, pool.sub(i, i)));
  CHECK(!RuleMatcher(pool)(x - x, pool.sub(i, j)));
  CHECK(!RuleMatcher(pool)(x - c0, pool.sub(pool.int_imm(3), i)));
  CHECK(!RuleMatcher(pool)(rules::zero, pool.float_imm(-0.0)));
  CHECK(RuleMatcher(pool)(rules::zero, pool.float_imm(0.0)));
  CHECK(!RuleMatcher(pool)(rules::one, pool.int_imm(1, DType::boolean)));
  CHECK(RuleMatcher(pool)(rules::yes, pool.int_imm(1, DType::boolean)));
}
