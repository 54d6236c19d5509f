// SPDX-License-Identifier: Apache-2.0
#include "tensorsmith/te/access_analysis.hpp"

#include "support/catch.hpp"
#include "tensorsmith/te/program.hpp"
#include "unit/te/conv_block.hpp"

using namespace tensorsmith;
using Ids = std::vector<std::uint32_t>;

namespace {

template <class Predicate>
Ids stages_with(const AccessAnalysis& analysis, Predicate predicate) {
  Ids ids;
  for (std::uint32_t id = 0; id < analysis.num_stages(); ++id) {
    if (predicate(id)) {
      ids.push_back(id);
    }
  }
  return ids;
}

}  // namespace

TEST_CASE("conformance 11.2: conv block 1x224x224x3 --> 64, 7x7, stride 2", "[te]") {
  const auto dag = test::conv_block(224, 3, 64, 7, 2, 3);
  std::vector<std::string> names;
  for (const Operation& op : dag->operations()) {
    names.push_back(op.name);
  }
  CHECK(names == std::vector<std::string>{"Data", "pad_temp", "Kernel", "conv", "Bias", "Bias_add",
                                          "Bn_scale", "Bn_mul", "Bn_offset", "Bn_add", "relu"});
  const AccessAnalysis a(*dag);
  CHECK(stages_with(a, [&](auto id) { return a.needs_multi_level_tiling(id); }) == Ids{3});
  CHECK(stages_with(a, [&](auto id) { return !a.is_simple_access(id); }) == Ids{3});
  CHECK(stages_with(a, [&](auto id) { return a.is_strictly_inlineable(id); }) == Ids{5, 7, 9, 10});
  CHECK(stages_with(a, [&](auto id) { return a.is_output(id); }) == Ids{10});
  CHECK(stages_with(a, [&](auto id) { return a.is_placeholder(id); }) == Ids{0, 2, 4, 6, 8});
  CHECK(stages_with(a, [&](auto id) { return a.has_branch(id); }) == Ids{1});
  CHECK(a.num_common_outer_iterators(3, 5) == 4);
  CHECK(a.num_common_outer_iterators(3, 10) == 4);
  CHECK(a.num_common_outer_iterators(0, 10) == 1);
  CHECK(a.num_common_outer_iterators(10, 0) == 0);
  CHECK(a.num_common_outer_iterators(0, 2) == 0);
  CHECK(a.elementwise_match(3, 5));
  CHECK(a.elementwise_match(3, 10));
  CHECK_FALSE(a.elementwise_match(0, 1));
  CHECK_FALSE(a.elementwise_match(10, 3));
}

TEST_CASE("conformance 11.2: consumers look through inlined stages", "[te]") {
  const auto dag = test::conv_block(224, 3, 64, 7, 2, 3);
  const AccessAnalysis a(*dag);
  const auto none = [](std::uint32_t) { return false; };
  const auto inlined = [](std::uint32_t id) { return id == 9 || id == 7 || id == 5 || id == 1; };
  CHECK(a.consumers(0, none) == Ids{1});
  CHECK(a.consumers(0, inlined) == Ids{3});
  CHECK(a.consumers(2, inlined) == Ids{3});
  CHECK(a.consumers(3, inlined) == Ids{10});
  CHECK(a.producers(10, none) == Ids{9});
  CHECK(a.producers(10, inlined) == Ids{3, 4, 6, 8});
  CHECK(a.producers(3) == Ids{1, 2});
  CHECK(a.readers(3) == Ids{5});
  CHECK(a.consumers(10, inlined).empty());
}

TEST_CASE("a diamond: two readers, paths with different common iterators", "[te]") {
  te::Program p;
  const auto a = p.placeholder("A", {4, 4});
  const auto b = p.compute("B", {4, 4}, [&](auto i, auto j) { return a(i, j) + 1; });
  const auto c = p.compute("C", {4, 4}, [&](auto i, auto j) { return b(i, j) * 2; });
  const auto d = p.compute("D", {4, 4}, [&](auto i, auto j) { return b(i, j) + c(j, i); });
  const auto dag = p.dag({a, d});
  const AccessAnalysis analysis(*dag);
  CHECK_FALSE(analysis.elementwise_match(1, 3));  // B has two readers
  CHECK_FALSE(analysis.elementwise_match(2, 3));  // transposed
  CHECK(analysis.num_common_outer_direct(1, 3) == 2);
  CHECK(analysis.num_common_outer_direct(2, 3) == 0);
  CHECK(analysis.num_common_outer_direct(0, 3) == 0);
  CHECK(analysis.num_common_outer_iterators(1, 3) == 0);
  CHECK_FALSE(analysis.is_strictly_inlineable(3));  // not in order
  CHECK(analysis.is_simple_access(3));
}

TEST_CASE("the rules of inlining and tiling", "[te]") {
  te::Program p;
  const auto x = p.placeholder("X", {8, 8}), u = p.placeholder("U", {8}),
             v = p.placeholder("V", {8});
  const auto diagonal = p.compute("diagonal", {8}, [&](auto i) { return x(i, i); });
  const auto exp = p.compute("exp", {8}, [&](auto i) { return te::exp(diagonal(i)); });
  const auto tanh = p.compute("tanh", {8}, [&](auto i) { return te::tanh(exp(i)); });
  const auto outer = p.compute("outer", {8, 8}, [&](auto i, auto j) { return u(i) * v(j); });
  const auto constant = p.compute("constant", {8}, [&](auto i) {
    return te::select(i > 3, te::exp(te::cast(DType::f32, i)), 0);
  });
  const auto strided = p.compute("strided", {4}, [&](auto i) { return tanh(i * 2) + constant(i); });
  const auto all =
      p.compute("all", {4, 8}, [&](auto i, auto j) { return strided(i) + outer(i, j) + u(2); });
  const auto dag = p.dag({x, u, v, all});
  const AccessAnalysis a(*dag);
  const auto id = [&](const te::Tensor& t) { return dag->tensor(t.id()).operation; };
  CHECK(a.is_simple_access(id(diagonal)));
  CHECK_FALSE(a.is_strictly_inlineable(id(diagonal)));  // axis twice
  CHECK_FALSE(a.is_strictly_inlineable(id(exp)));       // expensive
  CHECK(a.is_strictly_inlineable(id(tanh)));            // only exp is
  CHECK(a.is_strictly_inlineable(id(outer)));
  CHECK(a.needs_multi_level_tiling(id(outer)));   // two broadcasts
  CHECK(a.is_strictly_inlineable(id(constant)));  // reads nothing
  CHECK_FALSE(a.is_simple_access(id(strided)));
  CHECK(a.needs_multi_level_tiling(id(all)));  // strided(i) and u(2) miss j
  CHECK(a.is_strictly_inlineable(id(all)));
}

TEST_CASE("fake reductions are not tiled", "[te]") {
  for (bool is_fake : {false, true}) {
    te::Program p;
    const auto x = p.placeholder("X", {4, 4}), y = p.placeholder("Y", {4, 4});
    const auto k = p.reduce_axis("k", 4);
    te::ComputeOptions options;
    if (is_fake) {
      options.attrs.simplify_const_tensor_indices = {"i", "k"};
    }
    const auto z = p.compute(
        "Z", {4, 4}, [&](auto i, auto j) { return te::sum(x(i, k) * y(k, j), {k}); }, options);
    CHECK(AccessAnalysis(*p.dag({x, y, z})).needs_multi_level_tiling(2) == !is_fake);
  }
}

TEST_CASE("two reads of one tensor are data to reuse like reads of two", "[te]") {
  te::Program p;
  const auto x = p.placeholder("X", {8, 4});
  const auto k = p.reduce_axis("k", 8);
  const auto gram =
      p.compute("G", {4, 4}, [&](auto i, auto j) { return te::sum(x(k, i) * x(k, j), {k}); });
  const auto m = p.reduce_axis("m", 8);
  const auto squares = p.compute("S", {4}, [&](auto j) { return te::sum(x(m, j) * x(m, j), {m}); });
  const auto dag = p.dag({x, gram, squares});
  const auto id = [&](const te::Tensor& t) { return dag->tensor(t.id()).operation; };
  const AccessAnalysis of_producers(*dag), of_reads(*dag, DataReuse::of_reads);
  CHECK_FALSE(of_producers.needs_multi_level_tiling(id(gram)));  // as the reference has it
  CHECK(of_reads.needs_multi_level_tiling(id(gram)));
  CHECK_FALSE(of_reads.needs_multi_level_tiling(id(squares)));
}

TEST_CASE("a chain that repeats its operand is computed in parts", "[te]") {
  te::Program p;
  std::vector<te::Tensor> chain{p.placeholder("A", {8})};
  for (int n = 0; n < 40; ++n) {
    const te::Tensor x = chain.back();
    chain.push_back(
        p.compute("C" + std::to_string(n), {8}, [&](auto i) { return x(i) * x(i) + x(i); }));
  }
  const auto dag = p.dag({chain.front(), chain.back()});
  const AccessAnalysis a(*dag);
  std::int64_t length = 0, num_parts = 0, longest = 0;
  for (std::uint32_t id = 1; id < a.num_stages(); ++id) {
    CHECK(a.read_from(id)[0].reads.size() == 3);
    ++length;
    if (a.stage(id).is_too_long_to_inline) {
      longest = std::max(longest, length);
      length = 0;
      ++num_parts;
    }
  }
  CHECK(num_parts > 4);
  CHECK(longest < 10);
  CHECK_FALSE(a.stage(40).is_too_long_to_inline);
}

TEST_CASE("an argument that others read is a result all the same", "[te]") {
  te::Program p;
  auto x = p.placeholder("A", {8});
  auto b = p.compute("B", {8}, [&](auto i) { return x(i) + 1.0; });
  auto c = p.compute("C", {8}, [&](auto i) { return b(i) * 2.0; });
  const auto both = p.dag({x, b, c}), one = p.dag({x, c});
  CHECK(AccessAnalysis(*both).is_output(1));
  CHECK_FALSE(AccessAnalysis(*one).is_output(1));
  CHECK_FALSE(AccessAnalysis(*both).is_output(0));
}
