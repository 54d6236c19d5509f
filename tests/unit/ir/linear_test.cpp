// SPDX-License-Identifier: Apache-2.0
#include "tensorsmith/ir/linear.hpp"

#include "support/catch.hpp"

#include "tensorsmith/ir/print.hpp"

using namespace tensorsmith;
using namespace tensorsmith::detail;

TEST_CASE("terms are collected through sums, differences and constant factors") {
  ExprPool pool;
  const ExprId i = pool.var(pool.new_var("i")), j = pool.var(pool.new_var("j"));
  const auto imm = [&](std::int64_t n) { return pool.int_imm(n); };
  Linear sum;
  collect_linear(pool, pool.mul(imm(3), pool.sub(pool.add(i, imm(2)), j)), 2, sum);
  REQUIRE(sum.terms.size() == 2);
  CHECK(sum.coefficient_of(i) == 6);
  CHECK(sum.coefficient_of(j) == -6);
  CHECK(sum.constant == 12);
  CHECK(debug_string(expr_of_linear(pool, sum, DType::i32), pool) == "i*6 - j*6 + 12");
  collect_linear(pool, pool.unary(UnaryOp::neg, i), 6, sum);
  CHECK(sum.terms.size() == 1);
  sum.negate();
  CHECK(debug_string(expr_of_linear(pool, sum, DType::i32), pool) == "j*6 - 12");
  CHECK(debug_string(expr_of_linear(pool, Linear{}, DType::i64), pool) == "0i64");
}

TEST_CASE("products are one atom, whatever the order of their factors") {
  ExprPool pool;
  const ExprId i = pool.var(pool.new_var("i")), j = pool.var(pool.new_var("j"));
  Linear sum;
  collect_linear(pool, pool.mul(pool.mul(i, pool.int_imm(2)), j), 1, sum);
  collect_linear(pool, pool.mul(j, i), -2, sum);
  CHECK(sum.terms.empty());
}
