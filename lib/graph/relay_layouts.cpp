// SPDX-License-Identifier: Apache-2.0
// The reference's choice of layouts and algorithms for convolutions, and what follows from it for
// the operators around them.
#include <algorithm>
#include <cctype>
#include <map>

#include "graph/relay_builder.hpp"

namespace tensorsmith::graph {

namespace {

/// "NCHW16c": axes in upper case; a part of one axis in lower case, with its extent before it.
struct Layout {
  std::string axes;        ///< "NCHW"; empty: not known
  std::int64_t block = 0;  ///< of the channels; 0: none
  bool is_known() const { return !axes.empty(); }
  std::size_t rank() const { return axes.size() + (block > 0 ? 1 : 0); }
  std::string text() const {
    return axes + (block > 0 ? std::to_string(block) + "c" : std::string());
  }
  bool operator==(const Layout&) const = default;
};

/// Lanes of f32 in the widest vectors of the target, by which its templates block channels when
/// nothing was tuned: the largest divisor up to that.
constexpr std::int64_t fallback_lanes = 16;
std::int64_t largest_divisor(std::int64_t n, std::int64_t most) {
  for (std::int64_t d = std::min(n, most); d > 1; --d) {
    if (n % d == 0) {
      return d;
    }
  }
  return 1;
}

class LayoutChooser {
 public:
  LayoutChooser(const RelayGraph& graph, RelayTarget target) : graph_(graph), target_(target) {}

  RelayGraph run() {
    for (std::size_t i = 0; i < graph_.nodes.size(); ++i) {
      map_.push_back(0);
      layouts_.push_back({});
      map_[i] = rewrite(i);
    }
    return out_.finish(plain(graph_.nodes.size() - 1));
  }

 private:
  const RelayNode& node(std::size_t i) const { return graph_.nodes[i]; }

  RelayType blocked_type(RelayType type, std::size_t channel, std::int64_t block) {
    type.shape[channel] /= block;
    type.shape.push_back(block);
    return type;
  }

  /// A value of the copy in another layout.
  std::size_t transform(std::size_t value, const Layout& from, const Layout& to) {
    if (from == to) {
      return value;
    }
    return out_.call("layout_transform", {value}, retyped(value, from, to),
                     {{"src_layout", from.text()}, {"dst_layout", to.text()}});
  }
  RelayType retyped(std::size_t value, const Layout& from, const Layout& to) {
    RelayType type = out_[value].type;
    const auto c = static_cast<std::size_t>(axis_in(from.axes, 'C'));
    if (from.block > 0) {
      type.shape[c] *= type.shape.back();
      type.shape.pop_back();
    }
    return to.block > 0 ? blocked_type(type, c, to.block) : type;
  }
  /// The value as the graph had it.
  std::size_t plain(std::size_t i) {
    const Layout& layout = layouts_[i];
    return layout.block > 0 ? transform(map_[i], layout, Layout{layout.axes, 0}) : map_[i];
  }
  /// In a layout with as many axes as that one; what has fewer gets new ones in front.
  std::size_t fitted(std::size_t i, const Layout& to) {
    const Layout& own = layouts_[i];
    const std::size_t rank = node(i).type.shape.size();
    if (rank == 0) {
      return map_[i];
    }
    if (own.is_known()) {
      return own.axes == to.axes ? transform(map_[i], own, to) : map_[i];
    }
    std::size_t value = map_[i];
    if (rank < to.axes.size()) {
      value = out_.expand_dims(value, 0, static_cast<std::int64_t>(to.axes.size() - rank));
    }
    const auto c = static_cast<std::size_t>(axis_in(to.axes, 'C'));
    if (to.block > 0 && out_.shape(value)[c] % to.block == 0) {
      return transform(value, Layout{to.axes, 0}, to);
    }
    return value;
  }

  std::size_t same(std::size_t i, const std::vector<std::size_t>& inputs) {
    const RelayNode& n = node(i);
    if (n.kind == RelayKind::call) {
      return out_.call(n.name, inputs, n.type, n.attributes);
    }
    RelayNode copy = n;
    copy.inputs = inputs;
    return out_.add(std::move(copy));
  }
  std::vector<std::size_t> plain_inputs(std::size_t i) {
    std::vector<std::size_t> inputs;
    for (const std::size_t input : node(i).inputs) {
      inputs.push_back(plain(input));
    }
    return inputs;
  }

  static bool is_unary(const std::string& op) {
    static const char* const list[] = {"nn.relu", "tanh", "sigmoid",  "exp", "sqrt",
                                       "erf",     "clip", "negative", "abs", "nn.leaky_relu",
                                       "cast",    "log",  "rsqrt",    "copy"};
    return std::find(std::begin(list), std::end(list), op) != std::end(list);
  }
  static bool is_binary(const std::string& op) {
    static const char* const list[] = {"add",     "subtract", "multiply", "divide",
                                       "maximum", "minimum",  "power"};
    return std::find(std::begin(list), std::end(list), op) != std::end(list);
  }
  static bool is_pool(const std::string& op) {
    return op.find("pool2d") != std::string::npos && op.starts_with("nn.");
  }

  std::size_t rewrite(std::size_t i) {
    const RelayNode& n = node(i);
    if (n.kind != RelayKind::call) {
      return same(i, plain_inputs(i));
    }
    if (n.name == "nn.conv2d") {
      return convolution(i);
    }
    if (is_pool(n.name)) {
      return pool(i);
    }
    if (is_unary(n.name)) {
      layouts_[i] = layouts_[n.inputs[0]];
      RelayType type = out_[map_[n.inputs[0]]].type;
      type.dtype = n.type.dtype;
      return out_.call(n.name, {map_[n.inputs[0]]}, type, n.attributes);
    }
    if (is_binary(n.name) && n.inputs.size() == 2) {
      return broadcast(i);
    }
    if (n.name == "concatenate" && node(n.inputs[0]).kind == RelayKind::tuple) {
      return concatenate(i);
    }
    if (n.name == "nn.dense") {
      layouts_[i] = {"NC", 0};
    } else if (n.name == "nn.conv2d_transpose" || n.name == "nn.conv3d") {
      layouts_[i] = {n.text("data_layout"), 0};
    } else if ((n.name == "mean" || n.name == "variance" || n.name == "sum") &&
               n.integer("keepdims", 0) != 0 && layouts_[n.inputs[0]].block == 0) {
      layouts_[i] = layouts_[n.inputs[0]];
    }
    return same(i, plain_inputs(i));
  }

  std::size_t broadcast(std::size_t i) {
    const RelayNode& n = node(i);
    const std::size_t a = n.inputs[0], b = n.inputs[1];
    const auto rank = [&](std::size_t k) { return node(k).type.shape.size(); };
    const Layout la = layouts_[a], lb = layouts_[b];
    Layout chosen;
    if (la.is_known() && lb.is_known()) {
      chosen = la.rank() >= lb.rank() ? la : lb;
    } else if (la.is_known() && rank(a) >= rank(b)) {
      chosen = la;
    } else if (lb.is_known() && rank(b) >= rank(a)) {
      chosen = lb;
    } else {
      return same(i, plain_inputs(i));
    }
    layouts_[i] = chosen;
    const std::size_t x = fitted(a, chosen), y = fitted(b, chosen);
    const std::size_t made = out_.binary(n.name, x, y);
    return made;
  }

  /// All parts in the first known layout, if its blocks divide the channels of each.
  std::size_t concatenate(std::size_t i) {
    const RelayNode& n = node(i);
    const std::vector<std::size_t>& parts = node(n.inputs[0]).inputs;
    Layout chosen;
    for (const std::size_t part : parts) {
      chosen = chosen.is_known() ? chosen : layouts_[part];
    }
    const bool fits = std::all_of(parts.begin(), parts.end(), [&](std::size_t part) {
      const Layout& own = layouts_[part];
      return own.axes.empty() || own.axes == chosen.axes;
    });
    if (!chosen.is_known() || !fits) {
      return same(i, plain_inputs(i));
    }
    const auto c = static_cast<std::size_t>(axis_in(chosen.axes, 'C'));
    const bool divides = std::all_of(parts.begin(), parts.end(), [&](std::size_t part) {
      return chosen.block == 0 || node(part).type.shape[c] % chosen.block == 0;
    });
    chosen.block = divides ? chosen.block : 0;
    RelayNode tuple = node(n.inputs[0]);
    tuple.type.fields.clear();
    for (std::size_t& input : tuple.inputs) {
      input = fitted(input, chosen);
      tuple.type.fields.push_back(out_[input].type);
    }
    layouts_[i] = chosen;
    RelayType type = chosen.block > 0 ? blocked_type(n.type, c, chosen.block) : n.type;
    return out_.call(n.name, {out_.add(std::move(tuple))}, std::move(type), n.attributes);
  }

  std::size_t pool(std::size_t i) {
    const RelayNode& n = node(i);
    const std::size_t x = n.inputs[0];
    Layout layout = layouts_[x].is_known() ? layouts_[x] : Layout{n.text("layout"), 0};
    layouts_[i] = layout;
    RelayType type = n.type;
    std::vector<Attribute> attributes = n.attributes;
    if (layout.block > 0) {
      type = blocked_type(type, static_cast<std::size_t>(axis_in(layout.axes, 'C')), layout.block);
      for (Attribute& attribute : attributes) {
        if (attribute.name == "layout") {
          attribute.value = layout.text();
        }
      }
    }
    return out_.call(n.name, {map_[x]}, type, attributes);
  }

  static void set(std::vector<Attribute>& attributes, const char* name, AttributeValue value) {
    for (Attribute& attribute : attributes) {
      if (attribute.name == name) {
        attribute.value = std::move(value);
        return;
      }
    }
    attributes.push_back({name, std::move(value)});
  }

  std::size_t convolution(std::size_t i) {
    const RelayNode& n = node(i);
    const std::string layout = n.text("data_layout");
    const std::size_t x = n.inputs[0], w = n.inputs[1];
    const Shape& data = node(x).type.shape;
    layouts_[i] = {layout, 0};
    const std::int64_t groups = n.integer("groups", 1);
    const bool depthwise = is_depthwise(n, data);
    if (target_ == RelayTarget::cpu && layout == "NCHW" && n.text("kernel_layout") == "OIHW" &&
        (groups == 1 || (depthwise && n.type.shape[1] == data[1]))) {
      return blocked(i, depthwise);
    }
    if (layout == "NHWC" && n.text("kernel_layout") == "HWIO" && groups == 1 && is_winograd(n)) {
      const std::int64_t tile = tile_size(data);
      const Shape& kernel = node(w).type.shape;
      RelayType type = node(w).type;
      type.shape = {kernel[0] + tile - 1, kernel[1] + tile - 1, kernel[3], kernel[2]};
      const std::size_t weights = out_.call("nn.contrib_conv2d_winograd_weight_transform",
                                            {map_[w]}, type, {{"tile_size", tile}});
      std::vector<Attribute> attributes = n.attributes;
      set(attributes, "tile_size", tile);
      return out_.call("nn.contrib_conv2d_winograd_without_weight_transform", {plain(x), weights},
                       n.type, attributes);
    }
    return same(i, plain_inputs(i));
  }

  bool is_winograd(const RelayNode& n) const {
    const Shape& kernel = node(n.inputs[1]).type.shape;
    const bool is_one_step = n.integers("strides") == std::vector<std::int64_t>{1, 1} &&
                             n.integers("dilation") == std::vector<std::int64_t>{1, 1};
    const bool fits = is_float(n.type.dtype) && kernel[0] == 3 && kernel[1] == 3 && is_one_step;
    return fits && (target_ == RelayTarget::cuda || (kernel[3] > 64 && kernel[3] < 512));
  }
  std::int64_t tile_size(const Shape& data) const {
    return target_ == RelayTarget::cpu || data[1] % 8 == 0 ? 4 : 2;
  }

  std::size_t blocked(std::size_t i, bool depthwise) {
    const RelayNode& n = node(i);
    const std::size_t x = n.inputs[0], w = n.inputs[1];
    const std::int64_t in = node(x).type.shape[1], out = n.type.shape[1];
    const std::int64_t o = largest_divisor(out, fallback_lanes);
    const std::int64_t c = depthwise ? o : largest_divisor(in, o);
    const Layout of_data{"NCHW", c}, of_result{"NCHW", o};
    const std::size_t data = layouts_[x].is_known() && layouts_[x].axes == "NCHW"
                                 ? transform(map_[x], layouts_[x], of_data)
                                 : transform(map_[x], Layout{"NCHW", 0}, of_data);
    const Shape& kernel = node(w).type.shape;
    RelayType type = node(w).type;
    type.shape = depthwise ? Shape{out / o, 1, kernel[2], kernel[3], 1, o}
                           : Shape{out / o, in / c, kernel[2], kernel[3], c, o};
    const std::string kernel_layout =
        "OIHW" + std::to_string(depthwise ? 1 : c) + "i" + std::to_string(o) + "o";
    const std::size_t weights =
        out_.call("layout_transform", {map_[w]}, type,
                  {{"src_layout", std::string("OIHW")}, {"dst_layout", kernel_layout}});
    std::vector<Attribute> attributes = n.attributes;
    set(attributes, "data_layout", of_data.text());
    set(attributes, "out_layout", of_result.text());
    set(attributes, "kernel_layout", kernel_layout);
    layouts_[i] = of_result;
    return out_.call(depthwise ? "nn.contrib_depthwise_conv2d_NCHWc" : "nn.contrib_conv2d_NCHWc",
                     {data, weights}, blocked_type(n.type, 1, o), attributes);
  }

  const RelayGraph& graph_;
  RelayTarget target_;
  RelayBuilder out_;
  std::vector<std::size_t> map_;
  std::vector<Layout> layouts_;  ///< of what a node of the graph became
};

}  // namespace

RelayGraph alter_layouts(const RelayGraph& graph, RelayTarget target) {
  return LayoutChooser(graph, target).run();
}

}  // namespace tensorsmith::graph
