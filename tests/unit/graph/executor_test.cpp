// SPDX-License-Identifier: Apache-2.0
// requires: llvm json
#include "tensorsmith/graph/executor.hpp"

#include <cmath>

#include "support/catch.hpp"
#include "tensorsmith/graph/memory_plan.hpp"
#include "tensorsmith/graph/resolve.hpp"
#include "unit/graph/random_graphs.hpp"

using namespace tensorsmith;

namespace {

std::vector<HostArray> run_network(graph::Executor& network, const graph::Graph& net,
                                   std::vector<HostArray>& inputs) {
  std::vector<HostArray> arrays = inputs;
  for (const graph::ValueId id : net.outputs) {
    arrays.emplace_back(net.value(id).dtype, net.value(id).shape);
  }
  network.call(graph::operands_of(net, arrays));
  arrays.erase(arrays.begin(), arrays.begin() + static_cast<std::ptrdiff_t>(inputs.size()));
  return arrays;
}

double worst_difference(const std::vector<HostArray>& got, const std::vector<HostArray>& want) {
  REQUIRE(got.size() == want.size());
  double worst = 0;
  for (std::size_t k = 0; k < got.size(); ++k) {
    REQUIRE(got[k].shape == want[k].shape);
    double largest = 1;  // errors of sums are of the size of their terms
    for (std::int64_t i = 0; i < want[k].num_elements(); ++i) {
      largest = std::max(largest, std::abs(want[k].get_real(i)));
    }
    for (std::int64_t i = 0; i < want[k].num_elements(); ++i) {
      const double difference = std::abs(got[k].get_real(i) - want[k].get_real(i));
      worst = std::max(worst, std::isnan(difference) ? 1e30 : difference / largest);
    }
  }
  return worst;
}

}  // namespace

TEST_CASE("a partitioned network computes what the interpreter does", "[graph]") {
  const std::uint32_t count = test::scaled(500);
  std::size_t fused = 0, groups = 0;
  for (std::uint32_t number = 0; number < count; ++number) {
    INFO("graph " << number);
    graph::Graph net = test::RandomGraph(number).make();
    std::vector<HostArray> inputs = test::random_inputs(net, number);
    const auto want = graph::interpret(net, inputs);
    REQUIRE(want.has_value());
    const auto resolved = graph::resolve(net);
    INFO((resolved ? "" : resolved.error()));
    REQUIRE(resolved.has_value());
    const auto parts = graph::partition(net);
    INFO((parts ? "" : parts.error()));
    REQUIRE(parts.has_value());
    graph::Executor network(net, *parts, graph::plain_kernels(*parts));
    CHECK(worst_difference(run_network(network, net, inputs), *want) < 1e-4);
    groups += parts->groups.size();
    fused += net.nodes.size() - parts->groups.size();
  }
  CHECK(fused > 0);
  CHECK(groups > count);
}
