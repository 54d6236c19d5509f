// SPDX-License-Identifier: Apache-2.0
// Blocks of rows around reductions that end with their own loops.
#include <string>

#include "lower_fixtures.hpp"

using namespace tensorsmith;
using namespace tensorsmith::test;

namespace {

std::string pragma_of(std::int64_t rows) { return "row_block$" + std::to_string(rows); }

/// B[i] = largest (exact in every type) or sum over k of A[i, k]: stages 0 A, 1 B.
DagPtr reduced_rows(std::int64_t rows, std::int64_t columns, DType type = DType::f32,
                    bool is_sum = true) {
  te::Program p;
  auto a = p.placeholder("A", {rows, columns}, type);
  auto k = p.reduce_axis("k", columns);
  auto b = p.compute(
      "B", {rows}, [&](auto i) { return is_sum ? te::sum(a(i, k), {k}) : te::max(a(i, k), {k}); });
  return p.dag({a, b});
}

/// Y[i] = sum over k of A[i, k] * X[k]: stages 0 A, 1 X, 2 Y.
DagPtr matrix_vector(std::int64_t rows, std::int64_t columns) {
  te::Program p;
  auto a = p.placeholder("A", {rows, columns}), x = p.placeholder("X", {columns});
  auto k = p.reduce_axis("k", columns);
  auto y = p.compute("Y", {rows}, [&](auto i) { return te::sum(a(i, k) * x(k), {k}); });
  return p.dag({a, x, y});
}

/// What becomes of the program of `state` with blocks of rows at `stage`.
std::string with_rows(ScheduleBuilder s, std::int32_t stage, std::int64_t rows,
                      const Target& target = small_target()) {
  s.apply(PragmaStep{stage, 0, pragma_of(rows)});
  return checked_text(s.state(), target);
}

}  // namespace

TEST_CASE("rows are summed several at a time, what is left of them in one smaller block") {
  CHECK(is_golden(with_rows(ScheduleBuilder(reduced_rows(5, 70)), 1, 2)));
}

TEST_CASE("blocks of rows hold no more accumulators than half of the registers") {
  const auto lanes = [](std::int64_t rows, const Target& target) {
    const std::string text = with_rows(ScheduleBuilder(reduced_rows(16, 640)), 1, rows, target);
    const std::size_t at = text.find("B.acc: f32[") + 11;
    return text.substr(at, text.find(']', at) - at);
  };
  CHECK(lanes(1, Target::x86_64_v3()) == "32");
  CHECK(lanes(2, Target::x86_64_v3()) == "2, 32");
  CHECK(lanes(4, Target::x86_64_v3()) == "4, 16");
  CHECK(lanes(8, Target::x86_64_v3()) == "8, 8");
  CHECK(lanes(16, Target::x86_64_v3()) == "16, 8");
  CHECK(lanes(4, Target::x86_64_v4()) == "4, 64");
  CHECK(lanes(8, Target::x86_64_v4()) == "8, 32");
}

TEST_CASE("a vector is read once for all rows of a block") {
  const std::string text = with_rows(ScheduleBuilder(matrix_vector(8, 64)), 2, 4);
  CHECK(text.find("for i in 2:") != std::string::npos);
  CHECK(text.find("for x in 4 unrolled:") != std::string::npos);
}

TEST_CASE("any number of rows of any length, all types: what the formulas say") {
  for (const DType type : all_dtypes) {
    if (type == DType::boolean) {
      continue;
    }
    const bool is_sum = type != DType::f16 && type != DType::bf16;  // 197 terms are not exact
    for (const std::int64_t rows : {1, 3, 5, 37}) {
      for (const std::int64_t columns : {1, 15, 16, 17, 197}) {
        for (const std::int64_t block : {2, 4, 8}) {
          INFO(name_of(type) << ", " << rows << " x " << columns << ", block " << block);
          const std::string text =
              with_rows(ScheduleBuilder(reduced_rows(rows, columns, type, is_sum)), 1, block);
          if (columns > 1) {  // one column: vectors along it
            CHECK((text.find(" unrolled:") != std::string::npos) == (rows > 1));
          }
        }
      }
    }
  }
}

TEST_CASE("the outer loop stays parallel, also where it was fused or cut before") {
  ScheduleBuilder whole(reduced_rows(12, 40));
  whole.parallel(1, 0);
  CHECK(with_rows(whole, 1, 4).find("for i in 3 parallel:") != std::string::npos);
  te::Program p;
  auto a = p.placeholder("A", {3, 5, 24});
  auto k = p.reduce_axis("k", 24);
  auto b = p.compute("B", {3, 5}, [&](auto i, auto j) { return te::sum(a(i, j, k), {k}); });
  ScheduleBuilder fused(p.dag({a, b}));
  fused.fuse(1, {0, 1});
  fused.parallel(1, 0);
  CHECK(with_rows(fused, 1, 4).find("parallel") != std::string::npos);
  for (const std::int64_t inner : {2, 4, 5, 6}) {
    ScheduleBuilder cut(reduced_rows(13, 40));
    cut.split(1, 0, {inner});
    CHECK(with_rows(cut, 1, 4).find("vectorized") != std::string::npos);
  }
}

TEST_CASE("blocks of rows inside of the loops of their reader") {
  te::Program p;
  auto a = p.placeholder("A", {13, 40});
  auto k = p.reduce_axis("k", 40);
  auto s = p.compute("S", {13}, [&](auto i) { return te::sum(a(i, k), {k}); });
  auto y = p.compute("Y", {13, 40}, [&](auto i, auto j) { return a(i, j) - s(i); });
  const DagPtr dag = p.dag({a, y});  // 0 A, 1 S, 2 Y
  for (const std::int64_t outer : {1, 3, 4, 6, 8}) {
    for (const std::int64_t block : {2, 4}) {
      ScheduleBuilder attached(dag);
      attached.split(2, 0, {outer});
      attached.compute_at(1, 2, 0);
      CHECK((with_rows(attached, 1, block).find("S.acc: f32[" + std::to_string(block) + ", ") !=
             std::string::npos) == (outer > block || outer == block));
    }
  }
}

TEST_CASE("results of several values are computed in several rows, without vectors") {
  const std::string text = with_rows(ScheduleBuilder(two_output_dag(7, 20)), 1, 4);
  CHECK(text.find("for x in 4 unrolled:") != std::string::npos);
  CHECK(text.find("S.acc0: i32[4] register") != std::string::npos);
}

TEST_CASE("every row of a block is asked for ahead") {
  ScheduleBuilder s(reduced_rows(8, 256));
  s.apply(PragmaStep{1, 0, "prefetch$0$8$1"});
  const std::string text = with_rows(s, 1, 4, Target::x86_64_v4());
  for (const char* row : {"A[i*4, ", "A[i*4 + 1, ", "A[i*4 + 2, ", "A[i*4 + 3, "}) {
    CHECK(text.find("prefetch " + std::string(row)) != std::string::npos);
  }
}

TEST_CASE("one row, columns and tiles of other axes know no blocks of rows") {
  const auto same = [](const ScheduleBuilder& s, std::int32_t stage) {
    return with_rows(s, stage, 4) == checked_text(s.state());
  };
  CHECK(same(ScheduleBuilder(reduced_rows(1, 70)), 1));
  CHECK(same(ScheduleBuilder(matmul_dag(8, 16, 12)), 2));  // k behind j
  ScheduleBuilder one(reduced_rows(6, 70));
  CHECK(with_rows(one, 1, 1) == checked_text(one.state()));
}
