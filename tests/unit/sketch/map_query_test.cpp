// SPDX-License-Identifier: Apache-2.0
#include "tensorsmith/sketch/map_query.hpp"

#include "support/catch.hpp"
#include "tensorsmith/te/program.hpp"
#include "unit/sketch/sketch_fixtures.hpp"

namespace tensorsmith {

TEST_CASE("products are seen wherever they are") {
  CHECK_FALSE(has_no_products(AccessAnalysis(*test::matmul_dag(8, 8, 8, true))));
  CHECK(has_no_products(AccessAnalysis(*test::row_sum_dag(8, 8))));
}

TEST_CASE("a copy is a read and nothing else") {
  te::Program p;
  auto a = p.placeholder("A", {4, 6});
  auto k = p.reduce_axis("k", 6);
  auto copy = p.compute("B", {6, 4}, [&](auto i, auto j) { return a(j, i); });
  auto wider =
      p.compute("C", {6, 4}, [&](auto i, auto j) { return te::cast(DType::f64, copy(i, j)); });
  auto more = p.compute("D", {6, 4}, [&](auto i, auto j) { return wider(i, j) + 1; });
  auto sum = p.compute("E", {4}, [&](auto i) { return te::sum(a(i, k), {k}); });
  const auto dag = p.dag({a, more, sum});
  for (const Operation& op : dag->operations()) {
    INFO(op.name);
    CHECK(is_copy(dag->pool(), op) == (op.name == "B" || op.name == "C"));
  }
}

}  // namespace tensorsmith
