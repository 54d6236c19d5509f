// SPDX-License-Identifier: Apache-2.0
#include "tensorsmith/graph/simplify.hpp"

#include <algorithm>
#include <cmath>

#include "graph/branches.hpp"
#include "graph/operators.hpp"
#include "tensorsmith/graph/resolve.hpp"

namespace tensorsmith::graph {

namespace {

/// What a rule asks and changes. Nodes keep their places; what is new stands in the place of the
/// last node that it replaces.
class Rewriter {
 public:
  explicit Rewriter(Graph& graph) : graph_(graph) { refresh(); }

  /// One pass over all nodes; whether anything changed.
  bool pass(Simplified& count) {
    bool has_changed = false;
    for (std::size_t i = 0; i < graph_.nodes.size(); ++i) {
      const bool applied = apply(i, count);
      has_changed = has_changed || applied;
      if (applied) {
        refresh();
      }
    }
    return has_changed;
  }

 private:
  void refresh() {
    producer_ = producers(graph_);
    uses_ = count_uses(graph_);
  }

  bool apply(std::size_t i, Simplified& count) {
    const std::string& op = graph_.nodes[i].op;
    if (op == "BatchNormalization") {
      return counted(fold_batch_norm(i), count.batch_norms);
    }
    if (op == "Conv" || op == "AveragePool" || op == "MaxPool") {
      return counted(fold_pad(i), count.pads);
    }
    if (op == "Mul") {
      return counted(find_gelu(i), count.gelus) ||
             counted(find_hard_swish(i), count.hard_swishes) ||
             counted(find_swish(i), count.swishes) ||
             counted(find_layer_norm(i), count.layer_norms);
    }
    if (op == "Div") {
      return counted(find_hard_swish(i), count.hard_swishes) ||
             counted(find_layer_norm(i), count.layer_norms);
    }
    if (op == "Add") {
      return counted(find_affine(i), count.layer_norms);
    }
    if (op == "Transpose") {
      return counted(make_view(i), count.views);
    }
    return is_copy(i) && counted(drop_view(i), count.views);
  }
  static bool counted(bool applied, std::int64_t& count) {
    count += applied ? 1 : 0;
    return applied;
  }

  // Asking.
  Node* node_of(ValueId id) {
    return id.valid() && producer_[id.value] >= 0
               ? &graph_.nodes[static_cast<std::size_t>(producer_[id.value])]
               : nullptr;
  }
  Node* node_of(ValueId id, std::string_view op) {
    Node* node = node_of(id);
    return node != nullptr && node->op == op ? node : nullptr;
  }
  bool has_one_use(ValueId id) const { return uses_[id.value] == 1; }
  bool is_scalar(ValueId id, double value) const {
    if (!graph_.is_constant(id)) {
      return false;
    }
    const Constant& c = graph_.value(id).constant;
    return num_elements(c.shape) == 1 && std::abs(c.real(0) - value) <= 1e-5 * std::abs(value);
  }
  bool is_small_scalar(ValueId id, double& value) const {
    if (!graph_.is_constant(id) || num_elements(graph_.value(id).shape) != 1) {
      return false;
    }
    value = graph_.value(id).constant.real(0);
    return true;
  }
  /// The other operand of a node of two, if one of them is that scalar.
  ValueId other_than(const Node& node, double scalar) const {
    if (node.inputs.size() != 2) {
      return {};
    }
    return is_scalar(node.inputs[1], scalar)   ? node.inputs[0]
           : is_scalar(node.inputs[0], scalar) ? node.inputs[1]
                                               : ValueId{};
  }
  /// Calls f with both orders of the operands until one fits.
  template <class F>
  static bool either_order(const Node& node, const F& f) {
    return node.inputs.size() == 2 &&
           (f(node.inputs[0], node.inputs[1]) || f(node.inputs[1], node.inputs[0]));
  }

  // Changing.
  void replace(std::size_t i, std::string op, std::vector<ValueId> inputs,
               std::vector<Attribute> attributes = {}) {
    Node& node = graph_.nodes[i];
    node.op = std::move(op);
    node.inputs = std::move(inputs);
    node.attributes = std::move(attributes);
  }
  ValueId add_constant(const HostArray& array) {
    return graph_.add_constant("", constant_from(array));
  }
  void read_instead(ValueId old, ValueId now) {
    for (Node& node : graph_.nodes) {
      std::replace(node.inputs.begin(), node.inputs.end(), old, now);
    }
  }

  // Rules.

  /// scale (x - mean) / sqrt(var + e) + bias behind a convolution of constant weights.
  bool fold_batch_norm(std::size_t i) {
    const Node& norm = graph_.nodes[i];
    for (std::size_t k = 1; k < 5; ++k) {
      if (!norm.has_input(k) || !graph_.is_constant(norm.inputs[k])) {
        return false;
      }
    }
    Node* before = node_of(norm.inputs[0]);
    const bool is_transposed = before != nullptr && before->op == "ConvTranspose";
    const bool is_conv = before != nullptr && (before->op == "Conv" || is_transposed);
    if (!is_conv || !has_one_use(norm.inputs[0]) || !graph_.is_constant(before->inputs[1]) ||
        (before->has_input(2) && !graph_.is_constant(before->inputs[2])) ||
        (is_transposed && before->integer("group", 1) != 1) ||
        before->text("layout", "NCHW") != norm.text("layout", "NCHW")) {
      return false;
    }
    const auto constant = [&](std::size_t k) -> const Constant& {
      return graph_.value(norm.inputs[k]).constant;
    };
    const Constant& w = graph_.value(before->inputs[1]).constant;
    const bool is_last = norm.text("layout", "NCHW") == "NHWC";
    const std::size_t axis = is_last ? w.shape.size() - 1 : is_transposed ? 1 : 0;
    const std::int64_t channels = w.shape[axis];
    if (num_elements(constant(1).shape) != channels) {
      return false;
    }
    std::vector<double> scale, shift;
    const double epsilon = norm.real("epsilon", 1e-5);
    for (std::int64_t c = 0; c < channels; ++c) {
      scale.push_back(constant(1).real(c) / std::sqrt(constant(4).real(c) + epsilon));
      const double bias =
          before->has_input(2) ? graph_.value(before->inputs[2]).constant.real(c) : 0;
      shift.push_back((bias - constant(3).real(c)) * scale.back() + constant(2).real(c));
    }
    HostArray weights(w.dtype, w.shape), bias(w.dtype, {channels});
    std::int64_t inner = 1;
    for (std::size_t d = axis + 1; d < w.shape.size(); ++d) {
      inner *= w.shape[d];
    }
    for (std::int64_t k = 0; k < weights.num_elements(); ++k) {
      weights.set_real(k, w.real(k) * scale[static_cast<std::size_t>(k / inner % channels)]);
    }
    for (std::int64_t c = 0; c < channels; ++c) {
      bias.set_real(c, shift[static_cast<std::size_t>(c)]);
    }
    const ValueId x = before->inputs[0];
    const std::string op = before->op;
    std::vector<Attribute> attributes = before->attributes;
    const ValueId new_weights = add_constant(weights), new_bias = add_constant(bias);
    replace(i, op, {x, new_weights, new_bias}, std::move(attributes));
    return true;
  }

  /// Zeros around the spatial axes in front of a convolution, or of an average that counts them.
  bool fold_pad(std::size_t i) {
    Node& node = graph_.nodes[i];
    Node* pad = node_of(node.inputs[0], "Pad");
    if (pad == nullptr || !has_one_use(node.inputs[0]) ||
        pad->text("mode", "constant") != "constant" ||
        node.text("auto_pad", "NOTSET") != "NOTSET" || node.integer("ceil_mode", 0) != 0 ||
        !pad->has_input(1) || pad->has_input(3) || !graph_.is_constant(pad->inputs[1])) {
      return false;
    }
    double fill = 0;
    if (pad->has_input(2) && !is_small_scalar(pad->inputs[2], fill)) {
      return false;
    }
    const bool is_max = node.op == "MaxPool";
    const bool is_average = node.op == "AveragePool";
    if (is_max ? !(std::isinf(fill) && fill < 0) : fill != 0) {
      return false;
    }
    if (is_average && node.integer("count_include_pad", 0) == 0) {
      return false;
    }
    const List amounts = graph_.value(pad->inputs[1]).constant.integers();
    const std::size_t all = graph_.value(pad->inputs[0]).shape.size(), rank = all - 2;
    const std::size_t first = node.text("layout", "NCHW") == "NHWC" ? 1 : 2;
    List pads = node.integers("pads", List(2 * rank, 0));
    if (amounts.size() != 2 * all || pads.size() != 2 * rank) {
      return false;
    }
    for (std::size_t d = 0; d < all; ++d) {
      const bool is_spatial = d >= first && d < first + rank;
      if (amounts[d] < 0 || amounts[all + d] < 0 ||
          (!is_spatial && (amounts[d] != 0 || amounts[all + d] != 0))) {
        return false;
      }
      if (is_spatial) {
        pads[d - first] += amounts[d];
        pads[rank + d - first] += amounts[all + d];
      }
    }
    node.set("pads", pads);
    node.inputs[0] = pad->inputs[0];
    return true;
  }

  /// x * sigmoid(x).
  bool find_swish(std::size_t i) {
    return either_order(graph_.nodes[i], [&](ValueId x, ValueId gate) {
      const Node* sigmoid = node_of(gate, "Sigmoid");
      if (sigmoid == nullptr || sigmoid->inputs[0] != x) {
        return false;
      }
      replace(i, "Swish", {x});
      return true;
    });
  }

  /// x * clip(x + 3, 0, 6) / 6 with the division at any place, or x * HardSigmoid(x).
  bool find_hard_swish(std::size_t i) {
    const Node& node = graph_.nodes[i];
    const auto is_gate = [&](ValueId gate, ValueId x) {
      const Node* clip = node_of(gate, "Clip");
      if (clip == nullptr || !clip->has_input(1) || !clip->has_input(2) ||
          !is_zero(clip->inputs[1]) || !is_scalar(clip->inputs[2], 6)) {
        return false;
      }
      const Node* sum = node_of(clip->inputs[0], "Add");
      return sum != nullptr && other_than(*sum, 3) == x && x.valid();
    };
    const auto is_sixth = [&](ValueId gate, ValueId x) {
      const Node* by = node_of(gate);
      const bool is_division = by != nullptr && by->op == "Div" && is_scalar(by->inputs[1], 6) &&
                               is_gate(by->inputs[0], x);
      const bool is_product = by != nullptr && by->op == "Mul" &&
                              other_than(*by, 1.0 / 6).valid() &&
                              is_gate(other_than(*by, 1.0 / 6), x);
      const bool is_hard_sigmoid = by != nullptr && by->op == "HardSigmoid" && by->inputs[0] == x &&
                                   std::abs(by->real("alpha", 0.2) - 1.0 / 6) < 1e-5 &&
                                   by->real("beta", 0.5) == 0.5;
      return is_division || is_product || is_hard_sigmoid;
    };
    if (node.op == "Mul" && either_order(node, [&](ValueId x, ValueId gate) {
          if (!is_sixth(gate, x)) {
            return false;
          }
          replace(i, "HardSwish", {x});
          return true;
        })) {
      return true;
    }
    const ValueId whole = node.op == "Div" && is_scalar(node.inputs[1], 6) ? node.inputs[0]
                          : node.op == "Mul" ? other_than(node, 1.0 / 6)
                                             : ValueId{};
    const Node* product = node_of(whole, "Mul");
    return product != nullptr && either_order(*product, [&](ValueId x, ValueId gate) {
             if (!is_gate(gate, x)) {
               return false;
             }
             replace(i, "HardSwish", {x});
             return true;
           });
  }
  bool is_zero(ValueId id) const {
    double value = 1;
    return is_small_scalar(id, value) && value == 0;
  }

  /// x * 0.5 * (1 + erf(x / sqrt(2))) with the factors in any order.
  bool find_gelu(std::size_t i) {
    std::vector<ValueId> factors;
    if (!factors_of(graph_.nodes[i].outputs[0], true, factors) || factors.size() != 3) {
      return false;
    }
    std::sort(factors.begin(), factors.end());
    do {
      if (is_scalar(factors[0], 0.5) && is_normal_part(factors[2], factors[1])) {
        replace(i, "Gelu", {factors[1]});
        return true;
      }
    } while (std::next_permutation(factors.begin(), factors.end()));
    return false;
  }
  /// What a product of products multiplies.
  bool factors_of(ValueId id, bool is_top, std::vector<ValueId>& factors) {
    const Node* node = node_of(id, "Mul");
    if (node == nullptr || node->inputs.size() != 2 || (!is_top && !has_one_use(id)) ||
        factors.size() > 3) {
      factors.push_back(id);
      return factors.size() <= 3;
    }
    return factors_of(node->inputs[0], false, factors) &&
           factors_of(node->inputs[1], false, factors);
  }
  bool is_normal_part(ValueId id, ValueId x) {
    const Node* sum = node_of(id, "Add");
    const Node* erf = sum == nullptr ? nullptr : node_of(other_than(*sum, 1), "Erf");
    const Node* scaled = erf == nullptr ? nullptr : node_of(erf->inputs[0]);
    if (scaled == nullptr) {
      return false;
    }
    return (scaled->op == "Div" && scaled->inputs[0] == x &&
            is_scalar(scaled->inputs[1], 1.4142135623730951)) ||
           (scaled->op == "Mul" && other_than(*scaled, 0.7071067811865476) == x);
  }

  /// (x - mean) / sqrt(mean((x - mean)^2) + e) over the last axes; scale and bias come later.
  bool find_layer_norm(std::size_t i) {
    Node& node = graph_.nodes[i];
    if (node.op == "Mul") {
      return attach(i, 1);
    }
    const Node* root = node_of(node.inputs[1], "Sqrt");
    const Node* sum = root == nullptr ? nullptr : node_of(root->inputs[0], "Add");
    double epsilon = 0;
    if (sum == nullptr) {
      return false;
    }
    const bool is_last = is_small_scalar(sum->inputs[1], epsilon);
    if (!is_last && !is_small_scalar(sum->inputs[0], epsilon)) {
      return false;
    }
    const Node* variance = node_of(sum->inputs[is_last ? 0 : 1], "ReduceMean");
    const Node* square = variance == nullptr ? nullptr : node_of(variance->inputs[0]);
    const bool is_square =
        square != nullptr && ((square->op == "Pow" && is_scalar(square->inputs[1], 2)) ||
                              (square->op == "Mul" && square->inputs[0] == square->inputs[1]));
    if (!is_square) {
      return false;
    }
    const Node* centred = node_of(node.inputs[0], "Sub");
    const Node* again = node_of(square->inputs[0], "Sub");
    if (centred == nullptr || again == nullptr || centred->inputs != again->inputs) {
      return false;
    }
    const ValueId x = centred->inputs[0];
    const Node* mean = node_of(centred->inputs[1], "ReduceMean");
    std::int64_t axis = 0;
    if (mean == nullptr || mean->inputs[0] != x || !is_over_last_axes(*mean, x, axis) ||
        !is_over_last_axes(*variance, x, axis)) {
      return false;
    }
    const Shape& shape = graph_.value(x).shape;
    HostArray ones(graph_.value(x).dtype, Shape(shape.begin() + axis, shape.end()));
    for (std::int64_t k = 0; k < ones.num_elements(); ++k) {
      ones.set_real(k, 1);
    }
    const ValueId scale = add_constant(ones);
    replace(i, "LayerNormalization", {x, scale},
            {{"axis", axis - static_cast<std::int64_t>(shape.size())}, {"epsilon", epsilon}});
    return true;
  }
  bool is_over_last_axes(const Node& mean, ValueId x, std::int64_t& first) {
    const Shape& shape = graph_.value(x).shape;
    if (mean.integer("keepdims", 1) == 0 ||
        (mean.has_input(1) && !graph_.is_constant(mean.inputs[1]))) {
      return false;
    }
    const std::vector<std::size_t> axes =
        normalized_axes(list_of(graph_, mean, 1, "axes"), shape.size());
    for (std::size_t k = 0; k < axes.size(); ++k) {
      if (axes[k] != shape.size() - axes.size() + k) {
        return false;
      }
    }
    first = static_cast<std::int64_t>(shape.size() - axes.size());
    return !axes.empty();
  }
  /// A constant factor (input 1) or summand (2) of a normalized layer without one.
  bool attach(std::size_t i, std::size_t which) {
    return either_order(graph_.nodes[i], [&](ValueId y, ValueId constant) {
      Node* norm = node_of(y, "LayerNormalization");
      if (norm == nullptr || !has_one_use(y) || !graph_.is_constant(constant) ||
          norm->has_input(2) || (which == 1 && !is_ones(norm->inputs[1]))) {
        return false;
      }
      const Shape& inner = graph_.value(norm->inputs[1]).shape;
      if (graph_.value(constant).shape != inner) {
        return false;
      }
      std::vector<ValueId> inputs = norm->inputs;
      inputs.resize(which);
      inputs.push_back(constant);
      std::vector<Attribute> attributes = norm->attributes;
      replace(i, "LayerNormalization", std::move(inputs), std::move(attributes));
      return true;
    });
  }
  bool is_ones(ValueId id) const {
    if (!graph_.is_constant(id)) {
      return false;
    }
    const std::vector<double> values = graph_.value(id).constant.reals();
    return std::all_of(values.begin(), values.end(), [](double v) { return v == 1; });
  }
  bool find_affine(std::size_t i) { return attach(i, 2); }

  /// Axes of one element change their places, others stay: a view.
  bool make_view(std::size_t i) {
    const Node& node = graph_.nodes[i];
    const Shape& shape = graph_.value(node.inputs[0]).shape;
    List perm = node.integers("perm");
    std::erase_if(perm,
                  [&](std::int64_t axis) { return shape[static_cast<std::size_t>(axis)] == 1; });
    if (!node.has("perm") || !std::is_sorted(perm.begin(), perm.end())) {
      return false;
    }
    const Shape& made = graph_.value(node.outputs[0]).shape;
    replace(i, "Reshape", {node.inputs[0], graph_.add_constant("", integer_constant(made))});
    return true;
  }
  /// Whether the result is what it reads first, once their shapes are equal.
  bool is_copy(std::size_t i) const {
    const Node& node = graph_.nodes[i];
    if (node.op == "Cast") {
      return graph_.value(node.inputs[0]).dtype == graph_.value(node.outputs[0]).dtype;
    }
    if (node.op == "Slice") {  // not from the end
      const List steps = node.has_input(4) ? list_of(graph_, node, 4, "steps") : List();
      return std::all_of(steps.begin(), steps.end(), [](std::int64_t step) { return step > 0; });
    }
    return node.op == "Identity" || node.op == "Dropout" || node.op == "Reshape" ||
           node.op == "Expand" || node.op == "Tile" ||
           (node.op == "Concat" && node.inputs.size() == 1);
  }
  /// What it reads has the shape already, so whoever reads it may read that.
  bool drop_view(std::size_t i) {
    Node& node = graph_.nodes[i];
    const ValueId x = node.inputs[0], y = node.outputs[0];
    const bool is_result =
        std::find(graph_.outputs.begin(), graph_.outputs.end(), y) != graph_.outputs.end();
    if (is_result || uses_[y.value] == 0 || node.has_output(1) ||
        graph_.value(x).shape != graph_.value(y).shape) {
      return false;
    }
    read_instead(y, x);
    return true;
  }

  Graph& graph_;
  std::vector<std::int32_t> producer_, uses_;
};

}  // namespace

Result<Simplified, std::string> simplify(Graph& graph) {
  Simplified count;
  if (auto resolved = resolve(graph); !resolved) {
    return fail(resolved.error());
  }
  while (Rewriter(graph).pass(count)) {
    if (auto resolved = resolve(graph); !resolved) {
      return fail(resolved.error());
    }
  }
  order_operands(graph);
  return count;
}

}  // namespace tensorsmith::graph
