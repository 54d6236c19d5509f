// SPDX-License-Identifier: Apache-2.0
// Small networks of operators of onnxruntime's own domain.
//
// Private to onnx_networks.cpp.
#pragma once

#include "support/onnx_network_writer.hpp"

namespace tensorsmith::test {

/// Operators of onnxruntime's own domain.
inline std::string contributed_operators(NetworkWriter& net) {
  const std::int64_t h = 8;
  net.graph().input("input", {std::int64_t{2}, std::int64_t{3}, h});
  const auto weights = [&] { return net.uniform({h}, 0.5, 1.5); };
  std::string x =
      net.contributed("SkipLayerNormalization", {"input", "input", weights(), weights(), weights()},
                      {{"epsilon", 1e-3F}});
  x = net.contributed("BiasGelu", {x, weights()});
  x = net.contributed("FastGelu", {net.contributed("Gelu", {x}), weights()});
  x = net.contributed("QuickGelu", {net.contributed("FastGelu", {x})}, {{"alpha", 1.5F}});
  x = net.contributed("SkipSimplifiedLayerNormalization", {x, "input", weights(), weights()},
                      {{"epsilon", 1e-3F}});
  return net.finish(x, {std::int64_t{2}, std::int64_t{3}, h});
}

/// A layer of a decoder as onnxruntime's tools quantise it, with four keys that are there already,
/// then attention with a mask and turned positions of its own.
inline std::string quantized_decoder(NetworkWriter& net) {
  const std::int64_t h = 64, heads = 4, kv_heads = 2, depth = h / heads, rows = 3, past = 4;
  const std::int64_t all = h + 2 * kv_heads * depth;
  const auto numbers = [&](const Ints& elements) {
    return net.node("Cast", {net.integers(elements)}, {{"to", std::int64_t{6}}});  // i32
  };
  const auto product = [&](const std::string& x, std::int64_t k, std::int64_t n, std::int64_t bits,
                           bool has_zeros) {
    const std::int64_t block = 32, blocks = (k + block - 1) / block;
    OnnxNames inputs = {x, net.bytes({n, blocks, block * bits / 8}),
                        net.uniform({n, blocks}, 0.01, 0.03)};
    if (has_zeros) {
      inputs.push_back(net.bytes({n, (blocks * bits + 7) / 8}));
    }
    return net.contributed("MatMulNBits", inputs,
                           {{"K", k}, {"N", n}, {"bits", bits}, {"block_size", block}});
  };
  const auto norm = [&] { return net.uniform({h}, 0.5, 1.5); };
  net.graph().input("input", {std::int64_t{1}, rows, h});
  std::string x = net.contributed("SkipSimplifiedLayerNormalization", {"input", "input", norm()},
                                  {{"epsilon", 1e-5F}});
  const auto table = [&](std::int64_t columns) { return net.uniform({16, columns}, -1, 1); };
  const auto kept = [&] { return net.uniform({1, kv_heads, past, depth}, -1, 1); };
  net.graph().node(
      "GroupQueryAttention",
      {product(x, h, all, 4, true), "", "", kept(), kept(), numbers({past + rows - 1}),
       numbers({past + rows}), table(depth / 2), table(depth / 2)},
      {"attention", "keys", "values"},
      {{"num_heads", heads}, {"kv_num_heads", kv_heads}, {"do_rotary", std::int64_t{1}}},
      "/attention", "com.microsoft");
  x = net.contributed("SkipSimplifiedLayerNormalization",
                      {"input", product("attention", h, h, 4, false), norm()},
                      {{"epsilon", 1e-5F}});
  std::string y = net.contributed("QuickGelu", {product(x, h, 80, 8, true)});
  x = net.node("LayerNormalization", {product(y, 80, h, 2, false), norm(), norm()});
  const std::string turned =
      net.contributed("RotaryEmbedding", {x, net.integers({5}), table(depth / 2), table(depth / 2)},
                      {{"interleaved", std::int64_t{1}}});
  y = net.contributed("MultiHeadAttention",
                      {turned, x, x, net.uniform({3 * h}, -1, 1), numbers({2})},
                      {{"num_heads", heads}, {"unidirectional", std::int64_t{1}}});
  return net.finish(y, {std::int64_t{1}, rows, h});
}

}  // namespace tensorsmith::test
