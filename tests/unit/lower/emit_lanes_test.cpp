// SPDX-License-Identifier: Apache-2.0
#include "tensorsmith/lower/emit_lanes.hpp"

#include "lower_fixtures.hpp"

using namespace tensorsmith;
using namespace tensorsmith::test;

TEST_CASE("a row is summed in vectors of partial results, which are folded in halves") {
  const ScheduleBuilder s(row_sums(3, 70));
  CHECK(is_golden(checked_text(s.state())));
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

TEST_CASE("only sums, products and extremes that begin with nothing are computed in parts") {
  const auto reduced = [](double identity, const auto& combine) {
    te::Program p;
    auto a = p.placeholder("A", {3, 40});
    auto k = p.reduce_axis("k", 40);
    const auto op = p.combiner({DType::f32}, {te::Expr(identity)}, [&](auto& x, auto& y) {
      return std::vector<te::Expr>{combine(x[0], y[0])};
    });
    auto b = p.compute("B", {3}, [&](auto i) { return te::reduce(op, {a(i, k)}, {k})[0]; });
    return checked_text(State::initial(p.dag({a, b})));
  };
  const auto has_lanes = [](const std::string& text) {
    return text.find("lane in 16 vectorized") != std::string::npos;
  };
  CHECK(has_lanes(reduced(0, [](auto x, auto y) { return x + y; })));
  CHECK(has_lanes(reduced(1, [](auto x, auto y) { return y * x; })));
  CHECK(has_lanes(reduced(3, [](auto x, auto y) { return te::max(x, y); })));
  CHECK(has_lanes(reduced(3, [](auto x, auto y) { return te::maximum(x, y); })));
  CHECK(has_lanes(reduced(3, [](auto x, auto y) { return te::minimum(x, y); })));
  CHECK(has_lanes(reduced(3, [](auto x, auto y) { return te::maximum(y, x); })));
  CHECK_FALSE(has_lanes(reduced(3, [](auto x, auto y) { return te::select(x > y, y, x); })));
  CHECK_FALSE(has_lanes(reduced(3, [](auto x, auto y) { return x + y; })));
  CHECK_FALSE(has_lanes(reduced(0, [](auto x, auto y) { return x + y * y; })));
  CHECK_FALSE(has_lanes(reduced(0, [](auto x, auto y) { return x - y; })));
}

TEST_CASE("of two intermediates one is kept in the place of their reader's result") {
  te::Program p;
  auto a = p.placeholder("A", {4, 3, 8}), b = p.placeholder("B", {4, 3, 8});
  const auto exp_of = [&](const char* name, const auto& x) {
    return p.compute(name, {4, 3, 8}, [&](auto i, auto j, auto k) { return te::exp(x(i, j, k)); });
  };
  auto y1 = exp_of("Y1", a), y2 = exp_of("Y2", b);
  auto z =
      p.compute("Z", {4, 3, 8}, [&](auto i, auto j, auto k) { return y1(i, j, k) + y2(i, j, k); });
  for (const std::int32_t second : {0, 1}) {
    ScheduleBuilder s(p.dag({a, b, z}));  // stages 0 A, 1 B, 2 Y1, 3 Y2, 4 Z in some order
    for (std::int32_t stage = 0; stage < static_cast<std::int32_t>(s.state().num_stages());
         ++stage) {
      const std::string& name = s.state().operation(static_cast<std::size_t>(stage)).name;
      if (name[0] == 'Y') {
        s.compute_at(stage, static_cast<std::int32_t>(s.state().num_stages()) - 1,
                     name == "Y1" ? 0 : second);
      }
    }
    CHECK(checked_text(s.state()).find("Y") != std::string::npos);  // one has a place of its own
  }
}
