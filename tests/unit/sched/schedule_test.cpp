// SPDX-License-Identifier: Apache-2.0
#include "tensorsmith/sched/schedule.hpp"

#include "sched_fixtures.hpp"
#include "support/catch.hpp"

using namespace tensorsmith;
using namespace tensorsmith::test;

TEST_CASE("builder: ids of what a step makes") {
  ScheduleBuilder s(matmul_dag(16, 16, 16));
  CHECK(s.stage("C") == 2);
  CHECK(s.split(2, 1, {4, 2}) == std::vector<std::int32_t>{1, 2, 3});
  CHECK(s.fuse(2, {2, 3}) == 2);
  CHECK(s.num_iterators(2) == 4);
  CHECK(std::get<SplitStep>(s.state().steps()[0]).extent == 16);
}

TEST_CASE("builder: what is not legal throws a sentence") {
  ScheduleBuilder s(chain_dag());
  CHECK_THROWS_WITH(s.split(2, 5, {2}),
                    "schedule: SP is not legal: step 0: stage 2 (C) has no iterator 5");
  CHECK_THROWS_AS(s.split(9, 0, {2}), Error);
  CHECK_THROWS_AS(s.stage("nothing"), Error);
  CHECK(s.state().steps().empty());
}
