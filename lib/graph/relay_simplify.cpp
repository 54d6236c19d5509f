// SPDX-License-Identifier: Apache-2.0
// The reference's forms for inference, its folding of scales, and small identities.
#include <algorithm>
#include <map>
#include <optional>

#include "graph/relay_copier.hpp"

namespace tensorsmith::graph {

namespace {

std::int64_t positive_axis(std::int64_t axis, std::size_t rank) {
  return axis < 0 ? axis + static_cast<std::int64_t>(rank) : axis;
}

class InferenceForms final : public RelayCopier {
 public:
  using RelayCopier::RelayCopier;

 private:
  /// A list along an axis, so that it can be spread over a tensor of that rank.
  std::size_t along(std::size_t list, std::int64_t axis, std::size_t rank) {
    const std::int64_t behind = static_cast<std::int64_t>(rank) - positive_axis(axis, rank) - 1;
    return behind > 0 ? out.expand_dims(list, 1, behind) : list;
  }
  std::size_t scalar(DType dtype, double value) {
    RelayNode node;
    node.kind = RelayKind::constant;
    node.type.dtype = dtype;
    node.attributes.push_back({"value", value});
    return out.add(std::move(node));
  }

  std::size_t rewrite(std::size_t i, const std::vector<std::size_t>& in) override {
    const RelayNode& node = graph_.nodes[i];
    if (node.kind == RelayKind::item) {
      const std::string& of = graph_.nodes[node.inputs[0]].name;
      if (of == "nn.batch_norm" || of == "nn.dropout") {
        if (node.item != 0) {
          throw Error("an item of " + of + " beside the first is not supported");
        }
        return in[0];
      }
    }
    if (node.kind != RelayKind::call) {
      return copy(i, in);
    }
    const std::size_t rank = in.empty() ? 0 : out.shape(in[0]).size();
    if (node.name == "nn.batch_norm") {
      const DType dtype = out[in[0]].type.dtype;
      const std::size_t root =
          out.unary("sqrt", out.binary("add", in[4], scalar(dtype, node.real("epsilon", 1e-5))));
      std::size_t scale = out.binary("divide", scalar(dtype, 1), root);
      if (node.integer("scale", 1) != 0) {
        scale = out.binary("multiply", in[1], scale);
      }
      std::size_t shift = out.binary("multiply", out.unary("negative", in[3]), scale);
      if (node.integer("center", 1) != 0) {
        shift = out.binary("add", shift, in[2]);
      }
      const std::int64_t axis = node.integer("axis", 1);
      return out.binary("add", out.binary("multiply", in[0], along(scale, axis, rank)),
                        along(shift, axis, rank));
    }
    if (node.name == "nn.layer_norm") {
      const std::int64_t axis = positive_axis(node.integer("axis", -1), rank);
      RelayType reduced = out[in[0]].type;
      reduced.shape[static_cast<std::size_t>(axis)] = 1;
      const std::vector<Attribute> attributes = {{"axis", List{axis}},
                                                 {"keepdims", std::int64_t{1}}};
      const std::size_t mean = out.call("mean", {in[0]}, reduced, attributes);
      const std::size_t variance = out.call("variance", {in[0], mean}, reduced, attributes);
      const std::size_t root = out.unary(
          "sqrt", out.binary("add", variance, scalar(reduced.dtype, node.real("epsilon", 1e-5))));
      std::size_t y = out.binary("divide", out.binary("subtract", in[0], mean), root);
      if (node.integer("scale", 1) != 0) {
        y = out.binary("multiply", y, along(in[1], axis, rank));
      }
      return node.integer("center", 1) != 0 ? out.binary("add", y, along(in[2], axis, rank)) : y;
    }
    if (node.name == "nn.dropout") {
      return in[0];
    }
    return copy(i, in);
  }
  using List = std::vector<std::int64_t>;
};

/// Whether b, spread over a, has elements along one axis only.
bool is_along(const Shape& a, const Shape& b, std::int64_t axis) {
  const auto missing = static_cast<std::int64_t>(a.size()) - static_cast<std::int64_t>(b.size());
  if (missing < 0 || axis < missing) {
    return false;
  }
  for (std::int64_t d = missing; d < static_cast<std::int64_t>(a.size()); ++d) {
    const std::int64_t extent = b[static_cast<std::size_t>(d - missing)];
    if (extent != (d == axis ? a[static_cast<std::size_t>(d)] : 1)) {
      return false;
    }
  }
  return true;
}

bool is_sum(const RelayNode& node) { return node.name == "add" || node.name == "subtract"; }

/// Where scales go: which axis may be scaled, and whether only by positive numbers.
struct ScaleMessage {
  std::int64_t axis = 0;
  bool is_positive = false;
};
using Message = std::optional<ScaleMessage>;

/// The axis along which a scale has its elements, alone; as the reference takes it off.
std::size_t flat_scale(RelayBuilder& out, std::size_t scale) {
  const Shape& shape = out.shape(scale);
  if (shape.size() == 1) {
    return scale;
  }
  RelayType type = out[scale].type;
  std::vector<std::int64_t> axes;
  std::size_t kept = 0;
  for (std::size_t d = 0; d < shape.size(); ++d) {
    kept = shape[d] != 1 ? d : kept;
  }
  for (std::size_t d = 0; d < shape.size(); ++d) {
    if (d != kept) {
      axes.push_back(static_cast<std::int64_t>(d));
    }
  }
  type.shape = {shape[kept]};
  return out.call("squeeze", {scale}, type, {{"axis", axes}});
}

/// Weights times a scale along the channels that they make (`is_output`) or read.
std::size_t scaled_weights(RelayBuilder& out, const RelayNode& conv, std::size_t weights,
                           std::size_t scale, bool is_output) {
  const auto rank = static_cast<std::int64_t>(out.shape(weights).size());
  const std::int64_t count = num_elements(out.shape(scale));
  std::int64_t axis = is_output ? 0 : 1;
  if (conv.name != "nn.dense") {
    const std::string layout = conv.text("kernel_layout");
    const std::int64_t o = axis_in(layout, 'O'), c = axis_in(layout, 'I');
    axis = is_output ? o : c;
    if (conv.integer("groups", 1) > 1) {  // depthwise: the axis that has the channels
      axis = out.shape(weights)[static_cast<std::size_t>(o)] == count ? o : c;
    }
  }
  std::size_t along = flat_scale(out, scale);
  if (rank - axis - 1 > 0) {
    along = out.expand_dims(along, 1, rank - axis - 1);
  }
  return out.binary("multiply", weights, along);
}

class Backward final : public RelayCopier {
 public:
  explicit Backward(const RelayGraph& graph) : RelayCopier(graph), uses_(relay_uses(graph)) {
    for (std::size_t i = 0; i < graph.nodes.size(); ++i) {
      messages_.push_back(uses_[i] == 1 ? message_of(i) : Message());
    }
    // What is scaled further on is known before it is copied.
    scale_of_.assign(graph.nodes.size(), SIZE_MAX);
    for (std::size_t i = graph.nodes.size(); i-- > 0;) {
      plan(i);
    }
  }

 private:
  const RelayNode& node(std::size_t i) const { return graph_.nodes[i]; }
  const Shape& shape_of(std::size_t i) const { return graph_.nodes[i].type.shape; }

  Message message_of(std::size_t i) const {
    const RelayNode& n = node(i);
    if (n.kind != RelayKind::call) {
      return {};
    }
    if (is_convolution(n.name)) {
      const std::string layout =
          n.text("out_layout").empty() ? n.text("data_layout") : n.text("out_layout");
      const std::int64_t c = axis_in(layout, 'C');
      const bool fits = n.integer("groups", 1) == 1 || is_depthwise(n, shape_of(n.inputs[0]));
      return c >= 0 && fits ? Message({c, false}) : Message();
    }
    if (n.name == "nn.dense") {
      return ScaleMessage{1, false};
    }
    if (n.name == "nn.relu" || n.name == "nn.leaky_relu") {
      Message m = messages_[n.inputs[0]];
      if (m) {
        m->is_positive = true;
      }
      return m;
    }
    if (n.name == "nn.bias_add") {
      const Message m = messages_[n.inputs[0]];
      const std::int64_t axis = positive_axis(n.integer("axis", 1), n.type.shape.size());
      return m && m->axis == axis ? m : Message();
    }
    if (is_sum(n)) {
      const std::size_t a = n.inputs[0], b = n.inputs[1];
      const Message l = messages_[a], r = messages_[b];
      if (l && r && l->axis == r->axis) {
        return ScaleMessage{l->axis, l->is_positive || r->is_positive};
      }
      if (l && is_along(shape_of(a), shape_of(b), l->axis)) {
        return l;
      }
      return r && is_along(shape_of(b), shape_of(a), r->axis) ? r : Message();
    }
    return {};
  }

  /// A product that can be folded hands its scale to what it multiplies; what is scaled hands it
  /// on.
  void plan(std::size_t i) {
    const RelayNode& n = node(i);
    if (n.kind != RelayKind::call) {
      return;
    }
    if (n.name == "multiply" && scale_of_[i] == SIZE_MAX) {
      for (int side = 0; side < 2; ++side) {
        const std::size_t x = n.inputs[static_cast<std::size_t>(side)];
        const std::size_t s = n.inputs[static_cast<std::size_t>(1 - side)];
        const Message m = messages_[x];
        if (m && is_along(shape_of(x), shape_of(s), m->axis) &&
            (!m->is_positive || node(s).kind == RelayKind::constant)) {
          scale_of_[x] = s;
          folded_[i] = x;
          return;
        }
      }
    }
    const std::size_t s = scale_of_[i];
    if (s == SIZE_MAX) {
      return;
    }
    if (n.name == "nn.relu" || n.name == "nn.leaky_relu" || n.name == "nn.bias_add") {
      scale_of_[n.inputs[0]] = s;
    } else if (is_sum(n)) {
      const Message l = messages_[n.inputs[0]], r = messages_[n.inputs[1]];
      const bool both = l && r && l->axis == r->axis;
      const bool is_left =
          l && (both || is_along(shape_of(n.inputs[0]), shape_of(n.inputs[1]), l->axis));
      if (is_left) {
        scale_of_[n.inputs[0]] = s;
      }
      if (both || !is_left) {
        scale_of_[n.inputs[1]] = s;
      }
    }
  }

  std::size_t rewrite(std::size_t i, const std::vector<std::size_t>& in) override {
    const RelayNode& n = node(i);
    if (const auto found = folded_.find(i); found != folded_.end()) {
      return mapped(found->second);
    }
    const std::size_t s = scale_of_[i];
    if (s == SIZE_MAX || n.kind != RelayKind::call) {
      return copy(i, in);
    }
    // The scale may stand behind this node in the list; constants and variables do not depend on
    // it, so they are copied at once.
    const std::size_t scale = copied_scale(s);
    if (is_convolution(n.name) || n.name == "nn.dense") {
      return out.call(n.name, {in[0], scaled_weights(out, n, in[1], scale, true)}, n.type,
                      n.attributes);
    }
    if (is_sum(n)) {
      std::vector<std::size_t> inputs = in;
      for (std::size_t k = 0; k < 2; ++k) {
        if (scale_of_[n.inputs[k]] == SIZE_MAX || scale_of_[n.inputs[k]] != s) {
          inputs[k] = out.binary("multiply", in[k], scale);
        }
      }
      return out.call(n.name, inputs, n.type, n.attributes);
    }
    if (n.name == "nn.bias_add") {
      const std::size_t flat = out.reshape(scale, {num_elements(out.shape(scale))});
      return out.call(n.name, {in[0], out.binary("multiply", in[1], flat)}, n.type, n.attributes);
    }
    return copy(i, in);
  }

  std::size_t copied_scale(std::size_t s) {
    const auto found = scales_.find(s);
    if (found != scales_.end()) {
      return found->second;
    }
    std::vector<std::size_t> inputs;
    for (const std::size_t input : node(s).inputs) {
      inputs.push_back(copied_scale(input));
    }
    const std::size_t made = copy(s, inputs);
    scales_.emplace(s, made);
    return made;
  }

  std::vector<std::size_t> uses_;
  std::vector<Message> messages_;
  std::vector<std::size_t> scale_of_;
  std::map<std::size_t, std::size_t> folded_, scales_;
};

class Forward final : public RelayCopier {
 public:
  explicit Forward(const RelayGraph& graph)
      : RelayCopier(graph), messages_(graph.nodes.size()), is_read_(graph.nodes.size(), false),
        scale_of_(graph.nodes.size(), SIZE_MAX) {
    is_read_.back() = true;  // the result is read as it is
    for (std::size_t i = graph.nodes.size(); i-- > 0;) {
      for (std::size_t k = 0; k < graph.nodes[i].inputs.size(); ++k) {
        meet(graph.nodes[i].inputs[k], message_to(i, k));
      }
    }
  }

 private:
  const RelayNode& node(std::size_t i) const { return graph_.nodes[i]; }
  const Shape& shape_of(std::size_t i) const { return graph_.nodes[i].type.shape; }

  /// All readers must agree.
  void meet(std::size_t i, const Message& m) {
    if (!is_read_[i]) {
      messages_[i] = m;
    } else if (!m || !messages_[i] || m->axis != messages_[i]->axis) {
      messages_[i].reset();
    } else {
      messages_[i]->is_positive = messages_[i]->is_positive || m->is_positive;
    }
    is_read_[i] = true;
  }

  Message message_to(std::size_t i, std::size_t k) const {
    const RelayNode& n = node(i);
    if (n.kind != RelayKind::call) {
      return {};
    }
    if (is_convolution(n.name) && k == 0) {
      const std::int64_t c = axis_in(n.text("data_layout"), 'C');
      const bool fits = n.integer("groups", 1) == 1 || is_depthwise(n, shape_of(n.inputs[0]));
      return c >= 0 && fits ? Message({c, false}) : Message();
    }
    if (n.name == "nn.dense" && k == 0) {
      return ScaleMessage{1, false};
    }
    const Message m = messages_[i];
    if (!m) {
      return {};
    }
    if (n.name == "nn.relu" || n.name == "nn.leaky_relu") {
      return ScaleMessage{m->axis, true};
    }
    if (n.name == "nn.bias_add" && k == 0) {
      return positive_axis(n.integer("axis", 1), n.type.shape.size()) == m->axis ? m : Message();
    }
    if (is_sum(n) && is_along(shape_of(n.inputs[k]), shape_of(n.inputs[1 - k]), m->axis)) {
      return m;
    }
    return {};
  }

  std::size_t rewrite(std::size_t i, const std::vector<std::size_t>& in) override {
    const RelayNode& n = node(i);
    if (n.kind != RelayKind::call) {
      return copy(i, in);
    }
    if (n.name == "multiply" && messages_[i]) {
      for (std::size_t k = 0; k < 2; ++k) {
        const std::size_t x = n.inputs[k], s = n.inputs[1 - k];
        if (scale_of_[x] == SIZE_MAX && scale_of_[s] == SIZE_MAX &&
            is_along(shape_of(x), shape_of(s), messages_[i]->axis) &&
            (!messages_[i]->is_positive || node(s).kind == RelayKind::constant)) {
          scale_of_[i] = in[1 - k];
          return in[k];
        }
      }
    }
    const auto scale_at = [&](std::size_t k) { return scale_of_[n.inputs[k]]; };
    if (n.inputs.empty() ||
        (scale_at(0) == SIZE_MAX && (n.inputs.size() < 2 || scale_at(1) == SIZE_MAX))) {
      return copy(i, in);
    }
    if (is_convolution(n.name) || n.name == "nn.dense") {
      return out.call(n.name, {in[0], scaled_weights(out, n, in[1], scale_at(0), false)}, n.type,
                      n.attributes);
    }
    if (n.name == "nn.relu" || n.name == "nn.leaky_relu") {
      scale_of_[i] = scale_at(0);
      return copy(i, in);
    }
    const std::size_t k = scale_at(0) != SIZE_MAX ? 0 : 1;
    const std::size_t scale = scale_at(k);
    std::vector<std::size_t> inputs = in;
    const std::size_t flat =
        n.name == "nn.bias_add" ? out.reshape(scale, {num_elements(out.shape(scale))}) : scale;
    inputs[1 - k] = out.binary("divide", in[1 - k], flat);
    scale_of_[i] = scale;
    return out.call(n.name, inputs, n.type, n.attributes);
  }

  std::vector<Message> messages_;
  std::vector<bool> is_read_;
  std::vector<std::size_t> scale_of_;  ///< in the copy, by node of the original
};

class Identities final : public RelayCopier {
 public:
  using RelayCopier::RelayCopier;

 private:
  std::size_t rewrite(std::size_t i, const std::vector<std::size_t>& in) override {
    const RelayNode& n = graph_.nodes[i];
    if (n.kind != RelayKind::call) {
      return copy(i, in);
    }
    if (n.name == "nn.bias_add") {
      const std::size_t rank = n.type.shape.size();
      const std::int64_t behind =
          static_cast<std::int64_t>(rank) - positive_axis(n.integer("axis", 1), rank) - 1;
      return out.binary("add", in[0], behind > 0 ? out.expand_dims(in[1], 1, behind) : in[1]);
    }
    if ((n.name == "reshape" || n.name == "squeeze") && out.is_call(in[0], "reshape")) {
      return out.reshape(out[in[0]].inputs[0], n.type.shape);
    }
    if (n.name == "transpose" && out.is_call(in[0], "transpose")) {
      const std::vector<std::int64_t> first = axes_of(out[in[0]]), second = axes_of(n);
      std::vector<std::int64_t> both;
      bool is_identity = true;
      for (const std::int64_t axis : second) {
        both.push_back(first[static_cast<std::size_t>(axis)]);
        is_identity = is_identity && both.back() == static_cast<std::int64_t>(both.size()) - 1;
      }
      const std::size_t x = out[in[0]].inputs[0];
      return is_identity ? x : out.call("transpose", {x}, n.type, {{"axes", both}});
    }
    if (n.name == "divide" && out.is_call(in[1], "sqrt") && out.is_constant(in[0]) &&
        out.shape(in[0]).empty() && out[in[0]].real("value", 0) == 1) {
      return out.call("rsqrt", {out[in[1]].inputs[0]}, n.type);
    }
    if (n.name == "add" && out.is_constant(in[1]) && out.is_call(in[0], "add") &&
        out.is_constant(out[in[0]].inputs[1])) {
      const RelayNode before = out[in[0]];
      return out.binary("add", before.inputs[0], out.binary("add", before.inputs[1], in[1]));
    }
    return copy(i, in);
  }
  static std::vector<std::int64_t> axes_of(const RelayNode& n) {
    std::vector<std::int64_t> axes = n.integers("axes");
    const std::size_t rank = n.type.shape.size();
    for (std::size_t d = rank; axes.size() < rank;) {
      axes.push_back(static_cast<std::int64_t>(--d));
    }
    for (std::int64_t& axis : axes) {
      axis = positive_axis(axis, rank);
    }
    return axes;
  }
};

}  // namespace

RelayGraph simplify_inference(const RelayGraph& graph) { return InferenceForms(graph).run(); }
RelayGraph fold_scales_backward(const RelayGraph& graph) { return Backward(graph).run(); }
RelayGraph fold_scales_forward(const RelayGraph& graph) { return Forward(graph).run(); }
RelayGraph simplify_expressions(const RelayGraph& graph) { return Identities(graph).run(); }

}  // namespace tensorsmith::graph
