// SPDX-License-Identifier: Apache-2.0
// Random small graphs: what laws of graphs hold for.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "support/catch.hpp"
#include "tensorsmith/graph/builder.hpp"
#include "tensorsmith/ir/host_array.hpp"
#include "tensorsmith/support/rng.hpp"

namespace tensorsmith::test {

/// A graph over a few values, channels first, with branches that meet again.
class RandomGraph {
 public:
  explicit RandomGraph(std::uint32_t number) : rng_(seed(), 0x67, number), net_("random") {}

  graph::Graph make() {
    const std::uint32_t kind = below(2);
    values_.push_back(
        kind == 0 ? net_.input("x", {1 + below(2), 1 + below(5), 3 + below(5), 3 + below(5)})
                  : net_.input("x", {1 + below(3), 2 + below(6), 2 + below(7)}));
    const std::uint32_t steps = 2 + below(7);
    for (std::uint32_t i = 0; i < steps; ++i) {
      const graph::ValueId x = pick();
      values_.push_back(rank(x) == 4 ? plane_step(x) : rank(x) == 3 ? row_step(x) : any_step(x));
    }
    net_.output("y", values_.back());
    if (below(3) == 0) {
      net_.output("z", pick());
    }
    return net_.finish();
  }

 private:
  using Id = graph::ValueId;
  using List = graph::List;

  std::int64_t below(std::uint32_t n) { return rng_.next_below(n); }
  std::size_t rank(Id x) const { return net_.shape(x).size(); }
  std::int64_t extent(Id x, std::size_t d) const { return net_.shape(x)[d]; }
  Id pick() {  // mostly the newest
    return below(3) > 0 ? values_.back()
                        : values_[static_cast<std::size_t>(
                              below(static_cast<std::uint32_t>(values_.size())))];
  }
  template <class... Names>
  std::string one_of(Names... names) {
    const char* const list[] = {names...};
    return list[below(sizeof...(names))];
  }
  Id biased(const std::string& op, std::vector<Id> inputs, std::int64_t channels,
            std::vector<graph::Attribute> attributes) {
    if (below(2) == 0) {
      inputs.push_back(net_.uniform({channels}, -0.5, 0.5));
    }
    return net_.add(op, std::move(inputs), std::move(attributes));
  }

  Id any_step(Id x) {
    switch (below(6)) {
    case 0:
      return net_.add(one_of("Relu", "Sigmoid", "Tanh", "Gelu", "Swish", "HardSwish", "Elu", "Abs",
                             "LeakyRelu", "Softplus", "Neg", "Erf"),
                      {x});
    case 1:
      return net_.add(one_of("Add", "Mul", "Sub", "Max", "Min"),
                      {x, net_.scalar(0.25 * static_cast<double>(1 + below(8)))});
    case 2: {  // another value of that shape, or itself
      for (const Id y : values_) {
        if (net_.shape(y) == net_.shape(x)) {
          return net_.add(one_of("Add", "Mul", "Sub", "Max"), {x, y});
        }
      }
      return net_.add("Add", {x, x});
    }
    case 3: {
      graph::Shape spread = net_.shape(x);
      for (std::int64_t& e : spread) {
        e = below(2) == 0 ? 1 : e;
      }
      return net_.add(one_of("Add", "Mul"), {x, net_.uniform(spread, -1, 1)});
    }
    case 4: {
      const auto axis = below(static_cast<std::uint32_t>(rank(x)));
      return net_.add(one_of("ReduceSum", "ReduceMean", "ReduceMax"), {x, net_.integers({axis})},
                      {{"keepdims", std::int64_t{1}}});
    }
    default:
      return net_.add("Softmax", {x}, {{"axis", below(static_cast<std::uint32_t>(rank(x)))}});
    }
  }

  Id row_step(Id x) {
    const std::int64_t n = extent(x, 2);
    switch (below(7)) {
    case 0:
      return net_.add("MatMul", {x, net_.weights({n, 1 + below(7)})});
    case 1:
      return net_.add("LayerNormalization",
                      {x, net_.uniform({n}, 0.5, 1.5), net_.uniform({n}, -1, 1)});
    case 2:
      return net_.add("Transpose", {x}, {{"perm", List{0, 2, 1}}});
    case 3:
      return net_.add("Reshape", {x, net_.integers({0, 1, -1, n})});
    case 4: {
      const Id y = net_.add("Transpose", {x}, {{"perm", List{0, 2, 1}}});
      return net_.add("MatMul", {x, y});
    }
    case 5:
      return net_.add("Concat", {x, net_.add("Neg", {x})}, {{"axis", std::int64_t{2}}});
    default:
      return any_step(x);
    }
  }

  Id plane_step(Id x) {
    const std::int64_t c = extent(x, 1), h = extent(x, 2), w = extent(x, 3);
    const std::int64_t k = h >= 3 && w >= 3 ? 1 + below(3) : 1;
    const List kernel{k, k}, pads{below(2), below(2), below(2), below(2)};
    const List strides{1 + below(2), 1 + below(2)};
    switch (below(9)) {
    case 0: {
      const std::int64_t out = 1 + below(5);
      return biased("Conv", {x, net_.weights({out, c, k, k})}, out,
                    {{"pads", pads}, {"strides", strides}});
    }
    case 1:
      return biased("Conv", {x, net_.weights({c, 1, k, k})}, c, {{"pads", pads}, {"group", c}});
    case 2: {
      const std::int64_t out = 1 + below(4);
      if (h * w > 100) {
        return any_step(x);
      }
      return biased("ConvTranspose", {x, net_.weights({c, out, 2, 2})}, out,
                    {{"strides", strides}});
    }
    case 3:
      if (k == 1) {
        return any_step(x);
      }
      return net_.add(
          one_of("MaxPool", "AveragePool"), {x},
          {{"kernel_shape", kernel}, {"strides", strides}, {"pads", List{k / 2, 0, 0, k / 2}}});
    case 4:
      return net_.add("BatchNormalization",
                      {x, net_.uniform({c}, 0.5, 1.5), net_.uniform({c}, -1, 1),
                       net_.uniform({c}, -1, 1), net_.uniform({c}, 0.5, 2)});
    case 5:
      return net_.add("GlobalAveragePool", {x});
    case 6:
      return net_.add("Reshape", {x, net_.integers({0, c, -1})});
    case 7:
      return net_.add("Slice", {x, net_.integers({h > 1 ? 1 : 0}), net_.integers({INT64_MAX}),
                                net_.integers({2})});
    default:
      return any_step(x);
    }
  }

  CounterRng rng_;
  graph::Builder net_;
  std::vector<Id> values_;
};

/// Inputs of f32 in [-1, 1) for every input of the graph.
inline std::vector<HostArray> random_inputs(const graph::Graph& graph, std::uint32_t number) {
  CounterRng rng(seed(), 0x68, number);
  std::vector<HostArray> inputs;
  for (const graph::ValueId id : graph.inputs) {
    HostArray array(graph.value(id).dtype, graph.value(id).shape);
    for (std::int64_t i = 0; i < array.num_elements(); ++i) {
      array.set_real(i, 2 * rng.next_double() - 1);
    }
    inputs.push_back(std::move(array));
  }
  return inputs;
}

}  // namespace tensorsmith::test
