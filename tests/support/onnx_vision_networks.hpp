// SPDX-License-Identifier: Apache-2.0
// Networks of pictures and videos with what the older ones lack: gates by channel, three axes.
//
// For tests/support/onnx_networks.cpp. Own design.
#pragma once

#include <algorithm>
#include <string>

#include "support/onnx_network_writer.hpp"

namespace tensorsmith::test {

/// x times a line from 0 to 1 between -3 and 3, in pieces before it was an operator.
inline std::string hard_swish(NetworkWriter& net, const std::string& x) {
  if (net.options().opset >= 14) {
    return net.node("HardSwish", {x});
  }
  const std::string clipped = net.relu6(net.node("Add", {x, net.scalar(3)}));
  return net.node("Div", {net.node("Mul", {x, clipped}), net.scalar(6)});
}

/// Howard et al. 2019, the small one: depthwise convolutions, gates from pooled channels.
inline std::string mobilenet_v3_small(NetworkWriter& net) {
  struct Block {
    std::int64_t kernel, wide, out;
    bool has_gate, is_swish;
    std::int64_t stride;
  };
  constexpr Block blocks[] = {
      {3, 16, 16, true, false, 2}, {3, 72, 24, false, false, 2}, {3, 88, 24, false, false, 1},
      {5, 96, 40, true, true, 2},  {5, 240, 40, true, true, 1},  {5, 240, 40, true, true, 1},
      {5, 120, 48, true, true, 1}, {5, 144, 48, true, true, 1},  {5, 288, 96, true, true, 2},
      {5, 576, 96, true, true, 1}, {5, 576, 96, true, true, 1}};
  const std::int64_t size = net.size(224);
  net.graph().input("input", {net.extent("batch", 1), std::int64_t{3}, size, size});
  std::int64_t in = net.width(16);
  std::string x = hard_swish(net, net.conv_norm("input", {3, in, 3, 2}));
  std::int64_t done = 0;
  for (const Block& block : blocks) {
    if (net.options().repeats > 0 && ++done > 4 * net.options().repeats) {
      break;
    }
    const std::int64_t wide = net.width(block.wide), out = net.width(block.out);
    const auto active = [&](const std::string& y) {
      return block.is_swish ? hard_swish(net, y) : net.relu(y);
    };
    std::string y = wide == in ? x : active(net.conv_norm(x, {in, wide, 1}));
    y = active(net.conv_norm(y, {wide, wide, block.kernel, block.stride, wide}));
    if (block.has_gate) {
      const std::int64_t narrow = std::max<std::int64_t>(1, wide / 4);
      std::string gate = net.node("GlobalAveragePool", {y});
      gate = net.relu(net.conv(gate, {wide, narrow, 1, 1, 1, true}));
      gate = net.node("HardSigmoid", {net.conv(gate, {narrow, wide, 1, 1, 1, true})},
                      {{"alpha", 1.0F / 6.0F}});
      y = net.node("Mul", {gate, y});
    }
    y = net.conv_norm(y, {wide, out, 1});
    x = block.stride == 1 && in == out ? net.shortcut(x, y) : y;
    in = out;
  }
  const std::int64_t last = net.width(576), hidden = net.width(1024);
  x = hard_swish(net, net.conv_norm(x, {in, last, 1}));
  x = net.node("Flatten", {net.node("GlobalAveragePool", {x})});
  x = hard_swish(net, net.linear(x, last, hidden));
  return net.finish(net.linear(x, hidden, net.options().classes),
                    {net.extent("batch", 1), net.options().classes});
}

/// Tran et al. 2018: a residual network of 18 layers over 16 frames.
inline std::string r3d_18(NetworkWriter& net) {
  const std::int64_t size = net.size(112);
  const std::int64_t frames = std::max<std::int64_t>(2, size / 7);
  net.graph().input("input", {net.extent("batch", 1), std::int64_t{3}, frames, size, size});
  const auto conv = [&](const std::string& x, std::int64_t in, std::int64_t out, Ints kernel,
                        Ints strides) {
    OnnxShape shape{out, in};
    Ints pads;
    std::int64_t summands = in;
    for (const std::int64_t k : kernel) {
      shape.push_back(k);
      pads.push_back(k / 2);
      summands *= k;
    }
    pads.insert(pads.end(), {kernel[0] / 2, kernel[1] / 2, kernel[2] / 2});
    const std::string y = net.node(
        "Conv", {x, net.weight(shape, summands)},
        {{"kernel_shape", std::move(kernel)}, {"pads", pads}, {"strides", std::move(strides)}});
    return net.batch_norm(y, out);
  };
  std::int64_t in = net.width(64);
  std::string x = net.relu(conv("input", 3, in, {3, 7, 7}, {1, 2, 2}));
  for (std::int64_t stage = 0; stage < 4; ++stage) {
    const std::int64_t out = net.width(std::int64_t{64} << stage);
    for (std::int64_t i = 0; i < net.repeats(2); ++i) {
      const std::int64_t s = stage > 0 && i == 0 ? 2 : 1;
      std::string y = net.relu(conv(x, in, out, {3, 3, 3}, {s, s, s}));
      y = conv(y, out, out, {3, 3, 3}, {1, 1, 1});
      x = net.relu(net.shortcut(y, s == 1 ? x : conv(x, in, out, {1, 1, 1}, {s, s, s})));
      in = out;
    }
  }
  return net.finish(net.classifier(x, in), {net.extent("batch", 1), net.options().classes});
}

}  // namespace tensorsmith::test
