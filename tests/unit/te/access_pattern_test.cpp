// SPDX-License-Identifier: Apache-2.0
#include "tensorsmith/te/access_pattern.hpp"

#include "support/catch.hpp"

using namespace tensorsmith;

TEST_CASE("const-shift-equal", "[te]") {
  ExprPool pool;
  const VarId v = pool.new_var("v"), w = pool.new_var("w");
  const ExprId i = pool.var(v), j = pool.var(w), two = pool.int_imm(2);
  const auto holds = [&](ExprId index) { return te::is_const_shift_equal(pool, v, index); };
  CHECK(holds(i));
  CHECK(holds(pool.add(i, two)));
  CHECK(holds(pool.add(two, i)));
  CHECK(holds(pool.sub(i, two)));
  CHECK_FALSE(holds(pool.sub(two, i)));
  CHECK_FALSE(holds(j));
  CHECK_FALSE(holds(two));
  CHECK_FALSE(holds(pool.add(i, j)));
  CHECK_FALSE(holds(pool.mul(i, two)));
  CHECK_FALSE(holds(pool.add(pool.add(i, two), two)));
}

TEST_CASE("simple access test", "[te]") {
  ExprPool pool;
  Operation op;
  for (const char* name : {"i", "j"}) {
    op.axes.push_back({pool.new_var(name), 4});
  }
  const VarId k = pool.new_var("k");
  op.reduce_axes.push_back({k, 4});
  const ExprId i = pool.var(op.axes[0].var), j = pool.var(op.axes[1].var);
  const ExprId three = pool.int_imm(3);
  const auto test = [&](ExprList indices) { return te::test_access(pool, op, indices); };
  CHECK(test({i, j}).is_elementwise());
  CHECK(test({i, three, pool.add(j, three)}).is_elementwise());
  CHECK(test({j, i}).is_simple);
  CHECK_FALSE(test({j, i}).same_order);
  CHECK(test({i}).axis_missing);
  CHECK_FALSE(test({i}).axis_duplicated);
  CHECK(test({i, i, j}).axis_duplicated);
  CHECK(test({i, i, j}).same_order);
  CHECK_FALSE(test({i, pool.var(k)}).is_simple);  // a reduction axis
  CHECK_FALSE(test({pool.mul(i, three), j}).is_simple);
  CHECK(test({}).is_simple);
  CHECK(test({}).axis_missing);
}
