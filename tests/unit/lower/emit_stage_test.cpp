// SPDX-License-Identifier: Apache-2.0
#include "tensorsmith/lower/emit_stage.hpp"

#include "lower_fixtures.hpp"

using namespace tensorsmith;
using namespace tensorsmith::test;

namespace {

/// B = A * 3 on n + 2 elements, C[i] = B[i] + B[i + 2]: stages 0 A, 1 B, 2 C.
DagPtr stencil_dag(std::int64_t n) {
  te::Program p;
  auto A = p.placeholder("A", {n + 2}, DType::i32);
  auto B = p.compute("B", {n + 2}, [&](auto i) { return A(i) * 3; });
  auto C = p.compute("C", {n}, [&](auto i) { return B(i) + B(i + 2); });
  return p.dag({A, C});
}

/// M[i] = max of row i, B = A - M, C = B * 2: stages 0 A, 1 M, 2 B, 3 C.
DagPtr row_dag() {
  te::Program p;
  auto A = p.placeholder("A", {4, 6}, DType::i32);
  auto r = p.reduce_axis("r", 6);
  auto M = p.compute("M", {4}, [&](auto i) { return te::max(A(i, r), te::ReduceAxes{r}); });
  auto B = p.compute("B", {4, 6}, [&](auto i, auto j) { return A(i, j) - M(i); });
  auto C = p.compute("C", {4, 6}, [&](auto i, auto j) { return B(i, j) * 2; });
  return p.dag({A, C});
}

/// row_dag with B computed at the rows of C and M at the rows of `stage`.
ScheduleBuilder attached_rows(std::int32_t stage) {
  ScheduleBuilder s(row_dag());
  s.compute_at(2, 3, 0);
  s.compute_at(1, stage, 0);
  return s;
}

}  // namespace

TEST_CASE("a stage at root is computed whole, into a buffer of its own") {
  ScheduleBuilder s(two_step_dag(4, 8));
  CHECK(checked_text(s.state()) == R"(
B: i32[4, 8] global
alloc B:
  for i in 4:
    for j in 8 vectorized:
      B[i, j] = A[i, j] + 1
  for i in 4:
    for j in 8 vectorized:
      C[i, j] = B[i, j]*2
)");
}

TEST_CASE("rows of a fused axis are those that its blocks need, and end where the axis does") {
  ScheduleBuilder s(two_step_dag(14, 14));
  s.fuse(2, {0, 1});
  s.split(2, 0, {24, 24});  // 14 rows in blocks of 48 elements
  s.fuse(1, {0, 1});
  s.split(1, 0, {16});
  s.compute_at(1, 2, 0);
  checked_text(s.state());

  ScheduleBuilder t(two_step_dag(14, 14));  // blocks of four rows, the last one has two
  t.fuse(2, {0, 1});
  t.split(2, 0, {56});
  t.split(2, 1, {24});  // goes beyond the block
  t.fuse(1, {0, 1});
  t.split(1, 0, {16});
  t.compute_at(1, 2, 0);
  const std::string text = checked_text(t.state());
  CAPTURE(text);
  CHECK(text.find("B: i32[4, 14]") != std::string::npos);
  CHECK(text.find("i@j@.1 in min(") != std::string::npos);  // loops end, elements have no guards
}

TEST_CASE("an attached stage computes and stores what is read from there on") {
  ScheduleBuilder s(two_step_dag(4, 8));
  s.compute_at(1, 2, 0);
  CHECK(checked_text(s.state()) == R"(
for i in 4:
  for j in 8 vectorized:
    C[i, j] = A[i, j] + 1
  for j in 8 vectorized:
    C[i, j] = C[i, j]*2
)");
}

TEST_CASE("what one axis leaves open asks for no guard of another") {
  te::Program p;
  auto A = p.placeholder("A", {7, 24, 8}, DType::i32);
  auto B = p.compute("B", {7, 24, 8}, [&](auto i, auto j, auto k) { return A(i, j, k) + 1; });
  auto C = p.compute("C", {7, 24, 8}, [&](auto i, auto j, auto k) { return B(i, j, k) * 2; });
  ScheduleBuilder s(p.dag({A, C}));
  s.split(2, 0, {2});
  s.split(2, 2, {16});
  s.compute_at(1, 2, 2);  // where the rows are settled and the columns are not
  CHECK(checked_text(s.state()) == R"(
for i.0 in 4:
  for i.1 in min(i.0*(-2) + 7, 2):
    for j.0 in 2:
      for j in min(j.0*(-16) + 24, 16):
        for k in 8 vectorized:
          C[i.0*2 + i.1, j.0*16 + j, k] = A[i.0*2 + i.1, j.0*16 + j, k] + 1
      for j.1 in min(j.0*(-16) + 24, 16):
        for k in 8 vectorized:
          C[i.0*2 + i.1, j.0*16 + j.1, k] = C[i.0*2 + i.1, j.0*16 + j.1, k]*2
)");
}

TEST_CASE("regions that overlap are computed twice, the tail's is smaller") {
  ScheduleBuilder s(stencil_dag(10));
  s.split(2, 0, {4});
  s.compute_at(1, 2, 0);
  CHECK(checked_text(s.state()) == R"(
B: i32[6] local
B: i32[4] local
for i.0 in 2:
  alloc B:
    for i in 6 vectorized:
      B[i] = A[i.0*4 + i]*3
    for i.1 in 4 vectorized:
      C[i.0*4 + i.1] = B[i.1] + B[i.1 + 2]
alloc B:
  for i in 4 vectorized:
    B[i] = A[i + 8]*3
  for i.1 in 2 vectorized:
    C[i.1 + 8] = B[i.1] + B[i.1 + 2]
)");
}

TEST_CASE("a region that may begin outside of the stage is clipped at its ends") {
  te::Program p;
  auto A = p.placeholder("A", {10}, DType::i32);
  auto P = p.compute("P", {10}, [&](auto i) { return A(i) + 1; });
  auto C = p.compute(
      "C", {10}, [&](auto i) { return te::if_then_else(i >= 1 && i < 9, P(i - 1) + P(i + 1), 0); });
  ScheduleBuilder s(p.dag({A, C}));
  s.split(2, 0, {5});
  s.compute_at(1, 2, 0);
  const std::string text = checked_text(s.state());
  CHECK(text.find("P: i32[7] local") != std::string::npos);
  CHECK(text.find("A[max(i.0*5 - 1, 0)") != std::string::npos);
}

// T goes on behind the 5 rows that C reads, S with it, P is there for 6 rows only.
TEST_CASE("a tile behind the end of its loops asks for nothing of stages computed further out") {
  te::Program p;
  auto A = p.placeholder("A", {15, 8}, DType::i32);
  auto P = p.compute("P", {15, 8}, [&](auto i, auto j) { return A(i, j) + 1; });
  auto S = p.compute("S", {14, 8}, [&](auto i, auto j) { return P(i, j) + P(i + 1, j); });
  auto T = p.compute("T", {14, 8}, [&](auto i, auto j) { return S(i, j) * S(i, 7 - j); });
  auto C = p.compute("C", {2, 5, 8}, [&](auto o, auto i, auto j) { return T(o * 6 + i, j); });
  ScheduleBuilder s(p.dag({A, C}));
  s.compute_at(3, 4, 0);
  s.split(3, 0, {2});
  s.compute_at(2, 3, 0);
  s.compute_at(1, 4, 0);
  const std::string text = checked_text(s.state());
  INFO(text);
  CHECK(text.find("P: i32[6, 8] local") != std::string::npos);
  const std::string rows = " in min(i.0*(-2) + 5, 2):";  // of T, and of S as well
  const std::size_t first = text.find(rows);
  REQUIRE(first != std::string::npos);
  CHECK(text.find(rows, first + 1) != std::string::npos);
}

TEST_CASE("a region that lies behind the end of its stage has no loops") {
  te::Program p;
  auto A = p.placeholder("A", {4}, DType::i32);
  auto B = p.compute("B", {4}, [&](auto i) { return A(i) + 1; });
  auto C = p.compute("C", {7}, [&](auto i) { return te::if_then_else(i < 4, B(i), 0); });
  ScheduleBuilder s(p.dag({A, C}));
  s.split(2, 0, {3});
  s.annotate(2, 1, Annotation::unroll);
  s.compute_at(1, 2, 0);
  CHECK(checked_text(s.state()) == R"(
B: i32[3] local
B: i32[1] local
for i.0 in 2:
  alloc B:
    if 2 < i.0*(-3) + 4:
      for i in 3 vectorized:
        B[i] = A[i.0*3 + i] + 1
    else:
      B[0] = A[i.0*3] + 1
    for i.1 in 3 vectorized:
      C[i.0*3 + i.1] = if_then_else(i.0*3 + i.1 < 4, B[i.1], 0)
alloc B:
  C[6] = 0
)");
}

TEST_CASE("several stages at one loop stand in the order of their reads") {
  const ScheduleBuilder s = attached_rows(3);
  CHECK(is_golden(checked_text(s.state())));
}

TEST_CASE("a stage attached to an attached stage") {
  const ScheduleBuilder s = attached_rows(2);
  CHECK(is_golden(checked_text(s.state())));
}

TEST_CASE("a cache read inside of a reduction holds the block of the operand") {
  ScheduleBuilder s(matmul_dag(4, 8, 6));
  s.split(2, 2, {2});
  s.reorder(2, {2, 0, 3, 1});
  s.cache_read(0, "local", {2});
  s.compute_at(1, 3, 0);
  CHECK(is_golden(checked_text(s.state())));
}

TEST_CASE("a cache write computes a tile that the stage copies out") {
  ScheduleBuilder s(matmul_dag(4, 16, 8));
  s.cache_write(2, "local");
  s.split(3, 1, {8});
  s.compute_at(2, 3, 1);
  CHECK(checked_text(s.state()) == R"(
C.local.acc: f32[8] register
for i in 4:
  for j.0 in 2:
    alloc C.local.acc:
      for x in 8 vectorized:
        C.local.acc[x] = 0.0
      for k in 8:
        for x in 8 vectorized:
          C.local.acc[x] = C.local.acc[x] + A[i, k]*B[k, j.0*8 + x]
      for x in 8 vectorized:
        C[i, j.0*8 + x] = C.local.acc[x]
)");
}

TEST_CASE("rfactor, then cache write: partial results, their sums, the copy") {
  ScheduleBuilder s(matmul_dag(4, 8, 8));
  s.split(2, 2, {4});
  s.rfactor(2, 3, 2);
  s.cache_write(3, "local");
  CHECK(is_golden(checked_text(s.state())));
}

TEST_CASE("a layout cuts the dimensions of a buffer and orders the pieces") {
  ScheduleBuilder s(two_step_dag(6, 16));
  s.storage_layout(1, {0, 8}, {2, 0, 3});  // [j floordiv 8][i][j floormod 8]
  CHECK(checked_text(s.state()) == R"(
B: i32[2, 6, 8] global
alloc B:
  for i in 6:
    for j in 16 vectorized:
      B[floordiv(j, 8), i, floormod(j, 8)] = A[i, j] + 1
  for i in 6:
    for j in 16 vectorized:
      C[i, j] = B[floordiv(j, 8), i, floormod(j, 8)]*2
)");
}

TEST_CASE("padding widens the strides; a later layout replaces an earlier one") {
  ScheduleBuilder s(two_step_dag(6, 16));
  s.storage_layout(1, {4, 8}, {0, 2, 1, 3});
  s.storage_layout(1, {0, 8}, {2, 0, 3}, 2);
  CHECK(checked_text(s.state()).find("\nB: i32[2, 6, 8] global strides [60, 10, 1]\n") == 0);
}

TEST_CASE("the layout of an attached stage is that of its region") {
  ScheduleBuilder s(two_step_dag(6, 16));
  s.storage_layout(1, {0, 0}, {2, 0});
  s.compute_at(1, 2, 0);
  CHECK(checked_text(s.state()) == R"(
B: i32[16, 1] local
for i in 6:
  alloc B:
    for j in 16 vectorized:
      B[j, 0] = A[i, j] + 1
    for j in 16 vectorized:
      C[i, j] = B[j, 0]*2
)");
}

TEST_CASE("a block that does not divide the region is padded up") {
  ScheduleBuilder s(two_step_dag(5, 12));
  s.storage_layout(1, {2, 8}, {0, 2, 1, 3});
  CHECK(checked_text(s.state()).find("\nB: i32[3, 2, 2, 8] global\n") == 0);
}

TEST_CASE("a layout stays with its stage when later steps add stages before it") {
  ScheduleBuilder s(matmul_dag(4, 8, 6));
  s.cache_read(1, "local", {2});  // A B B.local C
  s.storage_layout(2, {0, 4}, {2, 0, 3});
  s.cache_read(0, "local", {3});  // A A.local B B.local C
  s.cache_write(4, "local");      // A A.local B B.local C.local C
  const std::string text = checked_text(s.state());
  CHECK(text.find("\nA.local: f32[4, 6] global\n") != std::string::npos);
  CHECK(text.find("\nB.local: f32[2, 6, 4] global\n") != std::string::npos);
  CHECK(text.find("\nC.local: f32[4, 8] global\n") != std::string::npos);
}
