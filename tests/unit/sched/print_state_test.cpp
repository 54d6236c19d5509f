// SPDX-License-Identifier: Apache-2.0
#include "tensorsmith/sched/print_state.hpp"

#include "sched_fixtures.hpp"
#include "support/catch.hpp"
#include "tensorsmith/sched/bounds.hpp"
#include "tensorsmith/sched/replay.hpp"

using namespace tensorsmith;
using namespace tensorsmith::test;

namespace {

/// The worked example of the reference's record format (ch. 3.3).
State worked_example() {
  ScheduleBuilder s(matmul_dag(512, 512, 512));
  s.cache_write(2, "local");
  s.split(2, 0, {2, 128, 2});
  s.split(2, 4, {8, 2, 4});
  s.split(2, 8, {64});
  s.reorder(2, {0, 4, 1, 5, 8, 2, 6, 9, 3, 7});
  s.follow_split(3, 0, 1, 2);
  s.follow_split(3, 3, 2, 2);
  s.reorder(3, {0, 3, 1, 4, 2, 5});
  s.compute_at(2, 3, 3);
  s.fuse(3, {0, 1, 2, 3});
  s.parallel(3, 0);
  s.auto_unroll(2, 0, 64);
  s.vectorize(2, 9);
  s.vectorize(3, 2);
  return s.state();
}

}  // namespace

TEST_CASE("the worked example prints as in the reference") {
  const auto bounded = infer_bounds(worked_example());
  REQUIRE(bounded);
  CHECK(state_text(*bounded) == "Placeholder: A, B\n"
                                "parallel i.0@j.0@i.1@j.1@ (0,128)\n"
                                "  C.local auto_unroll: 64\n"
                                "  for k.0 (0,8)\n"
                                "    for i_c.2 (0,128)\n"
                                "      for j_c.2 (0,2)\n"
                                "        for k.1 (0,64)\n"
                                "          for i_c.3 (0,2)\n"
                                "            vectorize j_c.3 (0,4)\n"
                                "              C.local = ...\n"
                                "  for i.2 (0,256)\n"
                                "    vectorize j.2 (0,8)\n"
                                "      C = ...\n");
}

TEST_CASE("trivial loops are printed on demand; what is attached to them always") {
  ScheduleBuilder s(chain_dag());
  s.split(2, 0, {16});
  s.compute_at(1, 2, 0);
  const auto bounded = infer_bounds(s.state());
  REQUIRE(bounded);
  CHECK(state_text(*bounded) == "Placeholder: A\nfor i (0,16)\n  for j (0,8)\n    B = ...\n"
                                "for i.1 (0,16)\n  for j (0,8)\n    C = ...\n");
  PrintStateOptions all;
  all.delete_trivial_loops = false;
  CHECK(state_text(*bounded, all).find("for i.0 (0,1)\n  for i (0,16)\n") != std::string::npos);
}

TEST_CASE("states are equal by text, whatever their histories") {
  const State start = State::initial(chain_dag());
  const auto a = replay(start, {ComputeInlineStep{1}, SplitStep{2, 0, 16, {4}, true}});
  const auto b = replay(start, {SplitStep{2, 0, 16, {4}, true}, ComputeInlineStep{1}});
  const auto c = replay(start, {SplitStep{2, 0, 16, {8}, true}, ComputeInlineStep{1}});
  REQUIRE(a);
  REQUIRE(b);
  REQUIRE(c);
  CHECK(same_program(*a, *b));
  CHECK(state_hash(*a) == state_hash(*b));
  CHECK(!same_program(*a, *c));
  CHECK(state_hash(*a) != state_hash(*c));
}

TEST_CASE("every annotation has its printed name") {
  CHECK(name_of(Annotation::none) == "for");
  CHECK(name_of(Annotation::vthread) == "vthread");
  CHECK(name_of(Annotation::thread_z) == "threadIdx.z");
  CHECK(name_of(Annotation::tensorize) == "tensorize");
}
