// SPDX-License-Identifier: Apache-2.0
#include "tensorsmith/lower/emit_kernel.hpp"

#include "lower_fixtures.hpp"
#include "support/gpu_programs.hpp"

using namespace tensorsmith;
using namespace tensorsmith::test;

namespace {

std::string text_of_kernel(const State& state) {
  const LoopProgram program = lowered(state, gpu_target());
  const std::string text = text_of(program);
  INFO(text);
  CHECK(KnownResults(*state.initial_dag()).wrong_with(program) == "");
  return "\n" + text;
}

}  // namespace

TEST_CASE("an elementwise stage: what is left over is a condition on the thread") {
  ScheduleBuilder s(copy_dag(5, 7));
  s.fuse(1, {0, 1});
  s.split(1, 0, {32});
  s.annotate(1, 0, Annotation::block_x);
  s.annotate(1, 1, Annotation::thread_x);
  CHECK(text_of_kernel(s.state()) == R"(
for bx in 2 block_x:
  for tx in 32 thread_x:
    if bx*32 + tx < 35:
      B[floordiv(bx*32 + tx, 7), floormod(bx*32 + tx, 7)] = A[floordiv(bx*32 + tx, 7), floormod(bx*32 + tx, 7)] + 1
)");
}

TEST_CASE("every root stage is a kernel; what nobody bound is one thread") {
  ScheduleBuilder s(two_step_dag(4, 8));
  s.annotate(1, 0, Annotation::block_x);
  s.annotate(1, 1, Annotation::thread_x);
  CHECK(text_of_kernel(s.state()) == R"(
B: i32[4, 8] global
alloc B:
  for bx in 4 block_x:
    for tx in 8 thread_x:
      B[bx, tx] = A[bx, tx] + 1
  for tx in 1 thread_x:
    for i in 4:
      for j in 8 unrolled:
        C[i, j] = B[i, j]*2
)");
}

TEST_CASE("a stage attached to a block is shared; the longest loop of an axis is the axis") {
  ScheduleBuilder s(two_step_dag(4, 8));
  s.compute_at(1, 2, 0);
  s.annotate(1, 1, Annotation::thread_x);
  s.annotate(2, 0, Annotation::block_x);
  s.split(2, 1, {4});
  s.annotate(2, 2, Annotation::thread_x);
  CHECK(text_of_kernel(s.state()) == R"(
B: i32[1, 8] shared
for bx in 4 block_x:
  alloc B:
    for tx in 8 thread_x:
      B[0, tx] = A[bx, tx] + 1
      barrier shared
      if tx < 4:
        for j.0 in 2 unrolled:
          C[bx, j.0*4 + tx] = B[0, j.0*4 + tx]*2
)");
}

TEST_CASE("a shared stage that binds no thread is computed by the first") {
  ScheduleBuilder s(two_step_dag(4, 8));
  s.compute_at(1, 2, 0);
  s.annotate(2, 0, Annotation::block_x);
  s.annotate(2, 1, Annotation::thread_x);
  CHECK(text_of_kernel(s.state()) == R"(
B: i32[1, 8] shared
for bx in 4 block_x:
  alloc B:
    for tx in 8 thread_x:
      if tx == 0:
        for j in 8 unrolled:
          B[0, j] = A[bx, j] + 1
      barrier shared
      C[bx, tx] = B[0, tx]*2
)");
}

TEST_CASE("a stage attached to a thread is private") {
  ScheduleBuilder s(two_step_dag(4, 8));
  s.compute_at(1, 2, 0);
  s.annotate(2, 0, Annotation::thread_x);
  CHECK(text_of_kernel(s.state()) == R"(
B: i32[1, 8] local
for tx in 4 thread_x:
  alloc B:
    for j in 8 unrolled:
      B[0, j] = A[tx, j] + 1
    for j in 8 unrolled:
      C[tx, j] = B[0, j]*2
)");
}

TEST_CASE("threads that would have to share private work are refused") {
  ScheduleBuilder s(two_step_dag(4, 8));
  s.compute_at(1, 2, 0);
  s.annotate(2, 0, Annotation::thread_x);
  s.annotate(1, 1, Annotation::thread_y);
  const auto program = lower(s.state(), gpu_target());
  REQUIRE(!program);
  CHECK(program.error() == LowerError{LowerErrorCode::illegal_binding, 1});
  CHECK(explain(program.error()).find("blocks or threads") != std::string::npos);
}

// B is of every thread, its shared copy would be made of the first thread's.
TEST_CASE("threads that would have to read what another keeps for itself are refused") {
  ScheduleBuilder s(two_step_dag(4, 8));
  s.cache_read(1, "shared", {2});
  s.annotate(3, 0, Annotation::thread_x);
  s.compute_at(2, 3, 0);
  s.compute_at(1, 3, 0);
  const auto program = lower(s.state(), gpu_target());
  REQUIRE(!program);
  CHECK(program.error() == LowerError{LowerErrorCode::illegal_binding, 1});
  s.compute_at(1, 2, 0);  // in the copy's own loops
  CHECK(wrong_with(lowered(s.state(), gpu_target()), *s.state().initial_dag()) == "");
}

TEST_CASE("virtual threads: a private buffer for each, innermost loops") {
  ScheduleBuilder s(two_step_dag(8, 4));
  s.split(2, 0, {2, 2});
  s.annotate(2, 0, Annotation::vthread);
  s.annotate(2, 1, Annotation::thread_x);
  s.compute_at(1, 2, 1);
  CHECK(text_of_kernel(s.state()) == R"(
B: i32[2, 2, 4] local
for tx in 2 thread_x:
  alloc B:
    for i in 2 unrolled:
      for j in 4 unrolled:
        for v in 2 unrolled:
          B[v, i, j] = A[v*4 + tx*2 + i, j] + 1
    for i.2 in 2 unrolled:
      for j in 4 unrolled:
        for v in 2 unrolled:
          C[v*4 + tx*2 + i.2, j] = B[v, i.2, j]*2
)");
}
