// SPDX-License-Identifier: Apache-2.0
#include "tensorsmith/sketch/tiling.hpp"

#include "support/catch.hpp"
#include "unit/sketch/sketch_fixtures.hpp"

namespace tensorsmith {
namespace {

std::vector<std::string> names_of(const State& state, std::size_t stage) {
  std::vector<std::string> names;
  for (const auto& it : state.stage(stage).iterators) {
    names.push_back(it.name);
  }
  return names;
}

}  // namespace

TEST_CASE("SSRSRS tiling of a matmul") {
  State state = State::initial(test::matmul_dag(512, 512, 512));
  const std::vector<std::int32_t> splits = tile_stage(state, 2, "SSRSRS");
  CHECK(splits == std::vector<std::int32_t>{0, 1});
  CHECK(names_of(state, 2) == std::vector<std::string>{"i.0", "j.0", "i.1", "j.1", "k.0", "i.2",
                                                       "j.2", "k.1", "i.3", "j.3"});
  CHECK(state.steps().size() == 4);
  CHECK_FALSE(state.is_concrete());
}

TEST_CASE("a structure with one reduction level leaves reductions whole") {
  State state = State::initial(test::matmul_dag(8, 8, 8));
  tile_stage(state, 2, "SRS");
  CHECK(names_of(state, 2) == std::vector<std::string>{"i.0", "j.0", "k", "i.1", "j.1"});
  CHECK(state.steps().size() == 3);
}

TEST_CASE("iterators that must not be split go whole into the innermost level") {
  te::Program p;
  auto a = p.placeholder("A", {4, 8}), b = p.placeholder("B", {8, 16});
  auto k = p.reduce_axis("k", 8);
  te::ComputeOptions options;
  options.attrs.no_split_at_inner = {"j", "k"};
  auto c = p.compute(
      "C", {4, 16}, [&](auto i, auto j) { return te::sum(a(i, k) * b(k, j), {k}); }, options);
  State state = State::initial(p.dag({a, b, c}));
  const std::vector<std::int32_t> splits = tile_stage(state, 2, "SSRSRS");
  CHECK(splits == std::vector<std::int32_t>{0});
  CHECK(names_of(state, 2) == std::vector<std::string>{"i.0", "i.1", "i.2", "k", "j", "i.3"});
}

TEST_CASE("a consumer follows the tiles and its annotations move") {
  State state = State::initial(test::matmul_dag(64, 64, 64, true));
  const std::vector<std::int32_t> splits = tile_stage(state, 2, "SSRSRS");
  grow(state, AnnotationStep{3, 1, Annotation::vectorize});
  follow_tiling(state, 3, splits, 2);
  CHECK(names_of(state, 3) == std::vector<std::string>{"i.0", "j.0", "i.1", "j.1", "i.2", "j.2"});
  CHECK(state.stage(3).iterators[5].annotation == Annotation::vectorize);
  CHECK(state.stage(3).iterators[4].annotation == Annotation::none);
}

}  // namespace tensorsmith
