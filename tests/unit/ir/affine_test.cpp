// SPDX-License-Identifier: Apache-2.0
#include "tensorsmith/ir/affine.hpp"

#include "support/catch.hpp"
#include "support/random_expr.hpp"

#include "tensorsmith/ir/print.hpp"

using namespace tensorsmith;

TEST_CASE("the affine form has the value of the expression, and its range holds") {
  std::size_t compared = 0;
  for (std::uint32_t n = 0; n < 4000; ++n) {
    CounterRng rng(test::seed(), 41, n);
    ExprPool pool;
    test::RandomExprs random(pool, rng);
    VarExtents extents;
    for (VarId var : random.vars()) {
      const Interval range = random.ranges()[var];
      extents.set(var, range.min == 0 ? range.max + 1 : 0);
    }
    const ExprId before = random.expr(DType::i32, 1 + static_cast<int>(rng.next_below(5)), false);
    const Affine form = to_affine(pool, extents, before);
    const ExprId after = to_expr(pool, form);
    const auto range = range_of(pool, extents, form);
    INFO("seed " << test::seed() << " case " << n << "\n  " << debug_string(before, pool) << "\n  "
                 << debug_string(after, pool));
    CHECK(to_affine(pool, extents, after) == form);
    for (int p = 0; p < 8; ++p) {
      const test::ExprValue value{pool, random.point()};
      const auto expected = value(before);
      if (!expected) {
        continue;
      }
      ++compared;
      const auto found = value(after);
      REQUIRE(found);
      CHECK(found->integer == expected->integer);
      CHECK((!range || (range->min <= found->integer && found->integer <= range->max)));
    }
  }
  CHECK(compared > 10000);
}

TEST_CASE("split and fused variables come apart") {
  ExprPool pool;
  VarExtents extents;
  const VarId a = pool.new_var("a"), b = pool.new_var("b");
  extents.set(a, 5);
  extents.set(b, 12);
  const ExprId fused = pool.add(pool.mul(pool.var(a), pool.int_imm(12)), pool.var(b));
  const auto text = [&](ExprId id) {
    return debug_string(to_expr(pool, to_affine(pool, extents, id)), pool);
  };
  CHECK(text(pool.floordiv(fused, pool.int_imm(12))) == "a");
  CHECK(text(pool.floormod(fused, pool.int_imm(12))) == "b");
  CHECK(text(pool.min(pool.var(b), pool.int_imm(11))) == "b");
  CHECK(text(pool.sub(fused, pool.var(b))) == "a*12");
  CHECK(text(pool.floordiv(pool.sub(fused, pool.int_imm(1)), pool.int_imm(12))) ==
        "a + floordiv(b + 11, 12) - 1");
  CHECK(text(pool.floormod(pool.sub(fused, pool.int_imm(1)), pool.int_imm(12))) ==
        "floormod(b + 11, 12)");
}

TEST_CASE("forms of i64 stay in i64, and elements keep their wrapping divisions") {
  ExprPool pool;
  VarExtents extents;
  const VarId i = pool.new_var("i");
  extents.set(i, 8);
  const ExprId element = pool.load(BufferId{0}, DType::i64, {pool.var(i)});
  const auto again = [&](ExprId id) { return to_expr(pool, to_affine(pool, extents, id)); };
  const ExprId clipped =
      pool.max(pool.min(element, pool.int_imm(8, DType::i64)), pool.int_imm(0, DType::i64));
  CHECK(again(clipped) == clipped);
  const ExprId chosen = pool.select(pool.ge(element, pool.int_imm(0, DType::i64)), element,
                                    pool.int_imm(3, DType::i64));
  CHECK(again(chosen) == chosen);
  // 4 x may wrap, so its quarter is not x.
  const ExprId small = pool.load(BufferId{1}, DType::i32, {pool.var(i)});
  const ExprId quarter = pool.floordiv(pool.mul(small, pool.int_imm(4)), pool.int_imm(4));
  CHECK(again(quarter) == quarter);
  CHECK(again(pool.floordiv(pool.mul(pool.var(i), pool.int_imm(4)), pool.int_imm(4))) ==
        pool.var(i));
  // Arithmetic of bytes wraps at 256: no form of it means the same.
  const ExprId byte = pool.load(BufferId{2}, DType::u8, {pool.var(i)});
  const ExprId sum = pool.add(byte, pool.int_imm(200, DType::u8));
  CHECK(again(sum) == sum);
}

TEST_CASE("a range whose ends overflow is not known") {
  ExprPool pool;
  VarExtents extents;
  const VarId i = pool.new_var("i", DType::i64);
  extents.set(i, 8);
  const std::int64_t large = std::int64_t{1} << 62;
  const auto of = [&](ExprId id) { return range_of(pool, extents, id); };
  const auto literal = [&](std::int64_t value) { return pool.int_imm(value, DType::i64); };
  const ExprId product = pool.mul(pool.var(i), literal(large));
  CHECK_FALSE(of(product));
  CHECK_FALSE(of(pool.mul(literal(-large), pool.var(i))));
  CHECK_FALSE(of(pool.add(pool.add(pool.var(i), literal(large)), literal(large))));
  CHECK_FALSE(of(pool.sub(pool.sub(pool.var(i), literal(large)), literal(large + 8))));
  Affine form;
  form.add(pool.var(i), large);
  CHECK_FALSE(range_of(pool, extents, form));
  form.add(Affine(form), 3);
  CHECK(form.is_constant());  // 2^64 i
  const auto range = of(pool.add(pool.var(i), literal(large)));
  REQUIRE(range);
  CHECK((range->min == large && range->max == large + 7));
}
