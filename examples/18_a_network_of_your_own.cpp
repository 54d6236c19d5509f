// SPDX-License-Identifier: Apache-2.0
// Lesson 18: a network of your own, without any file: nodes, kernels, a call.
//
// requires: llvm json
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <vector>

#include "tensorsmith/graph/builder.hpp"
#include "tensorsmith/graph/executor.hpp"
#include "tensorsmith/graph/simplify.hpp"

namespace ts = tensorsmith;
using ts::graph::List;

static void require(bool condition, const char* what) {
  if (!condition) {
    std::fprintf(stderr, "failed: %s\n", what);
    std::exit(1);
  }
}

int main() {
  ts::graph::Builder net("classifier");
  auto x = net.input("image", {1, 3, 16, 16});
  x = net.add("Conv", {x, net.weights({8, 3, 3, 3})}, {{"pads", List{1, 1, 1, 1}}});
  x = net.add("BatchNormalization", {x, net.uniform({8}, 0.8, 1.2), net.uniform({8}, -0.1, 0.1),
                                     net.uniform({8}, -0.1, 0.1), net.uniform({8}, 0.8, 1.2)});
  x = net.add("Relu", {x});
  x = net.add("Flatten", {net.add("GlobalAveragePool", {x})});
  net.output("scores", net.add("Softmax", {net.add("MatMul", {x, net.weights({8, 4})})}));

  ts::graph::Graph graph = net.finish();
  require(ts::graph::simplify(graph).has_value(), "the graph is sound");
  const auto parts = ts::graph::partition(graph);
  require(parts.has_value(), "every operator has a formula");
  for (const ts::graph::NetworkTask& task : parts->tasks) {
    std::printf("%s\n  %s\n", task.title.c_str(), task.text.c_str());
  }

  // plain_kernels: as they are written; instant_kernels: by the analytic model; tuned_kernels.
  ts::graph::Executor network(graph, *parts, ts::graph::plain_kernels(*parts));
  std::vector<float> image(3 * 16 * 16, 0.5F), scores(4);
  network(image, scores);
  float sum = 0;
  for (const float score : scores) {
    std::printf("%.4f\n", static_cast<double>(score));
    sum += score;
  }
  require(std::fabs(sum - 1) < 1e-5F, "a softmax adds up to 1");
}
