// SPDX-License-Identifier: Apache-2.0
#include "tensorsmith/lower/emit_taps.hpp"

#include "lower_fixtures.hpp"

using namespace tensorsmith;
using namespace tensorsmith::test;

namespace {

/// Y[x, f] = sum over r, c of P[x * stride + r, c] * W[r, c, f], P = X with `pad` zeros at either
/// end. Stages 0 X, 1 P, 2 W, 3 Y; P is inlined.
ScheduleBuilder padded_row(std::int64_t width, std::int64_t kernel, std::int64_t pad,
                           std::int64_t stride = 1) {
  te::Program p;
  auto X = p.placeholder("X", {width, 4}, DType::i32);
  auto P = p.compute("P", {width + 2 * pad, 4}, [&](auto x, auto c) {
    return te::if_then_else(x >= pad && x < width + pad, X(x - pad, c), 0);
  });
  auto W = p.placeholder("W", {kernel, 4, 8}, DType::i32);
  auto r = p.reduce_axis("r", kernel), c = p.reduce_axis("c", 4);
  const std::int64_t out = (width + 2 * pad - kernel) / stride + 1;
  auto Y = p.compute("Y", {out, 8}, [&](auto x, auto f) {
    return te::sum(P(x * stride + r, c) * W(r, c, f), {r, c});
  });
  ScheduleBuilder s(p.dag({X, W, Y}));
  s.apply(ComputeInlineStep{1});
  return s;
}

bool has_guard(const std::string& text) { return text.find("if_then_else") != std::string::npos; }

}  // namespace

TEST_CASE("an axis outside of the tile: the loop of its taps gets bounds") {
  ScheduleBuilder s = padded_row(9, 3, 1);
  s.reorder(3, {0, 2, 3, 1});
  CHECK(checked_text(s.state()) == R"(
Y.acc: i32[8] register
for i in 9:
  alloc Y.acc:
    for j in 8 vectorized:
      Y.acc[j] = 0
    for r in max(i*(-1) + 1, 0)*(-1) + min(i*(-1) + 10, 3):
      for c in 4:
        for j in 8 vectorized:
          Y.acc[j] = Y.acc[j] + X[i + max(i*(-1) + 1, 0) + r - 1, c]*W[max(i*(-1) + 1, 0) + r, c, j]
    for j in 8 vectorized:
      Y[i, j] = Y.acc[j]
)");
}

TEST_CASE("an axis in the tile: copies of the taps with the rows that are inside") {
  ScheduleBuilder s = padded_row(5, 3, 1);
  s.reorder(3, {2, 3, 0, 1});
  CHECK(is_golden(checked_text(s.state())));
}

TEST_CASE("several tiles along an axis: borders and interior, chosen per tile") {
  ScheduleBuilder s = padded_row(16, 3, 1);
  s.split(3, 0, {4});
  s.reorder(3, {0, 3, 4, 1, 2});
  CHECK(is_golden(checked_text(s.state())));
}

TEST_CASE("neither rows nor taps divide: tails keep their own copies") {
  for (std::int64_t tile : {2, 3, 5, 7}) {
    for (std::int64_t taps : {1, 2, 3, 5}) {
      for (std::int64_t stride : {1, 2, 3}) {
        ScheduleBuilder s = padded_row(11, 5, 2, stride);
        s.split(3, 0, {tile});
        s.split(3, 3, {taps});
        s.reorder(3, {0, 3, 4, 5, 1, 2});
        CHECK(!has_guard(checked_text(s.state())));
      }
    }
  }
}

TEST_CASE("taps outside of the run: the tap is known when the tile begins") {
  ScheduleBuilder s = padded_row(5, 3, 1);
  s.split(3, 0, {1});
  s.reorder(3, {3, 0, 4, 1, 2});  // one output at a time: the run is not entered for padding
  CHECK(checked_text(s.state()).find("if x.0") == std::string::npos);
  ScheduleBuilder tiled = padded_row(5, 3, 1);
  tiled.split(3, 0, {5});
  tiled.reorder(3, {3, 0, 4, 1, 2});
  CHECK(!has_guard(checked_text(tiled.state())));
}

TEST_CASE("a padded axis that becomes the vector loop keeps its condition") {
  ScheduleBuilder s = padded_row(8, 3, 1);
  s.reorder(3, {1, 2, 3, 0});
  CHECK(has_guard(checked_text(s.state())));
}

TEST_CASE("padding with what a maximum starts from is left out of the maximum") {
  te::Program p;
  auto X = p.placeholder("X", {6, 8}, DType::i32);
  const te::Expr least = te::detail::extreme(DType::i32, -1);
  auto P = p.compute("P", {8, 8}, [&](auto x, auto c) {
    return te::if_then_else(x >= 1 && x < 7, X(x - 1, c), least);
  });
  auto r = p.reduce_axis("r", 3);
  auto Y = p.compute("Y", {6, 8},
                     [&](auto x, auto c) { return te::max(P(x + r, c), te::ReduceAxes{r}); });
  ScheduleBuilder s(p.dag({X, Y}));
  s.apply(ComputeInlineStep{1});
  s.reorder(2, {0, 2, 1});
  CHECK(!has_guard(checked_text(s.state())));
}
