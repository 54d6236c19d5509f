// SPDX-License-Identifier: Apache-2.0
// LSTM, GRU and RNN, written out step by step: the product of all inputs with the weights is one
// node, steps are products with the state and elementwise operators. Steps are alike, so they are
// one task.
#include <algorithm>
#include <utility>

#include "graph/operators.hpp"

namespace tensorsmith::graph {
namespace {

constexpr std::int64_t most_steps = 2000;

/// Parts of the weights: gates in ONNX's order (i o f c; z r h; one).
std::int64_t num_gates(std::string_view op) { return op == "LSTM" ? 4 : op == "GRU" ? 3 : 1; }

struct Extents {
  std::int64_t steps = 0, batch = 0, inputs = 0, hidden = 0, directions = 0;
  bool is_batch_first = false;
};

Extents extents_of(const Inference& in) {
  Extents e;
  const Shape &x = in.shape(0), &w = in.shape(1), &r = in.shape(2);
  const std::int64_t gates = num_gates(in.node().op);
  e.is_batch_first = in.node().integer("layout", 0) != 0;
  const bool fits = x.size() == 3 && w.size() == 3 && r.size() == 3 && w[0] == r[0] &&
                    w[1] == r[1] && w[1] == gates * r[2] && w[2] == x[2] &&
                    (w[0] == 1 || w[0] == 2);
  if (!fits) {
    refuse("has inputs " + shape_text(x) + " and weights " + shape_text(w) + ", " + shape_text(r));
  }
  e.steps = x[e.is_batch_first ? 1 : 0];
  e.batch = x[e.is_batch_first ? 0 : 1];
  e.inputs = x[2];
  e.hidden = r[2];
  e.directions = w[0];
  const std::string direction = in.node().text("direction", "forward");
  const bool is_both = direction == "bidirectional";
  if ((direction != "forward" && direction != "reverse" && !is_both) ||
      (e.directions == 2) != is_both) {
    refuse("goes \"" + direction + "\" with weights of " + std::to_string(e.directions) +
           " directions");
  }
  if (e.steps > most_steps) {
    refuse("has " + std::to_string(e.steps) + " steps, more than the " +
           std::to_string(most_steps) + " that are written out");
  }
  return e;
}

void infer(Inference& in) {
  const Extents e = extents_of(in);
  const Shape all = e.is_batch_first ? Shape{e.batch, e.steps, e.directions, e.hidden}
                                     : Shape{e.steps, e.directions, e.batch, e.hidden};
  const Shape last = e.is_batch_first ? Shape{e.batch, e.directions, e.hidden}
                                      : Shape{e.directions, e.batch, e.hidden};
  in.set(in.dtype(0), all);
  in.set(in.dtype(0), last);
  if (in.node().op == "LSTM") {
    in.set(in.dtype(0), last);
  }
}

/// Writes out one node.
class Expander {
 public:
  Expander(Graph& graph, Node node)
      : graph_(graph), node_(std::move(node)), extents_(extents_of(Inference(graph, node_))),
        is_lstm_(node_.op == "LSTM"), is_gru_(node_.op == "GRU") {
    read_activations();
  }

  std::vector<Node> run() {
    ValueId x = node_.inputs[0];
    if (extents_.is_batch_first) {
      x = transposed(x, {1, 0, 2});
    }
    if (node_.has_input(4)) {
      read_lengths();
    }
    std::vector<Direction> directions;
    for (std::int64_t d = 0; d < extents_.directions; ++d) {
      directions.push_back(walk(x, d));
    }
    // y: [steps, directions, batch, hidden]
    std::vector<ValueId> steps, states, cells;
    for (std::int64_t t = 0; t < extents_.steps; ++t) {
      std::vector<ValueId> parts;
      for (const Direction& direction : directions) {
        parts.push_back(reshaped(direction.outputs[static_cast<std::size_t>(t)],
                                 {1, 1, extents_.batch, extents_.hidden}));
      }
      steps.push_back(joined(parts, 1));
    }
    for (const Direction& direction : directions) {
      states.push_back(reshaped(direction.state, {1, extents_.batch, extents_.hidden}));
      if (is_lstm_) {
        cells.push_back(reshaped(direction.cell, {1, extents_.batch, extents_.hidden}));
      }
    }
    const auto last = [&](const std::vector<ValueId>& parts) {
      const ValueId all = joined(parts, 0);
      return extents_.is_batch_first ? transposed(all, {1, 0, 2}) : all;
    };
    if (node_.has_output(0)) {
      const ValueId all = joined(steps, 0);
      define(0, extents_.is_batch_first ? transposed(all, {2, 0, 1, 3}) : all);
    }
    if (node_.has_output(1)) {
      define(1, last(states));
    }
    if (node_.has_output(2)) {
      define(2, last(cells));
    }
    return std::move(nodes_);
  }

 private:
  struct Direction {
    std::vector<ValueId> outputs;  // by step
    ValueId state, cell;
  };
  struct Activation {
    std::string op;
    std::vector<Attribute> attributes;
  };

  // --- nodes -----------------------------------------------------------------------------------
  ValueId emit(std::string op, std::vector<ValueId> inputs,
               std::vector<Attribute> attributes = {}) {
    Value value;
    value.name = node_.name + "/" + std::to_string(nodes_.size());
    value.dtype = graph_.value(node_.inputs[0]).dtype;
    const ValueId result = graph_.add_value(std::move(value));
    nodes_.push_back(
        {std::move(op), node_.name, std::move(attributes), std::move(inputs), {result}});
    return result;
  }
  /// Output k of the node is that value.
  void define(std::size_t k, ValueId value) {
    bool is_made = false;
    for (Node& node : nodes_) {
      for (ValueId& input : node.inputs) {
        input = input == value ? node_.outputs[k] : input;
      }
      is_made = is_made || node.outputs[0] == value;
      node.outputs[0] = node.outputs[0] == value ? node_.outputs[k] : node.outputs[0];
    }
    if (!is_made) {
      nodes_.push_back({"Identity", node_.name, {}, {value}, {node_.outputs[k]}});
    }
  }
  ValueId integers(const List& list) { return graph_.add_constant("", integer_constant(list)); }
  ValueId integer(std::int64_t value) {
    return graph_.add_constant(
        "", constant_of<std::int64_t>(DType::i64, {}, std::span<const std::int64_t>(&value, 1)));
  }
  ValueId scalar(double value) {
    HostArray array(graph_.value(node_.inputs[0]).dtype, {});
    array.set_real(0, value);
    return graph_.add_constant("", constant_from(array));
  }
  ValueId reshaped(ValueId x, const List& shape) { return emit("Reshape", {x, integers(shape)}); }
  ValueId transposed(ValueId x, const List& perm) {
    return emit("Transpose", {x}, {{"perm", perm}});
  }
  ValueId joined(const std::vector<ValueId>& parts, std::int64_t axis) {
    return parts.size() == 1 ? parts[0] : emit("Concat", parts, {{"axis", axis}});
  }
  /// x[i] along the first axis.
  ValueId element(ValueId x, std::int64_t i) {
    return emit("Gather", {x, integer(i)}, {{"axis", std::int64_t{0}}});
  }
  /// Part k of the last axis, of parts of `hidden`.
  ValueId gate(ValueId x, std::int64_t k, std::int64_t count = 1) {
    return emit("Slice", {x, integers({k * extents_.hidden}),
                          integers({(k + count) * extents_.hidden}), integers({-1})});
  }
  ValueId add(ValueId a, ValueId b) { return emit("Add", {a, b}); }
  ValueId mul(ValueId a, ValueId b) { return emit("Mul", {a, b}); }

  // --- attributes ------------------------------------------------------------------------------
  void read_activations() {
    std::vector<std::string> names;
    if (const auto* list =
            attribute_of<std::vector<std::string>>(node_.attributes, "activations")) {
      names = *list;
    }
    const std::size_t each = is_lstm_ ? 3 : is_gru_ ? 2 : 1;
    if (names.empty()) {
      for (std::int64_t d = 0; d < extents_.directions; ++d) {
        const std::vector<std::string> usual =
            is_lstm_  ? std::vector<std::string>{"Sigmoid", "Tanh", "Tanh"}
            : is_gru_ ? std::vector<std::string>{"Sigmoid", "Tanh"}
                      : std::vector<std::string>{"Tanh"};
        names.insert(names.end(), usual.begin(), usual.end());
      }
    }
    if (names.size() != each * static_cast<std::size_t>(extents_.directions)) {
      refuse("has " + std::to_string(names.size()) + " activations");
    }
    const auto numbers = [&](std::string_view name) {
      const auto* list = attribute_of<std::vector<double>>(node_.attributes, name);
      return list == nullptr ? std::vector<double>() : *list;
    };
    const std::vector<double> alphas = numbers("activation_alpha"),
                              betas = numbers("activation_beta");
    std::size_t alpha = 0, beta = 0;  // next of those that activations take in turn
    for (const std::string& name : names) {
      Activation activation{name, {}};
      const bool takes_alpha = name == "HardSigmoid" || name == "LeakyRelu" || name == "Elu" ||
                               name == "ThresholdedRelu";
      const bool takes_nothing = name == "Sigmoid" || name == "Tanh" || name == "Relu" ||
                                 name == "Softsign" || name == "Softplus";
      if (!takes_alpha && !takes_nothing) {
        refuse("has an activation that is not supported, \"" + name + "\"");
      }
      if (takes_alpha && alpha < alphas.size()) {
        activation.attributes.push_back({"alpha", alphas[alpha++]});
      }
      if (name == "HardSigmoid" && beta < betas.size()) {
        activation.attributes.push_back({"beta", betas[beta++]});
      }
      activations_.push_back(std::move(activation));
    }
    clip_ = node_.real("clip", 0);
  }
  ValueId activated(std::size_t which, ValueId x) {
    if (clip_ > 0) {
      x = emit("Clip", {x, scalar(-clip_), scalar(clip_)});
    }
    return emit(activations_[which].op, {x}, activations_[which].attributes);
  }
  void read_lengths() {
    const Value& lengths = graph_.value(node_.inputs[4]);
    if (lengths.is_constant) {
      bool are_whole = true;
      for (const std::int64_t length : lengths.constant.integers()) {
        are_whole = are_whole && length >= extents_.steps;
      }
      if (are_whole) {
        return;
      }
    }
    lengths_ = emit("Cast", {node_.inputs[4]}, {{"to", std::string("i64")}});
    lengths_column_ = reshaped(lengths_, {extents_.batch, 1});
  }

  // --- steps -----------------------------------------------------------------------------------
  Direction walk(ValueId x, std::int64_t d) {
    const std::int64_t gates = num_gates(node_.op), hidden = extents_.hidden;
    const bool goes_back = d == 1 || node_.text("direction", "forward") == "reverse";
    const bool by_length = lengths_.valid();
    const std::vector<Attribute> of_time = {{"time_axis", std::int64_t{0}},
                                            {"batch_axis", std::int64_t{1}}};
    if (goes_back && by_length) {  // each row from its own end
      x = emit("ReverseSequence", {x, lengths_}, of_time);
    }
    const ValueId w = transposed(element(node_.inputs[1], d), {1, 0});
    const ValueId r = transposed(element(node_.inputs[2], d), {1, 0});
    ValueId all = emit("MatMul", {x, w});  // [steps, batch, gates * hidden]
    ValueId bias_of_state;                 // of the last gate of GRU, which a product may keep
    const bool resets_late = is_gru_ && node_.integer("linear_before_reset", 0) != 0;
    if (node_.has_input(3)) {
      const ValueId bias = element(node_.inputs[3], d);
      const ValueId of_input = gate(bias, 0, gates);
      ValueId of_state = gate(bias, gates, gates);
      if (resets_late) {
        bias_of_state = gate(of_state, 2);
        of_state = joined({gate(of_state, 0, 2), mul(gate(of_state, 2), scalar(0))}, 0);
      }
      all = add(all, add(of_input, of_state));
    }
    const auto initial = [&](std::size_t input) {
      if (!node_.has_input(input)) {
        HostArray zeros(graph_.value(node_.inputs[0]).dtype, {extents_.batch, hidden});
        return graph_.add_constant("", constant_from(zeros));
      }
      ValueId given = node_.inputs[input];
      given = extents_.is_batch_first ? transposed(given, {1, 0, 2}) : given;
      return element(given, d);
    };
    Direction direction;
    direction.outputs.resize(static_cast<std::size_t>(extents_.steps));
    direction.state = initial(5);
    direction.cell = is_lstm_ ? initial(6) : ValueId{};
    const ValueId peepholes =
        is_lstm_ && node_.has_input(7) ? element(node_.inputs[7], d) : ValueId{};
    const std::size_t first = static_cast<std::size_t>(d) * (is_lstm_ ? 3 : is_gru_ ? 2 : 1);
    for (std::int64_t step = 0; step < extents_.steps; ++step) {
      const std::int64_t t = goes_back && !by_length ? extents_.steps - 1 - step : step;
      const Direction before = direction;
      const ValueId of_input = element(all, t);
      if (is_lstm_) {
        lstm(direction, of_input, r, peepholes, first);
      } else if (is_gru_) {
        gru(direction, of_input, r, bias_of_state, resets_late, first);
      } else {
        direction.state = activated(first, add(of_input, emit("MatMul", {direction.state, r})));
      }
      ValueId output = direction.state;
      if (by_length) {
        const ValueId is_in = emit("Less", {integer(t), lengths_column_});
        output = emit("Where", {is_in, direction.state, scalar(0)});
        direction.state = emit("Where", {is_in, direction.state, before.state});
        if (is_lstm_) {
          direction.cell = emit("Where", {is_in, direction.cell, before.cell});
        }
      }
      direction.outputs[static_cast<std::size_t>(t)] = output;
    }
    if (goes_back && by_length) {
      turn_back(direction, of_time);
    }
    return direction;
  }
  /// Outputs by step, in the order of the input.
  void turn_back(Direction& direction, const std::vector<Attribute>& of_time) {
    std::vector<ValueId> parts;
    for (const ValueId output : direction.outputs) {
      parts.push_back(reshaped(output, {1, extents_.batch, extents_.hidden}));
    }
    const ValueId turned = emit("ReverseSequence", {joined(parts, 0), lengths_}, of_time);
    for (std::size_t t = 0; t < direction.outputs.size(); ++t) {
      direction.outputs[t] = element(turned, static_cast<std::int64_t>(t));
    }
  }
  void lstm(Direction& s, ValueId of_input, ValueId r, ValueId peepholes, std::size_t first) {
    const ValueId all = add(of_input, emit("MatMul", {s.state, r}));
    const auto seen = [&](std::int64_t k, std::int64_t peephole, ValueId cell) {
      const ValueId x = gate(all, k);
      return peepholes.valid() ? add(x, mul(gate(peepholes, peephole), cell)) : x;
    };
    const ValueId in = activated(first, seen(0, 0, s.cell));
    const ValueId forget = node_.integer("input_forget", 0) != 0
                               ? emit("Sub", {scalar(1), in})
                               : activated(first, seen(2, 2, s.cell));
    const ValueId candidate = activated(first + 1, gate(all, 3));
    s.cell = add(mul(forget, s.cell), mul(in, candidate));
    const ValueId out = activated(first, seen(1, 1, s.cell));
    s.state =
        mul(out, emit(activations_[first + 2].op, {s.cell}, activations_[first + 2].attributes));
  }
  void gru(Direction& s, ValueId of_input, ValueId r, ValueId bias_of_state, bool resets_late,
           std::size_t first) {
    const ValueId of_gates = gate(r, 0, 2), of_candidate = gate(r, 2);
    const ValueId gates = add(gate(of_input, 0, 2), emit("MatMul", {s.state, of_gates}));
    const ValueId update = activated(first, gate(gates, 0)),
                  reset = activated(first, gate(gates, 1));
    ValueId from_state;
    if (resets_late) {
      ValueId product = emit("MatMul", {s.state, of_candidate});
      product = bias_of_state.valid() ? add(product, bias_of_state) : product;
      from_state = mul(reset, product);
    } else {
      from_state = emit("MatMul", {mul(reset, s.state), of_candidate});
    }
    const ValueId candidate = activated(first + 1, add(gate(of_input, 2), from_state));
    s.state = add(mul(emit("Sub", {scalar(1), update}), candidate), mul(update, s.state));
  }

  Graph& graph_;
  Node node_;
  Extents extents_;
  bool is_lstm_, is_gru_;
  std::vector<Activation> activations_;
  double clip_ = 0;
  ValueId lengths_, lengths_column_;
  std::vector<Node> nodes_;
};

OperatorRow row(std::string_view op) {
  OperatorRow made = computed_row(op, Pattern::opaque, infer, nullptr);
  made.expand = [](Graph& graph, Node node) { return Expander(graph, std::move(node)).run(); };
  return made;
}

}  // namespace

std::vector<OperatorRow> recurrent_rows() { return {row("LSTM"), row("GRU"), row("RNN")}; }

}  // namespace tensorsmith::graph
