// SPDX-License-Identifier: Apache-2.0
#include "tensorsmith/ir/interval.hpp"

#include "support/catch.hpp"

#include "support/random_expr.hpp"
#include <algorithm>

using namespace tensorsmith;

TEST_CASE("operations on intervals hold every result and no more where they are exact") {
  CounterRng rng(test::seed(), 9);
  const auto draw = [&] {
    const std::int64_t low = static_cast<std::int64_t>(rng.next_below(13)) - 6;
    return Interval{low, low + rng.next_below(6)};
  };
  for (int trial = 0; trial < 3000; ++trial) {
    const Interval a = draw(), b = draw();
    const auto op = static_cast<BinaryOp>(rng.next_below(15));
    const Interval result = interval_of(op, a, b);
    Interval seen{Interval::highest, Interval::lowest};
    for (std::int64_t x = a.min; x <= a.max; ++x) {
      for (std::int64_t y = b.min; y <= b.max; ++y) {
        if (const auto value = apply_integer(op, x, y)) {
          seen = {std::min(seen.min, *value), std::max(seen.max, *value)};
        }
      }
    }
    CAPTURE(test::seed(), text_of(op), a.min, a.max, b.min, b.max, result.min, result.max);
    if (seen.min <= seen.max) {
      CHECK(result.min <= seen.min);
      CHECK(result.max >= seen.max);
      const bool is_exact = op <= BinaryOp::div || op == BinaryOp::floordiv ||
                            op == BinaryOp::min || op == BinaryOp::max || op >= BinaryOp::lt;
      const bool divides = op == BinaryOp::div || op == BinaryOp::floordiv;
      if (is_exact && !(divides && b.contains(0))) {
        CHECK(result == seen);
      }
    }
  }
}

TEST_CASE("unbounded ends stay unbounded, and nothing overflows") {
  const Interval all, natural{0, Interval::highest};
  CHECK(all + Interval{1, 1} == all);
  CHECK(natural + Interval{3, 4} == Interval{3, Interval::highest});
  CHECK(natural * Interval{-2, -2} == Interval{Interval::lowest, 0});
  CHECK(Interval{0, 0} * all == Interval{0, 0});
  const Interval big{Interval::highest - 1, Interval::highest - 1};
  CHECK((big + big).max == Interval::highest);
  CHECK(interval_of(BinaryOp::floordiv, natural, {4, 4}) == natural);
  CHECK(interval_of(BinaryOp::floormod, all, {4, 4}) == Interval{0, 3});
  CHECK(interval_of(BinaryOp::floormod, {5, 6}, {4, 4}) == Interval{1, 2});
  CHECK(interval_of(BinaryOp::lt, natural, {0, 0}) == Interval{0, 0});
  CHECK(interval_of(BinaryOp::lt, natural, {1, 1}) == Interval{0, 1});
  CHECK(interval_of(BinaryOp::le, all, natural) == Interval{0, 1});
}

TEST_CASE("elements have the range of their type and wrap") {
  ExprPool pool;
  VarRanges ranges;
  const VarId v = pool.new_var("i");
  ranges.set(v, -2, 9);
  const ExprId i = pool.var(v);
  const ExprId x = pool.load(BufferId{0}, DType::i8, {i});
  const ExprId one = pool.int_imm(1, DType::i8);
  CHECK(interval_of(pool, x, ranges) == Interval{-128, 127});
  CHECK(interval_of(pool, pool.add(x, one), ranges) == Interval{-128, 127});
  CHECK(interval_of(pool, pool.floormod(x, pool.int_imm(4, DType::i8)), ranges) == Interval{0, 3});
  CHECK(interval_of(pool, pool.cast(DType::i8, i), ranges) == Interval{-2, 9});
  CHECK(interval_of(pool, pool.cast(DType::u8, i), ranges) == Interval{0, 255});
  CHECK(interval_of(pool, pool.cast(DType::boolean, i), ranges) == Interval{0, 1});
  CHECK(interval_of(pool, pool.select(pool.lt(i, pool.int_imm(10)), i, pool.int_imm(99)), ranges) ==
        Interval{-2, 9});
  CHECK(interval_of(pool, pool.call(CallOp::abs, {i}), ranges) == Interval{0, 9});
  CHECK(interval_of(pool, pool.var(pool.new_var("n")), ranges) == Interval{});
}
