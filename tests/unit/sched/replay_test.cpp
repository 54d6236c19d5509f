// SPDX-License-Identifier: Apache-2.0
#include "tensorsmith/sched/replay.hpp"

#include "sched_fixtures.hpp"
#include "support/catch.hpp"

using namespace tensorsmith;
using namespace tensorsmith::test;
using Ids = std::vector<std::int64_t>;

TEST_CASE("replaying the history of a state gives the state") {
  ScheduleBuilder s(matmul_dag(16, 16, 64));
  s.cache_write(2, "local");
  s.split(2, 2, {8});
  s.rfactor(2, 3, 2);
  s.cache_read(0, "shared", {2});
  s.split(5, 0, {4});
  const auto fresh = replay(s.state().initial_dag(), s.state().steps());
  const auto shared = replay(s.state().restart(), s.state().steps());
  REQUIRE(fresh);
  REQUIRE(shared);
  CHECK(state_text(*fresh) == s.text());
  CHECK(state_text(*shared) == s.text());
  CHECK(shared->dag_ptr() == s.state().dag_ptr());
  CHECK(fresh->dag_ptr() != s.state().dag_ptr());
  CHECK(shared->steps() == s.state().steps());
}

TEST_CASE("the error of a replay names the step") {
  const auto failed = replay(chain_dag(), {SplitStep{2, 0, 16, {4}, true}, ComputeInlineStep{2}});
  REQUIRE(!failed);
  CHECK(failed.error().step == 1);
  CHECK(failed.error().code == ScheduleErrorCode::inline_output);
}

TEST_CASE("replace_step changes what follows it") {
  ScheduleBuilder s(chain_dag());
  s.split(1, 0, {2, 2});
  s.follow_split(2, 0, 0, 2);
  const auto changed = replace_step(s.state(), 0, SplitStep{1, 0, 16, {4, 2}, true});
  REQUIRE(changed);
  CHECK(extents(*changed, 1) == Ids{2, 4, 2, 8});
  CHECK(extents(*changed, 2) == Ids{2, 4, 2, 8});
  CHECK(!replace_step(s.state(), 0, ComputeInlineStep{1}));  // nothing to follow any more
}

TEST_CASE("an unknown length may be filled in by replacing the step") {
  const auto sketch = replay(
      chain_dag(), {SplitStep{1, 0, 16, {unknown_length}, true}, FollowSplitStep{2, 0, 0, 1}});
  REQUIRE(sketch);
  CHECK(!sketch->is_concrete());
  const auto filled = replace_step(*sketch, 0, SplitStep{1, 0, 16, {8}, true});
  REQUIRE(filled);
  CHECK(filled->is_concrete());
  CHECK(extents(*filled, 2) == Ids{2, 8, 8});
}
