// SPDX-License-Identifier: Apache-2.0
#include "tensorsmith/lower/region.hpp"

#include "support/catch.hpp"
#include "tensorsmith/ir/print.hpp"
#include "tensorsmith/ir/rewrite.hpp"
#include "tensorsmith/ir/simplify.hpp"

using namespace tensorsmith;

namespace {

/// x covers [4 * o, 4 * o + 3] with o in [0, 8), y covers [0, 9].
struct RegionReader {
  ExprPool pool;
  VarExtents extents;
  VarId x = pool.new_var("x"), y = pool.new_var("y"), o = pool.new_var("o");
  AxisIntervals axes;

  RegionReader() {
    extents.set(o, 8);
    SymbolicInterval of_x, of_y;
    of_x.low.add(pool.var(o), 4);
    of_x.width = 3;
    of_y.width = 9;
    axes = {{x, of_x}, {y, of_y}};
  }
  ExprId i(std::int64_t value) { return pool.int_imm(value); }
  ExprId v(VarId var) { return pool.var(var); }
  SymbolicInterval operator()(ExprId id) { return interval_of(pool, extents, axes, id); }
  std::string low(const SymbolicInterval& interval) {
    return debug_string(to_expr(pool, interval.low), pool);
  }
  void check(ExprId id, const std::string& low_text, std::int64_t width, bool is_inside = true) {
    const SymbolicInterval found = (*this)(id);
    INFO(debug_string(id, pool));
    CHECK(found.is_known);
    CHECK(low(found) == low_text);
    CHECK(found.width == width);
    CHECK(found.is_inside == is_inside);
  }
};

}  // namespace

TEST_CASE("intervals of affine reads") {
  RegionReader r;
  r.check(r.i(7), "7", 0);
  r.check(r.v(r.x), "o*4", 3);
  r.check(r.v(r.o), "o", 0);  // a loop variable outside of the reader is a point
  r.check(r.pool.add(r.v(r.x), r.v(r.y)), "o*4", 12);
  r.check(r.pool.sub(r.v(r.x), r.i(1)), "o*4 - 1", 3);
  r.check(r.pool.sub(r.v(r.x), r.v(r.y)), "o*4 - 9", 12);
  r.check(r.pool.mul(r.v(r.x), r.i(2)), "o*8", 6);
  r.check(r.pool.mul(r.i(3), r.v(r.y)), "0", 27);
  r.check(r.pool.mul(r.v(r.x), r.i(-2)), "o*(-8) - 6", 6);
  // What one axis moves twice may lie outside: the ends do not meet.
  r.check(r.pool.sub(r.v(r.y), r.v(r.y)), "-9", 18, false);
  r.check(r.pool.sub(r.v(r.y), r.pool.mul(r.pool.floordiv(r.v(r.y), r.i(4)), r.i(4))), "-8", 17,
          false);
  // The stride and tap of a convolution.
  r.check(r.pool.add(r.pool.mul(r.v(r.x), r.i(2)), r.v(r.y)), "o*8", 15);
}

TEST_CASE("quotients and remainders by constants") {
  RegionReader r;
  r.check(r.pool.floordiv(r.v(r.x), r.i(4)), "o", 0);
  r.check(r.pool.floormod(r.v(r.x), r.i(4)), "0", 3);
  r.check(r.pool.floordiv(r.v(r.y), r.i(4)), "0", 2);
  // The lower end of x + 1 is known modulo 4: 4 * o + 1 ... 4 * o + 4 touches two quotients.
  r.check(r.pool.floordiv(r.pool.add(r.v(r.x), r.i(1)), r.i(4)), "o", 1);
  // Blocks of 4 that begin at multiples of 4 lie in one block of 8 each, those behind 4 * o + 1 in
  // one or two.
  r.check(r.pool.floordiv(r.v(r.x), r.i(8)), "floordiv(o*4, 8)", 0);
  r.check(r.pool.floormod(r.v(r.x), r.i(8)), "floormod(o*4, 8)", 3);
  r.check(r.pool.floordiv(r.pool.add(r.v(r.x), r.i(1)), r.i(8)), "floordiv(o*4 + 1, 8)", 1, false);
  r.check(r.pool.floordiv(r.v(r.x), r.i(6)), "floordiv(o*4, 6)", 1, false);
  r.check(r.pool.floormod(r.v(r.x), r.i(3)), "0", 2, false);
}

TEST_CASE("no quotient and no remainder lies outside of its interval") {
  for (std::int64_t factor = -7; factor <= 16; ++factor) {
    for (std::int64_t offset = -3; offset <= 5; ++offset) {
      for (std::int64_t width = 0; width <= 9; ++width) {
        for (std::int64_t divisor = 1; divisor <= 12; ++divisor) {
          ExprPool pool;
          VarExtents extents;
          const VarId o = pool.new_var("o"), x = pool.new_var("x");
          extents.set(o, 8);
          SymbolicInterval of_x;
          of_x.low.add(pool.var(o), factor);
          of_x.low.constant = offset;
          of_x.width = width;
          const AxisIntervals axes = {{x, of_x}};
          const ExprId c = pool.int_imm(divisor);
          const SymbolicInterval div =
              interval_of(pool, extents, axes, pool.floordiv(pool.var(x), c));
          const SymbolicInterval mod =
              interval_of(pool, extents, axes, pool.floormod(pool.var(x), c));
          bool is_right = true;
          for (std::int64_t at = 0; at < 8; ++at) {
            Substitution here;
            here.set(o, pool.int_imm(at));
            const auto low_of = [&](const SymbolicInterval& interval) {
              return pool.as<IntImm>(simplify(pool, here(pool, to_expr(pool, interval.low))))
                  ->value;
            };
            for (std::int64_t value = at * factor + offset; value <= at * factor + offset + width;
                 ++value) {
              const std::int64_t quotient = floor_div(value, divisor) - low_of(div);
              const std::int64_t rest = floor_mod(value, divisor) - low_of(mod);
              is_right = is_right && quotient >= 0 && quotient <= div.width && rest >= 0 &&
                         rest <= mod.width;
            }
          }
          CAPTURE(factor, offset, width, divisor);
          CHECK(is_right);
        }
      }
    }
  }
}

TEST_CASE("what is not affine is unknown") {
  RegionReader r;
  CHECK_FALSE(r(r.pool.mul(r.v(r.x), r.v(r.y))).is_known);
  CHECK_FALSE(r(r.pool.min(r.v(r.x), r.v(r.y))).is_known);
  CHECK_FALSE(r(r.pool.floordiv(r.v(r.x), r.v(r.y))).is_known);
  CHECK_FALSE(r(r.pool.floordiv(r.v(r.x), r.i(-2))).is_known);
  CHECK_FALSE(r(r.pool.add(r.v(r.x), r.pool.max(r.v(r.y), r.i(3)))).is_known);
  const ExprId condition = r.pool.lt(r.v(r.x), r.i(3));
  CHECK_FALSE(r(r.pool.select(condition, r.v(r.x), r.v(r.y))).is_known);
}

TEST_CASE("the hull of two reads") {
  RegionReader r;
  const SymbolicInterval a = r(r.v(r.x));                          // o*4 ... o*4 + 3
  const SymbolicInterval b = r(r.pool.add(r.v(r.x), r.i(2)));      // o*4 + 2 ... o*4 + 5
  const SymbolicInterval inner = r(r.pool.add(r.v(r.o), r.i(0)));  // another lower end
  for (const SymbolicInterval& both : {hull(a, b), hull(b, a)}) {
    CHECK(both.is_known);
    CHECK(r.low(both) == "o*4");
    CHECK(both.width == 5);
  }
  CHECK(hull(a, a).width == 3);
  CHECK_FALSE(hull(a, inner).is_known);
  CHECK_FALSE(hull(a, {{}, 0, false, false}).is_known);
}
