// SPDX-License-Identifier: Apache-2.0
#include "tensorsmith/sketch/stage_query.hpp"

#include "support/catch.hpp"
#include "tensorsmith/sketch/grow.hpp"
#include "unit/sketch/sketch_fixtures.hpp"

namespace tensorsmith {

TEST_CASE("consumers look through inlined stages") {
  te::Program p;
  auto a = p.placeholder("A", {8});
  auto b = p.compute("B", {8}, [&](auto i) { return a(i) + 1.0; });
  auto c = p.compute("C", {8}, [&](auto i) { return b(i) * 2.0; });
  auto d = p.compute("D", {8}, [&](auto i) { return b(i) * 3.0 + c(i); });
  State state = State::initial(p.dag({a, d}));
  const AccessAnalysis analysis(state.dag());
  CHECK(consumers(state, analysis, 1) == std::vector<std::int32_t>{2, 3});
  CHECK_FALSE(single_elementwise_consumer(state, analysis, 1));
  CHECK(single_consumer(state, analysis, 2) == 3);
  CHECK_FALSE(single_consumer(state, analysis, 3));
  grow(state, ComputeInlineStep{2});
  CHECK(consumers(state, analysis, 1) == std::vector<std::int32_t>{3});
  CHECK(single_consumer(state, analysis, 1) == 3);
}

TEST_CASE("several consumers have a common one if they stand in one root stage") {
  te::Program p;
  auto a = p.placeholder("A", {8});
  auto b = p.compute("B", {8}, [&](auto i) { return a(i) + 1.0; });
  auto c = p.compute("C", {8}, [&](auto i) { return b(i) * 2.0; });
  auto d = p.compute("D", {8}, [&](auto i) { return b(i) * 3.0 + c(i); });
  State state = State::initial(p.dag({a, d}));
  const AccessAnalysis analysis(state.dag());
  CHECK_FALSE(single_consumer(state, analysis, 1));
  grow(state, ComputeAtStep{2, 3, 0});
  CHECK(single_consumer(state, analysis, 1) == 3);
}

TEST_CASE("a matmul fuses with its relu, not with another reduction") {
  const State fused = State::initial(test::matmul_dag(8, 8, 8, true));
  CHECK(single_elementwise_consumer(fused, AccessAnalysis(fused.dag()), 2) == 3);
  CHECK(untiled_elementwise_consumer(fused, AccessAnalysis(fused.dag()), 2) == 3);
  State tiled = fused;
  grow(tiled, split_of(tiled, 3, 0, {2}));
  CHECK_FALSE(untiled_elementwise_consumer(tiled, AccessAnalysis(tiled.dag()), 2));
  const State rows = State::initial(test::row_sum_dag(8, 16));
  const AccessAnalysis analysis(rows.dag());
  CHECK_FALSE(single_elementwise_consumer(rows, analysis, 1));
  CHECK(single_elementwise_consumer(rows, analysis, 2) == 3);
}

TEST_CASE("an argument of the kernel fuses with none of its readers") {
  te::Program p;
  auto a = p.placeholder("A", {8, 8}), b = p.placeholder("B", {8, 8});
  auto k = p.reduce_axis("k", 8);
  auto c = p.compute("C", {8, 8}, [&](auto i, auto j) { return te::sum(a(i, k) * b(k, j), {k}); });
  auto d = p.compute("D", {8, 8}, [&](auto i, auto j) { return te::max(c(i, j), 0); });
  const State inner = State::initial(p.dag({a, b, d}));
  CHECK(single_elementwise_consumer(inner, AccessAnalysis(inner.dag()), 2) == 3);
  const State outer = State::initial(p.dag({a, b, c, d}));
  CHECK_FALSE(single_elementwise_consumer(outer, AccessAnalysis(outer.dag()), 2));
}

TEST_CASE("the cache of a cache write is found under its present id") {
  State state = State::initial(test::matmul_dag(8, 8, 8));
  CHECK_FALSE(has_cache_write(state, 2));
  grow(state, CacheWriteStep{2, "local"});
  CHECK(has_cache_write(state, 2));
  CHECK_FALSE(has_cache_write(state, 3));
  grow(state, CacheReadStep{0, "local", {2}});
  CHECK(has_cache_write(state, 3));
  CHECK_FALSE(has_cache_write(state, 2));
}

TEST_CASE("tiled means another number of iterators, fused included") {
  State state = State::initial(test::matmul_dag(8, 8, 8));
  CHECK_FALSE(is_tiled(state, 2));
  CHECK(has_non_spatial_iterator(state, 2));
  CHECK(extent_product(state, 2, IteratorKind::spatial) == 64);
  CHECK(extent_product(state, 2, IteratorKind::reduction) == 8);
  grow(state, FuseStep{2, {0, 1}});
  CHECK(is_tiled(state, 2));
}

TEST_CASE("original names drop tile levels") {
  CHECK(original_names("i.0@j.1@") == std::vector<std::string>{"i", "j"});
  CHECK(original_names("k_o.2") == std::vector<std::string>{"k_o"});
  CHECK(original_names("").empty());
}

}  // namespace tensorsmith
