// SPDX-License-Identifier: Apache-2.0
#include "tensorsmith/lower/region.hpp"

#include "support/catch.hpp"
#include "unit/lower/nest_fixture.hpp"

using namespace tensorsmith;
using namespace tensorsmith::test;

namespace {

SymbolicInterval interval(BuiltNest& nest, std::size_t axis) {
  return axis_interval(nest.pool, nest.extents, nest.nest, axis);
}

}  // namespace

TEST_CASE("an axis covers what the loops that still run reach") {
  ScheduleBuilder s(matmul_dag(24, 8, 6));
  s.split(2, 0, {4});
  BuiltNest b(s.state(), 2);
  SymbolicInterval all = interval(b, 0);
  CHECK(all.is_known);
  CHECK(all.is_inside);
  CHECK(b.text(all.low) == "0");
  CHECK(all.width == 23);

  const VarId outer = b.pool.new_var("x");
  b.extents.set(outer, 6);
  b.emit(0, b.pool.var(outer));
  const SymbolicInterval tile = interval(b, 0);
  CHECK(b.text(tile.low) == "x*4");
  CHECK(tile.width == 3);
  b.emit(1, b.pool.int_imm(2));
  const SymbolicInterval point = interval(b, 0);
  CHECK(b.text(point.low) == "x*4 + 2");
  CHECK(point.width == 0);
}

TEST_CASE("the base of an attached nest is added, an unsettled constraint shows in is_inside") {
  ScheduleBuilder s(matmul_dag(13, 8, 6));
  s.split(2, 0, {4});
  BuiltNest b(s.state(), 2);
  const VarId base = b.pool.new_var("b");
  b.nest.axis_base[0].add(b.pool.var(base), 16);
  const VarId outer = b.pool.new_var("x");
  b.extents.set(outer, 4);
  b.emit(0, b.pool.var(outer));
  // As emission leaves it: 13 - 4 * x, not constant.
  b.nest.constraints[0].residual->add(b.pool.var(outer), -4);
  const SymbolicInterval open = interval(b, 0);
  CHECK(b.text(open.low) == "b*16 + x*4");
  CHECK(open.width == 3);
  CHECK_FALSE(open.is_inside);

  b.nest.constraints[0].residual.reset();
  CHECK(interval(b, 0).is_inside);
}

TEST_CASE("a constant bound on the whole axis narrows it") {
  ScheduleBuilder s(matmul_dag(13, 8, 6));
  s.split(2, 0, {16});
  BuiltNest b(s.state(), 2);  // i.0 runs once, i.1 is cut to 13 by the axis itself
  CHECK(b.nest.leaf_extent[1] == 13);
  ScheduleBuilder t(matmul_dag(13, 8, 6));
  t.split(2, 0, {4});
  BuiltNest c(t.state(), 2);
  const SymbolicInterval all = interval(c, 0);  // 4 * 4 iterations, 13 values
  CHECK(all.width == 12);
  CHECK(all.is_inside);
}

TEST_CASE("a part of a fused axis covers whole rows where its length is a multiple of theirs") {
  ScheduleBuilder s(chain_dag());  // 16 x 8
  s.fuse(1, {0, 1});
  s.split(1, 0, {2, 16});  // 4 parts of 2 parts of two rows
  BuiltNest b(s.state(), 1);
  const VarId outer = b.pool.new_var("x");
  b.extents.set(outer, 4);
  b.emit(0, b.pool.var(outer));
  const SymbolicInterval rows = interval(b, 0), columns = interval(b, 1);
  CHECK(b.text(rows.low) == "x*4");
  CHECK(rows.width == 3);
  CHECK(rows.is_inside);
  CHECK(b.text(columns.low) == "0");
  CHECK(columns.width == 7);

  ScheduleBuilder t(chain_dag());
  t.fuse(1, {0, 1});
  t.split(1, 0, {12});  // a row and a half, in two or in three rows: the whole is taken
  BuiltNest c(t.state(), 1);
  const VarId part = c.pool.new_var("x");
  c.extents.set(part, 10);
  c.emit(0, c.pool.var(part));
  CHECK(interval(c, 0).width == 15);
  CHECK(interval(c, 1).width == 7);
}

TEST_CASE("a tile that goes beyond a part of a fused axis adds no rows to it") {
  ScheduleBuilder s(chain_dag());  // 16 x 8
  s.fuse(1, {0, 1});
  s.split(1, 0, {32});  // four rows
  s.split(1, 1, {12});  // 36 elements, of which 32 count
  BuiltNest b(s.state(), 1);
  const VarId outer = b.pool.new_var("x");
  b.extents.set(outer, 4);
  b.emit(0, b.pool.var(outer));
  const SymbolicInterval rows = interval(b, 0);
  CHECK(b.text(rows.low) == "x*4");
  CHECK(rows.width == 3);
  CHECK(rows.is_inside);
}
