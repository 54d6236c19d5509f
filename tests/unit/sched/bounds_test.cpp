// SPDX-License-Identifier: Apache-2.0
#include "tensorsmith/sched/bounds.hpp"

#include <algorithm>

#include "sched_fixtures.hpp"
#include "support/catch.hpp"
#include "tensorsmith/sched/replay.hpp"
#include "unit/te/conv_block.hpp"

using namespace tensorsmith;
using namespace tensorsmith::test;
using Ids = std::vector<std::int64_t>;

namespace {

struct ConvShape {
  std::int64_t size, in, out, kernel, stride, pad;
};

/// NCHW convolution, stages X, P, W, Y, then R = relu(Y).
DagPtr conv_relu_dag(const ConvShape& c) {
  te::Program p;
  const std::int64_t padded = c.size + 2 * c.pad;
  const std::int64_t out = (padded - c.kernel) / c.stride + 1;
  auto X = p.placeholder("X", {1, c.in, c.size, c.size});
  auto W = p.placeholder("W", {c.out, c.in, c.kernel, c.kernel});
  const int pad = static_cast<int>(c.pad), end = static_cast<int>(c.size + c.pad);
  const int stride = static_cast<int>(c.stride);
  auto P = p.compute("P", {1, c.in, padded, padded}, [&](auto n, auto ch, auto y, auto x) {
    return te::if_then_else(y >= pad && y < end && x >= pad && x < end, X(n, ch, y - pad, x - pad),
                            0);
  });
  auto rc = p.reduce_axis("rc", c.in), rh = p.reduce_axis("rh", c.kernel);
  auto rw = p.reduce_axis("rw", c.kernel);
  auto Y = p.compute("Y", {1, c.out, out, out}, [&](auto n, auto f, auto y, auto x) {
    return te::sum(P(n, rc, y * stride + rh, x * stride + rw) * W(f, rc, rh, rw), {rc, rh, rw});
  });
  auto R = p.compute("R", {1, c.out, out, out},
                     [&](auto n, auto f, auto y, auto x) { return te::max(Y(n, f, y, x), 0); });
  return p.dag({X, W, R});
}

State bounded(const State& state) {
  auto result = infer_bounds(state);
  if (!result) {
    FAIL(explain(result.error(), state));
  }
  return *result;
}

}  // namespace

TEST_CASE("conformance 11.4: bounds of a stage computed at its reader and back at root") {
  ScheduleBuilder s(conv_block(224, 3, 64, 7, 2, 3));
  const std::int32_t conv = s.stage("conv"), relu = s.stage("relu");
  for (const char* between : {"Bn_add", "Bn_mul", "Bias_add"}) {
    s.compute_inline(s.stage(between));
  }
  s.compute_at(conv, relu, 2);
  CHECK(extents(bounded(s.state()), static_cast<std::size_t>(conv)) == Ids{1, 1, 1, 112, 3, 7, 7});
  s.compute_root(conv);
  CHECK(extents(s.state(), static_cast<std::size_t>(conv)) == Ids{-1, -1, -1, -1, -1, -1, -1});
  CHECK(extents(bounded(s.state()), static_cast<std::size_t>(conv)) ==
        Ids{1, 64, 112, 112, 3, 7, 7});
}

TEST_CASE("bounds of a padded input: reads that are guarded count") {
  ScheduleBuilder s(conv_relu_dag({224, 3, 64, 7, 2, 3}));
  const std::int32_t pad = s.stage("P"), conv = s.stage("Y");
  // At root: 111 * 2 + 6 + 1 = 229 of the 230 rows are read.
  CHECK(extents(bounded(s.state()), static_cast<std::size_t>(pad)) == Ids{1, 3, 229, 229});
  s.compute_at(pad, conv, 2);  // under n, f, y
  CHECK(extents(bounded(s.state()), static_cast<std::size_t>(pad)) == Ids{1, 3, 7, 229});
  s.compute_inline(pad);
  CHECK(bounded(s.state()).stage(static_cast<std::size_t>(pad)).compute_at == ComputeAt::inlined);
}

TEST_CASE("conformance 11.4: bounds of cache stages, two levels deep") {
  te::Program p;
  auto X = p.placeholder("X", {4, 512, 7, 7}), W = p.placeholder("W", {512, 512, 3, 3});
  auto P = p.compute("P", {4, 512, 9, 9}, [&](auto n, auto c, auto y, auto x) {
    return te::if_then_else(y >= 1 && y < 8 && x >= 1 && x < 8, X(n, c, y - 1, x - 1), 0);
  });
  auto rc = p.reduce_axis("rc", 512), rh = p.reduce_axis("rh", 3), rw = p.reduce_axis("rw", 3);
  auto Y = p.compute("Y", {4, 512, 7, 7}, [&](auto n, auto f, auto y, auto x) {
    return te::sum(P(n, rc, y + rh, x + rw) * W(f, rc, rh, rw), {rc, rh, rw});
  });
  ScheduleBuilder s(p.dag({X, W, Y}));
  s.cache_write(s.stage("Y"), "global");
  s.compute_at(s.stage("Y.global"), s.stage("Y"), 3);
  const std::int32_t kernel = s.cache_read(s.stage("W"), "global", {s.stage("Y.global")});
  s.compute_at(kernel, s.stage("Y.global"), 4);
  const State state = bounded(s.state());
  CHECK(extents(state, static_cast<std::size_t>(s.stage("W.global"))) == Ids{1, 1, 3, 3});
  CHECK(extents(state, static_cast<std::size_t>(s.stage("Y.global"))) ==
        Ids{1, 1, 1, 1, 512, 3, 3});
  const std::int32_t outer = s.cache_read(s.stage("P"), "global", {s.stage("Y.global")});
  s.compute_at(outer, s.stage("Y.global"), 2);
  const std::int32_t inner = s.cache_read(outer, "global", {s.stage("Y.global")});
  s.compute_at(inner, s.stage("Y.global"), 4);
  const State two = bounded(s.state());
  CHECK(extents(two, static_cast<std::size_t>(outer)) == Ids{1, 512, 3, 3});
  CHECK(extents(two, static_cast<std::size_t>(inner)) == Ids{1, 1, 3, 3});
}

TEST_CASE("bounds with splits that do not divide") {
  ScheduleBuilder s(matmul_dag(10, 7, 5));
  s.cache_write(2, "local");
  s.split(3, 0, {4});
  s.compute_at(2, 3, 0);
  const State state = bounded(s.state());
  CHECK(extents(state, 3) == Ids{3, 4, 7});
  CHECK(extents(state, 2) == Ids{4, 7, 5});  // a tile sticks out of the tensor
}

TEST_CASE("a split is no longer than what is left of the loop") {
  ScheduleBuilder s(matmul_dag(16, 16, 16));
  s.cache_write(2, "local");
  s.split(2, 0, {8});
  s.split(3, 0, {4});
  s.compute_at(2, 3, 0);
  CHECK(extents(bounded(s.state()), 2) == Ids{1, 4, 16, 16});
  s.annotate(2, 1, Annotation::thread_x);  // threads are not taken away
  s.annotate(3, 1, Annotation::block_x);
  CHECK(extents(bounded(s.state()), 2) == Ids{1, 8, 16, 16});
}

TEST_CASE("annotations and pragmas keep bounds, thread bindings and other loops forget them") {
  ScheduleBuilder s(conv_relu_dag({14, 8, 16, 3, 1, 1}));
  const std::int32_t conv = s.stage("Y"), relu = s.stage("R");
  s.split(relu, 3, {4});
  s.compute_at(conv, relu, 3);
  State state = bounded(s.state());
  REQUIRE(state.has_bounds());
  REQUIRE_FALSE(try_apply(state, AnnotationStep{conv, 3, Annotation::vectorize}));
  REQUIRE_FALSE(try_apply(state, AnnotationStep{relu, 1, Annotation::parallel}));
  REQUIRE_FALSE(try_apply(state, PragmaStep{conv, 0, "auto_unroll_max_step$16"}));
  CHECK(state.has_bounds());
  const Result<State, ScheduleError> again = replay(state.restart(), state.steps());
  REQUIRE(again);
  REQUIRE_FALSE(again->has_bounds());
  CHECK(state_text(state) == state_text(bounded(*again)));
  State bound = state;
  REQUIRE_FALSE(try_apply(bound, AnnotationStep{relu, 2, Annotation::thread_x}));
  CHECK_FALSE(bound.has_bounds());
  REQUIRE_FALSE(try_apply(state, FuseStep{relu, {1, 2}}));
  CHECK_FALSE(state.has_bounds());
}

TEST_CASE("bounds through fused loops") {
  ScheduleBuilder s(matmul_dag(16, 16, 16));
  s.cache_write(2, "local");
  s.split(3, 0, {4});
  s.split(3, 2, {8});
  s.reorder(3, {0, 2, 1, 3});
  s.compute_at(2, 3, 1);
  s.fuse(3, {0, 1});
  const State state = bounded(s.state());
  CHECK(extents(state, 3) == Ids{8, 4, 8});
  CHECK(extents(state, 2) == Ids{4, 8, 16});
}

TEST_CASE("threads share one region of a stage in shared memory, not of a local one") {
  for (const char* scope : {"shared", "local"}) {
    ScheduleBuilder s(matmul_dag(64, 64, 16));
    const std::int32_t cache = s.cache_read(0, scope, {2});
    const std::int32_t result = s.stage("C");
    s.split(result, 0, {32});
    s.annotate(result, 0, Annotation::block_x);
    s.annotate(result, 1, Annotation::thread_x);
    s.compute_at(cache, result, 1);
    CHECK(extents(bounded(s.state()), static_cast<std::size_t>(cache)) ==
          (scope == std::string("shared") ? Ids{32, 16} : Ids{1, 16}));
  }
}

TEST_CASE("an extent that varies is given by its largest value") {
  te::Program p;  // every second row twice: rows i floordiv 2
  auto A = p.placeholder("A", {8});
  auto B = p.compute("B", {8}, [&](auto i) { return A(i) + 1; });
  auto C = p.compute("C", {13}, [&](auto i) { return B(te::floordiv(i, 2)); });
  ScheduleBuilder s(p.dag({A, C}));
  s.split(2, 0, {3});
  s.compute_at(1, 2, 0);
  CHECK(extents(bounded(s.state()), 1) == Ids{2});  // rows 0..1, 1..2, 3..4, ...
}

TEST_CASE("blocks of the flat index of an image: rows and columns of a block, by enumeration") {
  for (std::int64_t width = 2; width <= 12; ++width) {
    for (std::int64_t block = 2; block <= 12; ++block) {
      const std::int64_t num_blocks = 2 * width, height = 2 * block;
      te::Program p;
      auto A = p.placeholder("A", {height, width});
      auto B = p.compute("B", {height, width}, [&](auto y, auto x) { return A(y, x) + 1; });
      auto C = p.compute("C", {num_blocks * block}, [&](auto i) {
        return B(te::floordiv(i, static_cast<int>(width)),
                 te::floormod(i, static_cast<int>(width)));
      });
      ScheduleBuilder s(p.dag({A, C}));
      s.split(2, 0, {block});
      s.compute_at(1, 2, 0);
      std::int64_t rows = 0;
      for (std::int64_t first = 0; first < num_blocks * block; first += block) {
        rows = std::max(rows, (first + block - 1) / width - first / width + 1);
      }
      CAPTURE(width, block);
      CHECK(extents(bounded(s.state()), 1) == Ids{rows, width % block == 0 ? block : width});
    }
  }
}

TEST_CASE("a stage needed by two readers covers both") {
  te::Program p;
  auto A = p.placeholder("A", {20});
  auto B = p.compute("B", {20}, [&](auto i) { return A(i) + 1; });
  auto C = p.compute("C", {10}, [&](auto i) { return B(i) + B(i + 4); });
  ScheduleBuilder s(p.dag({A, C}));
  s.compute_at(1, 2, 0);
  CHECK(extents(bounded(s.state()), 1) == Ids{5});
  s.compute_root(1);
  CHECK(extents(bounded(s.state()), 1) == Ids{14});
}
