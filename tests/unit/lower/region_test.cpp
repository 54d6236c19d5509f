#include "tensorsmith/lower/region.hpp"

#include "support/catch.hpp"
#include "tensorsmith/ir/print.hpp"

using namespace tensorsmith;

namespace {

/// x covers [4 * o, 4 * o + 3] with o in [0, 8), y covers [0, 9].
struct Reader {
  ExprPool pool;
  VarExtents extents;
  VarId x = pool.new_var("x"), y = pool.new_var("y"), o = pool.new_var("o");
  AxisIntervals axes;

  Reader() {
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
  Reader r;
  r.check(r.i(7), "7", 0);
  r.check(r.v(r.x), "o*4", 3);
  r.check(r.v(r.o), "o", 0);  // a loop variable outside of the reader is a point
  r.check(r.pool.add(r.v(r.x), r.v(r.y)), "o*4", 12);
  r.check(r.pool.sub(r.v(r.x), r.i(1)), "o*4 - 1", 3);
  r.check(r.pool.sub(r.v(r.x), r.v(r.y)), "o*4 - 9", 12);
  r.check(r.pool.mul(r.v(r.x), r.i(2)), "o*8", 6);
  r.check(r.pool.mul(r.i(3), r.v(r.y)), "0", 27);
  r.check(r.pool.mul(r.v(r.x), r.i(-2)), "o*(-8) - 6", 6);
  // The stride and tap of a convolution.
  r.check(r.pool.add(r.pool.mul(r.v(r.x), r.i(2)), r.v(r.y)), "o*8", 15);
}

TEST_CASE("quotients and remainders by constants") {
  Reader r;
  r.check(r.pool.floordiv(r.v(r.x), r.i(4)), "o", 0);
  r.check(r.pool.floormod(r.v(r.x), r.i(4)), "0", 3);
  r.check(r.pool.floordiv(r.v(r.y), r.i(4)), "0", 2);
  // The lower end of x + 1 is known modulo 4: 4 * o + 1 ... 4 * o + 4 touches two quotients.
  r.check(r.pool.floordiv(r.pool.add(r.v(r.x), r.i(1)), r.i(4)), "o", 1);
  // 4 * o is not a multiple of 8: where the interval begins within a block is not known.
  r.check(r.pool.floordiv(r.v(r.x), r.i(8)), "floordiv(o*4, 8)", 1, false);
  r.check(r.pool.floormod(r.v(r.x), r.i(3)), "0", 2, false);
}

TEST_CASE("what is not affine is unknown") {
  Reader r;
  CHECK_FALSE(r(r.pool.mul(r.v(r.x), r.v(r.y))).is_known);
  CHECK_FALSE(r(r.pool.min(r.v(r.x), r.v(r.y))).is_known);
  CHECK_FALSE(r(r.pool.floordiv(r.v(r.x), r.v(r.y))).is_known);
  CHECK_FALSE(r(r.pool.floordiv(r.v(r.x), r.i(-2))).is_known);
  CHECK_FALSE(r(r.pool.add(r.v(r.x), r.pool.max(r.v(r.y), r.i(3)))).is_known);
  const ExprId condition = r.pool.lt(r.v(r.x), r.i(3));
  CHECK_FALSE(r(r.pool.select(condition, r.v(r.x), r.v(r.y))).is_known);
}

TEST_CASE("the hull of two reads") {
  Reader r;
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
