// SPDX-License-Identifier: Apache-2.0
#include "tensorsmith/sched/apply/fuse.hpp"

#include "sched_fixtures.hpp"
#include "support/catch.hpp"

using namespace tensorsmith;
using namespace tensorsmith::test;
using Ids = std::vector<std::int64_t>;
using Names = std::vector<std::string>;

TEST_CASE("conformance 11.4: fuse has the product, name, origin") {
  ScheduleBuilder s(matmul_dag(512, 512, 512));
  s.split(2, 0, {16});
  s.split(2, 2, {64});
  s.reorder(2, {0, 2, 1, 3, 4});
  CHECK(s.fuse(2, {0, 1}) == 0);
  CHECK(extents(s.state(), 2) == Ids{256, 16, 64, 512});
  CHECK(iterator_names(s.state(), 2) == Names{"i.0@j.0@", "i.1", "j.1", "k"});
  CHECK(s.state().stage(2).iterators[0].original == Names{"i.0", "j.0"});
  ScheduleBuilder large(matmul_dag(32, 64, 8));
  large.fuse(2, {0, 1});
  CHECK(extents(large.state(), 2) == Ids{2048, 8});
  s.fuse(2, {0, 1, 2});
  CHECK(iterator_names(s.state(), 2) == Names{"i.0@j.0@@i.1@j.1@", "k"});
  CHECK(s.state().stage(2).iterators[0].kind == IteratorKind::spatial);
  s.fuse(2, {0, 1});
  CHECK(s.state().stage(2).iterators[0].kind == IteratorKind::mixed);
}

TEST_CASE("fuse: attach points move with the iterators") {
  ScheduleBuilder s(chain_dag());
  s.split(2, 0, {2, 2});
  s.compute_at(1, 2, 1);
  s.fuse(2, {0, 1});  // attached to the last of the fused
  CHECK(s.state().attach_map().stage_to_iterator.at(1) == IteratorKey{2, 0});
  s.compute_at(1, 2, 2);
  s.fuse(2, {0, 1});  // attached further in
  CHECK(s.state().attach_map().stage_to_iterator.at(1) == IteratorKey{2, 1});
}

TEST_CASE("fuse: unknown extents stay unknown") {
  ScheduleBuilder s(chain_dag());
  s.compute_at(1, 2, 0);
  s.fuse(1, {0, 1});
  CHECK(extents(s.state(), 1) == Ids{-1});
}

TEST_CASE("fuse of nothing: one loop of extent 1 for a stage of rank 0") {
  te::Program p;
  auto A = p.placeholder("A", {});
  auto B = p.compute("B", {}, [&]() { return A() + 1; });
  ScheduleBuilder s(p.dag({A, B}));
  s.fuse(1, {});
  REQUIRE(s.num_iterators(1) == 1);
  CHECK(s.state().stage(1).iterators[0].kind == IteratorKind::special);
  CHECK(s.state().stage(1).iterators[0].extent == 1);
  CHECK(s.text() == "Placeholder: A\nB = ...\n");
}
