// SPDX-License-Identifier: Apache-2.0
// Builder: a graph of one's own, written in C++.
//
// Floor 10; compiled in lib/graph. Own design.
//   graph::Builder net("classifier");
//   auto x = net.input("image", {1, 3, 32, 32});
//   x = net.add("Conv", {x, net.weights({16, 3, 3, 3})}, {{"pads", graph::List{1, 1, 1, 1}}});
//   net.output("scores", net.add("Relu", {x}));
//   const graph::Graph graph = net.finish();
// Shapes are inferred as nodes are added; misuse throws tensorsmith::Error that names the node.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "tensorsmith/graph/graph.hpp"

namespace tensorsmith::graph {

using List = std::vector<std::int64_t>;

class Builder {
 public:
  explicit Builder(std::string name = "network") { graph_.name = std::move(name); }

  ValueId input(const std::string& name, Shape shape, DType dtype = DType::f32);
  /// What the result is called outside. A value may be an output under several names.
  void output(const std::string& name, ValueId value);

  /// Of values, row-major.
  ValueId constant(Shape shape, std::span<const float> elements);
  ValueId integers(const std::vector<std::int64_t>& elements);
  ValueId scalar(double value, DType dtype = DType::f32);
  /// Random weights of f32, the same on every machine: uniform, of mean 0 and of a deviation that
  /// keeps that of what they are multiplied with: 1 / sqrt(product of all extents but the first).
  ValueId weights(Shape shape);
  /// Random numbers in [low, high), for biases, scales and variances.
  ValueId uniform(Shape shape, double low, double high);

  /// The (first) result of a node. An input that is not valid() is absent.
  ValueId add(const std::string& op, std::vector<ValueId> inputs,
              std::vector<Attribute> attributes = {});
  std::vector<ValueId> add_all(const std::string& op, std::vector<ValueId> inputs,
                               std::vector<Attribute> attributes, std::size_t num_outputs);

  const Shape& shape(ValueId value) const { return graph_.value(value).shape; }

  /// The graph, checked.
  Graph finish();

 private:
  Graph graph_;
  std::uint64_t seed_ = 0;  ///< of the next random constant
};

}  // namespace tensorsmith::graph
