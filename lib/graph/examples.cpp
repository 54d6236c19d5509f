// SPDX-License-Identifier: Apache-2.0
#include "tensorsmith/graph/examples.hpp"

#include "tensorsmith/graph/builder.hpp"
#include "tensorsmith/support/quote.hpp"

namespace tensorsmith::graph {

namespace {

/// Blocks of convolutional networks.
class ConvNet {
 public:
  explicit ConvNet(const char* name) : net(name) {}

  ValueId normalized(ValueId x) {
    const std::int64_t c = net.shape(x)[1];
    return net.add("BatchNormalization",
                   {x, net.uniform({c}, 0.8, 1.2), net.uniform({c}, -0.1, 0.1),
                    net.uniform({c}, -0.1, 0.1), net.uniform({c}, 0.8, 1.2)});
  }
  ValueId conv(ValueId x, std::int64_t out, std::int64_t k, std::int64_t stride = 1,
               std::int64_t groups = 1) {
    const std::int64_t p = k / 2;
    return normalized(net.add(
        "Conv", {x, net.weights({out, net.shape(x)[1] / groups, k, k})},
        {{"pads", List{p, p, p, p}}, {"strides", List{stride, stride}}, {"group", groups}}));
  }
  ValueId relu(ValueId x) { return net.add("Relu", {x}); }
  ValueId relu6(ValueId x) { return net.add("Clip", {x, net.scalar(0), net.scalar(6)}); }
  ValueId classify(ValueId x, std::int64_t classes) {
    x = net.add("Flatten", {net.add("GlobalAveragePool", {x})});
    return net.add("Gemm",
                   {x, net.weights({classes, net.shape(x)[1]}), net.uniform({classes}, -0.1, 0.1)},
                   {{"transB", std::int64_t{1}}});
  }

  Builder net;
};

Graph cnn() {
  ConvNet n("cnn");
  ValueId x = n.net.input("image", {1, 3, 32, 32});
  x = n.relu(n.conv(x, 16, 3));
  const ValueId shortcut = n.conv(x, 32, 1, 2);
  x = n.relu(n.net.add("Add", {n.conv(n.relu(n.conv(x, 32, 3, 2)), 32, 3), shortcut}));
  x = n.net.add("MaxPool", {x}, {{"kernel_shape", List{2, 2}}, {"strides", List{2, 2}}});
  n.net.output("scores", n.net.add("Softmax", {n.classify(x, 10)}));
  return n.net.finish();
}

Graph resnet50() {
  ConvNet n("resnet50");
  ValueId x = n.net.input("image", {1, 3, 224, 224});
  x = n.relu(n.conv(x, 64, 7, 2));
  x = n.net.add(
      "MaxPool", {x},
      {{"kernel_shape", List{3, 3}}, {"strides", List{2, 2}}, {"pads", List{1, 1, 1, 1}}});
  const std::int64_t blocks[] = {3, 4, 6, 3};
  for (int stage = 0; stage < 4; ++stage) {
    const std::int64_t width = std::int64_t{64} << stage;
    for (std::int64_t block = 0; block < blocks[stage]; ++block) {
      const std::int64_t stride = stage > 0 && block == 0 ? 2 : 1;
      const ValueId shortcut = block == 0 ? n.conv(x, 4 * width, 1, stride) : x;
      ValueId y = n.relu(n.conv(x, width, 1));
      y = n.relu(n.conv(y, width, 3, stride));
      x = n.relu(n.net.add("Add", {n.conv(y, 4 * width, 1), shortcut}));
    }
  }
  n.net.output("scores", n.classify(x, 1000));
  return n.net.finish();
}

Graph mobilenet_v2() {
  ConvNet n("mobilenet_v2");
  ValueId x = n.net.input("image", {1, 3, 224, 224});
  x = n.relu6(n.conv(x, 32, 3, 2));
  const std::int64_t settings[][4] = {{1, 16, 1, 1}, {6, 24, 2, 2},  {6, 32, 3, 2}, {6, 64, 4, 2},
                                      {6, 96, 3, 1}, {6, 160, 3, 2}, {6, 320, 1, 1}};
  for (const auto& [expansion, out, count, first_stride] : settings) {
    for (std::int64_t i = 0; i < count; ++i) {
      const std::int64_t in = n.net.shape(x)[1], hidden = in * expansion;
      const std::int64_t stride = i == 0 ? first_stride : 1;
      ValueId y = expansion == 1 ? x : n.relu6(n.conv(x, hidden, 1));
      y = n.conv(n.relu6(n.conv(y, hidden, 3, stride, hidden)), out, 1);
      x = stride == 1 && in == out ? n.net.add("Add", {x, y}) : y;
    }
  }
  n.net.output("scores", n.classify(n.relu6(n.conv(x, 1280, 1)), 1000));
  return n.net.finish();
}

/// An encoder layer with the operators in pieces, as exporters write them.
Graph encoder(const char* name, std::int64_t length, std::int64_t width, std::int64_t heads,
              std::int64_t inner) {
  Builder net(name);
  const ValueId x = net.input("x", {1, length, width});
  const auto linear = [&](ValueId v, std::int64_t out) {
    return net.add("Add", {net.add("MatMul", {v, net.weights({net.shape(v).back(), out})}),
                           net.uniform({out}, -0.1, 0.1)});
  };
  const auto split = [&](ValueId v, List order) {
    v = net.add("Reshape", {v, net.integers({0, 0, heads, width / heads})});
    return net.add("Transpose", {v}, {{"perm", std::move(order)}});
  };
  const auto norm = [&](ValueId v) {
    return net.add("LayerNormalization",
                   {v, net.uniform({width}, 0.8, 1.2), net.uniform({width}, -0.1, 0.1)});
  };
  const ValueId q = split(linear(x, width), {0, 2, 1, 3});
  const ValueId k = split(linear(x, width), {0, 2, 3, 1});
  const ValueId v = split(linear(x, width), {0, 2, 1, 3});
  ValueId scores = net.add("Div", {net.add("MatMul", {q, k}), net.scalar(8)});
  scores = net.add("Softmax", {scores});
  ValueId mixed =
      net.add("Transpose", {net.add("MatMul", {scores, v})}, {{"perm", List{0, 2, 1, 3}}});
  mixed = net.add("Reshape", {mixed, net.integers({0, 0, width})});
  const ValueId y = norm(net.add("Add", {linear(mixed, width), x}));
  const ValueId hidden = linear(y, inner);
  const ValueId erf = net.add("Erf", {net.add("Div", {hidden, net.scalar(1.4142135623730951)})});
  ValueId active = net.add("Mul", {hidden, net.add("Add", {erf, net.scalar(1)})});
  active = net.add("Mul", {active, net.scalar(0.5)});
  net.output("y", norm(net.add("Add", {linear(active, width), y})));
  return net.finish();
}

Graph dcgan() {
  ConvNet n("dcgan");
  ValueId x = n.net.input("noise", {1, 100, 1, 1});
  std::int64_t channels = 1024;
  for (int layer = 0; layer < 5; ++layer, channels /= 2) {
    const std::int64_t out = layer == 4 ? 3 : channels / 2;
    const List strides = layer == 0 ? List{1, 1} : List{2, 2};
    const List pads = layer == 0 ? List{0, 0, 0, 0} : List{1, 1, 1, 1};
    x = n.net.add("ConvTranspose", {x, n.net.weights({n.net.shape(x)[1], out, 4, 4})},
                  {{"strides", strides}, {"pads", pads}});
    x = layer == 4 ? n.net.add("Tanh", {x}) : n.relu(n.normalized(x));
  }
  n.net.output("image", x);
  return n.net.finish();
}

}  // namespace

std::vector<ExampleNetwork> example_networks() {
  return {{"cnn", "a small residual network of images 32x32"},
          {"encoder", "a small transformer layer: 16 tokens of 32"},
          {"resnet50", "ResNet-50, 224x224"},
          {"mobilenet_v2", "MobileNetV2, 224x224"},
          {"bert_layer", "a layer of BERT-base, 128 tokens of 768"},
          {"dcgan", "the generator of DCGAN, 64x64"}};
}

Result<Graph, std::string> example_network(std::string_view name) {
  if (name == "cnn") {
    return cnn();
  }
  if (name == "encoder") {
    return encoder("encoder", 16, 32, 4, 64);
  }
  if (name == "resnet50") {
    return resnet50();
  }
  if (name == "mobilenet_v2") {
    return mobilenet_v2();
  }
  if (name == "bert_layer") {
    return encoder("bert_layer", 128, 768, 12, 3072);
  }
  if (name == "dcgan") {
    return dcgan();
  }
  std::string known;
  for (const ExampleNetwork& network : example_networks()) {
    known += (known.empty() ? "" : ", ") + std::string(network.name);
  }
  return fail("there is no example network " + in_quotes(name) + "; known: " + known);
}

}  // namespace tensorsmith::graph
