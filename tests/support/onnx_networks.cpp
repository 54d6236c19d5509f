// SPDX-License-Identifier: Apache-2.0
#include "support/onnx_networks.hpp"

#include <algorithm>
#include <cmath>
#include <utility>

#include "support/onnx_contributed_networks.hpp"
#include "support/onnx_network_writer.hpp"
#include "support/onnx_operator_networks.hpp"
#include "support/onnx_vision_networks.hpp"
#include "support/onnx_yolo_network.hpp"

namespace tensorsmith::test {
namespace {

using Conv = NetworkWriter::ConvShape;

std::string picture(NetworkWriter& net, std::int64_t published) {
  const std::int64_t size = net.size(published);
  net.graph().input("input", {net.extent("batch", 1), std::int64_t{3}, size, size});
  return "input";
}

/// A small classifier: convolutions, a residual block, pools, softmax.
std::string cnn(NetworkWriter& net) {
  const std::int64_t c = net.width(32);
  std::string x = net.relu(net.conv_norm(picture(net, 32), {3, c, 3}));
  std::string y = net.relu(net.conv_norm(x, {c, c, 3}));
  x = net.relu(net.shortcut(net.conv_norm(y, {c, c, 3}), x));
  x = net.pool("MaxPool", x, 2, 2, 0);
  x = net.relu(net.conv(x, {c, 2 * c, 3, 2, 1, true}));
  x = net.pool("AveragePool", x, 3, 1, 1);
  x = net.node("Softmax", {net.classifier(x, 2 * c)}, {{"axis", std::int64_t{1}}});
  return net.finish(x, {net.extent("batch", 1), net.options().classes});
}

/// He et al. 2016, both forms: stride in the first convolution of a block, as first published.
std::string resnet50(NetworkWriter& net, bool is_preactivation) {
  constexpr std::int64_t blocks[] = {3, 4, 6, 3};
  std::int64_t in = net.width(64);
  std::string x = net.conv(picture(net, 224), {3, in, 7, 2});
  x = net.pool("MaxPool", net.relu(net.batch_norm(x, in)), 3, 2, 1);
  for (std::int64_t stage = 0; stage < 4; ++stage) {
    const std::int64_t mid = net.width(std::int64_t{64} << stage), out = 4 * mid;
    for (std::int64_t i = 0; i < net.repeats(blocks[stage]); ++i) {
      const std::int64_t stride = stage > 0 && i == 0 ? 2 : 1;
      std::string y = x, skip = x;
      if (is_preactivation) {
        y = net.relu(net.batch_norm(x, in));
        skip = i == 0 ? net.conv(y, {in, out, 1, stride}) : x;
        y = net.relu(net.conv_norm(y, {in, mid, 1, stride}));
        y = net.relu(net.conv_norm(y, {mid, mid, 3}));
        x = net.shortcut(net.conv(y, {mid, out, 1}), skip);
      } else {
        y = net.relu(net.conv_norm(y, {in, mid, 1, stride}));
        y = net.relu(net.conv_norm(y, {mid, mid, 3}));
        y = net.conv_norm(y, {mid, out, 1});
        skip = i == 0 ? net.conv_norm(x, {in, out, 1, stride}) : x;
        x = net.relu(net.shortcut(y, skip));
      }
      in = out;
    }
  }
  x = is_preactivation ? net.relu(net.batch_norm(x, in)) : x;
  return net.finish(net.classifier(x, in), {net.extent("batch", 1), net.options().classes});
}

/// Sandler et al. 2018.
std::string mobilenet_v2(NetworkWriter& net) {
  constexpr std::int64_t stages[][4] = {{1, 16, 1, 1}, {6, 24, 2, 2},  {6, 32, 3, 2}, {6, 64, 4, 2},
                                        {6, 96, 3, 1}, {6, 160, 3, 2}, {6, 320, 1, 1}};
  std::int64_t in = net.width(32);
  std::string x = net.relu6(net.conv_norm(picture(net, 224), {3, in, 3, 2}));
  for (const auto& [factor, published, count, first_stride] : stages) {
    const std::int64_t out = net.width(published);
    for (std::int64_t i = 0; i < net.repeats(count); ++i) {
      const std::int64_t stride = i == 0 ? first_stride : 1, mid = factor * in;
      std::string y = factor > 1 ? net.relu6(net.conv_norm(x, {in, mid, 1})) : x;
      y = net.relu6(net.conv_norm(y, {mid, mid, 3, stride, mid}));
      y = net.conv_norm(y, {mid, out, 1});
      x = stride == 1 && in == out ? net.shortcut(y, x) : y;
      in = out;
    }
  }
  const std::int64_t last = net.width(1280);
  x = net.relu6(net.conv_norm(x, {in, last, 1}));
  return net.finish(net.classifier(x, last), {net.extent("batch", 1), net.options().classes});
}

/// Softmax(Q K^T / sqrt(d)) V of heads; q, k, v are [batch, seq, hidden].
std::string attention(NetworkWriter& net, const std::string& like, OnnxNames qkv,
                      std::int64_t heads, std::int64_t depth, const std::string& mask) {
  for (std::size_t i = 0; i < 3; ++i) {
    qkv[i] = net.node("Reshape", {qkv[i], net.shape_like(like, {heads, depth})});
    qkv[i] =
        net.node("Transpose", {qkv[i]}, {{"perm", i == 1 ? Ints{0, 2, 3, 1} : Ints{0, 2, 1, 3}}});
  }
  const auto root = static_cast<float>(std::sqrt(static_cast<double>(depth)));
  std::string scores = net.node("Div", {net.node("MatMul", {qkv[0], qkv[1]}), net.scalar(root)});
  scores = mask.empty() ? scores : net.node("Add", {scores, mask});
  // Axis 3 is the last one: the same in all operator sets.
  scores = net.node("Softmax", {scores}, {{"axis", std::int64_t{3}}});
  std::string x = net.node("MatMul", {scores, qkv[2]});
  x = net.node("Transpose", {x}, {{"perm", Ints{0, 2, 1, 3}}});
  return net.node("Reshape", {x, net.shape_like(like, {heads * depth})});
}

/// Devlin et al. 2019: encoder layers of the base model, 12 heads, exact GELU; without embeddings.
std::string bert(NetworkWriter& net, std::int64_t layers) {
  const std::int64_t hidden = net.width(768), heads = net.heads(12, hidden);
  const std::int64_t depth = hidden / heads, seq = net.size(128), inner = net.width(3072);
  const OnnxExtent batch = net.extent("batch", 1), length = net.extent("seq", seq);
  net.graph().input("input", {batch, length, heads * depth});
  const std::int64_t h = heads * depth;
  std::string x = "input";
  for (std::int64_t i = 0; i < layers; ++i) {
    const OnnxNames qkv = {net.linear(x, h, h), net.linear(x, h, h), net.linear(x, h, h)};
    const std::string y = net.linear(attention(net, x, qkv, heads, depth, ""), h, h);
    x = net.layer_norm(net.node("Add", {y, x}), h);
    const std::string wide = net.linear(net.gelu(net.linear(x, h, inner)), inner, h);
    x = net.layer_norm(net.node("Add", {wide, x}), h);
  }
  return net.finish(x, {batch, length, h});
}
std::string bert_layer(NetworkWriter& net) { return bert(net, 1); }
std::string bert_base(NetworkWriter& net) { return bert(net, net.repeats(12)); }

/// Dosovitskiy et al. 2021: the base model, patches of 16 x 16 as a sequence, norms first.
std::string vit_b16(NetworkWriter& net) {
  const std::int64_t hidden = net.width(768), heads = net.heads(12, hidden);
  const std::int64_t depth = hidden / heads, h = heads * depth, inner = net.width(3072);
  const std::int64_t size = net.size(224), patches = (size / 16) * (size / 16);
  net.graph().input("input", {std::int64_t{1}, std::int64_t{3}, size, size});
  std::string x = net.node(
      "Conv", {"input", net.weight({h, 3, 16, 16}, 3 * 16 * 16), net.uniform({h}, -0.1, 0.1)},
      {{"kernel_shape", Ints{16, 16}}, {"strides", Ints{16, 16}}});
  x = net.node("Reshape", {x, net.integers({1, h, patches})});
  x = net.node("Transpose", {x}, {{"perm", Ints{0, 2, 1}}});
  x = net.node("Concat", {net.uniform({1, 1, h}, -1, 1), x}, {{"axis", std::int64_t{1}}});
  x = net.node("Add", {x, net.uniform({1, patches + 1, h}, -0.1, 0.1)});
  for (std::int64_t i = 0; i < net.repeats(12); ++i) {
    std::string y = net.layer_norm(x, h);
    const OnnxNames qkv = {net.linear(y, h, h), net.linear(y, h, h), net.linear(y, h, h)};
    x = net.node("Add", {net.linear(attention(net, y, qkv, heads, depth, ""), h, h), x});
    y = net.layer_norm(x, h);
    x = net.node("Add", {net.linear(net.gelu(net.linear(y, h, inner)), inner, h), x});
  }
  net.graph().weights(onnx_integers("first", {}, {0}));
  x = net.node("Gather", {net.layer_norm(x, h), "first"}, {{"axis", std::int64_t{1}}});
  return net.finish(net.linear(x, h, net.options().classes),
                    {std::int64_t{1}, net.options().classes});
}

/// Touvron et al. 2023: one decoder layer, RMS norms, SwiGLU, a causal mask; without rotation.
std::string decoder_layer(NetworkWriter& net) {
  const std::int64_t hidden = net.width(4096), heads = net.heads(32, hidden);
  const std::int64_t depth = hidden / heads, seq = net.size(16), inner = net.width(11008);
  const std::int64_t h = heads * depth;
  net.graph().input("input", {std::int64_t{1}, seq, h});
  std::vector<float> mask(static_cast<std::size_t>(seq * seq), 0.0F);
  for (std::int64_t i = 0; i < seq; ++i) {
    for (std::int64_t j = i + 1; j < seq; ++j) {
      mask[static_cast<std::size_t>(i * seq + j)] = -1e9F;
    }
  }
  net.graph().weights(onnx_tensor("mask", {1, 1, seq, seq}, mask));
  std::string x = net.rms_norm("input", h);
  const OnnxNames qkv = {net.linear(x, h, h, false), net.linear(x, h, h, false),
                         net.linear(x, h, h, false)};
  x = net.linear(attention(net, "input", qkv, heads, depth, "mask"), h, h, false);
  x = net.node("Add", {"input", x});
  const std::string n = net.rms_norm(x, h);
  const std::string gate = net.silu(net.linear(n, h, inner, false));
  const std::string up = net.node("Mul", {gate, net.linear(n, h, inner, false)});
  x = net.node("Add", {x, net.linear(up, inner, h, false)});
  return net.finish(x, {std::int64_t{1}, seq, h});
}

/// Radford et al. 2016: the generator, 100 numbers to a picture of 64 x 64.
std::string dcgan(NetworkWriter& net) {
  net.graph().input("input",
                    {net.extent("batch", 1), std::int64_t{100}, std::int64_t{1}, std::int64_t{1}});
  std::string x = "input";
  std::int64_t in = 100;
  for (std::int64_t i = 0; i < 5; ++i) {
    const std::int64_t out = i == 4 ? 3 : net.width(std::int64_t{1024} >> i);
    const std::int64_t pad = i == 0 ? 0 : 1, stride = i == 0 ? 1 : 2;
    x = net.node("ConvTranspose", {x, net.weight({in, out, 4, 4}, in * 4)},
                 {{"kernel_shape", Ints{4, 4}},
                  {"pads", Ints{pad, pad, pad, pad}},
                  {"strides", Ints{stride, stride}}});
    x = i == 4 ? net.node("Tanh", {x}) : net.relu(net.batch_norm(x, out));
    in = out;
  }
  return net.finish(x,
                    {net.extent("batch", 1), std::int64_t{3}, std::int64_t{64}, std::int64_t{64}});
}

/// Two scales of a detector in the manner of YOLO: SiLU, split and joined channels, a chain of
/// pools, nearest upsampling, boxes from a softmax over bins.
std::string detector(NetworkWriter& net) {
  const std::int64_t c = net.width(32), size = net.size(64);
  const auto block = [&](const std::string& x, const Conv& shape) {
    return net.silu(net.conv_norm(x, shape));
  };
  std::string x = block(picture(net, 64), {3, c, 3, 2});
  // Half of the channels go through a bottleneck.
  const std::string left = "left", right = "right";
  const std::string both = block(x, {c, 2 * c, 1});
  std::vector<OnnxAttribute> axis = {{"axis", std::int64_t{1}}};
  if (net.options().opset >= 18) {
    axis.push_back({"num_outputs", std::int64_t{2}});
  }
  net.graph().node("Split", {both}, {left, right}, axis, "/split");
  const std::string narrow = net.node("Add", {right, block(right, {c, c, 3})});
  x = block(net.node("Concat", {left, right, narrow}, {{"axis", std::int64_t{1}}}), {3 * c, c, 1});
  const std::string fine = x;
  x = block(x, {c, 2 * c, 3, 2});
  const std::string p1 = net.pool("MaxPool", x, 5, 1, 2), p2 = net.pool("MaxPool", p1, 5, 1, 2);
  x = block(net.node("Concat", {x, p1, p2}, {{"axis", std::int64_t{1}}}), {6 * c, c, 1});
  const std::string up = net.doubled(x);
  x = net.node("Concat", {up, fine}, {{"axis", std::int64_t{1}}});
  x = net.conv(block(x, {2 * c, c, 3}), {c, 16, 1, 1, 1, true});
  const std::int64_t places = (size / 2) * (size / 2);
  x = net.node("Reshape", {x, net.integers({0, 4, 4, -1})});
  x = net.node("Softmax", {net.node("Transpose", {x}, {{"perm", Ints{0, 3, 1, 2}}})},
               {{"axis", std::int64_t{3}}});
  net.graph().weights(onnx_tensor("bins", {4, 1}, {0, 1, 2, 3}));
  x = net.node("MatMul", {x, "bins"});
  if (net.options().opset < 13) {
    x = net.node("Squeeze", {x}, {{"axes", Ints{3}}});
  } else {
    x = net.node("Squeeze", {x, net.integers({3})});
  }
  return net.finish(x, {net.extent("batch", 1), places, std::int64_t{4}});
}

/// Operators of newer sets that are read as several: rotated queries and keys in groups of heads,
/// causal attention, norms.
std::string newer_operators(NetworkWriter& net) {
  const std::int64_t heads = 4, kv_heads = 2, depth = 4, h = heads * depth, seq = net.size(7);
  net.graph().input("input", {std::int64_t{2}, seq, h});
  Ints positions;
  for (std::int64_t i = 0; i < 2 * seq; ++i) {
    positions.push_back(i % seq + i / seq);
  }
  net.graph().weights(onnx_integers("positions", {2, seq}, positions));
  const std::string cosine = net.uniform({seq + 1, depth / 2}, -1, 1);
  const std::string sine = net.uniform({seq + 1, depth / 2}, -1, 1);
  const std::string x = net.node("RMSNormalization", {"input", net.uniform({h}, 0.5, 1.5)});
  const auto rotated = [&](std::int64_t count, std::int64_t interleaved) {
    return net.node("RotaryEmbedding", {net.linear(x, h, count * depth), cosine, sine, "positions"},
                    {{"num_heads", count}, {"interleaved", interleaved}});
  };
  const std::string q = rotated(heads, 0), k = rotated(kv_heads, 1);
  std::string y = net.node("Attention", {q, k, net.linear(x, h, kv_heads * depth)},
                           {{"q_num_heads", heads},
                            {"kv_num_heads", kv_heads},
                            {"is_causal", std::int64_t{1}},
                            {"softcap", 5.0F}});
  y = net.node("LpNormalization", {net.node("Gelu", {y})}, {{"p", std::int64_t{2}}});
  y = net.node("Shrink", {y}, {{"lambd", 0.1F}, {"bias", 0.05F}});
  y = net.node("MeanVarianceNormalization", {y}, {{"axes", Ints{0, 2}}});
  return net.finish(y, {std::int64_t{2}, seq, h});
}

std::string resnet50_v1(NetworkWriter& net) { return resnet50(net, false); }
std::string resnet50_preactivation(NetworkWriter& net) { return resnet50(net, true); }

constexpr std::pair<std::string_view, std::string (*)(NetworkWriter&)> networks[] = {
    {"cnn", &cnn},
    {"resnet50", &resnet50_v1},
    {"resnet50_preactivation", &resnet50_preactivation},
    {"mobilenet_v2", &mobilenet_v2},
    {"mobilenet_v3_small", &mobilenet_v3_small},
    {"r3d_18", &r3d_18},
    {"vit_b16", &vit_b16},
    {"bert_layer", &bert_layer},
    {"bert_base", &bert_base},
    {"decoder_layer", &decoder_layer},
    {"dcgan", &dcgan},
    {"detector", &detector},
    {"yolo_v8n", &yolo_v8n},
    {"newer_operators", &newer_operators},
    {"contributed_operators", &contributed_operators},
    {"quantized_decoder", &quantized_decoder},
    {"indexed_operators", &indexed_operators},
    {"recurrent", &recurrent}};

}  // namespace

std::string onnx_network(std::string_view name, const NetworkOptions& options) {
  for (const auto& [known, write] : networks) {
    if (known == name) {
      NetworkWriter net(options);
      return write(net);
    }
  }
  return {};
}

std::vector<std::string> onnx_network_names() {
  std::vector<std::string> names;
  for (const auto& [name, write] : networks) {
    names.emplace_back(name);
  }
  return names;
}

std::vector<TinyNetwork> tiny_networks() {
  const auto tiny = [](std::int64_t opset, std::int64_t divisor, std::int64_t size) {
    NetworkOptions options;
    options.opset = opset;
    options.divisor = divisor;
    options.size = size;
    options.repeats = 1;
    options.classes = 10;
    return options;
  };
  std::vector<TinyNetwork> all = {
      {"cnn_9", "cnn", tiny(9, 4, 16)},
      {"resnet50_13", "resnet50_preactivation", tiny(13, 24, 32)},
      {"mobilenet_v2_11", "mobilenet_v2", tiny(11, 10, 32)},
      {"mobilenet_v3_small_17", "mobilenet_v3_small", tiny(17, 8, 32)},
      {"r3d_18_13", "r3d_18", tiny(13, 32, 16)},
      {"vit_b16_17", "vit_b16", tiny(17, 48, 32)},
      {"bert_layer_12", "bert_layer", tiny(12, 32, 6)},
      {"bert_layer_20", "bert_layer", tiny(20, 32, 6)},
      {"decoder_layer_18", "decoder_layer", tiny(18, 256, 7)},
      {"dcgan_14", "dcgan", tiny(14, 256, 0)},
      {"detector_18", "detector", tiny(18, 8, 16)},
      {"yolo_v8n_17", "yolo_v8n", tiny(17, 16, 32)},
      {"newer_operators_23", "newer_operators", tiny(23, 1, 7)},
      {"contributed_operators_17", "contributed_operators", tiny(17, 1, 0)},
      {"quantized_decoder_17", "quantized_decoder", tiny(17, 1, 0)},
      {"indexed_operators_18", "indexed_operators", tiny(18, 1, 0)},
      {"recurrent_14", "recurrent", tiny(14, 1, 0)}};
  for (TinyNetwork& one : all) {
    one.options.is_open = one.network == "bert_layer" || one.network == "cnn";
    one.options.has_primitives = one.options.opset < 17;
  }
  return all;
}

}  // namespace tensorsmith::test
