// SPDX-License-Identifier: Apache-2.0
// requires: llvm json
#include "tensorsmith/graph/executor.hpp"

#include <cmath>

#include "support/catch.hpp"
#include "tensorsmith/graph/builder.hpp"
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

TEST_CASE("parts of a value along its outermost axis are no kernels", "[graph]") {
  graph::Builder net("steps");
  const auto x = net.input("x", {6, 1, 8});
  const auto at = [&](graph::ValueId from, std::int64_t i) {
    return net.add("Gather", {from, net.integers({i})}, {{"axis", std::int64_t{0}}});
  };
  const auto all = net.add("MatMul", {x, net.weights({8, 8})});
  auto state = net.add("Tanh", {at(x, 0)});
  const auto w = net.weights({8, 8});
  for (std::int64_t step = 0; step < 6; ++step) {
    state = net.add("Tanh", {net.add("Add", {at(all, step - 6), net.add("MatMul", {state, w})})});
  }
  const auto halves = net.add_all("Split", {all}, {{"axis", std::int64_t{0}}}, 2);
  const auto rest =
      net.add("Slice", {all, net.integers({-3, 0}), net.integers({9, 9}), net.integers({0, 2})});
  const auto row = net.add("Reshape", {at(all, 1), net.integers({8})});
  net.output("state", state);
  net.output("sum", net.add("Add", {net.add("Mul", {halves[0], rest}), halves[1]}));
  net.output("row", row);  // a result is not a part
  graph::Graph made = net.finish();
  std::vector<HostArray> inputs = test::random_inputs(made, 3);
  const auto want = graph::interpret(made, inputs);
  REQUIRE(want.has_value());
  REQUIRE(graph::resolve(made).has_value());
  const auto parts = graph::partition(made);
  REQUIRE(parts.has_value());
  std::size_t gathers = 0;
  for (const graph::NetworkTask& task : parts->tasks) {
    gathers += task.title.find("Gather") != std::string::npos ? 1U : 0U;
    CHECK(task.title.find("Split") == std::string::npos);
    CHECK(task.title.find("Slice") == std::string::npos);
  }
  CHECK(gathers == 1);
  CHECK(parts->tasks.size() == 5);  // all, the first state, a step, the sum, the row
  graph::Executor network(made, *parts, graph::plain_kernels(*parts));
  CHECK(worst_difference(run_network(network, made, inputs), *want) < 1e-5);
}
