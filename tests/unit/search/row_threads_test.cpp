// SPDX-License-Identifier: Apache-2.0
#include "tensorsmith/search/row_threads.hpp"

#include <map>
#include <set>

#include "support/catch.hpp"
#include "support/native_gpu_space.hpp"

namespace tensorsmith {
namespace {

SearchSpace rows_space(const char* workload) {
  const auto parsed = ops::parse_workload(workload);
  REQUIRE(parsed.has_value());
  return test::native_gpu_space(parsed->dag, Target::cuda(80).value());
}

/// The sketch that computes rows in one kernel.
std::uint32_t sketch_of_rows(const SearchSpace& space) {
  std::uint32_t found = Candidate::no_sketch;
  for (std::uint32_t s = 0; s < space.sketches().size(); ++s) {
    found = splits_of_rows(space.sketches()[s]).empty() ? found : s;
  }
  REQUIRE(found != Candidate::no_sketch);
  return found;
}

}  // namespace

TEST_CASE("threads of a row are all powers of two from a warp to what the row has work for") {
  const SearchSpace space = rows_space("softmax:512x1000");
  const std::uint32_t sketch = sketch_of_rows(space);
  const std::vector<std::size_t> splits = splits_of_rows(space.sketches()[sketch]);
  REQUIRE(splits.size() == 2);
  const auto& steps = space.sketches()[sketch].steps();
  std::set<std::int64_t> rows;
  std::map<std::int64_t, std::set<std::int64_t>> threads;  // by elements at once
  CounterRng rng(1);
  for (int draw = 0; draw < 400; ++draw) {
    for (std::size_t at : splits) {
      CHECK(space.splits().is_of_rows(sketch, at));
      const auto lengths = space.splits().draw(sketch, at, std::get<SplitStep>(steps[at]), rng);
      REQUIRE(lengths.has_value());
      if (lengths->size() == 1) {
        rows.insert(lengths->front());
      } else {
        threads[lengths->back()].insert(lengths->front());
      }
    }
  }
  using Set = std::set<std::int64_t>;
  CHECK(rows == Set{1, 2, 4, 8, 16, 32});
  CHECK(threads.size() == 3);
  CHECK(threads[4] == Set{32, 64, 128, 256});
  CHECK(threads[2] == Set{32, 64, 128, 256, 512});
  CHECK(threads[1] == Set{32, 64, 128, 256, 512, 1024});
}

TEST_CASE("a thread takes no more at once than divides a row and 16 bytes hold") {
  CounterRng rng(2);
  const auto widths = [&](std::int64_t extent, std::int64_t most) {
    std::set<std::int64_t> found;
    for (int draw = 0; draw < 100; ++draw) {
      found.insert(draw_vector_width(extent, most, rng));
    }
    return found;
  };
  using Set = std::set<std::int64_t>;
  CHECK(widths(1000, 8) == Set{1, 2, 4, 8});
  CHECK(widths(1004, 8) == Set{1, 2, 4});
  CHECK(widths(197, 4) == Set{1});
  CHECK(most_lanes(*ops::parse_workload("softmax:8x64")->dag) == 4);
  CHECK(most_lanes(*ops::parse_workload("rmsnorm:8x64:f16")->dag) == 8);
  CHECK(most_lanes(*ops::parse_workload("reduce_sum:8x64:i8")->dag) == 8);
}

TEST_CASE("drawn programs of rows keep the limits, and mutations draw their threads again") {
  const SearchSpace space = rows_space("layernorm:512x1024");
  const std::uint32_t sketch = sketch_of_rows(space);
  const std::vector<std::size_t> splits = splits_of_rows(space.sketches()[sketch]);
  std::size_t num_drawn = 0, num_changed = 0;
  for (std::uint32_t i = 0; i < 200; ++i) {
    CounterRng rng(3, 0, i);
    const auto drawn = draw_candidate(space, NativeGpuPopulation{}, rng);
    if (!drawn || drawn->sketch != sketch) {
      continue;
    }
    ++num_drawn;
    CHECK(fits_block(drawn->state, space.options()));
    CHECK(space.sketch_of(drawn->state.steps()) == sketch);
    const auto child = MutateTileSize{}.mutate(space, *drawn, rng);
    if (!child) {
      continue;
    }
    for (std::size_t at : splits) {
      const auto& before = std::get<SplitStep>(drawn->state.steps()[at]).lengths;
      const auto& after = std::get<SplitStep>(child->state.steps()[at]).lengths;
      num_changed += before == after ? 0 : 1;
      CHECK(all_items(after, [](std::int64_t n) { return n > 0 && (n & (n - 1)) == 0; }));
    }
  }
  CHECK(num_drawn > 10);
  CHECK(num_changed > 5);
}

TEST_CASE("elementwise stages get blocks of a warp and more, and vectors") {
  const auto workload =
      ops::pointwise({{64, 1024}, {ops::PointwiseOp::add, ops::PointwiseOp::relu}, DType::f32});
  const SearchSpace space = test::native_gpu_space(workload.dag, Target::cuda(80).value());
  std::set<std::int64_t> threads, lanes;
  for (std::uint32_t i = 0; i < 200; ++i) {
    CounterRng rng(4, 0, i);
    const auto drawn = draw_candidate(space, NativeGpuPopulation{}, rng);
    REQUIRE(drawn.has_value());
    const auto& iterators = drawn->state.stage(drawn->state.num_stages() - 1).iterators;
    REQUIRE(iterators.size() == 3);
    CHECK(iterators[0].annotation == Annotation::block_x);
    CHECK(iterators[1].annotation == Annotation::thread_x);
    CHECK(iterators[2].annotation == Annotation::vectorize);
    threads.insert(iterators[1].extent.value());
    lanes.insert(iterators[2].extent.value());
  }
  using Set = std::set<std::int64_t>;
  CHECK(threads == Set{32, 64, 128, 256, 512, 1024});
  CHECK(lanes == Set{1, 2, 4});
}

}  // namespace tensorsmith
