// SPDX-License-Identifier: Apache-2.0
#include "tensorsmith/search/search_space.hpp"

#include <algorithm>
#include <set>

#include "support/catch.hpp"
#include "support/native_gpu_space.hpp"
#include "unit/search/search_fixtures.hpp"

namespace tensorsmith {

TEST_CASE("conformance 11.7: length choices are the reference's factorizations") {
  const SearchSpace space = test::space_of(test::matmul_dag(512, 512, 512));
  REQUIRE(space.splits().choices(512, 3, 64) != nullptr);
  CHECK(space.splits().choices(512, 3, 64)->size() == 210);  // ch. 11.7
  CHECK(space.splits().choices(512, 1, 64)->size() == 7);
  CHECK(factorizations(512, 2, 64).size() == 49);
  CHECK(factorizations(512, 4, 64).size() == 700);
  CHECK(space.splits().choices(77, 1, 64) == nullptr);
  CounterRng rng(1);
  for (int i = 0; i < 100; ++i) {
    const auto lengths = space.splits().draw(512, 3, 64, rng);
    REQUIRE(lengths);
    CHECK(512 % ((*lengths)[0] * (*lengths)[1] * (*lengths)[2]) == 0);
    CHECK(lengths->back() <= 64);
  }
  CHECK(space.splits().draw(77, 1, 64, rng));
}

TEST_CASE("a history is built again as it was, and its sketch is found") {
  const SearchSpace space = test::space_of(test::matmul_dag(64, 64, 64));
  for (std::uint32_t i = 0; i < 20; ++i) {
    const Candidate candidate = test::sample_of(space, i);
    CHECK(space.sketch_of(candidate.state.steps()) == candidate.sketch);
    const auto again = space.build(candidate.state.steps(), candidate.sketch);
    REQUIRE(again);
    CHECK(state_text(again->state) == state_text(candidate.state));
  }
}

TEST_CASE("an illegal history builds nothing and belongs to no sketch") {
  const SearchSpace space = test::space_of(test::matmul_dag(64, 64, 64));
  const std::vector<Step> steps = {ReorderStep{2, {0, 0, 1}}};
  CHECK_FALSE(space.build(steps, Candidate::no_sketch));
  CHECK(space.sketch_of(steps) == Candidate::no_sketch);
}

TEST_CASE("two parallel loops in one loop tree are nested parallelism") {
  State state = State::initial(test::matmul_dag(8, 8, 8));
  grow(state, AnnotationStep{2, 0, Annotation::parallel});
  CHECK_FALSE(has_nested_parallel(state));
  grow(state, AnnotationStep{2, 1, Annotation::parallel});
  CHECK(has_nested_parallel(state));
}

TEST_CASE("tiles of warps may be rounded up, where few numbers divide them") {
  CHECK(wants_rounding(63));    // of 1000 rows
  CHECK(wants_rounding(6283));  // of 50257 columns
  for (std::int64_t extent : {1, 8, 12, 64, 96, 256, 320}) {
    CHECK_FALSE(wants_rounding(extent));
  }
  const auto products = [](const char* workload) {
    const SearchSpace space =
        test::native_gpu_space(ops::parse_workload(workload)->dag, Target::cuda(80).value());
    REQUIRE(splits_of_warps(space.sketches()[0]).size() == 3);
    std::set<std::int64_t> found;  // of rows
    for (std::uint32_t i = 0; i < 60; ++i) {
      CounterRng rng(3, 0, 0, i);
      Candidate candidate = space.sketch(0);
      REQUIRE(FillTileSize{}.apply(space, candidate, rng));
      const auto at = splits_of_warps(space.sketches()[0])[0];
      std::int64_t product = 1;
      for (std::int64_t length : std::get<SplitStep>(candidate.state.steps()[at]).lengths) {
        product *= length;
      }
      found.insert(product);
    }
    return found;
  };
  const auto divides = [](std::int64_t extent) {
    return [extent](std::int64_t length) { return extent % length == 0; };
  };
  const std::set<std::int64_t> whole = products("gemm:1024x1024x1024:f16");
  CHECK(std::all_of(whole.begin(), whole.end(), divides(64)));
  const std::set<std::int64_t> rounded = products("gemm:1000x1024x1024:f16");
  CHECK(std::any_of(rounded.begin(), rounded.end(), divides(64)));
  CHECK_FALSE(std::all_of(rounded.begin(), rounded.end(), divides(64)));
}

TEST_CASE("a space with rounding splits primes as if they were rounder numbers") {
  const SearchSpace space =
      test::space_of(test::matmul_dag(1021, 64, 48), 4, native_space_options());
  const std::vector<std::int64_t> rounded = space.splits().rounded_extents(1021);
  CHECK(rounded.front() == 1021);
  CHECK(std::find(rounded.begin(), rounded.end(), 1024) != rounded.end());
  std::set<std::int64_t> products;
  for (std::uint32_t number = 0; number < 200; ++number) {
    CounterRng rng(1, 2, number);
    const auto lengths = space.splits().draw(1021, 3, 64, rng);
    REQUIRE(lengths);
    CHECK(lengths->back() <= 64);
    std::int64_t product = 1;
    for (std::int64_t length : *lengths) {
      product *= length;
    }
    // The parts of a split of some rounded extent: no part is longer than that.
    const bool divides_one = std::any_of(rounded.begin(), rounded.end(),
                                         [&](std::int64_t e) { return e % product == 0; });
    CHECK(divides_one);
    products.insert(product);
  }
  CHECK(products.size() > 20);
  const SearchSpace exact = test::space_of(test::matmul_dag(1021, 64, 48));
  CHECK(exact.splits().rounded_extents(1021) == std::vector<std::int64_t>{1021});
}

TEST_CASE("the native space has longer innermost reductions, not longer tiles") {
  const auto dag = test::matmul_dag(512, 512, 512);
  const auto longest = [&](const SearchSpace& space) {
    std::int64_t spatial = 0, reduction = 0;
    for (std::uint32_t number = 0; number < 200; ++number) {
      CounterRng rng(5, 6, number);
      auto candidate = draw_candidate(space, NativeCpuPopulation{}, rng);
      REQUIRE(candidate);
      if (const auto child = MutateTileSize{}.mutate(space, *candidate, rng)) {
        candidate = child;
      }
      for (const Step& step : candidate->state.steps()) {
        const SplitStep* split = std::get_if<SplitStep>(&step);
        if (split != nullptr) {  // three levels of a spatial loop, one of a reduction
          auto& most = split->lengths.size() == 3 ? spatial : reduction;
          most = std::max(most, split->lengths.back());
        }
      }
    }
    return std::pair(spatial, reduction);
  };
  CHECK(longest(test::space_of(dag)) == std::pair<std::int64_t, std::int64_t>(64, 64));
  CHECK(longest(test::space_of(dag, 4, native_space_options())) ==
        std::pair<std::int64_t, std::int64_t>(64, 512));
}

TEST_CASE("mutations of a space with rounding give legal programs and leave its divisors") {
  const SearchSpace space =
      test::space_of(test::matmul_dag(1021, 64, 48), 4, native_space_options());
  std::size_t imperfect = 0, made = 0;
  for (std::uint32_t number = 0; number < 300; ++number) {
    CounterRng rng(3, 4, number);
    const auto parent = draw_candidate(space, NativeCpuPopulation{}, rng);
    REQUIRE(parent);
    const auto child = MutateTileSize{}.mutate(space, *parent, rng);
    if (!child) {
      continue;
    }
    ++made;
    for (const Step& step : child->state.steps()) {
      const SplitStep* split = std::get_if<SplitStep>(&step);
      std::int64_t product = 1;
      for (std::int64_t length : split != nullptr ? split->lengths : LengthList{}) {
        product *= length;
      }
      imperfect += split != nullptr && split->extent % product != 0 ? 1 : 0;
    }
  }
  CHECK(made > 200);
  CHECK(imperfect > 20);
}

TEST_CASE("parts of a sum stay as the sketch says, threads of a reduction are only proposed") {
  const auto workload = ops::parse_workload("gemm:8x12x1024:i32");
  REQUIRE(workload.has_value());
  const SearchSpace space = test::native_gpu_space(workload->dag, Target::cuda(80).value());
  std::size_t with_both = 0;
  for (std::uint32_t sketch = 0; sketch < space.sketches().size(); ++sketch) {
    const std::vector<Step>& steps = space.sketches()[sketch].steps();
    std::size_t parts = 0, threads = 0;
    for (std::size_t at = 0; at + 1 < steps.size(); ++at) {
      const SplitStep* split = std::get_if<SplitStep>(&steps[at]);
      if (split == nullptr || has_item(split->lengths, unknown_length)) {
        continue;
      }
      const bool is_part = std::holds_alternative<RfactorStep>(steps[at + 1]);
      (is_part ? parts : threads) += 1;
      CHECK(space.splits().is_open(sketch, at) == !is_part);
    }
    with_both += parts > 0 && threads > 0 ? 1 : 0;
  }
  CHECK(with_both > 0);
}

}  // namespace tensorsmith
