// SPDX-License-Identifier: Apache-2.0
// Networks of single operators, for what no published network has together.
//
// For tests/support/onnx_networks.cpp. Own design.
#pragma once

#include <string>

#include "support/onnx_network_writer.hpp"

namespace tensorsmith::test {

/// Elements by index, order and place, and functions of angles; results side by side.
inline std::string indexed_operators(NetworkWriter& net) {
  const std::int64_t rows = 4, columns = 6;
  net.graph().input("input", {rows, columns});
  OnnxNames parts;
  const auto add = [&](const std::string& x) {
    parts.push_back(net.node("Reshape", {x, net.integers({-1})}));
  };
  const auto zero_axis = std::vector<OnnxAttribute>{{"axis", std::int64_t{0}}};
  const auto largest = [&](const std::string& name, std::int64_t k,
                           const std::vector<OnnxAttribute>& attributes) {
    net.graph().node("TopK", {"input", net.integers({k})}, {name, name + "_places"}, attributes,
                     "/" + name);
    add(name);
    add(net.node("Cast", {name + "_places"}, {{"to", std::int64_t{1}}}));
  };
  largest("top_3", 3, {});
  largest("top_2", 2, {{"axis", std::int64_t{0}}, {"largest", std::int64_t{0}}});
  const auto axis = [&](std::int64_t value) {
    return net.node("Squeeze", {net.integers({value}), net.integers({0})});
  };
  add(net.node("CumSum", {"input", axis(1)}));
  add(net.node("CumSum", {"input", axis(0)},
               {{"exclusive", std::int64_t{1}}, {"reverse", std::int64_t{1}}}));
  add(net.node("Einsum", {"input", net.uniform({columns, 5}, -1, 1)},
               {{"equation", std::string("ij,jk->ki")}}));
  add(net.node("Einsum", {"input", "input"}, {{"equation", std::string("...i,...i")}}));
  const auto matrix = [&](const Ints& shape, const Ints& elements) {
    return net.node("Reshape", {net.integers(elements), net.integers(shape)});
  };
  const std::string places = matrix({2, 2}, {1, 2, -1, 5});
  add(net.node("GatherND", {"input", places}));
  add(net.node("ScatterND", {"input", places, net.uniform({2}, 1, 2)}));
  add(net.node("ScatterND", {"input", matrix({3, 1}, {3, 0, 3}), net.uniform({3, columns}, -1, 1)},
               {{"reduction", std::string("add")}}));
  add(net.node("ScatterElements",
               {"input", matrix({2, 3}, {0, 3, -2, 1, 1, 2}), net.uniform({2, 3}, 1, 2)},
               zero_axis));
  add(net.node("OneHot", {net.integers({1, -1, 7}), axis(4), net.uniform({2}, -1, 1)}));
  add(net.node("Hardmax", {"input"}, {{"axis", std::int64_t{1}}}));
  const std::string picture = net.node("Reshape", {"input", net.integers({1, 1, rows, columns})});
  const std::string grid = net.uniform({1, 3, 3, 2}, -1.4, 1.4);
  for (const char* padding : {"zeros", "border", "reflection"}) {
    add(net.node("GridSample", {picture, grid}, {{"padding_mode", std::string(padding)}}));
  }
  add(net.node("GridSample", {picture, grid},
               {{"mode", std::string("bicubic")}, {"align_corners", std::int64_t{1}}}));
  add(net.node("Resize", {picture, "", net.uniform({4}, 1, 1), ""},
               {{"mode", std::string("cubic")}}));
  add(net.node("Resize", {picture, "", "", net.integers({1, 1, 7, 9})},
               {{"mode", std::string("cubic")}, {"cubic_coeff_a", -0.5F}}));
  const std::string within = net.node("Tanh", {"input"});
  for (const char* op : {"Sin", "Cos", "Atan", "Sinh", "Cosh", "Asinh"}) {
    add(net.node(op, {"input"}));
  }
  for (const char* op : {"Asin", "Acos", "Atanh", "Tan"}) {
    add(net.node(op, {within}));
  }
  add(net.node("Acosh", {net.node("Exp", {net.node("Abs", {"input"})})}));
  const std::string x = net.node("Concat", parts, zero_axis);
  return net.finish(x, {OnnxExtent(std::string("count"))});
}

/// Recurrent operators with the options that exporters use, one behind the other.
inline std::string recurrent(NetworkWriter& net) {
  const std::int64_t steps = 5, batch = 2, inputs = 3, hidden = 4;
  net.graph().input("input", {steps, batch, inputs});
  const auto weights = [&](std::int64_t directions, std::int64_t rows, std::int64_t columns) {
    return net.uniform({directions, rows, columns}, -0.6, 0.6);
  };
  const auto bias = [&](std::int64_t directions, std::int64_t count) {
    return net.uniform({directions, count}, -0.3, 0.3);
  };
  std::string x = net.node("LSTM",
                           {"input", weights(2, 4 * hidden, inputs), weights(2, 4 * hidden, hidden),
                            bias(2, 8 * hidden), "", net.uniform({2, batch, hidden}, -1, 1),
                            net.uniform({2, batch, hidden}, -1, 1), bias(2, 3 * hidden)},
                           {{"hidden_size", hidden}, {"direction", std::string("bidirectional")}});
  const auto flattened = [&](const std::string& y, std::int64_t directions) {
    return net.node("Reshape", {net.node("Transpose", {y}, {{"perm", Ints{0, 2, 1, 3}}}),
                                net.integers({steps, batch, directions * hidden})});
  };
  x = flattened(x, 2);
  x = net.node(
      "GRU",
      {x, weights(1, 3 * hidden, 2 * hidden), weights(1, 3 * hidden, hidden), bias(1, 6 * hidden)},
      {{"hidden_size", hidden}, {"linear_before_reset", std::int64_t{1}}});
  x = flattened(x, 1);
  x = net.node("GRU", {x, weights(1, 3 * hidden, hidden), weights(1, 3 * hidden, hidden)},
               {{"hidden_size", hidden}, {"direction", std::string("reverse")}});
  x = flattened(x, 1);
  x = net.node("RNN",
               {x, weights(1, hidden, hidden), weights(1, hidden, hidden), bias(1, 2 * hidden)},
               {{"hidden_size", hidden}});
  return net.finish(flattened(x, 1), {steps, batch, hidden});
}

}  // namespace tensorsmith::test
