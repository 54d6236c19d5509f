// SPDX-License-Identifier: Apache-2.0
#include "tensorsmith/search/population/sample.hpp"

#include <set>

#include "support/catch.hpp"
#include "unit/search/search_fixtures.hpp"

namespace tensorsmith {

TEST_CASE("fill_tile_size decides every length with a divisor chain") {
  const SearchSpace space = test::space_of(test::matmul_dag(48, 36, 60));
  for (std::uint32_t sketch = 0; sketch < space.sketches().size(); ++sketch) {
    Candidate candidate = space.sketch(sketch);
    CounterRng rng(3, 0, 0, sketch);
    REQUIRE(FillTileSize{}.apply(space, candidate, rng));
    CHECK(candidate.state.is_concrete());
    for (const Step& step : candidate.state.steps()) {
      if (const SplitStep* split = std::get_if<SplitStep>(&step)) {
        std::int64_t product = 1;
        for (std::int64_t length : split->lengths) {
          product *= length;
        }
        CHECK(product >= 1);
        CHECK(split->extent % product == 0);
      }
    }
  }
}

TEST_CASE("samples are complete, legal and varied") {
  const SearchSpace space = test::space_of(test::matmul_dag(128, 128, 128, true));
  std::set<std::string> texts;
  for (std::uint32_t i = 0; i < 40; ++i) {
    const Candidate candidate = test::sample_of(space, i);
    CHECK(candidate.state.is_concrete());
    CHECK(test::count_steps<PragmaStep>(candidate.state) >= 1);
    texts.insert(state_text(candidate.state));
    for (std::size_t stage = 0; stage < candidate.state.num_stages(); ++stage) {
      const auto& at = candidate.state.stage(stage);
      for (const auto& it : at.iterators) {
        CHECK((at.compute_at == ComputeAt::inlined || it.extent.has_value()));
      }
    }
  }
  CHECK(texts.size() > 30);
}

TEST_CASE("parallelize collects loops up to 16 iterations per core") {
  const SearchSpace space = test::space_of(test::row_sum_dag(4, 8), 8);
  Candidate candidate{space.initial(), Candidate::no_sketch, nullptr};
  REQUIRE(space.refresh(candidate));
  CounterRng rng(1);
  REQUIRE(BasicParallelize<ReferenceDrawing>{}.apply(space, candidate, rng));
  CHECK(candidate.state.stage(1).iterators[0].name == "i@j@");  // 32 <= 128: both
  CHECK(candidate.state.stage(1).iterators[0].annotation == Annotation::parallel);
  CHECK(candidate.state.stage(2).iterators[0].name == "i");  // stops at the reduction

  const SearchSpace one_core = test::space_of(test::row_sum_dag(20, 8), 1);
  Candidate other{one_core.initial(), Candidate::no_sketch, nullptr};
  REQUIRE(one_core.refresh(other));
  REQUIRE(Parallelize{}.apply(one_core, other, rng));
  CHECK(other.state.stage(1).iterators[0].name == "i");  // 20 > 16: enough
}

TEST_CASE("parallelize leaves the innermost loop to vectors") {
  const auto parallelized = [](std::int64_t rows, std::int64_t columns, std::int32_t num_cores) {
    const SearchSpace space = test::space_of(test::row_sum_dag(rows, columns), num_cores);
    Candidate candidate{space.initial(), Candidate::no_sketch, nullptr};
    REQUIRE(space.refresh(candidate));
    CounterRng rng(1);
    REQUIRE(Parallelize{}.apply(space, candidate, rng));
    return candidate.state;
  };
  const State rows = parallelized(4, 8, 8);
  REQUIRE(rows.stage(1).iterators.size() == 2);
  CHECK(rows.stage(1).iterators[0].annotation == Annotation::parallel);
  CHECK(rows.stage(1).iterators[1].annotation == Annotation::none);
  CHECK(rows.stage(2).iterators[0].annotation == Annotation::parallel);  // reduces inside

  const State one_core = parallelized(65536, 8, 1);
  REQUIRE(one_core.stage(3).iterators.size() == 1);
  CHECK(one_core.stage(3).iterators[0].annotation == Annotation::none);
  // Nothing else to share.
  const State four_cores = parallelized(65536, 8, 4);
  REQUIRE(four_cores.stage(3).iterators.size() == 1);
  CHECK(four_cores.stage(3).iterators[0].annotation == Annotation::parallel);
}

TEST_CASE("vectorize takes innermost spatial loops up to the limit") {
  const SearchSpace space = test::space_of(test::row_sum_dag(4, 8));
  std::set<std::size_t> counts;
  for (std::uint32_t i = 0; i < 20; ++i) {
    Candidate candidate{space.initial(), Candidate::no_sketch, nullptr};
    REQUIRE(space.refresh(candidate));
    CounterRng rng(1, 0, 0, i);
    REQUIRE(Vectorize{}.apply(space, candidate, rng));
    CHECK(candidate.state.stage(1).iterators.back().annotation == Annotation::vectorize);
    CHECK(candidate.state.stage(1).iterators.back().name == "j");  // 4 * 8 > 16
    CHECK(candidate.state.stage(2).iterators.back().annotation == Annotation::none);
    CHECK(candidate.state.stage(3).iterators.back().annotation == Annotation::vectorize);
  }
}

TEST_CASE("unroll marks stages with reductions only, and the loops that are always unrolled") {
  te::Program p;
  auto a = p.placeholder("A", {8, 4});
  auto k = p.reduce_axis("k", 4);
  te::ComputeOptions options;
  options.attrs.always_unroll_inner = {"k"};
  auto c = p.compute(
      "C", {8}, [&](auto i) { return te::sum(a(i, k), {k}); }, options);
  auto d = p.compute("D", {8}, [&](auto i) { return c(i) + 1.0; });
  const SearchSpace space = test::space_of(p.dag({a, d}));
  Candidate candidate{space.initial(), Candidate::no_sketch, nullptr};
  REQUIRE(space.refresh(candidate));
  CounterRng rng(1);
  REQUIRE(Unroll{}.apply(space, candidate, rng));
  CHECK(candidate.state.stage(1).iterators[1].annotation == Annotation::unroll);
  CHECK(candidate.state.stage(1).iterators[0].annotation == Annotation::none);
  CHECK(test::count_steps<PragmaStep>(candidate.state) == 1);
}

TEST_CASE("change_compute_location moves a free stage to different places") {
  const SearchSpace space = test::space_of(test::row_sum_dag(64, 4));
  std::set<std::string> texts;
  for (std::uint32_t i = 0; i < 30; ++i) {
    Candidate candidate{space.initial(), Candidate::no_sketch, nullptr};
    REQUIRE(space.refresh(candidate));
    CounterRng rng(1, 0, 0, i);
    REQUIRE(ChangeComputeLocation{}.apply(space, candidate, rng));
    texts.insert(state_text(candidate.state));
  }
  CHECK(texts.size() >= 3);
}

TEST_CASE("rows of reductions along rows are drawn, one row among them, and nothing elsewhere") {
  SpaceOptions options;
  options.row_blocks = {2, 4, 8};
  const auto drawn = [](const SearchSpace& space) {
    std::set<std::int32_t> rows;
    for (std::uint32_t i = 0; i < 60; ++i) {
      CounterRng rng(5, 1, 2, i);
      if (const auto candidate = draw_candidate(space, NativeCpuPopulation{}, rng)) {
        for (std::size_t s = 0; s < candidate->state.num_stages(); ++s) {
          const bool reduces = !candidate->state.operation(s).reduce_axes.empty();
          const std::int32_t count = candidate->state.stage(s).hints.get<hints::RowBlock>().rows;
          CHECK((count == 0 || reduces));
          if (reduces) {
            rows.insert(count);
          }
        }
      }
    }
    return rows;
  };
  CHECK(drawn(test::space_of(test::row_sum_dag(64, 48), 4, options)) ==
        std::set<std::int32_t>{0, 2, 4, 8});
  CHECK(drawn(test::space_of(test::row_sum_dag(64, 48))) == std::set<std::int32_t>{0});
  CHECK(drawn(test::space_of(test::matmul_dag(64, 64, 64), 4, options)) ==
        std::set<std::int32_t>{0});
}

TEST_CASE("the same key draws the same program") {
  const SearchSpace space = test::space_of(test::matmul_dag(128, 128, 128));
  CounterRng first(5, 1, 2, 3), second(5, 1, 2, 3);
  const auto a = draw_candidate(space, NativeCpuPopulation{}, first);
  const auto b = draw_candidate(space, NativeCpuPopulation{}, second);
  REQUIRE(a.has_value() == b.has_value());
  REQUIRE(a);
  CHECK(a->state.steps() == b->state.steps());
}

}  // namespace tensorsmith
