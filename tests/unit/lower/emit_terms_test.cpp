// SPDX-License-Identifier: Apache-2.0
#include "tensorsmith/lower/emit_terms.hpp"

#include "lower_fixtures.hpp"
#include "tensorsmith/ops/conv.hpp"

using namespace tensorsmith;
using namespace tensorsmith::test;

namespace {

/// Y[n, w, co] over rw, rc of a transposed convolution. Y is the last stage; Pad, if there is one,
/// is inlined.
ScheduleBuilder transposed_row(std::int64_t width, std::int64_t kernel, std::int64_t stride,
                               std::int64_t pad, std::int64_t dilation = 1) {
  ops::ConvParams p;
  p.rank = 1;
  p.ci = 4;
  p.co = 8;
  p.spatial = {width, 1, 1};
  p.kernel = {kernel, 1, 1};
  p.stride = {stride, 1, 1};
  p.pad = {pad, 0, 0};
  p.dilation = {dilation, 1, 1};
  p.transposed = true;
  p.dtype = DType::i32;
  ScheduleBuilder s(ops::conv(p).dag);
  if (s.state().num_stages() == 4) {
    s.apply(ComputeInlineStep{1});
  }
  return s;
}

/// n.. w.1 rw.1 w.0 rw.0 rc co: the phases around all.
void split_phases(ScheduleBuilder& s, std::int64_t stride) {
  const auto y = static_cast<std::int32_t>(s.state().num_stages()) - 1;
  s.split(y, 1, {stride});  // n w.0 w.1 co rw rc
  s.split(y, 4, {stride});  // n w.0 w.1 co rw.0 rw.1 rc
  s.reorder(y, {0, 2, 5, 1, 4, 6, 3});
}

}  // namespace

TEST_CASE("the tap of a phase is a value, not a loop") {
  ScheduleBuilder s = transposed_row(6, 4, 2, 1);
  split_phases(s, 2);
  CHECK(checked_text(s.state()) == R"(
Y.acc: i32[8] register
for w.1 in 2:
  for w.0 in 6:
    alloc Y.acc:
      for co in 8 vectorized:
        Y.acc[co] = 0
      for rw.0 in max(w.1*(-1) - w.0 + 1, 0)*(-1) + min(w.1*(-1) - w.0 + 7, 2):
        for rc in 4:
          for co in 8 vectorized:
            Y.acc[co] = Y.acc[co] + X[0, w.1 + w.0 + max(w.1*(-1) - w.0 + 1, 0) + rw.0 - 1, rc]*W[w.1*(-1) - max(w.1*(-1) - w.0 + 1, 0)*2 - rw.0*2 + 3, rc, co]
      for co in 8 vectorized:
        Y[0, w.1 + w.0*2, co] = Y.acc[co]
)");
}

TEST_CASE("phases of any stride, kernel, padding and dilation compute the same") {
  for (std::int64_t stride : {2, 3}) {
    for (std::int64_t kernel : {2, 3, 4, 5}) {
      for (std::int64_t pad : {0, 1}) {
        for (std::int64_t dilation : {1, 2}) {
          if (kernel < stride) {
            continue;
          }
          INFO("k=" << kernel << " s=" << stride << " p=" << pad << " d=" << dilation);
          ScheduleBuilder s = transposed_row(5, kernel, stride, pad, dilation);
          split_phases(s, stride);
          const std::string text = checked_text(s.state());
          // Every tap but those that a dilation by the stride leaves out belongs to one phase.
          CHECK((text.find("== 0") == std::string::npos) == (dilation % stride != 0));
        }
      }
    }
  }
}

TEST_CASE("phases that are fused with other loops, and taps that are one per phase") {
  ScheduleBuilder s = transposed_row(6, 4, 2, 1);
  s.split(3, 1, {3, 2});  // n w.0 w.1 w.2 co rw rc
  s.split(3, 5, {2});
  s.reorder(3, {0, 1, 3, 6, 2, 5, 7, 4});
  s.fuse(3, {0, 1, 2});
  CHECK(checked_text(s.state()).find("== 0") == std::string::npos);
  ScheduleBuilder t = transposed_row(6, 2, 2, 0);  // n w co rw rc
  t.reorder(3, {0, 1, 3, 4, 2});
  CHECK(checked_text(t.state()).find("== 0") == std::string::npos);
}

// Every second element of the stretched row, from the first on: of 3 taps the middle one is left.
TEST_CASE("a tap that is the same everywhere keeps within the kernel") {
  te::Program p;
  auto X = p.placeholder("X", {5}, DType::i32);
  auto P = p.compute("P", {11}, [&](auto y) {
    return te::if_then_else(y >= 1 && y < 10 && te::floormod(y - 1, 2) == 0,
                            X(te::floordiv(y - 1, 2)), 0);
  });
  auto W = p.placeholder("W", {3, 8}, DType::i32);
  auto r = p.reduce_axis("r", 3);
  auto Y =
      p.compute("Y", {5, 8}, [&](auto i, auto c) { return te::sum(P(i * 2 + r) * W(r, c), {r}); });
  ScheduleBuilder s(p.dag({X, W, Y}));
  s.apply(ComputeInlineStep{1});
  s.split(3, 2, {2});
  s.reorder(3, {0, 2, 3, 1});
  CHECK(checked_text(s.state()).find("W[1, ") != std::string::npos);
}

TEST_CASE("a phase inside of the taps stays a condition") {
  ScheduleBuilder s = transposed_row(6, 4, 2, 1);
  s.split(3, 1, {2});
  s.split(3, 4, {2});
  s.reorder(3, {0, 1, 4, 5, 6, 2, 3});
  CHECK(checked_text(s.state()).find("== 0") != std::string::npos);
}

TEST_CASE("a sum of which a condition leaves one term stays a sum") {
  te::Program p;
  auto x = p.placeholder("X", {5}, DType::i32), w = p.placeholder("W", {2}, DType::i32);
  auto r = p.reduce_axis("r", 2);
  auto y = p.compute("Y", {8}, [&](auto h) {
    return te::sum(te::if_then_else(te::floormod(h + r, 2) == 0, x(te::floordiv(h + r, 2)) * w(r),
                                    te::Expr(0)),
                   {r});
  });
  CHECK(checked_text(State::initial(p.dag({x, w, y}))).find("for r in 2") != std::string::npos);
}

TEST_CASE("phases of a stage that is computed inside of its reader keep within the kernel") {
  for (const std::int64_t kernel : {3, 4, 5}) {
    INFO("k=" << kernel);
    ops::ConvParams p;
    p.rank = 1;
    p.ci = 3;
    p.co = 8;
    p.spatial = {6, 1, 1};
    p.kernel = {kernel, 1, 1};
    p.stride = {2, 1, 1};
    p.pad = {1, 0, 0};
    p.transposed = true;
    p.activation = ops::Activation::relu;
    p.dtype = DType::i32;
    ScheduleBuilder s(ops::conv(p).dag);
    std::int32_t y = 0;
    while (s.state().operation(static_cast<std::size_t>(y)).reduce_axes.empty()) {
      ++y;
    }
    s.apply(ComputeInlineStep{y - (y == 3 ? 2 : 1)});  // the padding
    s.split(y, 3, {2});                                // n w co rw.0 rw.1 rc
    s.compute_at(y, static_cast<std::int32_t>(s.state().num_stages()) - 1, 1);
    checked_text(s.state());
  }
}

TEST_CASE("an axis that was fused before the taps were split has no phases") {
  ScheduleBuilder s = transposed_row(6, 4, 2, 1);
  s.fuse(3, {0, 1});   // n@w co rw rc
  s.split(3, 2, {2});  // n@w co rw.0 rw.1 rc
  CHECK(checked_text(s.state()).find("== 0") != std::string::npos);
}
