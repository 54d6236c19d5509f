// SPDX-License-Identifier: Apache-2.0
// Laws of the simplifier on random expressions: values stay, nothing is left to do, ranges hold,
// and equal affine expressions are one.
#include "tensorsmith/ir/simplify.hpp"

#include "support/catch.hpp"

#include "support/random_expr.hpp"
#include <bit>

#include "tensorsmith/ir/print.hpp"

using namespace tensorsmith;

namespace {

bool same(Scalar a, Scalar b, DType type) {
  if (!is_float(type)) {
    return a.integer == b.integer;
  }
  return std::bit_cast<std::uint64_t>(a.real) == std::bit_cast<std::uint64_t>(b.real) ||
         (a.real != a.real && b.real != b.real);
}

}  // namespace

TEST_CASE("simplify keeps every value, is idempotent, and its ranges hold") {
  std::size_t changed = 0, compared = 0;
  for (std::uint32_t n = 0; n < 30000; ++n) {
    CounterRng rng(test::seed(), 1, n);
    ExprPool pool;
    test::RandomExprs random(pool, rng);
    const ExprId before = random.any(1 + static_cast<int>(rng.next_below(5)));
    const ExprId after = simplify(pool, before, random.ranges());
    changed += after != before ? 1 : 0;
    const DType type = pool.dtype(before);
    INFO("seed " << test::seed() << " case " << n << "\n  " << debug_string(before, pool) << "\n  "
                 << debug_string(after, pool));
    REQUIRE(pool.dtype(after) == type);
    const ExprId again = simplify(pool, after, random.ranges());
    if (again != after) {
      FAIL("simplified again: " << debug_string(again, pool));
    }
    const Interval range_before = interval_of(pool, before, random.ranges());
    const Interval range_after = interval_of(pool, after, random.ranges());
    for (int p = 0; p < 12; ++p) {
      const test::ExprValue value{pool, random.point()};
      const auto expected = value(before);
      if (!expected) {
        continue;
      }
      ++compared;
      const auto found = value(after);
      if (!found || !same(*expected, *found, type)) {
        for (VarId var : random.vars()) {
          UNSCOPED_INFO(pool.var_name(var) << " = " << value.vars[var.value].integer);
        }
        REQUIRE(found);
        CHECK(found->integer == expected->integer);
        FAIL("the value changed");
      }
      if (!is_float(type) &&
          (!range_before.contains(expected->integer) || !range_after.contains(expected->integer))) {
        CAPTURE(expected->integer, range_before.min, range_before.max, range_after.min,
                range_after.max);
        FAIL("outside its range");
      }
    }
  }
  CHECK(changed > 10000);
  CHECK(compared > 100000);
}

TEST_CASE("equal affine expressions become the same id, however they are written") {
  for (std::uint32_t n = 0; n < 3000; ++n) {
    CounterRng rng(test::seed(), 2, n);
    ExprPool pool;
    test::RandomExprs random(pool, rng);
    std::vector<std::pair<ExprId, std::int64_t>> terms;
    for (VarId var : random.vars()) {
      terms.emplace_back(pool.var(var), static_cast<std::int64_t>(rng.next_below(9)) - 4);
    }
    const std::int64_t constant = static_cast<std::int64_t>(rng.next_below(9)) - 4;
    const auto written = [&] {
      // Shuffled, with terms split in two, factors on either side, and sums nested at random.
      std::vector<ExprId> parts = {pool.int_imm(constant)};
      for (const auto& [atom, coefficient] : terms) {
        const std::int64_t first = static_cast<std::int64_t>(rng.next_below(5)) - 2;
        parts.push_back(pool.mul(atom, pool.int_imm(first)));
        parts.push_back(pool.mul(pool.int_imm(coefficient - first), atom));
      }
      while (parts.size() > 1) {
        rng.shuffle(parts);
        const ExprId a = parts.back();
        parts.pop_back();
        const ExprId b = parts.back();
        parts.back() =
            rng.next_below(2) == 0 ? pool.add(a, b) : pool.sub(a, pool.unary(UnaryOp::neg, b));
      }
      return parts[0];
    };
    const ExprId a = written(), b = written();
    INFO("seed " << test::seed() << " case " << n << "\n  " << debug_string(a, pool) << "\n  "
                 << debug_string(b, pool));
    CHECK(simplify(pool, a, random.ranges()) == simplify(pool, b, random.ranges()));
  }
}

TEST_CASE("values of split and fused loops come apart and together again") {
  for (std::uint32_t n = 0; n < 2000; ++n) {
    CounterRng rng(test::seed(), 3, n);
    ExprPool pool;
    VarRanges ranges;
    const std::int64_t inner = 1 + rng.next_below(7), middle = 1 + rng.next_below(7);
    const VarId a = pool.new_var("a"), b = pool.new_var("b"), c = pool.new_var("c");
    ranges.set(a, 0, rng.next_below(9));
    ranges.set(b, 0, middle - 1);
    ranges.set(c, 0, inner - 1);
    const auto imm = [&](std::int64_t v) { return pool.int_imm(v); };
    // fused = (a * middle + b) * inner + c
    const ExprId fused =
        pool.add(pool.mul(pool.add(pool.mul(pool.var(a), imm(middle)), pool.var(b)), imm(inner)),
                 pool.var(c));
    const auto simple = [&](ExprId id) { return simplify(pool, id, ranges); };
    CAPTURE(test::seed(), n, inner, middle);
    CHECK(simple(pool.floormod(fused, imm(inner))) == simple(pool.var(c)));
    const ExprId rest = pool.floordiv(fused, imm(inner));
    CHECK(simple(pool.floormod(rest, imm(middle))) == simple(pool.var(b)));
    CHECK(simple(pool.floordiv(rest, imm(middle))) == simple(pool.var(a)));
    CHECK(simple(pool.floordiv(fused, imm(inner * middle))) == simple(pool.var(a)));
    CHECK(simple(pool.lt(pool.var(c), imm(inner))) == pool.int_imm(1, DType::boolean));
    const ExprId f = pool.var(pool.new_var("f"));
    const ExprId whole =
        pool.add(pool.mul(pool.floordiv(f, imm(inner)), imm(inner)), pool.floormod(f, imm(inner)));
    CHECK(simple(whole) == f);
  }
}

TEST_CASE("quotients of sums whose ranges end near the divisor") {
  for (std::uint32_t n = 0; n < 4000; ++n) {
    CounterRng rng(test::seed(), 4, n);
    ExprPool pool;
    VarRanges ranges;
    const std::int64_t g = 1 + rng.next_below(5), c = g * (1 + rng.next_below(4));
    const VarId a = pool.new_var("a"), b = pool.new_var("b");
    const std::int64_t low = static_cast<std::int64_t>(rng.next_below(3)) - 1;
    const std::int64_t high = low + g - 2 + rng.next_below(4);
    ranges.set(a, -4, 4);
    ranges.set(b, low, high < low ? low : high);
    const std::int64_t scale = g * (1 + rng.next_below(2));
    const ExprId sum = pool.add(pool.add(pool.mul(pool.var(a), pool.int_imm(scale)), pool.var(b)),
                                pool.int_imm(static_cast<std::int64_t>(rng.next_below(5)) - 2));
    const BinaryOp op = rng.next_below(2) == 0 ? BinaryOp::floordiv : BinaryOp::floormod;
    const ExprId before = pool.binary(op, sum, pool.int_imm(c));
    const ExprId after = simplify(pool, before, ranges);
    bool same = simplify(pool, after, ranges) == after;
    for (std::int64_t x = -4; x <= 4; ++x) {
      for (std::int64_t y = low; y <= ranges[b].max; ++y) {
        const test::ExprValue value{pool, {scalar_of(x), scalar_of(y)}};
        same = same && value(before)->integer == value(after)->integer;
      }
    }
    INFO("seed " << test::seed() << " case " << n << ": " << debug_string(before, pool) << "  -->  "
                 << debug_string(after, pool) << " with b in [" << low << ", " << ranges[b].max
                 << "]");
    CHECK(same);
  }
}
