// SPDX-License-Identifier: Apache-2.0
#include "tensorsmith/lower/emit_body.hpp"

#include "lower_fixtures.hpp"

using namespace tensorsmith;
using namespace tensorsmith::test;

TEST_CASE("an inlined stage is written out where it is read") {
  ScheduleBuilder s(two_step_dag(4, 8));
  s.compute_inline(1);
  CHECK(checked_text(s.state()) == R"(
for i in 4:
  for j in 8 vectorized:
    C[i, j] = (A[i, j] + 1)*2
)");
}

TEST_CASE("inlined stages may read each other and stages that are stored") {
  te::Program p;
  auto A = p.placeholder("A", {4, 6}, DType::i32);
  auto r = p.reduce_axis("r", 6);
  auto S = p.compute("S", {4}, [&](auto i) { return te::sum(A(i, r), {r}); });
  auto B = p.compute("B", {4, 6}, [&](auto i, auto j) { return A(i, j) - S(i); });
  auto C = p.compute("C", {6, 4}, [&](auto i, auto j) { return B(j, i) + 1; });
  auto D = p.compute("D", {6, 4}, [&](auto i, auto j) { return C(i, j) * C(i, j); });
  ScheduleBuilder s(p.dag({A, D}));
  s.compute_inline(2);
  s.compute_inline(3);
  CHECK(is_golden(checked_text(s.state())));
}

TEST_CASE("conditions that the ranges of the loops decide are folded away") {
  te::Program p;
  auto A = p.placeholder("A", {12}, DType::i32);
  auto P =
      p.compute("P", {16}, [&](auto i) { return te::if_then_else(i >= 2 && i < 14, A(i - 2), 0); });
  auto C = p.compute("C", {12}, [&](auto i) { return P(i + 2) + P(i); });
  ScheduleBuilder s(p.dag({A, C}));
  s.compute_inline(1);
  // i + 2 is always inside; i < 14 always holds, i >= 2 does not.
  CHECK(checked_text(s.state()) == R"(
for i in 12 vectorized:
  C[i] = A[i] + if_then_else(i >= 2, A[i - 2], 0)
)");
}

TEST_CASE("every comparison folds both ways") {
  te::Program p;
  auto A = p.placeholder("A", {4}, DType::i32);
  auto C = p.compute("C", {4}, [&](auto i) {
    const auto kept = [&](te::Expr condition) { return te::select(condition, A(i), 0); };
    const auto dropped = [&](te::Expr condition) { return te::select(condition, 0, A(i)); };
    return kept(i < 4) + dropped(i < 0) + kept(i <= 3) + dropped(i <= -1) + kept(i > -1) +
           dropped(i > 3) + kept(i >= 0) + dropped(i >= 4) + dropped(i == 4) + kept(i != 4);
  });
  ScheduleBuilder s(p.dag({A, C}));
  CHECK(checked_text(s.state()).find("select") == std::string::npos);
}

TEST_CASE("the identity of the reduction is what accumulators start from") {
  te::Program p;
  auto A = p.placeholder("A", {4, 6}, DType::i32);
  auto r = p.reduce_axis("r", 6), q = p.reduce_axis("q", 6);
  auto M = p.compute("M", {4}, [&](auto i) { return te::max(A(i, r), te::ReduceAxes{r}); });
  auto N = p.compute("N", {4}, [&](auto i) { return te::min(A(i, q), te::ReduceAxes{q}); });
  ScheduleBuilder s(p.dag({A, M, N}));
  CHECK(is_golden(checked_text(s.state())));
}

TEST_CASE("several results come from the old values: none is replaced before all are known") {
  ScheduleBuilder s(two_output_dag(4, 6));
  s.split(1, 1, {4});
  s.reorder(1, {1, 0, 2});
  CHECK(is_golden(checked_text(s.state())));
}

TEST_CASE("with a producer inside of the tile the sum stays in memory") {
  ScheduleBuilder s(matmul_dag(4, 8, 3));
  s.cache_read(0, "local", {2});
  s.reorder(3, {2, 0, 1});
  s.compute_at(1, 3, 1);
  CHECK(checked_text(s.state()) == R"(
A.local: f32[1, 1] local
for i in 4:
  for j in 8 vectorized:
    C[i, j] = 0.0
for k in 3:
  for i in 4:
    alloc A.local:
      A.local[0, 0] = A[i, k]
      for j in 8 vectorized:
        C[i, j] = C[i, j] + A.local[0, 0]*B[k, j]
)");
}

TEST_CASE("what neither a bound nor a copy can settle becomes a condition") {
  ScheduleBuilder s(copy_dag(5, 7));
  s.split(1, 0, {2});
  s.split(1, 2, {4});
  s.reorder(1, {0, 2, 1, 3});
  s.fuse(1, {0, 1});
  s.fuse(1, {1, 2});
  const std::string text = checked_text(s.state());
  CHECK(text.find(R"(
for i.0@j.0@ in 6:
  for i.1@j.1@ in 8 vectorized:
    if floordiv(i.0@j.0@, 2)*2 + floordiv(i.1@j.1@, 4) < 5:
      if floormod(i.0@j.0@, 2)*4 + floormod(i.1@j.1@, 4) < 7:
        B[)") == 0);
}

TEST_CASE("a result of rank 0") {
  te::Program p;
  auto A = p.placeholder("A", {6}, DType::i32);
  auto r = p.reduce_axis("r", 6);
  auto S = p.compute("S", {}, [&]() { return te::sum(A(r), {r}); });
  ScheduleBuilder s(p.dag({A, S}));
  s.split(1, 0, {4});
  CHECK(checked_text(s.state()) == R"(
S.acc: i32[4] register
alloc S.acc:
  for x in 4 vectorized:
    S.acc[x] = 0
  for x in 4 vectorized:
    S.acc[x] = S.acc[x] + A[x]
  for x in 2 vectorized:
    S.acc[x] = S.acc[x] + A[x + 4]
  for lane in 2 vectorized:
    S.acc[lane] = S.acc[lane] + S.acc[lane + 2]
  S.acc[0] = S.acc[0] + S.acc[1]
  S[] = S.acc[0]
)");
}
