// SPDX-License-Identifier: Apache-2.0
#include "tensorsmith/graph/task_kind.hpp"

#include <algorithm>
#include <map>
#include <string>
#include <vector>

#include "support/catch.hpp"
#include "tensorsmith/graph/builder.hpp"
#include "tensorsmith/graph/examples.hpp"
#include "tensorsmith/graph/partition.hpp"
#include "tensorsmith/graph/simplify.hpp"

using namespace tensorsmith;
using graph::List;

namespace {

graph::Partition partitioned(graph::Graph net) {
  REQUIRE(graph::simplify(net).has_value());
  auto parts = graph::partition(net);
  INFO((parts ? "" : parts.error()));
  REQUIRE(parts.has_value());
  return std::move(*parts);
}
/// How many tasks each kind has, in ascending order.
std::vector<int> kind_sizes(const graph::Partition& parts) {
  std::map<std::string, int> count;
  for (const graph::NetworkTask& task : parts.tasks) {
    ++count[task.kind];
  }
  std::vector<int> sizes;
  for (const auto& [kind, tasks] : count) {
    sizes.push_back(tasks);
  }
  std::sort(sizes.begin(), sizes.end());
  return sizes;
}

graph::Graph r3d_18() {
  graph::Builder net("r3d_18");
  const auto conv = [&](graph::ValueId x, std::int64_t out, List kernel, List strides, List pads) {
    const std::int64_t in = net.shape(x)[1];
    pads.insert(pads.end(), pads.begin(), pads.end());
    return net.add(
        "Conv",
        {x, net.weights({out, in, kernel[0], kernel[1], kernel[2]}), net.uniform({out}, -0.1, 0.1)},
        {{"strides", std::move(strides)}, {"pads", std::move(pads)}});
  };
  auto x = net.input("clip", {1, 3, 16, 112, 112});
  x = net.add("Relu", {conv(x, 64, {3, 7, 7}, {1, 2, 2}, {1, 3, 3})});
  for (std::int64_t stage = 0; stage < 4; ++stage) {
    const std::int64_t width = std::int64_t{64} << stage;
    for (int block = 0; block < 2; ++block) {
      const std::int64_t s = stage > 0 && block == 0 ? 2 : 1;
      const auto shortcut = s == 2 ? conv(x, width, {1, 1, 1}, {2, 2, 2}, {0, 0, 0}) : x;
      const auto y = net.add("Relu", {conv(x, width, {3, 3, 3}, {s, s, s}, {1, 1, 1})});
      x = net.add("Relu",
                  {net.add("Add", {conv(y, width, {3, 3, 3}, {1, 1, 1}, {1, 1, 1}), shortcut})});
    }
  }
  x = net.add("Flatten", {net.add("GlobalAveragePool", {x})});
  net.output("scores", net.add("Gemm", {x, net.weights({400, 512}), net.uniform({400}, -1, 1)},
                               {{"transB", std::int64_t{1}}}));
  return net.finish();
}

}  // namespace

TEST_CASE("C19: tasks of networks by kind", "[graph][felix]") {
  const auto example = [](const std::string& name) {
    auto net = graph::example_network(name);
    REQUIRE(net.has_value());
    return kind_sizes(partitioned(std::move(*net)));
  };
  CHECK(example("resnet50") == std::vector<int>{1, 1, 1, 4, 4, 16});
  CHECK(example("mobilenet_v2") == std::vector<int>{1, 1, 5, 7, 8, 10});
  CHECK(kind_sizes(partitioned(r3d_18())) == std::vector<int>{1, 1, 3, 4, 8});
}

TEST_CASE("sizes tell no kinds apart, formulas do", "[graph][felix]") {
  const auto kind = [](const auto& make) {
    graph::Builder net;
    net.output("y", make(net));
    const graph::Partition parts = partitioned(net.finish());
    REQUIRE(parts.tasks.size() == 1);
    return parts.tasks[0].kind;
  };
  const auto conv = [&](std::int64_t channels, std::int64_t kernel, std::int64_t stride,
                        std::int64_t groups, double most) {
    return kind([=](graph::Builder& net) {
      const auto x = net.input("x", {1, channels, 12, 10});
      const auto y =
          net.add("Conv", {x, net.weights({2 * channels, channels / groups, kernel, kernel})},
                  {{"strides", List{stride, stride}},
                   {"pads", List{kernel / 2, kernel / 2, kernel / 2, kernel / 2}},
                   {"group", groups}});
      return net.add("Clip", {y, net.scalar(0), net.scalar(most)});
    });
  };
  const std::string dense = conv(4, 3, 1, 1, 6);
  CHECK(conv(8, 1, 2, 1, 6) == dense);
  CHECK(conv(4, 3, 1, 1, 5) != dense);
  CHECK(conv(4, 3, 1, 4, 6) != dense);
  CHECK(conv(4, 3, 1, 4, 6) == conv(6, 5, 2, 6, 6));
  CHECK(conv(4, 3, 1, 2, 6) != conv(4, 3, 1, 4, 6));
  const auto sum = [&](graph::Shape a, graph::Shape b) {
    return kind([&](graph::Builder& net) {
      return net.add("Add", {net.input("a", a), net.input("b", b)});
    });
  };
  CHECK(sum({3, 4}, {3, 4}) == sum({7, 2}, {7, 2}));
  CHECK(sum({3, 4}, {3, 1}) == sum({5, 6}, {5, 1}));
  CHECK(sum({3, 4}, {3, 1}) != sum({3, 4}, {1, 4}));
  CHECK(sum({3, 4}, {4}) != sum({3, 4}, {3, 4}));
}
