// SPDX-License-Identifier: Apache-2.0
#include "tensorsmith/sched/derivation.hpp"

#include "support/catch.hpp"
#include "unit/sched/sched_fixtures.hpp"

using namespace tensorsmith;
using namespace tensorsmith::test;

namespace {

std::vector<std::int32_t> nodes(const StageDerivation& d) {
  std::vector<std::int32_t> list;
  for (const LeafIterator& leaf : d.leaves) {
    list.push_back(leaf.node);
  }
  return list;
}

using Nodes = std::vector<std::int32_t>;

}  // namespace

TEST_CASE("a stage as written has one leaf per axis, spatial ones first") {
  const StageDerivation d = StageDerivation::initial(2, 1);
  CHECK(d.num_axes == 3);
  CHECK(d.num_spatial == 2);
  CHECK(d.num_nodes == 3);
  CHECK(d.relations.empty());
  CHECK(nodes(d) == Nodes{0, 1, 2});
}

TEST_CASE("a split makes new nodes, a fuse takes the leaves away") {
  StageDerivation d = StageDerivation::initial(2, 1);
  d.split(1, {2, 4}, true);
  CHECK(nodes(d) == Nodes{0, 3, 4, 5, 2});
  REQUIRE(d.relations.size() == 1);
  CHECK(d.relations[0].is_split);
  CHECK(d.relations[0].parent == 1);
  CHECK(d.relations[0].parts == IdList{3, 4, 5});
  CHECK(d.relations[0].lengths == LengthList{2, 4});

  d.fuse(0, 2);
  CHECK(nodes(d) == Nodes{6, 4, 5, 2});
  REQUIRE(d.relations.size() == 2);
  CHECK_FALSE(d.relations[1].is_split);
  CHECK(d.relations[1].parent == 6);
  CHECK(d.relations[1].parts == IdList{0, 3});
  CHECK(d.num_nodes == 7);
}

TEST_CASE("the history of a state is followed stage by stage") {
  ScheduleBuilder s(matmul_dag(16, 32, 8));
  s.split(2, 0, {4});
  s.split(2, 2, {8}, false);
  s.reorder(2, {0, 2, 4, 1, 3});
  s.vectorize(2, 4);
  const std::vector<StageDerivation> all = derive(s.state());
  REQUIRE(all.size() == 3);
  const StageDerivation& d = all[2];
  CHECK(nodes(d) == Nodes{3, 5, 2, 4, 6});
  CHECK(d.relations[0].inner_to_outer);
  CHECK_FALSE(d.relations[1].inner_to_outer);
  for (std::size_t i = 0; i < d.leaves.size(); ++i) {
    CHECK(d.leaves[i].iterator == static_cast<std::int32_t>(i));
    CHECK(d.leaves[i].annotation == s.state().stage(2).iterators[i].annotation);
  }
  CHECK(d.leaves[4].annotation == Annotation::vectorize);
}

TEST_CASE("splits that follow get the lengths of their sources") {
  ScheduleBuilder s(chain_dag());  // 16 x 8
  s.split(1, 0, {2, 3, 4});        // step 0
  s.split(1, 4, {5});              // step 1
  s.follow_split(2, 0, 0, 2);
  s.follow_fused_split(2, 3, {0, 1}, 0, true);
  const StageDerivation d = derive(s.state())[2];
  REQUIRE(d.relations.size() == 2);
  CHECK(d.relations[0].lengths == LengthList{2, 12});  // what lies below the first is one part
  CHECK(d.relations[1].lengths == LengthList{10});
  CHECK(d.relations[1].inner_to_outer);
}

TEST_CASE("an empty fuse leaves one loop that stands for no axis") {
  te::Program p;
  auto A = p.placeholder("A", {});
  auto B = p.compute("B", {}, [&]() { return A() + 1.0; });
  ScheduleBuilder s(p.dag({A, B}));
  s.fuse(1, {});
  const StageDerivation d = derive(s.state())[1];
  REQUIRE(d.leaves.size() == 1);
  CHECK(d.relations[0].parts.empty());
  CHECK(d.leaves[0].node == d.relations[0].parent);
}

TEST_CASE("a cache of an input has the input's rank, not its loops") {
  ScheduleBuilder s(matmul_dag(4, 8, 16));
  s.cache_read(0, "local", {2});
  const std::vector<StageDerivation> all = derive(s.state());
  REQUIRE(all.size() == 4);
  CHECK(all[1].num_spatial == 2);
  CHECK(all[1].num_axes == 2);
  CHECK(all[3].num_axes == 3);
}

TEST_CASE("cache write: the cache takes over the axes, the stage becomes a copy") {
  ScheduleBuilder s(matmul_dag(4, 8, 16));
  s.cache_write(2, "local");
  s.split(2, 2, {4});
  const std::vector<StageDerivation> all = derive(s.state());
  REQUIRE(all.size() == 4);
  CHECK(all[2].num_spatial == 2);
  CHECK(all[2].num_axes == 3);
  CHECK(all[2].leaves.size() == 4);
  CHECK(all[3].num_axes == 2);
  CHECK(all[3].relations.empty());
}

TEST_CASE("rfactor, then cache write of either stage: axes are counted at the step") {
  ScheduleBuilder s(matmul_dag(4, 8, 16));
  s.split(2, 2, {4});
  s.rfactor(2, 3, 2);  // k.1 becomes spatial: rf i j k_i | k_o, repl i j | k_i_v
  std::vector<StageDerivation> all = derive(s.state());
  REQUIRE(all.size() == 4);
  CHECK(all[2].num_spatial == 3);
  CHECK(all[2].num_axes == 4);
  CHECK(all[3].num_spatial == 2);
  CHECK(all[3].num_axes == 3);

  s.cache_write(2, "local");  // A B C.rf.local C.rf C.repl
  s.cache_write(4, "local");  // A B C.rf.local C.rf C.repl.local C.repl
  all = derive(s.state());
  REQUIRE(all.size() == 6);
  const std::vector<std::pair<std::int32_t, std::int32_t>> expected = {
      {3, 4}, {3, 3}, {2, 3}, {2, 2}};
  for (std::size_t i = 0; i < expected.size(); ++i) {
    INFO("stage " << s.state().operation(i + 2).name);
    CHECK(all[i + 2].num_spatial == expected[i].first);
    CHECK(all[i + 2].num_axes == expected[i].second);
    CHECK(all[i + 2].leaves.size() == s.state().stage(i + 2).iterators.size());
  }
}
