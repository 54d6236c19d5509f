// SPDX-License-Identifier: Apache-2.0
#include "tensorsmith/sched/apply/split.hpp"

#include "sched_fixtures.hpp"
#include "support/catch.hpp"

using namespace tensorsmith;
using namespace tensorsmith::test;
using Ids = std::vector<std::int64_t>;
using Names = std::vector<std::string>;

TEST_CASE("conformance 11.4: split lengths from the inside or from the outside") {
  const DagPtr dag = matmul_dag(512, 512, 512);
  ScheduleBuilder a(dag);
  CHECK(a.split(2, 0, {16}) == std::vector<std::int32_t>{0, 1});
  CHECK(extents(a.state(), 2) == Ids{32, 16, 512, 512});
  ScheduleBuilder b(dag);
  b.split(2, 0, {8, 2});
  CHECK(extents(b.state(), 2) == Ids{32, 8, 2, 512, 512});
  CHECK(iterator_names(b.state(), 2) == Names{"i.0", "i.1", "i.2", "j", "k"});
  ScheduleBuilder c(dag);
  c.split(2, 1, {32, 8}, false);
  CHECK(extents(c.state(), 2) == Ids{512, 32, 8, 2, 512});
  CHECK(iterator_names(c.state(), 2) == Names{"i", "j.0", "j.1", "j.2", "k"});
}

TEST_CASE("split: what does not divide is rounded up") {
  ScheduleBuilder s(matmul_dag(17, 5, 3));
  s.split(2, 0, {3, 4});
  CHECK(extents(s.state(), 2) == Ids{2, 3, 4, 5, 3});
  s.split(2, 3, {16});  // longer than the loop
  CHECK(extents(s.state(), 2) == Ids{2, 3, 4, 1, 16, 3});
}

TEST_CASE("split: an unknown length makes this part and those after it unknown") {
  State state = State::initial(matmul_dag(512, 512, 512));
  REQUIRE(!try_apply(state, SplitStep{2, 0, 512, {unknown_length, 8}, true}));
  CHECK(extents(state, 2) == Ids{-1, -1, 8, 512, 512});
  CHECK(!state.is_concrete());
  CHECK(state_text(state).find("for i.0 (None)\n") != std::string::npos);
}

TEST_CASE("split: parts keep the kind and lose the annotation") {
  ScheduleBuilder s(matmul_dag(16, 16, 16));
  s.unroll(2, 2);
  s.split(2, 2, {4});
  CHECK(s.state().stage(2).iterators[3].kind == IteratorKind::reduction);
  CHECK(s.state().stage(2).iterators[3].annotation == Annotation::none);
}

TEST_CASE("split: what is attached moves to the innermost part") {
  ScheduleBuilder s(chain_dag());
  s.compute_at(1, 2, 0);
  s.split(2, 0, {2, 2});
  CHECK(s.state().attach_map().stage_to_iterator.at(1) == IteratorKey{2, 2});
  s.split(2, 3, {4});  // an iterator inside the attach point
  CHECK(s.state().attach_map().stage_to_iterator.at(1) == IteratorKey{2, 2});
}

TEST_CASE("conformance 11.4: follow split has the first lengths of its source") {
  for (std::int32_t parts = 1; parts <= 5; ++parts) {
    te::Program p;
    auto A = p.placeholder("A", {512});
    auto B = p.compute("B", {512}, [&](auto i) { return A(i) + 1; });
    auto C = p.compute("C", {512}, [&](auto i) { return B(i) + 1; });
    ScheduleBuilder s(p.dag({A, C}));
    s.split(1, 0, {4, 2, 8, 4});
    REQUIRE(extents(s.state(), 1) == Ids{2, 4, 2, 8, 4});
    s.follow_split(2, 0, 0, parts);
    const Ids got = extents(s.state(), 2);
    REQUIRE(got.size() == static_cast<std::size_t>(parts) + 1);
    const Ids full{2, 4, 2, 8, 4};
    std::int64_t product = 1;
    for (std::size_t i = 0; i < got.size(); ++i) {
      product *= got[i];
      if (static_cast<std::int32_t>(i) < parts) {
        CHECK(got[i] == full[i]);
      }
    }
    CHECK(product == 512);
  }
}

TEST_CASE("conformance 11.4: follow fused split has the product of one level") {
  const Ids products{8, 4, 32, 32};
  for (std::int32_t level = 0; level < 4; ++level) {
    ScheduleBuilder s(matmul_dag(512, 512, 512));
    const std::int32_t cache = s.cache_write(2, "local");
    s.split(cache, 0, {4, 2, 8, 4});
    s.split(cache, 5, {2, 2, 4, 8});
    s.fuse(3, {0, 1});
    s.follow_fused_split(3, 0, {1, 2}, level, level % 2 == 0);
    const std::int64_t length = products[static_cast<std::size_t>(level)];
    CHECK(extents(s.state(), 3) ==
          (level % 2 == 0 ? Ids{512 * 512 / length, length} : Ids{length, 512 * 512 / length}));
  }
}

TEST_CASE("a fused split that follows nothing has one part of length 1") {
  State state = State::initial(chain_dag());
  REQUIRE(!try_apply(state, FollowFusedSplitStep{2, 0, {}, 1, true}));
  CHECK(extents(state, 2) == Ids{16, 1, 8});
}

TEST_CASE("following an unknown length gives unknown lengths") {
  State state = State::initial(chain_dag());
  REQUIRE(!try_apply(state, SplitStep{1, 0, 16, {unknown_length, 2}, true}));
  REQUIRE(!try_apply(state, FollowSplitStep{2, 0, 0, 1}));
  CHECK(extents(state, 2) == Ids{-1, -1, 8});
  REQUIRE(!try_apply(state, FollowFusedSplitStep{2, 2, {0}, 1, true}));
  CHECK(extents(state, 2) == Ids{-1, -1, 4, 2});
}
