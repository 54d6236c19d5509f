// SPDX-License-Identifier: Apache-2.0
// What the simplifiers leave has the value of what they were given, at every point; and the forms
// that the reference's have.
#include "tensorsmith/ir/algebra/analyzer.hpp"

#include <string>
#include <utility>
#include <vector>

#include "support/catch.hpp"
#include "tensorsmith/ir/algebra/example.hpp"
#include "tensorsmith/ir/algebra/intervals.hpp"
#include "tensorsmith/ir/algebra/largest.hpp"
#include "tensorsmith/ir/algebra/substitute.hpp"
#include "tensorsmith/ir/algebra/text.hpp"
#include "tensorsmith/support/rng.hpp"

namespace tensorsmith::algebra {

namespace {

/// Variables a, b, c, d; the first `num_known` are bound.
struct Expressions {
  Pool pool;
  Workspace workspace;
  Analyzer analyzer{pool, workspace};
  std::vector<std::int64_t> extent;

  explicit Expressions(std::vector<std::int64_t> extents, std::size_t num_known = 4)
      : extent(std::move(extents)) {
    for (std::size_t i = 0; i < extent.size(); ++i) {
      const std::int32_t var = pool.new_var();
      if (i < num_known) {
        analyzer.bind(var, pool.integer(0), pool.integer(extent[i]));
      }
    }
  }
  Ref var(std::int32_t i) { return pool.var(i); }
  Ref num(std::int64_t value) { return pool.integer(value); }
  std::string text(Ref ref) const {
    return expression_text(
        pool, ref, [](std::int32_t i) { return std::string(1, static_cast<char>('a' + i)); });
  }
  std::string simple(Ref ref) { return text(analyzer.simplify(ref)); }

  Ref random(CounterRng& rng, int depth) {
    if (depth == 0 || rng.next_below(6) == 0) {
      return rng.next_below(4) == 0 ? num(static_cast<std::int64_t>(rng.next_below(13)) - 4)
                                    : var(static_cast<std::int32_t>(rng.next_below(
                                          static_cast<std::uint32_t>(extent.size()))));
    }
    const Ref a = random(rng, depth - 1);
    const std::int64_t c = static_cast<std::int64_t>(rng.next_below(12)) + 1;
    switch (rng.next_below(9)) {
    case 0:
    case 1:
      return pool.raw(Op::add, a, random(rng, depth - 1));
    case 2:
      return pool.raw(Op::sub, a, random(rng, depth - 1));
    case 3:
    case 4:
      return pool.raw(Op::mul, a, num(c - 3));
    case 5:
      return pool.raw(Op::floordiv, a, num(c));
    case 6:
      return pool.raw(Op::floormod, a, num(c));
    case 7:
      return pool.raw(Op::min, a, random(rng, depth - 1));
    default:
      return pool.raw(Op::max, a, random(rng, depth - 1));
    }
  }
  template <class Check>
  void at_every_point(const Check& check) const {
    std::vector<std::int64_t> point(extent.size(), 0);
    for (bool is_done = false; !is_done;) {
      check(point);
      is_done = true;
      for (std::size_t i = 0; is_done && i < point.size(); ++i) {
        point[i] = (point[i] + 1) % extent[i];
        is_done = point[i] == 0;
      }
    }
  }
  std::int64_t value(Ref ref, const std::vector<std::int64_t>& point) const {
    return *value_at(pool, ref, [&](std::int64_t v) {
      return std::optional(point[static_cast<std::size_t>(v)]);
    });
  }
};

}  // namespace

TEST_CASE("expressions that are part of themselves many times take linear time") {
  Expressions e({7, 5, 3, 2});
  // As trees these have 2^200 and more parts.
  Ref doubled = e.var(0), fibonacci = e.var(1), before = e.var(0), divided = e.var(2);
  for (int i = 0; i < 200; ++i) {
    doubled = e.pool.raw(Op::add, doubled, doubled);
    before = std::exchange(fibonacci, e.pool.raw(Op::sub, before, fibonacci));
    divided = e.pool.raw(Op::add, e.pool.raw(Op::floordiv, divided, e.num(2)),
                         e.pool.raw(Op::floormod, divided, e.num(2)));
  }
  CHECK(e.simple(doubled) == "0");  // modulo 2^64
  CHECK_FALSE(e.simple(fibonacci).empty());
  CHECK_FALSE(e.simple(divided).empty());
  CHECK(
      e.analyzer.holds(e.pool.raw(Op::eq, e.pool.raw(Op::floormod, doubled, e.num(2)), e.num(0))));
  // What is remembered of a part is dropped with what was known.
  const Ref once = e.pool.raw(Op::floordiv, e.pool.raw(Op::add, e.var(0), e.var(1)), e.num(4));
  const Ref twice = e.pool.raw(Op::mul, e.pool.raw(Op::add, once, once), e.num(2));
  const std::string unknown = e.simple(twice);
  const auto mark =
      e.analyzer.enter(e.pool.raw(Op::lt, e.pool.raw(Op::add, e.var(0), e.var(1)), e.num(4)));
  CHECK(e.simple(twice) == "0");
  e.analyzer.leave(mark);
  CHECK(e.simple(twice) == unknown);
}

TEST_CASE("a simplified expression has the value of the original at every point", "[algebra]") {
  CounterRng rng(test::seed(), 32);
  for (int i = 0; i < 600; ++i) {
    Expressions e({3, 5, 4, 7}, i % 5);
    const Ref original = e.random(rng, 4);
    const Ref result = e.analyzer.simplify(original);
    const Bound bound = e.analyzer.bound(original);
    e.at_every_point([&](const std::vector<std::int64_t>& point) {
      const std::int64_t right = e.value(original, point);
      if (e.value(result, point) != right || right < bound.min || right > bound.max) {
        FAIL(e.text(original) << " = " << right << " became " << e.text(result) << " = "
                              << e.value(result, point) << " within " << bound.min << ", "
                              << bound.max);
      }
    });
  }
}

TEST_CASE("what is settled is what the reference makes of it in all its steps", "[algebra]") {
  CounterRng rng(test::seed(), 35);
  std::uint32_t settled = 0, others = 0;
  for (std::uint32_t i = 0; i < test::scaled(6000); ++i) {
    Expressions e({3, 16, 4, 12}, i % 5);
    Pool& p = e.pool;
    // Parts of variables, as loops that are split and fused have them, or anything.
    Ref ref = i % 4 == 0 ? e.random(rng, 4) : e.num(rng.next_below(3));
    for (std::uint32_t terms = 1 + rng.next_below(4); terms > 0; --terms) {
      Ref term = e.var(static_cast<std::int32_t>(rng.next_below(4)));
      const auto some = [&] { return e.num(std::int64_t{1} << rng.next_below(5)); };
      term = rng.next_below(2) == 0 ? term : p.floormod(term, some());
      term = rng.next_below(2) == 0 ? term : p.floordiv(term, some());
      ref = p.add(p.mul(ref, some()), p.mul(term, some()));
    }
    if (rng.next_below(4) == 0) {
      (void)e.analyzer.enter(p.binary(Op::lt, e.random(rng, 1), e.num(3)));
    }
    const Ref result = e.analyzer.simplify(ref), in_full = e.analyzer.simplify_in_full(ref);
    (p.is_integer(result) || !e.analyzer.is_settled(result) ? others : settled) += 1;
    if (result != in_full) {
      FAIL(e.text(ref) << " became " << e.text(result) << " and not " << e.text(in_full));
    }
  }
  CHECK(settled > others / 4);
  CHECK(others > settled / 4);
}

TEST_CASE("an example refutes nothing that holds", "[algebra]") {
  CounterRng rng(test::seed(), 36);
  std::uint32_t refuted = 0;
  for (std::uint32_t i = 0; i < test::scaled(2000); ++i) {
    Expressions e({3, 5, 4, 7});
    Example example(e.pool);
    for (std::int32_t var = 0; var < 4; ++var) {
      example.bind(var, e.num(0), e.num(e.extent[static_cast<std::size_t>(var)]));
    }
    const Ref ref = e.random(rng, 3);
    const auto value = example(ref);
    REQUIRE(value);
    CHECK(*value == e.value(ref, {2, 4, 3, 6}));
    if (*value > 0) {
      ++refuted;
      CHECK(!e.analyzer.holds(e.pool.binary(Op::ge, e.num(0), ref)));
    }
  }
  CHECK(refuted > test::scaled(2000) / 4);
  Expressions e({3, 5}, 0);
  Example example(e.pool);
  CHECK(!example(e.var(0)));
  example.bind(0, e.num(2), e.num(4));
  CHECK(example(e.var(0)) == 5);
  example.bind(1, e.var(0), e.var(0));  // [5, 10)
  CHECK(example(e.pool.add(e.var(0), e.var(1))) == 14);
  CHECK(!example(e.pool.mul(e.num(INT64_MAX), e.var(1))));
  CHECK(!example(e.pool.floordiv(e.var(1), e.num(0))));
}

TEST_CASE("a multiple that is known of an expression divides its distance from the base",
          "[algebra]") {
  CounterRng rng(test::seed(), 33);
  for (int i = 0; i < 400; ++i) {
    Expressions e({3, 5, 4, 7});
    const Ref ref = e.random(rng, 3);
    Remembered<ModularSet> known;
    const ModularSet set = ModularSets(e.pool, known)(ref);
    e.at_every_point([&](const std::vector<std::int64_t>& point) {
      const std::int64_t distance = e.value(ref, point) - set.base;
      if (set.coefficient == 0 ? distance != 0 : distance % set.coefficient != 0) {
        FAIL(e.text(ref) << " is not " << set.base << " + " << set.coefficient << " * n");
      }
    });
  }
}

TEST_CASE("an interval holds all values while some variables run", "[algebra]") {
  CounterRng rng(test::seed(), 34);
  for (int i = 0; i < 400; ++i) {
    Expressions e({3, 5, 4, 7});
    const Ref ref = e.random(rng, 3);
    Intervals running;
    running.set(1, interval_of_range(e.pool, e.num(0), e.num(5)));
    running.set(3, interval_of_range(e.pool, e.num(0), e.num(7)));
    const Interval interval = IntervalEvaluator(e.analyzer, running)(ref);
    if (interval.min == no_ref || interval.max == no_ref) {
      continue;
    }
    REQUIRE(!uses_var(e.pool, interval.min, 1));
    REQUIRE(!uses_var(e.pool, interval.max, 3));
    e.at_every_point([&](const std::vector<std::int64_t>& point) {
      const std::int64_t value = e.value(ref, point);
      if (value < e.value(interval.min, point) || value > e.value(interval.max, point)) {
        FAIL(e.text(ref) << " leaves " << e.text(interval.min) << " .. " << e.text(interval.max));
      }
    });
  }
}

TEST_CASE("the largest value is one that is reached", "[algebra]") {
  Expressions e({4, 6});
  const Ref four_times = e.pool.mul(e.var(0), e.num(4));
  const Ref rest = e.pool.floormod(four_times, e.num(12));  // 0, 4 or 8
  const VarCounts counts{{0, 4}, {1, 6}};
  CHECK(largest_value(e.pool, rest, counts) == 8);
  CHECK(largest_value(e.pool, e.pool.add(rest, e.var(1)), counts) == 13);
  CHECK(largest_value(e.pool, e.var(0), {{0, 1 << 20}}) == (1 << 20) - 1);
}

TEST_CASE("forms of fused and split loops are the reference's", "[algebra]") {
  Expressions e({64, 8}, 0);
  const Ref f = e.var(0), g = e.var(1);
  Pool& p = e.pool;
  const auto n = [&](std::int64_t value) { return p.integer(value); };
  CHECK(e.simple(p.floordiv(p.floormod(f, n(4)), n(2))) == "a % 4 // 2");
  CHECK(e.simple(p.floormod(p.floordiv(f, n(4)), n(7))) == "a % 28 // 4");
  CHECK(e.simple(p.add(p.mul(p.floordiv(f, n(4)), n(4)), p.floormod(f, n(4)))) == "a");
  CHECK(e.simple(p.floordiv(p.add(p.mul(f, n(8)), g), n(8))) == "b // 8 + a");
  Expressions known({64, 8});
  Pool& q = known.pool;
  const Ref sum = q.add(q.mul(known.var(0), q.integer(8)), known.var(1));
  CHECK(known.simple(q.floordiv(sum, q.integer(8))) == "a");
  CHECK(known.simple(q.floormod(sum, q.integer(8))) == "b");
  CHECK(known.simple(q.floordiv(sum, q.integer(2))) == "a * 4 + b // 2");
  CHECK(known.simple(q.floordiv(sum, q.integer(16))) == "a // 2");
}

TEST_CASE("a comparison loses its common factor, and an index without a modulus counts as one of "
          "2^63 - 1",
          "[algebra]") {
  Expressions e({64, 8});
  Pool& p = e.pool;
  const auto less = [&](std::int64_t factor, std::int64_t end) {
    return p.binary(Op::lt, p.add(p.mul(e.var(0), p.integer(factor)), e.var(1)), p.integer(end));
  };
  CHECK(e.simple(less(8, 16)) == "a < 2");
  CHECK(e.simple(less(8, 15)) == "a * 8 + b < 15");
  CHECK(e.simple(less(7, 49)) == "b // 7 + a < 7");  // 7 divides 2^63 - 1
  CHECK(e.simple(less(6, 36)) == "a * 6 + b < 36");  // 6 does not
  CHECK(e.simple(less(8, 600)) == "T.bool(True)");
}

TEST_CASE("a condition holds until it is left", "[algebra]") {
  Expressions e({64, 8});
  Pool& p = e.pool;
  const Ref condition = p.binary(Op::lt, e.var(0), p.integer(5));
  const Ref rest = p.floormod(e.var(0), p.integer(5));
  CHECK(e.simple(rest) == "a % 5");
  const Facts::Mark mark = e.analyzer.enter(condition);
  CHECK(e.simple(rest) == "a");
  CHECK(e.simple(condition) == "T.bool(True)");
  e.analyzer.leave(mark);
  CHECK(e.simple(rest) == "a % 5");
  CHECK(e.simple(condition) == "a < 5");
}

TEST_CASE("each arm of a choice knows its condition", "[algebra]") {
  Expressions e({64, 8});
  Pool& p = e.pool;
  const Ref inside = p.binary(Op::lt, e.var(0), p.integer(5));
  const Ref rest = p.floormod(e.var(0), p.integer(5));
  CHECK(e.simple(p.choice(Op::if_then_else, inside, rest, p.integer(0))) ==
        "T.if_then_else(a < 5, a, 0)");
  CHECK(e.simple(p.choice(Op::select, p.binary(Op::lt, e.var(1), p.integer(9)), rest, e.var(1))) ==
        "a % 5");
}

TEST_CASE("substitution replaces variables and nothing else", "[algebra]") {
  Expressions e({4, 4});
  Pool& p = e.pool;
  const Ref ref = p.raw(Op::add, p.raw(Op::mul, e.var(0), p.integer(3)), e.var(1));
  RefMap<Ref> known;
  const Ref result = substituted(
      p, ref, known, [&](std::int64_t var, Ref self) { return var == 0 ? p.integer(2) : self; });
  CHECK(e.text(result) == "2 * 3 + b");  // nothing is folded
}

TEST_CASE("equal expressions are one node, and constants fold in the width of their type",
          "[algebra]") {
  Pool p;
  const Ref x = p.var(p.new_var());
  CHECK(p.raw(Op::add, x, p.integer(1)) == p.raw(Op::add, x, p.integer(1)));
  CHECK(p.raw(Op::add, x, p.integer(1)) != p.raw(Op::sub, x, p.integer(1)));
  const std::vector<Ref> place{x, x};
  CHECK(p.with_list(Op::load, DType::f32, 3, place) == p.with_list(Op::load, DType::f32, 3, place));
  CHECK(p.with_list(Op::load, DType::f32, 3, place) != p.with_list(Op::load, DType::f32, 4, place));
  CHECK(p.value(p.add(p.integer(INT32_MAX), p.integer(1))) == INT32_MIN);
  CHECK(p.add(p.integer(0), x) == x);
  CHECK(p.value(p.floordiv(p.integer(-7), p.integer(2))) == -4);
  CHECK(p.value(p.floormod(p.integer(-7), p.integer(2))) == 1);
  CHECK(p.value(p.binary(Op::lt, p.integer(1), p.integer(2))) == 1);
}

TEST_CASE("known comparisons decide those that differ by a constant", "[algebra]") {
  Pool p;
  Comparisons known(p);
  const Ref x = p.var(p.new_var()), y = p.var(p.new_var());
  known.add(p.raw(Op::lt, x, p.raw(Op::add, y, p.integer(3))));  // x <= y + 2
  CHECK(known.compare(x, y) == Order::unknown);
  CHECK(known.compare(x, p.raw(Op::add, y, p.integer(2))) == Order::less_equal);
  CHECK(known.compare(x, p.raw(Op::add, y, p.integer(4))) == Order::less);
  CHECK(known.compare(p.raw(Op::add, y, p.integer(4)), x) == Order::greater);
  known.drop(0);
  CHECK(known.compare(x, p.raw(Op::add, y, p.integer(4))) == Order::unknown);
}

}  // namespace tensorsmith::algebra
