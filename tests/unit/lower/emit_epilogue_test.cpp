// SPDX-License-Identifier: Apache-2.0
#include "tensorsmith/lower/emit_epilogue.hpp"

#include "lower_fixtures.hpp"

using namespace tensorsmith;
using namespace tensorsmith::test;

namespace {

enum class Reader { same, transposed, twice };

/// C = A * B [n, m], D = max(C + bias, 0) or another reader of C: stages 0 A, 1 B, 2 C, 3 bias,
/// 4 D.
DagPtr biased_dag(std::int64_t n, std::int64_t m, std::int64_t depth,
                  Reader reader = Reader::same) {
  te::Program p;
  auto A = p.placeholder("A", {n, depth}, DType::i32),
       B = p.placeholder("B", {depth, m}, DType::i32);
  auto k = p.reduce_axis("k", depth);
  auto C = p.compute("C", {n, m}, [&](auto i, auto j) { return te::sum(A(i, k) * B(k, j), {k}); });
  auto bias = p.placeholder("bias", {m}, DType::i32);
  auto D = p.compute("D", {n, m}, [&](auto i, auto j) {
    const te::Expr own = reader == Reader::transposed ? C(j, i) : C(i, j);
    return te::max(own + bias(j), reader == Reader::twice ? C(i, te::max(j - 1, 0)) : te::Expr(0));
  });
  return p.dag({A, B, bias, D});
}

/// D in tiles of `rows` by `columns`, C computed at one of them.
ScheduleBuilder tiled(DagPtr dag, std::int64_t rows, std::int64_t columns) {
  ScheduleBuilder s(std::move(dag));
  s.split(4, 1, {columns});
  s.split(4, 0, {rows});
  s.reorder(4, {0, 2, 1, 3});
  s.compute_at(2, 4, 1);
  s.reorder(2, {2, 0, 1});
  return s;
}

bool has_own_pass(const std::string& text) { return text.find("C: i32") != std::string::npos; }

}  // namespace

TEST_CASE("an elementwise reader is computed where the register tile is written back") {
  CHECK(checked_text(tiled(biased_dag(4, 16, 5), 2, 16).state()) == R"(
C.acc: i32[2, 16] register
for i.0 in 2:
  alloc C.acc:
    for i in 2 unrolled:
      for j in 16 vectorized:
        C.acc[i, j] = 0
    for k in 5:
      for i in 2 unrolled:
        for j in 16 vectorized:
          C.acc[i, j] = C.acc[i, j] + A[i.0*2 + i, k]*B[k, j]
    for i in 2 unrolled:
      for j in 16 vectorized:
        D[i.0*2 + i, j] = max(C.acc[i, j] + bias[j], 0)
)");
}

TEST_CASE("with a reduction loop outside of the tile the reader is computed in the last block") {
  ScheduleBuilder s = tiled(biased_dag(4, 16, 5), 4, 16);
  s.split(2, 0, {2});
  s.split(2, 2, {2});
  s.reorder(2, {0, 2, 1, 3, 4});
  CHECK(is_golden(checked_text(s.state())));
}

TEST_CASE("tiles that end with the domain are finished too") {
  ScheduleBuilder s = tiled(biased_dag(5, 16, 4), 3, 8);
  s.reorder(2, {1, 0, 2});  // rows outside of the reduction
  CHECK_FALSE(has_own_pass(checked_text(s.state())));
  CHECK_FALSE(has_own_pass(checked_text(tiled(biased_dag(5, 19, 4), 3, 8).state())));
}

TEST_CASE("a reader whose vectors do not fill its tile is finished, and nothing else computed") {
  // 40 columns are a vector loop of 32 and its tail.
  const std::string text = checked_text(tiled(biased_dag(4, 80, 3), 2, 40).state());
  CHECK_FALSE(has_own_pass(text));
  CHECK(text.find("48") == std::string::npos);
}

TEST_CASE("a reader of other elements goes over the sums by itself") {
  for (const Reader reader : {Reader::transposed, Reader::twice}) {
    CHECK(has_own_pass(checked_text(tiled(biased_dag(8, 8, 3, reader), 4, 8).state())));
  }
}

TEST_CASE("an element that the reader has in two tiles is written by neither of them early") {
  // Tiles of 4 rows inside of 6: the rows 6 and 7 of the second tile belong to the next six.
  ScheduleBuilder s(biased_dag(12, 8, 3));
  s.split(4, 0, {6});
  s.split(4, 1, {4});
  s.compute_at(2, 4, 1);
  s.reorder(2, {2, 0, 1});
  CHECK(has_own_pass(checked_text(s.state())));
}

TEST_CASE("a reduction inside of all loops is finished in the vectors that it gets") {
  ScheduleBuilder s = tiled(biased_dag(4, 16, 5), 2, 16);
  s.reorder(2, {1, 2, 0});
  CHECK_FALSE(has_own_pass(checked_text(s.state())));
}

// 4 terms in blocks of 2, in up to 3 of them: the reader is written in the second.
TEST_CASE("the last block is the last one that has terms, not the last that the split allows") {
  ScheduleBuilder s = tiled(biased_dag(4, 16, 4), 2, 16);
  s.split(2, 0, {3, 2});
  s.reorder(2, {0, 1, 3, 2, 4});
  CHECK_FALSE(checked_text(s.state()).empty());
}
