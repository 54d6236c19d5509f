// SPDX-License-Identifier: Apache-2.0
#include "tensorsmith/ir/print.hpp"

#include "support/catch.hpp"

#include <limits>

using namespace tensorsmith;

TEST_CASE("expressions keep their tree in the text") {
  ExprPool pool;
  const ExprId i = pool.var(pool.new_var("i"));
  const ExprId j = pool.var(pool.new_var("j"));
  const ExprId two = pool.int_imm(2);
  CHECK(debug_string(pool.add(pool.add(i, j), two), pool) == "i + j + 2");
  CHECK(debug_string(pool.add(i, pool.add(j, two)), pool) == "i + (j + 2)");
  CHECK(debug_string(pool.sub(i, pool.sub(j, two)), pool) == "i - (j - 2)");
  CHECK(debug_string(pool.mul(pool.add(i, j), two), pool) == "(i + j)*2");
  CHECK(debug_string(pool.binary(BinaryOp::div, i, pool.mul(j, two)), pool) == "i/(j*2)");
  CHECK(debug_string(pool.floordiv(i, two), pool) == "floordiv(i, 2)");
  CHECK(debug_string(pool.and_(pool.lt(i, j), pool.ge(j, two)), pool) == "i < j and j >= 2");
  CHECK(debug_string(pool.eq(pool.lt(i, j), pool.lt(j, i)), pool) == "(i < j) == (j < i)");
  CHECK(debug_string(
            pool.binary(BinaryOp::or_, pool.and_(pool.lt(i, j), pool.lt(j, i)), pool.eq(i, j)),
            pool) == "i < j and j < i or i == j");
  CHECK(debug_string(pool.unary(UnaryOp::neg, pool.add(i, j)), pool) == "-(i + j)");
  CHECK(debug_string(pool.mul(pool.int_imm(-3), i), pool) == "(-3)*i");
  CHECK(debug_string(pool.add(i, pool.int_imm(-3)), pool) == "i + (-3)");
  CHECK(debug_string(pool.select(pool.lt(i, j), i, j), pool) == "select(i < j, i, j)");
  CHECK(debug_string(pool.cast(DType::f32, i), pool) == "f32(i)");
  CHECK(debug_string(pool.call(CallOp::exp, {pool.cast(DType::f32, i)}), pool) == "exp(f32(i))");
  CHECK(debug_string(pool.unary(UnaryOp::not_, pool.lt(i, j)), pool) == "not(i < j)");
  CHECK(debug_string(ExprId{}, pool) == "<none>");
}

TEST_CASE("constants show their type unless it is i32 or f32") {
  ExprPool pool;
  CHECK(debug_string(pool.int_imm(7), pool) == "7");
  CHECK(debug_string(pool.int_imm(7, DType::i64), pool) == "7i64");
  CHECK(debug_string(pool.int_imm(1, DType::boolean), pool) == "true");
  CHECK(debug_string(pool.float_imm(2), pool) == "2.0");
  CHECK(debug_string(pool.float_imm(0.1, DType::f64), pool) == "0.1f64");
  CHECK(debug_string(pool.float_imm(-std::numeric_limits<double>::infinity()), pool) == "-inf");
  CHECK(debug_string(pool.float_imm(std::numeric_limits<double>::quiet_NaN()), pool) == "nan");
  CHECK(debug_string(pool.float_imm(1e30), pool) == "1e+30");
}

TEST_CASE("reads and reductions") {
  ExprPool pool;
  const ExprId i = pool.var(pool.new_var("i"));
  const VarId k = pool.new_var("k");
  const VarId a = pool.new_var("a", DType::f32);
  const VarId b = pool.new_var("b", DType::f32);
  const ExprId read = pool.read(TensorId{3}, DType::f32, {i, pool.var(k)});
  CHECK(debug_string(read, pool) == "t3[i, k]");
  CHECK(debug_string(pool.load(BufferId{1}, DType::f32, {}), pool) == "b1[]");
  const CombinerId sum =
      pool.add_combiner({{a}, {b}, {pool.add(pool.var(a), pool.var(b))}, {pool.float_imm(0)}});
  CHECK(debug_string(pool.reduce({sum, {read}, {k}, 0}), pool) == "sum(t3[i, k], axes=[k])");
  const CombinerId odd =
      pool.add_combiner({{a}, {b}, {pool.add(pool.var(b), pool.var(a))}, {pool.float_imm(0)}});
  CHECK(debug_string(pool.reduce({odd, {read}, {k}, 0}), pool) ==
        "reduce([t3[i, k]], axes=[k], combine=[b + a], identity=[0.0], value=0)");
}

TEST_CASE("a loop program reads like the page on lowering") {
  LoopProgram p;
  ExprPool& e = p.pool;
  const VarId i = e.new_var("i"), j = e.new_var("j"), k = e.new_var("k"), i2 = e.new_var("i");
  const BufferId a = p.add(Buffer{"A", DType::f32, {4, 8}, {}, Scope::global, 64, 0});
  const BufferId b = p.add(Buffer{"B", DType::f32, {8, 16}, {}, Scope::global, 64, 1});
  const BufferId c = p.add(Buffer{"C", DType::f32, {4, 16}, {}, Scope::global, 64, 2});
  const BufferId t = p.add(Buffer{"T", DType::f64, {2, 3}, {4, 1}, Scope::register_, 32, -1});
  const ExprId cij = e.load(c, DType::f32, {e.var(i), e.var(j)});
  const ExprId product = e.mul(e.load(a, DType::f32, {e.var(i), e.var(k)}),
                               e.load(b, DType::f32, {e.var(k), e.var(j)}));
  const StmtId update = p.add(Store{c, {e.var(i), e.var(j)}, e.add(cij, product)});
  const StmtId lanes = p.add(For{j, e.int_imm(16), ForKind::vectorized, update});
  const StmtId guard =
      p.add(If{e.lt(e.var(k), e.int_imm(3)), lanes, p.add(Barrier{Scope::shared})});
  const StmtId hint = p.add(Prefetch{a, {e.var(i), e.var(k)}, 1});
  const StmtId both = p.add(Seq{{hint, guard}});
  const StmtId inner = p.add(For{k, e.int_imm(8), ForKind::serial, both});
  const StmtId zero = p.add(Store{t, {e.int_imm(0), e.var(i2)}, e.float_imm(0, DType::f64)});
  const StmtId shadow = p.add(For{i2, e.int_imm(3), ForKind::unrolled, zero});
  const StmtId held = p.add(Alloc{t, p.add(Seq{{shadow, inner, p.add(Seq{})}})});
  p.body = p.add(For{i, e.int_imm(4), ForKind::parallel, held});
  CHECK(to_text(p) == R"(A: f32[4, 8] global argument 0
B: f32[8, 16] global argument 1
C: f32[4, 16] global argument 2
T: f64[2, 3] register strides [4, 1] align 32
for i in 4 parallel:
  alloc T:
    for i_2 in 3 unrolled:
      T[0, i_2] = 0.0f64
    for k in 8:
      prefetch A[i, k] into L1
      if k < 3:
        for j in 16 vectorized:
          C[i, j] = C[i, j] + A[i, k]*B[k, j]
      else:
        barrier shared
    pass
)");
  CHECK(debug_string(update, p) == "C[i, j] = C[i, j] + A[i, k]*B[k, j]\n");
}
