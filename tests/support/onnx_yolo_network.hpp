// SPDX-License-Identifier: Apache-2.0
// A detector of three scales at its published size.
//
// For tests/support/onnx_networks.cpp. Own design.
#pragma once

#include <algorithm>
#include <string>
#include <vector>

#include "support/onnx_network_writer.hpp"

namespace tensorsmith::test {

/// YOLOv8n (Jocher et al. 2023), boxes and scores of all places in the picture's coordinates:
/// [1, 4 + classes, places].
class YoloNetwork {
 public:
  explicit YoloNetwork(NetworkWriter& net) : net_(net), size_(net.size(640)) {}

  std::string write() {
    net_.graph().input("input", {std::int64_t{1}, std::int64_t{3}, size_, size_});
    const std::int64_t c1 = net_.width(16), c2 = net_.width(32), c3 = net_.width(64),
                       c4 = net_.width(128), c5 = net_.width(256);
    // Down to a 32nd; what later joins is kept.
    std::string x = block(block("input", {3, c1, 3, 2}), {c1, c2, 3, 2});
    x = block(stage(x, c2, c2, 1, true), {c2, c3, 3, 2});
    const std::string at_8 = stage(x, c3, c3, 2, true);
    const std::string at_16 = stage(block(at_8, {c3, c4, 3, 2}), c4, c4, 2, true);
    x = stage(block(at_16, {c4, c5, 3, 2}), c5, c5, 1, true);
    const std::int64_t half = std::max<std::int64_t>(1, c5 / 2);
    OnnxNames pools = {block(x, {c5, half, 1})};
    for (int i = 0; i < 3; ++i) {
      pools.push_back(net_.pool("MaxPool", pools.back(), 5, 1, 2));
    }
    const std::string at_32 = block(concat(pools), {4 * half, c5, 1});
    // Up to an eighth and down again.
    const std::string up_16 = stage(concat({net_.doubled(at_32), at_16}), c5 + c4, c4, 1, false);
    const std::string out_8 = stage(concat({net_.doubled(up_16), at_8}), c4 + c3, c3, 1, false);
    x = concat({block(out_8, {c3, c3, 3, 2}), up_16});
    const std::string out_16 = stage(x, c3 + c4, c4, 1, false);
    x = concat({block(out_16, {c4, c4, 3, 2}), at_32});
    const std::string out_32 = stage(x, c4 + c5, c5, 1, false);
    return head({out_8, out_16, out_32}, {c3, c4, c5});
  }

 private:
  std::string block(const std::string& x, const NetworkWriter::ConvShape& shape) {
    return net_.silu(net_.conv_norm(x, shape));
  }
  std::string concat(const OnnxNames& parts, std::int64_t axis = 1) {
    return net_.node("Concat", parts, {{"axis", axis}});
  }
  /// Half of the channels go through `count` bottlenecks; all that they gave is joined.
  std::string stage(const std::string& x, std::int64_t in, std::int64_t out, std::int64_t count,
                    bool has_shortcut) {
    const std::int64_t half = std::max<std::int64_t>(1, out / 2);
    const auto [left, right] = net_.split(block(x, {in, 2 * half, 1}), {half, half});
    OnnxNames parts = {left, right};
    for (std::int64_t i = 0; i < net_.repeats(count); ++i) {
      const std::string last = parts.back();
      const std::string y = block(block(last, {half, half, 3}), {half, half, 3});
      parts.push_back(has_shortcut ? net_.node("Add", {last, y}) : y);
    }
    return block(concat(parts), {static_cast<std::int64_t>(parts.size()) * half, out, 1});
  }

  std::string head(const OnnxNames& scales, const Ints& channels) {
    constexpr std::int64_t bins = 16, of_boxes = 4 * bins;
    const std::int64_t classes = std::min<std::int64_t>(80, net_.options().classes);
    const std::int64_t box_width = net_.width(64), class_width = net_.width(80);
    OnnxNames flat;
    std::vector<float> x_centers, y_centers, strides;
    for (std::size_t i = 0; i < scales.size(); ++i) {
      const std::int64_t c = channels[i], stride = std::int64_t{8} << i, side = size_ / stride;
      std::string box = block(scales[i], {c, box_width, 3}), score = scales[i];
      box = net_.conv(block(box, {box_width, box_width, 3}), {box_width, of_boxes, 1, 1, 1, true});
      score = block(block(score, {c, class_width, 3}), {class_width, class_width, 3});
      score = net_.conv(score, {class_width, classes, 1, 1, 1, true});
      flat.push_back(
          net_.node("Reshape", {concat({box, score}), net_.integers({1, of_boxes + classes, -1})}));
      for (std::int64_t at = 0; at < side * side; ++at) {
        x_centers.push_back(static_cast<float>(at % side) + 0.5F);
        y_centers.push_back(static_cast<float>(at / side) + 0.5F);
        strides.push_back(static_cast<float>(stride));
      }
    }
    const auto places = static_cast<std::int64_t>(strides.size());
    const auto [boxes, scores] = net_.split(concat(flat, 2), {of_boxes, classes});
    // Each side of a box is the mean over 16 bins.
    std::string sides = net_.node("Reshape", {boxes, net_.integers({1, 4, bins, places})});
    sides = net_.node("Transpose", {sides}, {{"perm", Ints{0, 2, 1, 3}}});
    sides = net_.node("Softmax", {sides}, {{"axis", std::int64_t{1}}});
    std::vector<float> numbers(bins);
    for (std::int64_t i = 0; i < bins; ++i) {
      numbers[static_cast<std::size_t>(i)] = static_cast<float>(i);
    }
    net_.graph().weights(onnx_tensor("bins", {1, bins, 1, 1}, numbers));
    sides = net_.node("Conv", {sides, "bins"}, {{"kernel_shape", Ints{1, 1}}});
    sides = net_.node("Reshape", {sides, net_.integers({1, 4, places})});
    const auto [near, far] = net_.split(sides, {2, 2});
    std::vector<float> centers = x_centers;
    centers.insert(centers.end(), y_centers.begin(), y_centers.end());
    net_.graph().weights(onnx_tensor("centers", {1, 2, places}, centers));
    net_.graph().weights(onnx_tensor("strides", {1, places}, strides));
    const std::string low = net_.node("Sub", {"centers", near});
    const std::string high = net_.node("Add", {"centers", far});
    const std::string middle = net_.node("Div", {net_.node("Add", {low, high}), net_.scalar(2)});
    const std::string extent = net_.node("Sub", {high, low});
    const std::string scaled = net_.node("Mul", {concat({middle, extent}), "strides"});
    return net_.finish(concat({scaled, net_.node("Sigmoid", {scores})}),
                       {std::int64_t{1}, 4 + classes, places});
  }

  NetworkWriter& net_;
  std::int64_t size_;
};

inline std::string yolo_v8n(NetworkWriter& net) { return YoloNetwork(net).write(); }

}  // namespace tensorsmith::test
