// SPDX-License-Identifier: Apache-2.0
#include "tensorsmith/ir/expr_pool.hpp"

#include "support/catch.hpp"

#include <limits>

using namespace tensorsmith;

TEST_CASE("equal value is equal id") {
  ExprPool pool;
  const VarId v = pool.new_var("i"), w = pool.new_var("i");
  CHECK(pool.var(v) != pool.var(w));
  CHECK(pool.add(pool.var(v), pool.int_imm(1)) == pool.add(pool.var(v), pool.int_imm(1)));
  CHECK(pool.add(pool.var(v), pool.var(w)) != pool.add(pool.var(w), pool.var(v)));
  CHECK(pool.int_imm(1) != pool.int_imm(1, DType::i64));
  CHECK(pool.int_imm(0) != pool.float_imm(0));
  CHECK(pool.float_imm(0.0) != pool.float_imm(-0.0));
  const double nan = std::numeric_limits<double>::quiet_NaN();
  CHECK(pool.float_imm(nan) == pool.float_imm(nan));
  CHECK(pool.load(BufferId{0}, DType::f32, {pool.var(v)}) !=
        pool.load(BufferId{1}, DType::f32, {pool.var(v)}));
  CHECK(pool.select(pool.lt(pool.var(v), pool.var(w)), pool.var(v), pool.var(w)) !=
        pool.if_then_else(pool.lt(pool.var(v), pool.var(w)), pool.var(v), pool.var(w)));
}

TEST_CASE("ids stay right while the pool grows") {
  ExprPool pool;
  std::vector<ExprId> ids;
  for (std::int64_t n = 0; n < 5000; ++n) {
    ids.push_back(pool.int_imm(n * 7));
  }
  CHECK(pool.num_exprs() == 5000);
  for (std::int64_t n = 0; n < 5000; ++n) {
    REQUIRE(pool.int_imm(n * 7) == ids[static_cast<std::size_t>(n)]);
    REQUIRE(pool.as<IntImm>(ids[static_cast<std::size_t>(n)])->value == n * 7);
  }
  CHECK(pool.num_exprs() == 5000);
}

TEST_CASE("types follow the constructors") {
  ExprPool pool;
  const ExprId x = pool.load(BufferId{0}, DType::f16, {}), i = pool.var(pool.new_var("i"));
  CHECK(pool.dtype(pool.add(x, x)) == DType::f16);
  CHECK(pool.dtype(pool.lt(x, x)) == DType::boolean);
  CHECK(pool.dtype(pool.and_(pool.lt(x, x), pool.lt(i, i))) == DType::boolean);
  CHECK(pool.dtype(pool.cast(DType::u8, x)) == DType::u8);
  CHECK(pool.dtype(pool.call(CallOp::exp, {x})) == DType::f16);
  CHECK(pool.dtype(pool.if_then_else(pool.lt(i, i), x, x)) == DType::f16);
  CHECK(pool.dtype(pool.select(pool.lt(i, i), i, i)) == DType::i32);
  CHECK_THROWS_AS(pool.call(CallOp::pow, {x}), test::AssertionFailed);
  CHECK_THROWS_AS(pool[ExprId{999}], test::AssertionFailed);
}

TEST_CASE("a pool stands on a const base") {
  ExprPool base;
  const VarId v = base.new_var("i");
  const ExprId i = base.var(v), sum = base.add(i, base.int_imm(1));
  ExprPool top(&base);
  CHECK(top.add(i, top.int_imm(1)) == sum);
  const VarId w = top.new_var("j");
  CHECK(w.value == base.num_vars());
  const ExprId mixed = top.add(sum, top.var(w));
  CHECK(mixed.value >= base.num_exprs());
  CHECK(top[sum] == base[sum]);
  CHECK(top.var_name(v) == "i");
  CHECK(top.var_name(w) == "j");
  ExprPool third(&top);
  CHECK(third.add(sum, third.var(w)) == mixed);
  CHECK(third.base() == &top);
}

TEST_CASE("i32 beside i64 is computed in i64") {
  ExprPool pool;
  const ExprId wide = pool.var(pool.new_var("w", DType::i64));
  const ExprId narrow = pool.var(pool.new_var("n"));
  CHECK(pool.max(wide, pool.int_imm(0)) == pool.max(wide, pool.int_imm(0, DType::i64)));
  CHECK(pool.add(narrow, wide) == pool.add(pool.cast(DType::i64, narrow), wide));
  CHECK(pool.dtype(pool.lt(wide, narrow)) == DType::boolean);
  const ExprId yes = pool.int_imm(1, DType::boolean);
  CHECK(pool.dtype(pool.select(yes, narrow, wide)) == DType::i64);
  CHECK(pool.as_type(DType::i32, wide) == pool.cast(DType::i32, wide));
  CHECK(pool.as_type(DType::i64, wide) == wide);
}
