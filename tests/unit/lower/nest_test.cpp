// SPDX-License-Identifier: Apache-2.0
#include "tensorsmith/lower/nest.hpp"

#include "support/catch.hpp"
#include "unit/lower/nest_fixture.hpp"

using namespace tensorsmith;
using namespace tensorsmith::test;

namespace {

using Extents = std::vector<std::int64_t>;

}  // namespace

TEST_CASE("a part of a split never exceeds what it splits") {
  StageDerivation d = StageDerivation::initial(1, 0);
  d.split(0, {3, 4}, true);
  CHECK(detail::node_extents(d, {24}) == Extents{24, 2, 3, 4});
  CHECK(detail::node_extents(d, {25}) == Extents{25, 3, 3, 4});
  CHECK(detail::node_extents(d, {7}) == Extents{7, 1, 2, 4});
  CHECK(detail::node_extents(d, {2}) == Extents{2, 1, 1, 2});

  StageDerivation parts = StageDerivation::initial(1, 0);
  parts.split(0, {3, 4}, false);  // three parts, each of four, the rest inside
  CHECK(detail::node_extents(parts, {25}) == Extents{25, 3, 4, 3});
  CHECK(detail::node_extents(parts, {2}) == Extents{2, 2, 1, 1});

  StageDerivation fused = StageDerivation::initial(2, 0);
  fused.fuse(0, 2);
  CHECK(detail::node_extents(fused, {3, 5}) == Extents{3, 5, 15});
}

TEST_CASE("values of the axes in terms of the loops") {
  ScheduleBuilder s(matmul_dag(24, 8, 6));
  s.split(2, 0, {3, 4});
  s.vectorize(2, 3);
  BuiltNest b(s.state(), 2);
  CHECK(b.text(b.nest.axis_value[0]) == "i.0*12 + i.1*4 + i.2");
  CHECK(b.text(b.nest.axis_value[1]) == "j");
  CHECK(b.text(b.nest.axis_value[2]) == "k");
  CHECK(b.nest.constraints.empty());
  CHECK(b.nest.is_reduction == std::vector<bool>{false, false, false, false, true});
  CHECK(b.nest.is_tile == std::vector<bool>{false, false, false, true, false});
  CHECK(b.nest.leaf_extent == Extents{2, 3, 4, 8, 6});
}

TEST_CASE("a factor that does not divide leaves a constraint, one that divides does not") {
  ScheduleBuilder s(matmul_dag(13, 8, 6));
  s.split(2, 0, {4});
  s.split(2, 3, {3});
  BuiltNest b(s.state(), 2);
  REQUIRE(b.nest.constraints.size() == 1);
  CHECK(b.text(b.nest.constraints[0].form) == "i.0*4 + i.1");
  CHECK(b.text(b.nest.constraints[0].bound) == "13");
  REQUIRE(b.nest.constraints[0].residual);
  CHECK(*b.nest.constraints[0].residual == b.nest.constraints[0].bound);
}

TEST_CASE("a loop that runs once has no part in the value") {
  ScheduleBuilder s(matmul_dag(4, 1, 6));
  s.split(2, 0, {4});
  BuiltNest b(s.state(), 2);
  CHECK(b.text(b.nest.axis_value[0]) == "i.1");
  CHECK(b.text(b.nest.axis_value[1]) == "0");
}

TEST_CASE("fused axes come apart by quotient and remainder, and in full where a split undoes it") {
  ScheduleBuilder s(chain_dag());  // 16 x 8
  s.fuse(1, {0, 1});
  BuiltNest fused(s.state(), 1);
  CHECK(fused.text(fused.nest.axis_value[0]) == "floordiv(i@j@, 8)");
  CHECK(fused.text(fused.nest.axis_value[1]) == "floormod(i@j@, 8)");
  CHECK(fused.nest.constraints.empty());

  s.split(1, 0, {8});
  BuiltNest undone(s.state(), 1);
  CHECK(undone.text(undone.nest.axis_value[0]) == "i@j@.0");
  CHECK(undone.text(undone.nest.axis_value[1]) == "i@j@.1");
}

TEST_CASE("a fused loop with a reduction part is a reduction") {
  te::Program p;
  auto A = p.placeholder("A", {4, 5, 6});
  auto r = p.reduce_axis("r", 5), q = p.reduce_axis("q", 6);
  auto S = p.compute("S", {4}, [&](auto i) { return te::sum(A(i, r, q), {r, q}); });
  ScheduleBuilder s(p.dag({A, S}));
  s.fuse(1, {1, 2});
  s.split(1, 1, {3});
  BuiltNest b(s.state(), 1);
  CHECK(b.nest.is_reduction == std::vector<bool>{false, true, true});
}

TEST_CASE("the deepest leaf of an expression, and forms with the values so far") {
  ScheduleBuilder s(matmul_dag(24, 8, 6));
  s.split(2, 0, {4});
  BuiltNest b(s.state(), 2);
  const ExprId value = to_expr(b.pool, b.nest.axis_value[0]);
  CHECK(deepest_leaf(b.pool, b.nest, value) == 1);
  CHECK(deepest_leaf(b.pool, b.nest, b.pool.var(b.nest.leaf_var[0])) == 0);
  CHECK(deepest_leaf(b.pool, b.nest, b.pool.int_imm(3)) == -1);

  b.emit(0, b.pool.int_imm(5));
  CHECK(b.text(with_values(b.pool, b.extents, b.nest, b.nest.axis_value[0])) == "i.1 + 20");
}
