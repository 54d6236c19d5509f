// SPDX-License-Identifier: Apache-2.0
#include "draft_fixtures.hpp"

#include "tensorsmith/te/program.hpp"

using namespace tensorsmith;
using namespace tensorsmith::test;

namespace {

/// How many times faster a product is thought to be on a Zen 5 that asks for the next block of B.
double gain_by_blocks_ahead(const State& initial, std::vector<Step> steps) {
  Target target = *Target::from_name("znver5");
  target.caches.l2_bytes = 1 << 20;
  target.caches.l3_bytes = 32 << 20;
  const double without = draft_cycles(bounded(initial, steps), target);
  steps.push_back(PragmaStep{2, 0, "prefetch_block$1$1"});
  return without / draft_cycles(bounded(initial, std::move(steps)), target);
}

/// A product of `n` columns and `k` terms: C in chunks of columns, tiles of `width` of them, B in
/// blocks of so many rows of a chunk.
std::vector<Step> in_chunks(std::int64_t n, std::int64_t k, std::int64_t columns,
                            std::int64_t width, std::int64_t rows) {
  return {SplitStep{2, 1, n, {columns / width, width}, true}, SplitStep{2, 4, k, {rows}, true},
          ReorderStep{2, {1, 4, 2, 5, 0, 3}}};
}
State with_hint(const State& initial, std::vector<Step> steps, const char* hint) {
  steps.push_back(PragmaStep{2, 0, hint});
  return bounded(initial, std::move(steps));
}

}  // namespace

TEST_CASE("a run of pixels touches as many as it is long") {
  const Target target = *Target::from_name("znver5");
  const State pixels =
      bounded(State::initial(dag_of("conv2d:n=1,h=7,w=7,ci=2048,co=512,k=1,s=1,p=0,layout=nhwc")),
              {ReorderStep{2, {0, 1, 2, 3, 5, 6, 4}}, FuseStep{2, {0, 1, 2}},
               SplitStep{2, 0, 49, {5}, true}, SplitStep{2, 2, 512, {64}, true},
               SplitStep{2, 6, 2048, {128}, true}, ReorderStep{2, {6, 0, 2, 4, 5, 7, 1, 3}}});
  const State rows =
      bounded(State::initial(dag_of("gemm:49x512x2048:f32")),
              {SplitStep{2, 0, 49, {5}, true}, SplitStep{2, 2, 512, {64}, true},
               SplitStep{2, 4, 2048, {128}, true}, ReorderStep{2, {4, 0, 2, 5, 1, 3}}});
  CHECK(draft_parts(pixels, target).levels[0] ==
        test::Approx(draft_parts(rows, target).levels[0]).epsilon(0.1));
}

TEST_CASE("vectors that lie in two lines take two loads") {
  const auto core = [&](const char* workload, std::int64_t columns, std::int64_t width) {
    const State state =
        bounded(State::initial(dag_of(workload)),
                {SplitStep{2, 0, 64, {2}, true}, SplitStep{2, 2, columns, {width}, true},
                 ReorderStep{2, {0, 2, 4, 1, 3}}});
    return draft_parts(state, avx512()).core / static_cast<double>(columns);
  };
  const double aligned = core("gemm:64x1024x64:f32", 1024, 64);
  CHECK(core("gemm:64x1025x64:f32", 1025, 64) > 1.1 * aligned);
  CHECK(core("gemm:64x1040x64:f32", 1040, 64) < 1.1 * aligned);
}

TEST_CASE("a block that is gone before its turn is as slow as one that nobody asked for") {
  const State initial = State::initial(dag_of("gemm:8x1024x65536:f32"));
  const auto gain = [&](std::int64_t block) {
    return gain_by_blocks_ahead(initial, {SplitStep{2, 1, 1024, {64}, true},
                                          SplitStep{2, 3, 65536, {block}, true},
                                          ReorderStep{2, {3, 1, 4, 0, 2}}});
  };
  CHECK(gain(32) > 1);     // 2 x 128 KB wait in the second cache
  CHECK(gain(1024) <= 1);  // 2 x 4 MB do not
}

TEST_CASE("a block is late if the one before it takes no time") {
  const State initial = State::initial(dag_of("gemm:2x2048x16384:f32"));
  // C in chunks of columns, B in blocks of 4 rows of a chunk, each read by one run per tile. Rows
  // of B are short, so that little of the time goes to finding pages, which no lead shortens.
  const auto share_hidden = [&](std::int64_t columns) {
    return 1 - 1 / gain_by_blocks_ahead(initial, in_chunks(2048, 16384, columns, 16, 4));
  };
  CHECK(share_hidden(1024) > 0.05);
  CHECK(share_hidden(1024) > 2 * share_hidden(16));
}

TEST_CASE("lines that are asked for behind the end of a stretch, or too far ahead, are in vain") {
  const State initial = State::initial(dag_of("gemm:4x4096x4096:f32"));
  Target target = *Target::from_name("x86-64-v3");
  target.caches.l1d_bytes = 32 << 10;
  target.caches.l2_bytes = 512 << 10;
  target.caches.l3_bytes = 32 << 20;
  // B in chunks of columns, 16 rows of a chunk at a time.
  const auto parts = [&](std::int64_t columns, const char* ahead) {
    return draft_parts(with_hint(initial, in_chunks(4096, 4096, columns, 32, 16), ahead), target);
  };
  const auto from_memory = [&](std::int64_t columns, const char* ahead) {
    return parts(columns, ahead).levels[2];
  };
  CHECK(from_memory(512, "prefetch$1$24$1") > 1.3 * from_memory(512, "prefetch$1$6$1"));
  CHECK(from_memory(4096, "prefetch$1$24$1") ==
        test::Approx(from_memory(4096, "prefetch$1$6$1")).epsilon(0.01));
  // 1 MB of 16 rows has gone from the first two caches when it is wanted.
  const DraftParts near = parts(4096, "prefetch$1$6$1"), far = parts(4096, "prefetch$1$1000$1");
  CHECK(far.levels[2] == test::Approx(near.levels[2]).epsilon(0.01));
  CHECK(far.ahead < 0.95 * near.ahead);
}

TEST_CASE("what a stage reads in the same iteration as another one is there") {
  te::Program p;
  auto a = p.placeholder("A", {4096, 4096});
  auto k = p.reduce_axis("k", 4096);
  auto sum = p.compute("S", {4096}, [&](auto i) { return te::sum(a(i, k), {k}); });
  auto scaled = p.compute("Y", {4096, 4096}, [&](auto i, auto j) { return a(i, j) * sum(i); });
  const State initial = State::initial(p.dag({a, scaled}));
  Target target = *Target::from_name("x86-64-v3");
  target.caches.l2_bytes = 512 << 10;
  target.caches.l3_bytes = 16 << 20;
  const auto from_memory = [&](std::int64_t rows) {
    std::vector<Step> steps = {SplitStep{2, 0, 4096, {rows}, true}};
    if (rows > 1) {
      steps.push_back(ComputeAtStep{1, 2, 0});
    }
    return draft_parts(bounded(initial, std::move(steps)), target).levels[2];
  };
  const double apart = from_memory(1);
  CHECK(from_memory(8) < 0.8 * apart);                            // A once, and Y
  CHECK(from_memory(2048) == test::Approx(apart).epsilon(0.05));  // 32 MB between
}

TEST_CASE("short stretches in one set of the first cache come one after the other") {
  Target target = *Target::from_name("znver4");
  target.caches.l1d_bytes = 32 << 10;
  target.caches.l2_bytes = 1 << 20;
  target.rates = CoreRates{};
  target.rates->bytes_per_cycle[0] = 32;
  target.rates->latency[0] = 0;
  // 48 rows are summed, so many columns at a time; cycles per line.
  const auto from_l2 = [&](std::int64_t columns, std::int64_t at_a_time, double same_set) {
    target.rates->same_set = same_set;
    te::Program p;
    auto a = p.placeholder("A", {48, columns});
    auto k = p.reduce_axis("k", 48);
    auto sum = p.compute("S", {columns}, [&](auto j) { return te::sum(a(k, j), {k}); });
    const State state =
        bounded(State::initial(p.dag({a, sum})),
                {SplitStep{1, 0, columns, {at_a_time}, true}, ReorderStep{1, {0, 2, 1}}});
    return draft_parts(state, target).levels[0] / (48 * static_cast<double>(columns) / 16);
  };
  const double streamed = from_l2(2048, 16, 0);
  CHECK(streamed == test::Approx(2 * (1 + 2. / 48)).epsilon(0.01));  // what is stored, too
  // 8 of the 48 lines of a set have room: the others wait for each other.
  CHECK(from_l2(2048, 16, 12) == test::Approx(2 + 40. / 48 * (12 - 2)).epsilon(0.01));
  CHECK(from_l2(2048, 32, 12) < from_l2(2048, 16, 12));
  CHECK(from_l2(2048, 128, 12) == test::Approx(streamed).epsilon(0.2));
  CHECK(from_l2(2064, 16, 12) == test::Approx(streamed).epsilon(0.01));
}

TEST_CASE("finding pages comes on top of a stream from memory, unless it was asked for") {
  const State initial = State::initial(dag_of("gemm:8x11008x4096:f32"));
  Target target = *Target::from_name("znver4");
  target.caches.l1d_bytes = 32 << 10;
  target.caches.l2_bytes = 1 << 20;
  target.caches.l3_bytes = 32 << 20;
  target.rates = CoreRates{};
  target.rates->bytes_per_cycle[2] = 1;
  // B, 180 MB, in rows of so many columns; cycles per page.
  const auto cost_of_pages = [&](std::int64_t columns, const char* ahead) {
    const State state = with_hint(initial, in_chunks(11008, 4096, columns, 16, 8), ahead);
    target.rates->page_miss[1] = 0;
    const double without = draft_cycles(state, target);
    target.rates->page_miss[1] = 200;
    return (draft_cycles(state, target) - without) / (11008 * 4096 * 4 / 4096.);
  };
  CHECK(cost_of_pages(11008, "auto_unroll_max_step$0") > 180);
  CHECK(cost_of_pages(11008, "prefetch$1$6$1") < 60);  // but for the first of each row
  CHECK(cost_of_pages(688, "prefetch$1$6$1") > 180);   // each stretch begins on a page
}
