// SPDX-License-Identifier: Apache-2.0
#include "tensorsmith/lower/shape_nest.hpp"

#include "support/catch.hpp"

using namespace tensorsmith;

namespace {

/// A nest from axis extents, its splits, and the order of its leaves.
struct Shaped {
  Nest nest;
  std::vector<bool> reduces;
  NestShape shape;

  Shaped(std::vector<std::int64_t> spatial, std::vector<std::int64_t> reduce) {
    nest.derivation = StageDerivation::initial(static_cast<std::int32_t>(spatial.size()),
                                               static_cast<std::int32_t>(reduce.size()));
    reduces.assign(spatial.size(), false);
    reduces.resize(spatial.size() + reduce.size(), true);
    nest.axis_extent = std::move(spatial);
    nest.axis_extent.insert(nest.axis_extent.end(), reduce.begin(), reduce.end());
  }
  void split(std::size_t leaf, const LengthList& lengths) {
    const auto node = static_cast<std::size_t>(nest.derivation.leaves[leaf].node);
    nest.derivation.split(leaf, lengths, true);
    reduces.resize(static_cast<std::size_t>(nest.derivation.num_nodes), reduces[node]);
  }
  void order(const std::vector<std::size_t>& after) {
    std::vector<LeafIterator> leaves;
    for (std::size_t from : after) {
      leaves.push_back(nest.derivation.leaves[from]);
      leaves.back().iterator = static_cast<std::int32_t>(leaves.size()) - 1;
    }
    nest.derivation.leaves = leaves;
  }
  void annotate(std::size_t leaf, Annotation annotation) {
    nest.derivation.leaves[leaf].annotation = annotation;
  }
  /// `attached`: the iterator that producers are computed at, if any.
  void run(const Target& target = Target::x86_64_v3(), std::int64_t bits = 32,
           std::int64_t num_outputs = 1, std::int32_t attached = -1) {
    shape = shape_nest(target, reduces, nest, bits, num_outputs, [&](std::int32_t iterator) {
      return iterator >= 0 && iterator == attached;
    });
  }
  std::vector<std::int64_t> extents() const {
    const auto all = detail::node_extents(nest.derivation, nest.axis_extent);
    std::vector<std::int64_t> list;
    for (const LeafIterator& leaf : nest.derivation.leaves) {
      list.push_back(all[static_cast<std::size_t>(leaf.node)]);
    }
    return list;
  }
  Annotation annotation(std::size_t leaf) const { return nest.derivation.leaves[leaf].annotation; }
};

using Extents = std::vector<std::int64_t>;

}  // namespace

TEST_CASE("the innermost spatial loop becomes the vector loop, annotated or not") {
  Shaped s({5, 24}, {});
  s.run();
  CHECK(s.shape.vector_leaf == 1);
  CHECK(s.annotation(1) == Annotation::vectorize);
  CHECK(s.shape.reduction_begin == -1);
  CHECK_FALSE(s.shape.is_promoted);
  CHECK(s.extents() == Extents{5, 24});
}

TEST_CASE("a vector loop longer than four registers is cut") {
  Shaped s({5, 100}, {});
  s.run();  // eight lanes of 32 bits
  CHECK(s.extents() == Extents{5, 4, 32});
  CHECK(s.shape.vector_leaf == 2);
  CHECK(s.annotation(1) == Annotation::none);
  CHECK(s.nest.derivation.leaves[1].iterator == 1);  // attached stages stay at the outer part
  CHECK(s.nest.derivation.leaves[2].iterator == -1);

  Shaped wide({5, 100}, {});
  wide.run(Target::x86_64_v3(), 64);
  CHECK(wide.extents() == Extents{5, 7, 16});
  Shaped large({5, 100}, {});
  large.run(Target::x86_64_v4());
  CHECK(large.extents() == Extents{5, 2, 64});
}

TEST_CASE("what keeps the innermost loop from becoming a vector loop") {
  Shaped parallel({5, 24}, {});
  parallel.annotate(1, Annotation::parallel);
  parallel.run();
  CHECK(parallel.shape.vector_leaf == -1);
  CHECK(parallel.annotation(1) == Annotation::parallel);

  Shaped attached({5, 24}, {});
  attached.run(Target::x86_64_v3(), 32, 1, 1);
  CHECK(attached.shape.vector_leaf == -1);

  Shaped reduction({5, 24}, {7});
  reduction.run();
  CHECK(reduction.shape.vector_leaf == -1);
}

TEST_CASE("vectorize elsewhere than innermost runs as it stands") {
  Shaped s({5, 24}, {});
  s.annotate(0, Annotation::vectorize);
  s.run();
  CHECK(s.shape.vector_leaf == 1);
  CHECK(s.annotation(0) == Annotation::none);
}

TEST_CASE("a nest without loops has no shape") {
  Shaped s({}, {});
  s.run();
  CHECK(s.shape.vector_leaf == -1);
  CHECK(s.shape.reduction_begin == -1);
}

TEST_CASE("the register tile are the spatial loops inside of the innermost reduction run") {
  Shaped s({8, 16}, {32});
  s.split(2, {4});           // i j k.0 k.1
  s.split(0, {4});           // i.0 i.1 j k.0 k.1
  s.order({3, 0, 4, 1, 2});  // k.0 i.0 k.1 i.1 j
  s.run();                   // accumulators 4 * 2, operands 2 + 1
  CHECK(s.extents() == Extents{8, 2, 4, 4, 16});
  CHECK(s.shape.reduction_begin == 2);
  CHECK(s.shape.reduction_end == 3);
  CHECK(s.shape.vector_leaf == 4);
  CHECK(s.shape.is_promoted);
  CHECK(s.annotation(3) == Annotation::unroll);
  CHECK(s.annotation(4) == Annotation::vectorize);
}

TEST_CASE("neighbouring reduction loops are one run") {
  Shaped s({16}, {3, 3, 8});
  s.order({1, 2, 3, 0});
  s.run();
  CHECK(s.shape.reduction_begin == 0);
  CHECK(s.shape.reduction_end == 3);
  CHECK(s.shape.is_promoted);
}

TEST_CASE("a tile that does not fit gives up its outer loops, and keeps the part that fits") {
  Shaped whole({3, 7, 16}, {9});
  whole.order({3, 0, 1, 2});  // k i j v: 3 * 7 * 2 accumulators
  whole.run();
  CHECK(whole.extents() == Extents{3, 7, 9, 16});  // 7 is prime: no part of it fits either
  CHECK(whole.shape.reduction_begin == 2);
  CHECK(whole.shape.reduction_end == 3);
  CHECK(whole.shape.vector_leaf == 3);
  CHECK(whole.shape.is_promoted);

  Shaped part({32, 16}, {9});
  part.order({2, 0, 1});
  part.run();  // 2 * x + 2 + 1 <= 16 and x divides 32
  CHECK(part.extents() == Extents{8, 9, 4, 16});
  CHECK(part.shape.reduction_begin == 1);
  CHECK(part.shape.reduction_end == 2);
  CHECK(part.shape.vector_leaf == 3);
  CHECK(part.annotation(0) == Annotation::none);
  CHECK(part.annotation(2) == Annotation::unroll);
}

TEST_CASE("the budget counts registers of the target, outputs and lanes") {
  const auto inside = [](const Target& target, std::int64_t bits, std::int64_t num_outputs) {
    Shaped s({24, 16}, {9});
    s.order({2, 0, 1});
    s.run(target, bits, num_outputs);
    const Extents found = s.extents();
    return s.shape.reduction_begin == 0 ? found[1] : found[2];
  };
  CHECK(inside(Target::x86_64_v3(), 32, 1) == 6);   // 6 * 2 + 3 of 16
  CHECK(inside(Target::x86_64_v3(), 32, 2) == 3);   // 3 * 2 * 2 + 3
  CHECK(inside(Target::x86_64_v3(), 64, 1) == 2);   // 2 * 4 + 5
  CHECK(inside(Target::x86_64_v4(), 32, 1) == 24);  // 24 * 1 + 2 of 32
  CHECK(inside(Target::x86_64_v2(), 32, 1) == 2);   // 2 * 4 + 5
}

TEST_CASE("a producer inside of the tile keeps it in memory") {
  Shaped s({8, 16}, {32});
  s.order({2, 0, 1});
  s.run(Target::x86_64_v3(), 32, 1, 1);  // attached at i, inside of k
  CHECK(s.shape.reduction_begin == 0);
  CHECK(s.shape.reduction_end == 1);
  CHECK_FALSE(s.shape.is_promoted);

  Shaped parallel({8, 16}, {32});
  parallel.order({2, 0, 1});
  parallel.annotate(1, Annotation::parallel);
  parallel.run();
  CHECK_FALSE(parallel.shape.is_promoted);
}

TEST_CASE("a spatial loop of one iteration goes in front of the reduction run it would end") {
  const auto shaped = [](std::int32_t attached) {
    Shaped s({8, 8}, {16});
    s.split(0, {1});
    s.split(3, {4});
    s.order({0, 3, 1, 4, 2});  // i.0 k.0 i.1 k.1 j
    s.run(Target::x86_64_v3(), 32, 1, attached);
    return s;
  };
  const Shaped joined = shaped(-1);
  CHECK(joined.extents() == Extents{8, 1, 4, 4, 8});
  CHECK(joined.shape.reduction_begin == 2);
  CHECK(joined.shape.reduction_end == 4);
  const Shaped with_producer = shaped(2);  // computed at i.1, once per k.0
  CHECK(with_producer.extents() == Extents{8, 4, 1, 4, 8});
  CHECK(with_producer.shape.reduction_begin == 3);
}

TEST_CASE("a loop that leaves the tile stays inside of a loop with a producer") {
  const auto shaped = [](std::int32_t attached) {
    Shaped s({14, 14, 16}, {16});
    s.split(3, {4});
    s.order({3, 4, 0, 1, 2});  // k.0 k.1 i j f; i does not fit into sixteen registers
    s.run(Target::x86_64_v3(), 32, 1, attached);
    return s;
  };
  CHECK(shaped(-1).extents()[0] == 14);  // in front of both
  const Shaped with_producer = shaped(0);
  CHECK(with_producer.extents()[0] == 4);  // k.0, once per block
  CHECK(with_producer.extents()[1] == 14);
  CHECK(with_producer.shape.is_promoted);
  CHECK(with_producer.extents()[static_cast<std::size_t>(with_producer.shape.reduction_begin)] ==
        4);  // k.1
}

TEST_CASE("of the loops of a tile the longer ones are outside") {
  Shaped s({2, 14, 16}, {8});
  s.order({3, 0, 1, 2});
  s.run(Target::x86_64_v4());
  CHECK(s.extents() == Extents{8, 14, 2, 16});
  CHECK(s.shape.is_promoted);
  Shaped ordered({14, 2, 16}, {8});
  ordered.order({3, 0, 1, 2});
  ordered.run(Target::x86_64_v4());
  CHECK(ordered.extents() == Extents{8, 14, 2, 16});
}
