// SPDX-License-Identifier: Apache-2.0
#include "tensorsmith/ir/simplify.hpp"

#include "support/catch.hpp"

#include "tensorsmith/ir/affine.hpp"
#include "tensorsmith/ir/print.hpp"

using namespace tensorsmith;

namespace {

struct SimplifyFixture {
  ExprPool pool;
  VarRanges ranges;
  VarId vi = pool.new_var("i"), vj = pool.new_var("j"), vn = pool.new_var("n");
  ExprId i = pool.var(vi), j = pool.var(vj), n = pool.var(vn);

  SimplifyFixture() {
    ranges.set(vi, 0, 7);
    ranges.set(vj, 0, 3);
  }
  ExprId imm(std::int64_t value) { return pool.int_imm(value); }
  std::string text(ExprId id) { return debug_string(simplify(pool, id, ranges), pool); }
};

}  // namespace

TEST_CASE_METHOD(SimplifyFixture, "sums") {
  CHECK(text(pool.add(pool.mul(imm(2), i), pool.sub(imm(3), i))) == "i + 3");
  CHECK(text(pool.sub(i, i)) == "0");
  CHECK(text(pool.mul(pool.add(i, imm(1)), imm(4))) == "i*4 + 4");
  CHECK(text(pool.sub(j, pool.mul(imm(2), i))) == "i*(-2) + j");
  CHECK(text(pool.sub(pool.mul(i, imm(2)), j)) == "i*2 - j");
  CHECK(text(pool.mul(pool.mul(n, imm(3)), pool.mul(i, imm(2)))) == "i*n*6");
  CHECK(text(pool.unary(UnaryOp::neg, pool.unary(UnaryOp::neg, i))) == "i");
  const ExprId x = pool.load(BufferId{0}, DType::u8, {i});
  CHECK(text(pool.add(pool.sub(x, pool.int_imm(1, DType::u8)), pool.int_imm(1, DType::u8))) ==
        "b0[i]");
}

TEST_CASE_METHOD(SimplifyFixture, "quotients and remainders") {
  const ExprId flat = pool.add(pool.mul(i, imm(4)), j);
  CHECK(text(pool.floordiv(flat, imm(4))) == "i");
  CHECK(text(pool.floormod(flat, imm(4))) == "j");
  CHECK(text(pool.floordiv(flat, imm(8))) == "floordiv(i, 2)");
  CHECK(text(pool.floormod(flat, imm(8))) == "j + floormod(i, 2)*4");
  CHECK(text(pool.floordiv(pool.add(flat, imm(-1)), imm(4))) == "i + floordiv(j + 3, 4) - 1");
  CHECK(text(pool.floordiv(pool.floordiv(n, imm(3)), imm(5))) == "floordiv(n, 15)");
  CHECK(text(pool.floormod(pool.floormod(n, imm(12)), imm(4))) == "floormod(n, 4)");
  CHECK(text(pool.floordiv(n, imm(1))) == "n");
  CHECK(text(pool.floormod(pool.mul(n, imm(6)), imm(4))) == "floormod(n, 2)*2");
  CHECK(text(pool.add(pool.mul(pool.floordiv(n, imm(4)), imm(8)),
                      pool.mul(pool.floormod(n, imm(4)), imm(2)))) == "n*2");
  CHECK(text(pool.binary(BinaryOp::div, i, imm(2))) == "floordiv(i, 2)");
  CHECK(text(pool.binary(BinaryOp::div, n, imm(2))) == "n/2");
  CHECK(text(pool.floordiv(n, imm(0))) == "floordiv(n, 0)");
}

TEST_CASE_METHOD(SimplifyFixture, "minima, maxima and comparisons by ranges") {
  CHECK(text(pool.min(pool.add(i, imm(4)), imm(3))) == "3");
  CHECK(text(pool.max(i, pool.sub(j, imm(4)))) == "i");
  CHECK(text(pool.min(pool.add(n, imm(2)), pool.add(n, imm(1)))) == "n + 1");
  CHECK(text(pool.min(imm(4), pool.sub(imm(17), pool.mul(n, imm(4))))) == "min(n*(-4) + 17, 4)");
  CHECK(text(pool.lt(i, imm(8))) == "true");
  CHECK(text(pool.lt(n, pool.sub(n, imm(1)))) == "false");
  CHECK(text(pool.lt(pool.add(pool.mul(n, imm(4)), imm(3)), imm(17))) == "n < 4");
  CHECK(text(pool.binary(BinaryOp::le, imm(0), n)) == "n >= 0");
  CHECK(text(pool.binary(BinaryOp::gt, n, imm(2))) == "n >= 3");
  CHECK(text(pool.eq(pool.mul(n, imm(4)), imm(6))) == "false");
  CHECK(text(pool.eq(pool.mul(n, imm(4)), imm(8))) == "n == 2");
  CHECK(text(pool.lt(pool.add(i, n), pool.add(n, j))) == "i - j < 0");
  // Elements wrap, so nothing moves across the comparison.
  const ExprId x = pool.load(BufferId{0}, DType::i32, {i});
  CHECK(text(pool.lt(pool.add(x, imm(1)), imm(5))) == "b0[i] + 1 < 5");
}

TEST_CASE_METHOD(SimplifyFixture, "conditions and choices") {
  const ExprId yes = pool.int_imm(1, DType::boolean);
  const ExprId c = pool.lt(n, imm(3)), d = pool.lt(n, imm(5));
  CHECK(text(pool.and_(c, yes)) == "n < 3");
  CHECK(text(pool.and_(c, d)) == "n < 3");
  CHECK(text(pool.binary(BinaryOp::or_, c, d)) == "n < 5");
  CHECK(text(pool.and_(c, pool.ge(n, imm(3)))) == "false");
  CHECK(text(pool.unary(UnaryOp::not_, c)) == "n >= 3");
  CHECK(text(pool.select(pool.lt(i, imm(9)), n, j)) == "n");
  CHECK(text(pool.select(c, n, imm(3))) == "min(n, 3)");
  const ExprId guarded = pool.load(BufferId{0}, DType::f32, {n});
  CHECK(text(pool.if_then_else(pool.ge(i, imm(0)), guarded, pool.float_imm(0))) == "b0[n]");
  CHECK(text(pool.if_then_else(c, guarded, pool.float_imm(0))) ==
        "if_then_else(n < 3, b0[n], 0.0)");
}

TEST_CASE_METHOD(SimplifyFixture, "reals keep their bits") {
  const ExprId x = pool.load(BufferId{0}, DType::f32, {i});
  const auto real = [&](double v) { return pool.float_imm(v); };
  CHECK(text(pool.mul(x, real(1))) == "b0[i]");
  CHECK(text(pool.sub(x, real(0))) == "b0[i]");
  CHECK(text(pool.add(x, real(0))) == "b0[i] + 0.0");  // -0.0 + 0.0 is 0.0
  CHECK(text(pool.mul(x, real(0))) == "b0[i]*0.0");    // NaN
  CHECK(text(pool.sub(x, x)) == "b0[i] - b0[i]");
  CHECK(text(pool.add(real(0.5), real(0.25))) == "0.75");
  CHECK(text(pool.binary(BinaryOp::div, real(0), real(0))) == "0.0/0.0");
  CHECK(text(pool.cast(DType::f32, imm(3))) == "3.0");
  CHECK(text(pool.max(x, x)) == "b0[i]");
  CHECK(text(pool.unary(UnaryOp::not_, pool.lt(x, real(1)))) == "not(b0[i] < 1.0)");
}

TEST_CASE_METHOD(SimplifyFixture, "what is simple stays the same id; the pool need not grow") {
  const ExprId e = pool.add(pool.mul(i, imm(4)), j);
  const ExprId f = pool.if_then_else(pool.lt(n, imm(3)), e, pool.floordiv(n, imm(2)));
  const std::uint32_t before = pool.num_exprs();
  CHECK(simplify(pool, f, ranges) == f);
  CHECK(pool.num_exprs() == before);
}

TEST_CASE_METHOD(SimplifyFixture, "sums are written as affine.hpp writes them") {
  VarExtents extents;
  extents.set(vi, 8);
  extents.set(vj, 4);
  const ExprId e = pool.sub(pool.sub(imm(5), pool.mul(j, imm(3))), pool.mul(imm(2), i));
  CHECK(simplify(pool, e, ranges) == to_expr(pool, to_affine(pool, extents, e)));
}

TEST_CASE("a pool on top of a const one") {
  auto base = make_shared_of<ExprPool>();
  const ExprId i = base->var(base->new_var("i"));
  const ExprId e = base->add(base->mul(i, base->int_imm(2)), i);
  ExprPool top(base.get());
  CHECK(debug_string(simplify(top, e), top) == "i*3");
}
