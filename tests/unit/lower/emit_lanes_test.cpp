#include "tensorsmith/lower/emit_lanes.hpp"

#include "lower_fixtures.hpp"

using namespace tensorsmith;
using namespace tensorsmith::test;

namespace {

/// B[i] = sum over k of A[i, k], f32: stages 0 A, 1 B.
DagPtr row_sums(std::int64_t rows, std::int64_t columns) {
  te::Program p;
  auto a = p.placeholder("A", {rows, columns});
  auto k = p.reduce_axis("k", columns);
  auto b = p.compute("B", {rows}, [&](auto i) { return te::sum(a(i, k), {k}); });
  return p.dag({a, b});
}

/// S[c] = sum over r of A[r, c], f32.
DagPtr column_sums(std::int64_t rows, std::int64_t columns) {
  te::Program p;
  auto a = p.placeholder("A", {rows, columns});
  auto r = p.reduce_axis("r", rows);
  auto s = p.compute("S", {columns}, [&](auto c) { return te::sum(a(r, c), {r}); });
  return p.dag({a, s});
}

}  // namespace

TEST_CASE("a row is summed in vectors of partial results, which are folded in halves") {
  const ScheduleBuilder s(row_sums(3, 70));
  CHECK(checked_text(s.state()) == R"(
B.acc: f32[32] register
for i in 3:
  alloc B.acc:
    for x in 32 vectorized:
      B.acc[x] = 0.0
    for k in 2:
      for x in 32 vectorized:
        B.acc[x] = B.acc[x] + A[i, k*32 + x]
    for x in 6 vectorized:
      B.acc[x] = B.acc[x] + A[i, x + 64]
    for lane in 16 vectorized:
      B.acc[lane] = B.acc[lane] + B.acc[lane + 16]
    for lane in 8 vectorized:
      B.acc[lane] = B.acc[lane] + B.acc[lane + 8]
    for lane in 4 vectorized:
      B.acc[lane] = B.acc[lane] + B.acc[lane + 4]
    for lane in 2 vectorized:
      B.acc[lane] = B.acc[lane] + B.acc[lane + 2]
    B.acc[0] = B.acc[0] + B.acc[1]
    B[i] = B.acc[0]
)");
}

TEST_CASE("a row that is no power of two long is folded from its last lanes on") {
  for (std::int64_t columns : {4, 5, 7, 11, 31, 33, 100}) {
    INFO("columns " << columns);
    const ScheduleBuilder s(row_sums(2, columns));
    const std::string text = checked_text(s.state());
    CHECK(text.find("B.acc[0] = B.acc[0] + B.acc[1]") != std::string::npos);
  }
  const ScheduleBuilder tiny(row_sums(2, 3));
  CHECK(checked_text(tiny.state()).find("vectorized") == std::string::npos);
}

TEST_CASE("parts of the reduction that do not divide it keep their bounds") {
  ScheduleBuilder s(row_sums(2, 77));
  s.split(1, 1, {10});
  CHECK(checked_text(s.state()).find("vectorized") != std::string::npos);
}

TEST_CASE("a reduction over rows has its vectors along the columns") {
  const ScheduleBuilder s(column_sums(5, 40));
  CHECK(checked_text(s.state()) == R"(
S.acc: f32[40] register
alloc S.acc:
  for x in 40 vectorized:
    S.acc[x] = 0.0
  for r in 5:
    for x in 40 vectorized:
      S.acc[x] = S.acc[x] + A[r, x]
  for x in 40 vectorized:
    S[x] = S.acc[x]
)");
}

TEST_CASE("rows that are read with gaps have no lanes") {
  te::Program p;
  auto a = p.placeholder("A", {4, 40});
  auto k = p.reduce_axis("k", 20);
  auto b = p.compute("B", {4}, [&](auto i) { return te::sum(a(i, k * 2), {k}); });
  const ScheduleBuilder s(p.dag({a, b}));
  CHECK(checked_text(s.state()).find("vectorized") == std::string::npos);
}
