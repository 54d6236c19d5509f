// SPDX-License-Identifier: Apache-2.0
// requires: llvm json
#include "tensorsmith/graph/bisect.hpp"

#include <algorithm>
#include <cstring>
#include <optional>

#include "support/catch.hpp"
#include "tensorsmith/graph/lowering.hpp"
#include "tensorsmith/graph/resolve.hpp"
#include "unit/graph/random_graphs.hpp"

using namespace tensorsmith;

namespace {

struct Bisectable {
  graph::Graph net;
  graph::Partition parts;
  std::vector<HostArray> arrays;

  explicit Bisectable(graph::Graph given) : net(std::move(given)) {
    const auto resolved = graph::resolve(net);
    INFO((resolved ? "" : resolved.error()));
    REQUIRE(resolved.has_value());
    for (std::size_t v = 0; v < net.values.size(); ++v) {
      if (net.values[v].name.empty()) {
        net.values[v].name = "v" + std::to_string(v);
      }
    }
    auto cut = graph::partition(net);
    REQUIRE(cut.has_value());
    parts = std::move(*cut);
    arrays = graph::random_arguments(net, 7);
  }
  graph::Bisected with(graph::Executor& network, const graph::BisectOptions& options = {}) {
    const std::vector<KernelOperand> operands = graph::operands_of(net, arrays);
    return graph::bisect(net, parts, network, operands, options);
  }
};

/// Two layers, of which the second has a slope.
graph::Graph two_layers(double slope) {
  graph::Builder net("two");
  graph::ValueId x = net.input("x", {2, 5});
  x = net.add("Relu", {net.add("MatMul", {x, net.weights({5, 6})})});
  x = net.add("LeakyRelu", {net.add("MatMul", {x, net.weights({6, 4})})}, {{"alpha", slope}});
  net.output("y", x);
  return net.finish();
}

/// All values that nodes compute, as the interpreter has them, rounded to their types.
std::vector<graph::RecordedValue> recorded_values(const Bisectable& made) {
  graph::Graph all = made.net;
  std::vector<graph::ValueId> ids;
  for (const graph::Node& node : all.nodes) {
    for (const graph::ValueId id : node.outputs) {
      if (id.valid()) {
        ids.push_back(id);
      }
    }
  }
  all.outputs = ids;
  const std::vector<HostArray> inputs(
      made.arrays.begin(), made.arrays.begin() + static_cast<std::ptrdiff_t>(all.inputs.size()));
  const auto results = graph::interpret(all, inputs);
  REQUIRE(results.has_value());
  std::vector<graph::RecordedValue> recorded;
  for (std::size_t k = 0; k < ids.size(); ++k) {
    const graph::Value& value = all.value(ids[k]);
    HostArray rounded(value.dtype, value.shape);
    for (std::int64_t i = 0; i < rounded.num_elements(); ++i) {
      rounded.set_real(i, (*results)[k].get_real(i));
    }
    recorded.push_back(
        {value.name, graph::make_constant(value.dtype, value.shape, std::move(rounded.data))});
  }
  return recorded;
}

/// A constant that is an argument of kernels, not a number in formulas.
bool is_changeable(const graph::Value& value) {
  return value.is_constant && value.dtype == DType::f32 && graph::num_elements(value.shape) > 1;
}

}  // namespace

TEST_CASE("bisect finds nothing in a network that is right", "[graph]") {
  const std::uint32_t count = test::scaled(60);
  std::int64_t elements = 0, unjudged = 0;
  for (std::uint32_t number = 0; number < count; ++number) {
    INFO("graph " << number);
    Bisectable made(test::RandomGraph(number).make());
    graph::Executor network(made.net, made.parts, graph::plain_kernels(made.parts));
    const graph::Bisected result = made.with(network);
    INFO((result.kernel ? graph::explain(made.net, *result.kernel) : ""));
    CHECK_FALSE(result.kernel.has_value());
    CHECK(result.num_kernels == made.parts.groups.size());
    CHECK(result.worst_share <= 1);
    elements += result.num_elements;
    unjudged += result.num_unjudged;
  }
  CHECK(elements > 0);
  CHECK(unjudged * 20 < elements);
}

TEST_CASE("bisect names the first kernel with other weights than the graph's", "[graph]") {
  const std::uint32_t count = test::scaled(60);
  std::uint32_t changed = 0, found = 0;
  for (std::uint32_t number = 0; number < count; ++number) {
    INFO("graph " << number);
    Bisectable made(test::RandomGraph(number).make());
    graph::Graph other = made.net;
    std::optional<std::size_t> first;  // group that reads the changed constant
    for (std::size_t g = 0; g < made.parts.groups.size() && !first; ++g) {
      for (const graph::ValueId id : made.parts.groups[g].program.inputs) {
        graph::Value& value = other.value(id);
        if (is_changeable(value) && !first) {
          std::vector<double> elements = value.constant.reals();
          std::vector<float> moved;
          for (const double element : elements) {
            moved.push_back(static_cast<float>(2 * element + 0.5));
          }
          value.constant =
              graph::constant_of(DType::f32, value.shape, std::span<const float>(moved));
          first = g;
        }
      }
    }
    if (!first) {
      continue;
    }
    ++changed;
    graph::Executor network(other, made.parts, graph::plain_kernels(made.parts));
    const graph::Bisected result = made.with(network);
    if (result.kernel) {
      ++found;
      CHECK(result.kernel->kind == graph::Disagreement::kernel);
      CHECK(result.num_kernels == *first + 1);
      const auto& nodes = made.parts.groups[*first].nodes;
      CHECK(std::find(nodes.begin(), nodes.end(), result.kernel->node) != nodes.end());
      CHECK(result.kernel->num_wrong > 0);
    }
  }
  CHECK(changed > 0);
  CHECK(found * 10 >= changed * 8);  // a relu may hide it
}

TEST_CASE("bisect names the kernel that was made of another formula", "[graph]") {
  Bisectable made(two_layers(0.1)), other(two_layers(0.2));
  REQUIRE(made.parts.tasks.size() == other.parts.tasks.size());
  graph::Executor network(made.net, made.parts, graph::plain_kernels(other.parts));
  const graph::Bisected result = made.with(network);
  REQUIRE(result.kernel.has_value());
  CHECK(made.net.nodes[result.kernel->node].op == "LeakyRelu");
  CHECK(result.num_kernels == 2);
  const std::string text = graph::explain(made.net, *result.kernel);
  CHECK(text.find("LeakyRelu") != std::string::npos);
  CHECK(text.find("its kernel's") != std::string::npos);
}

TEST_CASE("recorded values are judged on the recorded ones before them", "[graph]") {
  const std::uint32_t count = test::scaled(30);
  for (std::uint32_t number = 0; number < count; ++number) {
    INFO("graph " << number);
    Bisectable made(test::RandomGraph(number).make());
    graph::Executor network(made.net, made.parts, graph::plain_kernels(made.parts));
    graph::BisectOptions options;
    options.recorded = recorded_values(made);
    const graph::Bisected right = made.with(network, options);
    INFO((right.recorded ? graph::explain(made.net, *right.recorded) : ""));
    CHECK_FALSE(right.recorded.has_value());
    CHECK(right.num_recorded > 0);
    // Only every other one: then a value depends on several nodes.
    graph::BisectOptions fewer;
    for (std::size_t k = 1; k < options.recorded.size(); k += 2) {
      fewer.recorded.push_back(options.recorded[k]);
    }
    CHECK_FALSE(made.with(network, fewer).recorded.has_value());
    // A wrong one is found, and it is the first.
    const std::size_t at = number % options.recorded.size();
    graph::Constant& wrong = options.recorded[at].elements;
    if (wrong.dtype == DType::f32 && !wrong.bytes.empty()) {
      std::vector<float> elements;
      for (const double element : wrong.reals()) {
        elements.push_back(static_cast<float>(element + 1));
      }
      wrong = graph::constant_of(DType::f32, wrong.shape, std::span<const float>(elements));
      const graph::Bisected result = made.with(network, options);
      CHECK_FALSE(result.kernel.has_value());
      REQUIRE(result.recorded.has_value());
      CHECK(made.net.value(result.recorded->value).name == options.recorded[at].name);
    }
  }
}

TEST_CASE("a recorded value of another shape is refused by its name", "[graph]") {
  Bisectable made(two_layers(0.1));
  graph::Executor network(made.net, made.parts, graph::plain_kernels(made.parts));
  graph::BisectOptions options;
  const float element = 1;
  options.recorded.push_back(
      {"y", graph::constant_of(DType::f32, {1}, std::span<const float>(&element, 1))});
  std::string problem;
  try {
    (void)made.with(network, options);
  } catch (const Error& error) {
    problem = error.what();
  }
  CHECK(problem.find("\"y\" is f32 [1]") != std::string::npos);
}
