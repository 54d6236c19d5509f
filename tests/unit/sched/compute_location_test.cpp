// SPDX-License-Identifier: Apache-2.0
#include "tensorsmith/sched/apply/compute_location.hpp"

#include "sched_fixtures.hpp"
#include "support/catch.hpp"

using namespace tensorsmith;
using namespace tensorsmith::test;
using Ids = std::vector<std::int64_t>;

TEST_CASE("compute_at hides the ranges and records the place") {
  ScheduleBuilder s(chain_dag());
  s.compute_at(1, 2, 0);
  CHECK(extents(s.state(), 1) == Ids{-1, -1});
  CHECK(s.state().stage(1).compute_at == ComputeAt::iterator);
  CHECK(s.text() ==
        "Placeholder: A\nfor i (0,16)\n  for i (None)\n    for j (None)\n      B = ...\n"
        "  for j (0,8)\n    C = ...\n");
  s.compute_at(1, 2, 1);  // elsewhere
  CHECK(s.state().attach_map().iterator_to_stages.size() == 1);
  CHECK(s.state().attach_map().stage_to_iterator.at(1) == IteratorKey{2, 1});
}

TEST_CASE("compute_inline hides the stage and forgets its place") {
  ScheduleBuilder s(chain_dag());
  s.compute_at(1, 2, 0);
  s.compute_inline(1);
  CHECK(s.state().stage(1).compute_at == ComputeAt::inlined);
  CHECK(s.state().attach_map().stage_to_iterator.empty());
  CHECK(s.state().attach_map().iterator_to_stages.empty());
  CHECK(s.text() == "Placeholder: A\nfor i (0,16)\n  for j (0,8)\n    C = ...\n");
}

TEST_CASE("compute_root brings a stage back") {
  ScheduleBuilder s(chain_dag());
  s.compute_at(1, 2, 0);
  s.compute_root(1);
  CHECK(s.state().stage(1).compute_at == ComputeAt::root);
  CHECK(s.state().attach_map().stage_to_iterator.empty());
  CHECK(extents(s.state(), 1) == Ids{-1, -1});
}

TEST_CASE("stages attached at one iterator print in the order of attaching") {
  te::Program p;
  auto A = p.placeholder("A", {8});
  auto B = p.compute("B", {8}, [&](auto i) { return A(i) + 1; });
  auto C = p.compute("C", {8}, [&](auto i) { return A(i) + 2; });
  auto D = p.compute("D", {8}, [&](auto i) { return B(i) + C(i); });
  ScheduleBuilder s(p.dag({A, D}));
  s.compute_at(s.stage("C"), s.stage("D"), 0);
  s.compute_at(s.stage("B"), s.stage("D"), 0);
  CHECK(s.text() == "Placeholder: A\nfor i (0,8)\n  for i (None)\n    C = ...\n  for i (None)\n"
                    "    B = ...\n  D = ...\n");
}
