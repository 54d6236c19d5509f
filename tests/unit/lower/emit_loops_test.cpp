// SPDX-License-Identifier: Apache-2.0
#include "tensorsmith/lower/emit_loops.hpp"

#include "lower_fixtures.hpp"

using namespace tensorsmith;
using namespace tensorsmith::test;

namespace {

/// B = A + 1 with the rows split and the innermost part of them unrolled.
ScheduleBuilder unrolled_rows(std::int64_t rows, std::int64_t columns, const LengthList& lengths,
                              bool inner_to_outer = true) {
  ScheduleBuilder s(copy_dag(rows, columns));
  s.unroll(1, s.split(1, 0, lengths, inner_to_outer).back());
  return s;
}

/// C = A * B with the reduction cut into two loops of 2 inside of one, in that order of loops.
ScheduleBuilder split_reduction(const IdList& order) {
  ScheduleBuilder s(matmul_dag(2, 8, 8));
  s.split(2, 2, {2, 2});
  s.reorder(2, order);
  return s;
}

}  // namespace

TEST_CASE("a factor that divides needs neither bounds nor copies") {
  const ScheduleBuilder s = unrolled_rows(12, 16, {4});
  CHECK(checked_text(s.state()) == R"(
for i.0 in 3:
  for i.1 in 4 unrolled:
    for j in 16 vectorized:
      B[i.0*4 + i.1, j] = A[i.0*4 + i.1, j] + 1
)");
}

TEST_CASE("an ordinary inner loop gets a bound") {
  ScheduleBuilder s(copy_dag(16, 8));
  s.split(1, 0, {3});
  CHECK(checked_text(s.state()) == R"(
for i.0 in 6:
  for i.1 in min(i.0*(-3) + 16, 3):
    for j in 8 vectorized:
      B[i.0*3 + i.1, j] = A[i.0*3 + i.1, j] + 1
)");
}

TEST_CASE("loops of one iteration inside of a bound need none") {
  ScheduleBuilder s(copy_dag(35, 8));
  s.split(1, 0, {4, 1, 1});
  CHECK(checked_text(s.state()) == R"(
for i.0 in 9:
  for i.1 in min(i.0*(-4) + 35, 4):
    for j in 8 vectorized:
      B[i.0*4 + i.1, j] = A[i.0*4 + i.1, j] + 1
)");
}

TEST_CASE("an unrolled loop needs a constant extent: steady part and tail") {
  const ScheduleBuilder s = unrolled_rows(13, 8, {4});
  CHECK(checked_text(s.state()) == R"(
for i.0 in 3:
  for i.1 in 4 unrolled:
    for j in 8 vectorized:
      B[i.0*4 + i.1, j] = A[i.0*4 + i.1, j] + 1
for j in 8 vectorized:
  B[12, j] = A[12, j] + 1
)");
}

TEST_CASE("three parts, the rest inside") {
  const ScheduleBuilder s = unrolled_rows(13, 8, {3}, false);
  CHECK(checked_text(s.state()) == R"(
for i.0 in 2:
  for i.1 in 5 unrolled:
    for j in 8 vectorized:
      B[i.0*5 + i.1, j] = A[i.0*5 + i.1, j] + 1
for i.1 in 3 unrolled:
  for j in 8 vectorized:
    B[i.1 + 10, j] = A[i.1 + 10, j] + 1
)");
}

TEST_CASE("a vector loop has a shorter vector as its tail") {
  ScheduleBuilder s(copy_dag(2, 19));
  s.split(1, 1, {8});
  s.vectorize(1, 2);
  CHECK(checked_text(s.state()) == R"(
for i in 2:
  for j.0 in 2:
    for j.1 in 8 vectorized:
      B[i, j.0*8 + j.1] = A[i, j.0*8 + j.1] + 1
  for j.1 in 3 vectorized:
    B[i, j.1 + 16] = A[i, j.1 + 16] + 1
)");
}

TEST_CASE("a long innermost loop is cut into vectors, with a tail") {
  ScheduleBuilder s(copy_dag(2, 100));
  CHECK(checked_text(s.state()) == R"(
for i in 2:
  for j in 3:
    for x in 32 vectorized:
      B[i, j*32 + x] = A[i, j*32 + x] + 1
  for x in 4 vectorized:
    B[i, x + 96] = A[i, x + 96] + 1
)");
}

TEST_CASE("a tail below a loop runs in its last iteration only") {
  const ScheduleBuilder s = unrolled_rows(13, 8, {2, 4});
  CHECK(checked_text(s.state()) == R"(
for i.0 in 2:
  for i.1 in min(i.0*(-2) + 3, 2):
    for i.2 in 4 unrolled:
      for j in 8 vectorized:
        B[i.0*8 + i.1*4 + i.2, j] = A[i.0*8 + i.1*4 + i.2, j] + 1
  for i.1_tail in min(i.0*(-2) + 3, 2)*(-1) + 2:
    for j in 8 vectorized:
      B[12, j] = A[12, j] + 1
)");
}

TEST_CASE("parallel: the outermost of nested loops, spatial ones only") {
  ScheduleBuilder s(copy_dag(6, 8));
  s.split(1, 0, {2});
  s.parallel(1, 0);
  s.parallel(1, 1);
  CHECK(checked_text(s.state()) == R"(
for i.0 in 3 parallel:
  for i.1 in 2:
    for j in 8 vectorized:
      B[i.0*2 + i.1, j] = A[i.0*2 + i.1, j] + 1
)");
}

TEST_CASE("a reduction in one piece starts from the identity and is stored once") {
  ScheduleBuilder s(matmul_dag(4, 8, 3));
  CHECK(checked_text(s.state()) == R"(
C.acc: f32[8] register
for i in 4:
  alloc C.acc:
    for x in 8 vectorized:
      C.acc[x] = 0.0
    for k in 3:
      for x in 8 vectorized:
        C.acc[x] = C.acc[x] + A[i, k]*B[k, x]
    for x in 8 vectorized:
      C[i, x] = C.acc[x]
)");
}

TEST_CASE("a reduction split around spatial loops goes on from memory after the first block") {
  const ScheduleBuilder s =
      split_reduction({2, 0, 3, 4, 1});  // k.0 i k.1 k.2 j: k.1 and k.2 are one run
  CHECK(is_golden(checked_text(s.state())));
}

TEST_CASE("first block: every reduction loop outside of the run is at its start") {
  const ScheduleBuilder s = split_reduction({2, 0, 3, 1, 4});  // k.0 i k.1 j k.2
  CHECK(checked_text(s.state()) == R"(
C.acc: f32[] register
for k.0 in 2:
  for i in 2:
    for k.1 in 2:
      for j in 8:
        alloc C.acc:
          if k.0 == 0 and k.1 == 0:
            C.acc[] = 0.0
          else:
            C.acc[] = C[i, j]
          for k.2 in 2:
            C.acc[] = C.acc[] + A[i, k.0*4 + k.1*2 + k.2]*B[k.0*4 + k.1*2 + k.2, j]
          C[i, j] = C.acc[]
)");
}

TEST_CASE("the tail of the rows has a register tile of its own") {
  ScheduleBuilder s(matmul_dag(6, 8, 4));
  s.split(2, 0, {4});
  s.reorder(2, {0, 3, 1, 2});
  CHECK(is_golden(checked_text(s.state())));
}

TEST_CASE("a tile that is too large for the registers leaves the reduction in parts") {
  ScheduleBuilder s(matmul_dag(32, 16, 4));
  s.reorder(2, {2, 0, 1});
  CHECK(checked_text(s.state()) == R"(
C.acc: f32[4, 16] register
for i in 8:
  alloc C.acc:
    for x in 4 unrolled:
      for j in 16 vectorized:
        C.acc[x, j] = 0.0
    for k in 4:
      for x in 4 unrolled:
        for j in 16 vectorized:
          C.acc[x, j] = C.acc[x, j] + A[i*4 + x, k]*B[k, j]
    for x in 4 unrolled:
      for j in 16 vectorized:
        C[i*4 + x, j] = C.acc[x, j]
)");
}

TEST_CASE("registers have no addresses: a tile with a loop of variable extent is local memory") {
  ScheduleBuilder s(matmul_dag(1, 13, 4));
  s.split(2, 1, {8});             // 13 = 8 + 5
  s.split(2, 2, {3});             // 8 = 3 + 3 + 2, and 5 = 3 + 2
  s.reorder(2, {0, 1, 4, 2, 3});  // i j.0 k j.1.0 j.1.1
  const std::string text = checked_text(s.state());
  CHECK(is_golden(text));
}

TEST_CASE("a tile whose extent depends on loops outside accumulates in the result itself") {
  ScheduleBuilder s(matmul_dag(7, 8, 4));
  s.split(2, 0, {2, 2});
  s.reorder(2, {1, 2, 4, 0, 3});  // i.1 i.2 k i.0 j
  CHECK(checked_text(s.state()) == R"(
for i.1 in 2:
  for i.2 in 2:
    for i.0 in floordiv(i.1*(-2) - i.2 + 10, 4):
      for j in 8 vectorized:
        C[i.1*2 + i.2 + i.0*4, j] = 0.0
    for k in 4:
      for i.0 in floordiv(i.1*(-2) - i.2 + 10, 4):
        for j in 8 vectorized:
          C[i.1*2 + i.2 + i.0*4, j] = C[i.1*2 + i.2 + i.0*4, j] + A[i.1*2 + i.2 + i.0*4, k]*B[k, j]
)");
}

TEST_CASE("where the loop to be split stands outside already, a condition chooses the tile") {
  ScheduleBuilder s(matmul_dag(6, 16, 4));
  s.split(2, 0, {4});
  s.split(2, 2, {8});
  s.reorder(2, {0, 2, 4, 1, 3});  // i.0 j.0 k i.1 j.1
  s.fuse(2, {0, 1});
  CHECK(is_golden(checked_text(s.state())));
}

TEST_CASE("a region that ends outside of its stage has a tile of its own for its tail") {
  ScheduleBuilder s(matmul_dag(6, 8, 4));
  s.cache_write(2, "local");
  s.split(3, 0, {4});
  s.compute_at(2, 3, 0);
  s.reorder(2, {2, 0, 1});  // k i_c j_c
  CHECK(is_golden(checked_text(s.state())));
}
