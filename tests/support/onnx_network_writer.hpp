// SPDX-License-Identifier: Apache-2.0
// NetworkWriter: layers of networks as ONNX nodes, as exporters of several times write them.
//
// For tests/support/onnx_networks.cpp. Own design. The same seed gives the same weights everywhere.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "support/onnx_networks.hpp"
#include "support/onnx_writer.hpp"
#include "tensorsmith/support/rng.hpp"

namespace tensorsmith::test {

using Ints = std::vector<std::int64_t>;

/// Adds layers to a graph; every function gives the name of what it computes.
class NetworkWriter {
 public:
  explicit NetworkWriter(const NetworkOptions& options)
      : options_(options), random_(options.seed) {}

  const NetworkOptions& options() const { return options_; }
  std::int64_t width(std::int64_t published) const {
    return std::max<std::int64_t>(1, published / options_.divisor);
  }
  std::int64_t repeats(std::int64_t published) const {
    return options_.repeats > 0 ? std::min(options_.repeats, published) : published;
  }
  std::int64_t size(std::int64_t published) const {
    return options_.size > 0 ? options_.size : published;
  }
  OnnxExtent extent(const char* name, std::int64_t value) const {
    return options_.is_open ? OnnxExtent(std::string(name)) : OnnxExtent(value);
  }
  /// Of at least four numbers each.
  static std::int64_t heads(std::int64_t published, std::int64_t hidden) {
    return std::max<std::int64_t>(1, std::min(published, hidden / 4));
  }
  OnnxGraph& graph() { return graph_; }

  std::string node(std::string_view op, const OnnxNames& inputs,
                   const std::vector<OnnxAttribute>& attributes = {},
                   std::string_view domain = {}) {
    std::string result = fresh(op);
    graph_.node(op, inputs, {result}, attributes, "/" + result, domain);
    if (!domain.empty()) {
      domains_ = {std::string(domain)};
    }
    return result;
  }
  /// Of onnxruntime's own domain.
  std::string contributed(std::string_view op, const OnnxNames& inputs,
                          const std::vector<OnnxAttribute>& attributes = {}) {
    return node(op, inputs, attributes, "com.microsoft");
  }
  std::string uniform(const OnnxShape& shape, double low, double high) {
    std::vector<float> elements(num_elements(shape));
    for (float& element : elements) {
      element = static_cast<float>(low + (high - low) * random_.next_double());
    }
    std::string name = fresh("weight");
    graph_.weights(onnx_tensor(name, shape, elements));
    return name;
  }
  /// Weights of u8, of all values.
  std::string bytes(const OnnxShape& shape) {
    std::string elements(num_elements(shape), '\0');
    for (char& element : elements) {
      element = static_cast<char>(static_cast<int>(random_.next_double() * 256));
    }
    std::string name = fresh("bytes");
    graph_.weights(onnx_raw_tensor(name, onnx_u8, shape, elements));
    return name;
  }
  /// Of deviation 1 / sqrt(summands), so that sums keep theirs.
  std::string weight(const OnnxShape& shape, std::int64_t summands) {
    const double bound = std::sqrt(3.0 / static_cast<double>(summands));
    return uniform(shape, -bound, bound);
  }
  std::string scalar(float value) {
    std::string name = fresh("scalar");
    graph_.weights(onnx_tensor(name, {}, {value}));
    return name;
  }
  std::string integers(const Ints& elements) {
    std::string name = fresh("list");
    graph_.weights(onnx_integers(name, {static_cast<std::int64_t>(elements.size())}, elements));
    return name;
  }

  struct ConvShape {
    std::int64_t in = 0, out = 0, kernel = 1, stride = 1, groups = 1;
    bool has_bias = false;
  };
  std::string conv(const std::string& x, const ConvShape& shape) {
    const std::int64_t in = shape.in / shape.groups, k = shape.kernel;
    OnnxNames inputs = {x, weight({shape.out, in, k, k}, in * k * k)};
    if (shape.has_bias) {
      inputs.push_back(uniform({shape.out}, -0.1, 0.1));
    }
    const std::int64_t pad = (k - 1) / 2;
    return node("Conv", inputs,
                {{"dilations", Ints{1, 1}},
                 {"group", shape.groups},
                 {"kernel_shape", Ints{k, k}},
                 {"pads", Ints{pad, pad, pad, pad}},
                 {"strides", Ints{shape.stride, shape.stride}}});
  }
  std::string batch_norm(const std::string& x, std::int64_t channels) {
    return node("BatchNormalization",
                {x, uniform({channels}, 0.5, 1.5), uniform({channels}, -0.2, 0.2),
                 uniform({channels}, -0.2, 0.2), uniform({channels}, 0.5, 1.5)},
                {{"epsilon", 1e-5F}, {"momentum", 0.9F}});
  }
  std::string conv_norm(const std::string& x, const ConvShape& shape) {
    return batch_norm(conv(x, shape), shape.out);
  }
  std::string relu(const std::string& x) { return node("Relu", {x}); }
  std::string relu6(const std::string& x) {
    if (options_.opset < 11) {
      return node("Clip", {x}, {{"min", 0.0F}, {"max", 6.0F}});
    }
    return node("Clip", {x, scalar(0), scalar(6)});
  }
  /// a + b, as old exporters wrote the shortcut where the operator set is old.
  std::string shortcut(const std::string& a, const std::string& b) {
    return node(options_.opset < 10 ? "Sum" : "Add", {a, b});
  }
  std::string pool(std::string_view op, const std::string& x, std::int64_t kernel,
                   std::int64_t stride, std::int64_t pad) {
    return node(op, {x},
                {{"kernel_shape", Ints{kernel, kernel}},
                 {"pads", Ints{pad, pad, pad, pad}},
                 {"strides", Ints{stride, stride}}});
  }
  /// Twice as high and wide, nearest.
  std::string doubled(const std::string& x) {
    if (!has_factors_) {
      graph_.weights(onnx_tensor("factors", {4}, {1, 1, 2, 2}));
      has_factors_ = true;
    }
    if (options_.opset < 10) {
      return node("Upsample", {x, "factors"}, {{"mode", std::string("nearest")}});
    }
    return node("Resize", {x, "", "factors"},
                {{"mode", std::string("nearest")},
                 {"nearest_mode", std::string("floor")},
                 {"coordinate_transformation_mode", std::string("asymmetric")}});
  }
  /// Two parts of x along axis 1.
  std::pair<std::string, std::string> split(const std::string& x, const Ints& sizes) {
    const std::string name = fresh("split"), left = name + "_left", right = name + "_right";
    const bool is_attribute = options_.opset < 13;
    std::vector<OnnxAttribute> attributes = {{"axis", std::int64_t{1}}};
    if (is_attribute) {
      attributes.push_back({"split", sizes});
    }
    graph_.node("Split", is_attribute ? OnnxNames{x} : OnnxNames{x, integers(sizes)}, {left, right},
                attributes, "/" + name);
    return {left, right};
  }
  /// Pooled, flattened, a product: the end of a classifier.
  std::string classifier(const std::string& x, std::int64_t channels) {
    const std::string flat = node("Flatten", {node("GlobalAveragePool", {x})});
    const std::int64_t classes = options_.classes;
    return node("Gemm", {flat, weight({classes, channels}, channels), uniform({classes}, -1, 1)},
                {{"transB", std::int64_t{1}}});
  }
  std::string linear(const std::string& x, std::int64_t in, std::int64_t out,
                     bool has_bias = true) {
    const std::string product = node("MatMul", {x, weight({in, out}, in)});
    return has_bias ? node("Add", {uniform({out}, -0.1, 0.1), product}) : product;
  }
  std::string unsqueeze(const std::string& x, std::int64_t axis) {
    if (options_.opset < 13) {
      return node("Unsqueeze", {x}, {{"axes", Ints{axis}}});
    }
    return node("Unsqueeze", {x, integers({axis})});
  }
  /// Over the last axis, which stays with extent 1.
  std::string mean(const std::string& x) {
    if (options_.opset < 18) {
      return node("ReduceMean", {x}, {{"axes", Ints{-1}}});
    }
    return node("ReduceMean", {x, integers({-1})});
  }
  std::string layer_norm(const std::string& x, std::int64_t width) {
    const std::string scale = uniform({width}, 0.5, 1.5), bias = uniform({width}, -0.2, 0.2);
    if (options_.opset >= 17 && !options_.has_primitives) {
      return node("LayerNormalization", {x, scale, bias},
                  {{"axis", std::int64_t{-1}}, {"epsilon", 1e-5F}});
    }
    const std::string centered = node("Sub", {x, mean(x)});
    const std::string variance = mean(node("Pow", {centered, scalar(2)}));
    const std::string deviation = node("Sqrt", {node("Add", {variance, scalar(1e-5F)})});
    return node("Add", {node("Mul", {node("Div", {centered, deviation}), scale}), bias});
  }
  std::string gelu(const std::string& x) {
    if (options_.opset >= 20 && !options_.has_primitives) {
      return node("Gelu", {x});
    }
    const std::string erf = node("Erf", {node("Div", {x, scalar(1.41421354F)})});
    const std::string sum = node("Add", {erf, scalar(1)});
    return node("Mul", {node("Mul", {x, sum}), scalar(0.5F)});
  }
  std::string rms_norm(const std::string& x, std::int64_t width) {
    const std::string scale = uniform({width}, 0.5, 1.5);
    const std::string square = mean(node("Pow", {x, scalar(2)}));
    const std::string root = node("Sqrt", {node("Add", {square, scalar(1e-6F)})});
    return node("Mul", {scale, node("Mul", {x, node("Div", {scalar(1), root})})});
  }
  std::string silu(const std::string& x) { return node("Mul", {x, node("Sigmoid", {x})}); }
  /// [batch, seq, ...] of `like`, as exporters write it: arithmetic on its shape.
  std::string shape_like(const std::string& like, const Ints& rest) {
    const std::string shape = node("Shape", {like});
    OnnxNames parts;
    for (const std::int64_t axis : {0, 1}) {
      std::string index = fresh("index");
      graph_.node("Constant", {}, {index}, {{"value", onnx_integers("", {}, {axis})}});
      parts.push_back(unsqueeze(node("Gather", {shape, index}, {{"axis", std::int64_t{0}}}), 0));
    }
    parts.push_back(integers(rest));
    return node("Concat", parts, {{"axis", std::int64_t{0}}});
  }

  std::string finish(const std::string& result, const std::vector<OnnxExtent>& shape) {
    graph_.node("Identity", {result}, {"output"});
    graph_.output("output", shape);
    return onnx_model(graph_, options_.opset, {}, domains_,
                      options_.opset < 10   ? 4
                      : options_.opset < 21 ? 8
                                            : 10);
  }

 private:
  static std::size_t num_elements(const OnnxShape& shape) {
    std::int64_t count = 1;
    for (const std::int64_t extent : shape) {
      count *= extent;
    }
    return static_cast<std::size_t>(count);
  }
  std::string fresh(std::string_view what) {
    return std::string(what) + "_" + std::to_string(count_++);
  }

  NetworkOptions options_;
  CounterRng random_;
  OnnxGraph graph_;
  OnnxNames domains_;
  bool has_factors_ = false;
  std::int64_t count_ = 0;
};

}  // namespace tensorsmith::test
