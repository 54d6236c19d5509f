// SPDX-License-Identifier: Apache-2.0
#include "tensorsmith/graph/simplify.hpp"

#include <cmath>

#include "support/catch.hpp"
#include "tensorsmith/graph/lowering.hpp"
#include "unit/graph/random_graphs.hpp"

using namespace tensorsmith;
using graph::List;

namespace {

void check_close(const std::vector<HostArray>& got, const std::vector<HostArray>& want,
                 double relative_error) {
  for (std::size_t k = 0; k < want.size(); ++k) {
    REQUIRE(got[k].shape == want[k].shape);
    for (std::int64_t i = 0; i < want[k].num_elements(); ++i) {
      const double w = want[k].get_real(i);
      CHECK(std::abs(got[k].get_real(i) - w) <= relative_error * (1 + std::abs(w)));
    }
  }
}

/// The simplified graph, which computes the same as before.
graph::Graph simplified(graph::Graph net, graph::Simplified& count) {
  const std::vector<HostArray> inputs = test::random_inputs(net, 1);
  const auto want = graph::interpret(net, inputs);
  REQUIRE(want.has_value());
  const auto done = graph::simplify(net);
  INFO((done ? "" : done.error()));
  REQUIRE(done.has_value());
  count = *done;
  const auto got = graph::interpret(net, inputs);
  REQUIRE(got.has_value());
  check_close(*got, *want, 1e-5);
  return net;
}

std::vector<std::string> operators(const graph::Graph& net) {
  std::vector<std::string> list;
  for (const graph::Node& node : net.nodes) {
    list.push_back(node.op);
  }
  return list;
}

}  // namespace

TEST_CASE("batch norms fold into convolutions of every kind", "[graph]") {
  graph::Builder net;
  auto x = net.input("x", {1, 4, 6, 6});
  const auto norm = [&](graph::ValueId v, std::int64_t c) {
    return net.add("BatchNormalization", {v, net.uniform({c}, 0.5, 2), net.uniform({c}, -1, 1),
                                          net.uniform({c}, -1, 1), net.uniform({c}, 0.5, 2)});
  };
  x = norm(net.add("Conv", {x, net.weights({6, 4, 3, 3}), net.uniform({6}, -1, 1)}), 6);
  x = norm(net.add("Conv", {x, net.weights({6, 1, 3, 3})}, {{"group", std::int64_t{6}}}), 6);
  x = norm(net.add("ConvTranspose", {x, net.weights({6, 5, 2, 2})}), 5);
  x = norm(net.add("Relu", {x}), 5);  // nothing to fold into
  net.output("y", x);
  graph::Simplified count;
  const graph::Graph small = simplified(net.finish(), count);
  CHECK(count.batch_norms == 3);
  CHECK(operators(small) ==
        std::vector<std::string>{"Conv", "Conv", "ConvTranspose", "Relu", "BatchNormalization"});
}

TEST_CASE("activations in pieces become one operator", "[graph]") {
  graph::Builder net;
  auto x = net.input("x", {3, 8});
  x = net.add("Mul", {x, net.add("Sigmoid", {x})});
  const auto clip =
      net.add("Clip", {net.add("Add", {x, net.scalar(3)}), net.scalar(0), net.scalar(6)});
  x = net.add("Div", {net.add("Mul", {x, clip}), net.scalar(6)});
  const auto erf = net.add("Erf", {net.add("Div", {x, net.scalar(std::sqrt(2.0))})});
  x = net.add("Mul", {net.add("Mul", {x, net.add("Add", {erf, net.scalar(1)})}), net.scalar(0.5)});
  net.output("y", x);
  graph::Simplified count;
  const graph::Graph small = simplified(net.finish(), count);
  CHECK(operators(small) == std::vector<std::string>{"Swish", "HardSwish", "Gelu"});
  CHECK(count.swishes + count.hard_swishes + count.gelus == 3);
}

TEST_CASE("a layer norm in pieces becomes one operator", "[graph]") {
  graph::Builder net;
  const auto x = net.input("x", {2, 3, 8});
  const auto last = net.integers({-1});
  const auto centred = net.add("Sub", {x, net.add("ReduceMean", {x, last})});
  const auto variance = net.add("ReduceMean", {net.add("Pow", {centred, net.scalar(2)}), last});
  const auto root = net.add("Sqrt", {net.add("Add", {variance, net.scalar(1e-5)})});
  const auto scaled = net.add("Mul", {net.add("Div", {centred, root}), net.uniform({8}, 0.5, 1.5)});
  net.output("y", net.add("Add", {scaled, net.uniform({8}, -1, 1)}));
  graph::Simplified count;
  const graph::Graph small = simplified(net.finish(), count);
  REQUIRE(operators(small) == std::vector<std::string>{"LayerNormalization"});
  CHECK(small.nodes[0].inputs.size() == 3);
}

TEST_CASE("padding folds into the window behind it, views vanish", "[graph]") {
  graph::Builder net;
  auto x = net.input("x", {1, 2, 5, 5});
  x = net.add("Pad", {x, net.integers({0, 0, 1, 2, 0, 0, 0, 1})});
  x = net.add("Conv", {x, net.weights({3, 2, 3, 3})}, {{"pads", List{0, 0, 1, 0}}});
  x = net.add("Dropout", {net.add("Identity", {x})});
  net.output("y", net.add("Relu", {x}));
  graph::Simplified count;
  const graph::Graph small = simplified(net.finish(), count);
  CHECK(operators(small) == std::vector<std::string>{"Conv", "Relu"});
  CHECK(count.pads == 1);
  CHECK(count.views == 2);
  CHECK(small.nodes[0].integers("pads") == List{1, 2, 1, 1});
}

TEST_CASE("copies vanish, and axes of one element change their places without a kernel",
          "[graph]") {
  graph::Builder net("copies");
  auto x = net.input("x", {2, 1, 3, 4});
  x = net.add("Relu", {x});
  x = net.add("Slice", {x, net.integers({0, 0}), net.integers({9, 3}), net.integers({0, 2})});
  x = net.add("Expand", {x, net.integers({1, 3, 1})});
  x = net.add("Cast", {x}, {{"to", std::string("f32")}});
  x = net.add("Transpose", {x}, {{"perm", List{1, 0, 2, 3}}});
  x = net.add("Concat", {x}, {{"axis", std::int64_t{0}}});
  net.output("y", net.add("Tanh", {x}));
  graph::Simplified count;
  CHECK(operators(simplified(net.finish(), count)) ==
        std::vector<std::string>{"Relu", "Reshape", "Tanh"});

  graph::Builder others("others");
  x = others.input("x", {2, 1, 3, 4});
  x = others.add("Slice", {x, others.integers({2}), others.integers({-9}), others.integers({2}),
                           others.integers({-1})});
  x = others.add("Transpose", {x}, {{"perm", List{1, 2, 0, 3}}});
  others.output("y", others.add("Tanh", {x}));
  CHECK(operators(simplified(others.finish(), count)) ==
        std::vector<std::string>{"Slice", "Transpose", "Tanh"});
}

TEST_CASE("random graphs compute the same when they are simplified", "[graph]") {
  const std::uint32_t cases = test::scaled(300);
  for (std::uint32_t number = 1000; number < 1000 + cases; ++number) {
    INFO("graph " << number);
    graph::Simplified count;
    (void)simplified(test::RandomGraph(number).make(), count);
  }
}
