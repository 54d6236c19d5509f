// SPDX-License-Identifier: Apache-2.0
#include "tensorsmith/lower/lower_error.hpp"

#include "lower_fixtures.hpp"

using namespace tensorsmith;
using namespace tensorsmith::test;

namespace {

LowerError refused(const State& state) {
  const auto program = lower(state, small_target());
  if (program) {
    FAIL("the state was lowered:\n" << state_text(state));
  }
  return program.error();
}

}  // namespace

TEST_CASE("an undecided split length") {
  ScheduleBuilder s(matmul_dag(8, 8, 8));
  s.split(2, 0, {unknown_length});
  CHECK(refused(s.state()).code == LowerErrorCode::not_concrete);
}

TEST_CASE("a reader outside of the loop that a stage is computed at") {
  te::Program p;
  auto A = p.placeholder("A", {8});
  auto B = p.compute("B", {8}, [&](auto i) { return A(i) + 1.0; });
  auto C = p.compute("C", {8}, [&](auto i) { return B(i) * 2.0; });
  auto D = p.compute("D", {8}, [&](auto i) { return B(i) * 3.0; });
  ScheduleBuilder s(p.dag({A, C, D}));
  s.compute_at(1, 2, 0);
  CHECK(refused(s.state()) == LowerError{LowerErrorCode::consumer_outside_attach_point, 3});
}

TEST_CASE("an output that is not at root") {
  // No step makes such a state; a state put together by hand may be one.
  ScheduleBuilder s(chain_dag());
  State at_loop = s.state();
  at_loop.mutable_stage(2).compute_at = ComputeAt::iterator;
  CHECK(refused(at_loop) == LowerError{LowerErrorCode::output_not_at_root, 2});
}

TEST_CASE("a layout that does not fit its stage") {
  // The step itself refuses such a layout; a history put together by hand may hold one.
  ScheduleBuilder s(chain_dag());
  for (const StorageLayoutStep& wrong :
       {StorageLayoutStep{1, {4}, {0, 1}, 0}, StorageLayoutStep{1, {4, 0}, {0, 2}, 0},
        StorageLayoutStep{1, {-4, 0}, {0, 2}, 0}}) {
    State state = s.state();
    state.mutable_steps().push_back(wrong);
    CHECK(refused(state) == LowerError{LowerErrorCode::unsupported_layout, 1});
  }
}

TEST_CASE("a reduction whose loops a fuse of nothing took away") {
  te::Program p;
  auto A = p.placeholder("A", {8});
  auto k = p.reduce_axis("k", 8);
  auto B = p.compute("B", {}, [&]() { return te::sum(A(k), te::ReduceAxes{k}); });
  ScheduleBuilder s(p.dag({A, B}));
  s.fuse(1, {});  // legal, as in the reference
  CHECK(refused(s.state()) == LowerError{LowerErrorCode::reduction_without_loops, 1});
}

TEST_CASE("every refusal is a sentence that names the stage") {
  for (LowerErrorCode code :
       {LowerErrorCode::not_concrete, LowerErrorCode::consumer_outside_attach_point,
        LowerErrorCode::output_not_at_root, LowerErrorCode::unsupported_layout,
        LowerErrorCode::reduction_without_loops}) {
    const std::string text = explain(LowerError{code, 7});
    CHECK(text.find("unknown lowering error") == std::string::npos);
    CHECK(text.find("(stage 7)") != std::string::npos);
  }
  CHECK(explain(LowerError{static_cast<LowerErrorCode>(99), 7}).find("unknown") == 0);
}
