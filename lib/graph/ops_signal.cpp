// SPDX-License-Identifier: Apache-2.0
// Signal processing: DFT and STFT, written out as a product and a convolution with the matrix of
// the transform, windows and the matrix of mel bands.
//
// A transform of length n costs n multiplications per result, not log n; the lengths of audio front
// ends are a few hundred, and a product runs at full speed.
#include <algorithm>
#include <cmath>
#include <numbers>
#include <utility>

#include "graph/operators.hpp"
#include "tensorsmith/ir/dtype_name.hpp"

namespace tensorsmith::graph {
namespace {

constexpr std::int64_t most_matrix_elements = std::int64_t{1} << 27;

/// The transform of a signal of `used` samples, of one or two (complex) parts, filled up with zeros
/// to `length`.
struct Transform {
  std::int64_t length = 0, used = 0, parts = 1, bins = 0;
  bool is_inverse = false;

  /// What sample t, part p, adds to part q of bin k.
  double factor(std::int64_t t, std::int64_t p, std::int64_t k, std::int64_t q) const {
    const double turn = 2 * std::numbers::pi * static_cast<double>(t * k % length) /
                        static_cast<double>(length) * (is_inverse ? 1 : -1);
    const double real = p == q ? std::cos(turn) : p == 0 ? std::sin(turn) : -std::sin(turn);
    return is_inverse ? real / static_cast<double>(length) : real;
  }
};

Transform transform_of(std::int64_t length, std::int64_t samples, std::int64_t parts,
                       const Node& node, bool is_one_sided) {
  Transform made;
  made.length = length;
  made.used = std::min(length, samples);
  made.parts = parts;
  made.is_inverse = node.integer("inverse", 0) != 0;
  made.bins = is_one_sided ? length / 2 + 1 : length;
  if (length < 1 || samples < 1 || (parts != 1 && parts != 2)) {
    refuse("transforms " + std::to_string(samples) + " samples of " + std::to_string(parts) +
           " parts to a length of " + std::to_string(length));
  }
  if (is_one_sided && (parts != 1 || made.is_inverse)) {
    refuse(made.is_inverse ? "has one side of an inverse transform, which is not supported"
                           : "has one side only of a complex signal");
  }
  if (length > (std::int64_t{1} << 20) ||
      made.used * parts * made.bins * 2 > most_matrix_elements) {
    refuse("has a length of " + std::to_string(length) + ", which is not supported");
  }
  return made;
}

/// Writes nodes in the place of one.
class Writer {
 public:
  Writer(Graph& graph, const Node& node) : graph_(graph), node_(node) {}

  ValueId emit(std::string op, std::vector<ValueId> inputs, std::vector<Attribute> attributes) {
    Value value;
    value.dtype = graph_.value(node_.inputs[0]).dtype;
    const ValueId result = graph_.add_value(std::move(value));
    nodes_.push_back(
        {std::move(op), node_.name, std::move(attributes), std::move(inputs), {result}});
    return result;
  }
  ValueId reshaped(ValueId x, const Shape& shape) {
    return emit("Reshape", {x, graph_.add_constant("", integer_constant(shape))}, {});
  }
  ValueId transposed(ValueId x, const List& perm) {
    return emit("Transpose", {x}, {{"perm", perm}});
  }
  ValueId matrix(const HostArray& elements) {
    return graph_.add_constant("", constant_from(elements));
  }
  ValueId integers(const List& list) { return graph_.add_constant("", integer_constant(list)); }
  DType type() const { return graph_.value(node_.inputs[0]).dtype; }
  /// The last node has the node's result.
  std::vector<Node> finish() {
    nodes_.back().outputs = {node_.outputs[0]};
    return std::move(nodes_);
  }

 private:
  Graph& graph_;
  const Node& node_;
  std::vector<Node> nodes_;
};

// --- DFT(x, length, axis) ------------------------------------------------------------------------

std::size_t axis_of(const Inference& in) {
  const std::int64_t given = in.has(2) ? in.constant(2, "axis").integer(0) : -2;
  const std::size_t axis = normalized_axis(given, in.rank(0));
  if (axis + 1 == in.rank(0)) {
    refuse("transforms its last axis, which is that of the parts");
  }
  return axis;
}
Transform dft_of(const Inference& in) {
  const std::int64_t samples = in.shape(0)[axis_of(in)];
  return transform_of(in.has(1) ? in.constant(1, "length").integer(0) : samples, samples,
                      in.shape(0).back(), in.node(), in.node().integer("onesided", 0) != 0);
}
void infer_dft(Inference& in) {
  Shape shape = in.shape(0);
  shape[axis_of(in)] = dft_of(in).bins;
  shape.back() = 2;
  in.set(in.dtype(0), shape);
}

// [.., samples, .., parts] --> [rows, samples * parts] x [samples * parts, bins * 2], and back.
std::vector<Node> expand_dft(Graph& graph, Node node) {
  const Inference in(graph, node);
  const Transform to = dft_of(in);
  const std::size_t axis = axis_of(in), rank = in.rank(0);
  Writer out(graph, node);
  Shape shape = in.shape(0);
  ValueId x = node.inputs[0];
  if (to.used < shape[axis]) {
    const auto of_axis = static_cast<std::int64_t>(axis);
    x = out.emit("Slice", {x, out.integers({0}), out.integers({to.used}), out.integers({of_axis})},
                 {});
    shape[axis] = to.used;
  }
  // The axis next to the parts, which is its own way back.
  List perm(rank);
  for (std::size_t d = 0; d < rank; ++d) {
    perm[d] = static_cast<std::int64_t>(d);
  }
  std::swap(perm[axis], perm[rank - 2]);
  const bool moves = axis != rank - 2;
  x = moves ? out.transposed(x, perm) : x;
  std::swap(shape[axis], shape[rank - 2]);
  std::int64_t rows = 1;
  for (std::size_t d = 0; d + 2 < rank; ++d) {
    rows *= shape[d];
  }
  HostArray matrix(out.type(), {to.used * to.parts, to.bins * 2});
  for (std::int64_t i = 0; i < matrix.num_elements(); ++i) {
    const std::int64_t row = i / (to.bins * 2), column = i % (to.bins * 2);
    matrix.set_real(i, to.factor(row / to.parts, row % to.parts, column / 2, column % 2));
  }
  x = out.reshaped(x, {rows, to.used * to.parts});
  x = out.emit("MatMul", {x, out.matrix(matrix)}, {});
  shape[rank - 2] = to.bins;
  shape[rank - 1] = 2;
  x = out.reshaped(x, shape);
  if (moves) {
    out.transposed(x, perm);
  }
  return out.finish();
}

// --- STFT(signal, step, window, length) ----------------------------------------------------------

struct Frames {
  Transform transform;
  std::int64_t step = 1, count = 0;
  const Constant* window = nullptr;
};
Frames frames_of(const Inference& in) {
  const Shape& x = in.shape(0);
  if (x.size() != 2 && x.size() != 3) {
    refuse("has a signal " + shape_text(x));
  }
  Frames made;
  made.step = in.constant(1, "step of frames").integer(0);
  made.window = in.has(2) ? &in.constant(2, "window") : nullptr;
  const std::int64_t of_window = made.window != nullptr ? num_elements(made.window->shape) : 0;
  const std::int64_t length = in.has(3) ? in.constant(3, "length of frames").integer(0) : of_window;
  if (made.step < 1 || length < 1 || length > x[1] || (of_window != 0 && of_window != length)) {
    refuse("has frames of " + std::to_string(length) + " by " + std::to_string(made.step) +
           (of_window != 0 ? " with a window of " + std::to_string(of_window) : std::string()) +
           " of a signal " + shape_text(x));
  }
  made.count = 1 + (x[1] - length) / made.step;
  made.transform = transform_of(length, length, x.size() == 3 ? x[2] : 1, in.node(),
                                in.node().integer("onesided", 1) != 0);
  return made;
}
void infer_stft(Inference& in) {
  const Frames frames = frames_of(in);
  in.set(in.dtype(0), {in.shape(0)[0], frames.count, frames.transform.bins, 2});
}

// A convolution that steps from frame to frame: [batch, parts, samples] --> [batch, bins * 2,
// frames].
std::vector<Node> expand_stft(Graph& graph, Node node) {
  const Inference in(graph, node);
  const Frames frames = frames_of(in);
  const Transform& to = frames.transform;
  const std::int64_t batch = in.shape(0)[0], samples = in.shape(0)[1];
  Writer out(graph, node);
  HostArray kernel(out.type(), {to.bins * 2, to.parts, to.length});
  for (std::int64_t i = 0; i < kernel.num_elements(); ++i) {
    const std::int64_t t = i % to.length, p = i / to.length % to.parts;
    const std::int64_t channel = i / (to.length * to.parts);
    const double window = frames.window != nullptr ? frames.window->real(t) : 1;
    kernel.set_real(i, window * to.factor(t, p, channel / 2, channel % 2));
  }
  const ValueId signal = to.parts == 2 ? out.transposed(node.inputs[0], {0, 2, 1})
                                       : out.reshaped(node.inputs[0], {batch, 1, samples});
  const ValueId channels =
      out.emit("Conv", {signal, out.matrix(kernel)}, {{"strides", List{frames.step}}});
  out.reshaped(out.transposed(channels, {0, 2, 1}), {batch, frames.count, to.bins, 2});
  return out.finish();
}

// --- constants -----------------------------------------------------------------------------------

DType datatype_of(const Node& node) {
  return dtype_from_name(node.text("output_datatype", "f32")).value_or(DType::f32);
}
double real_of(const Graph& graph, const Node& node, std::size_t i) {
  const Constant& constant = Inference(graph, node).constant(i, "number");
  if (num_elements(constant.shape) != 1) {
    refuse("has an input " + std::to_string(i) + " that is not one number");
  }
  return constant.real(0);
}
std::int64_t count_of(const Graph& graph, const Node& node, std::size_t i) {
  const double value = real_of(graph, node, i);
  if (!(value >= 1 && value <= 1 << 24)) {
    refuse("has a size that is not supported");
  }
  return static_cast<std::int64_t>(value);
}

// a0 - a1 cos(x) + a2 cos(2 x) over one turn.
std::vector<Constant> evaluate_window(const Graph& graph, const Node& node) {
  const std::int64_t size = count_of(graph, node, 0);
  const double turn = static_cast<double>(node.integer("periodic", 1) != 0 ? size : size - 1);
  const bool is_hamming = node.op == "HammingWindow", is_blackman = node.op == "BlackmanWindow";
  const double a0 = is_hamming ? 25.0 / 46 : is_blackman ? 0.42 : 0.5;
  const double a1 = is_blackman ? 0.5 : 1 - a0, a2 = is_blackman ? 0.08 : 0;
  HostArray window(datatype_of(node), {size});
  for (std::int64_t i = 0; i < size; ++i) {
    const double x = turn > 0 ? 2 * std::numbers::pi * static_cast<double>(i) / turn : 0;
    window.set_real(i, a0 - a1 * std::cos(x) + a2 * std::cos(2 * x));
  }
  return {constant_from(window)};
}

// Triangles that are as wide as each other in mel, their corners at whole bins.
std::vector<Constant> evaluate_mel(const Graph& graph, const Node& node) {
  const std::int64_t bands = count_of(graph, node, 0), length = count_of(graph, node, 1);
  const std::int64_t rate = count_of(graph, node, 2), bins = length / 2 + 1;
  const auto mel = [](double hertz) { return 2595 * std::log10(1 + hertz / 700); };
  const double low = mel(real_of(graph, node, 3)), high = mel(real_of(graph, node, 4));
  if (bands * bins > most_matrix_elements) {
    refuse("has a size that is not supported");
  }
  const auto corner = [&](std::int64_t i) {
    const double at = low + static_cast<double>(i) * (high - low) / static_cast<double>(bands + 2);
    const double hertz = 700 * (std::pow(10, at / 2595) - 1);
    return static_cast<std::int64_t>(
        std::floor(static_cast<double>(length + 1) * hertz / static_cast<double>(rate)));
  };
  HostArray matrix(datatype_of(node), {bins, bands});
  for (std::int64_t band = 0; band < bands; ++band) {
    const std::int64_t left = corner(band), top = corner(band + 1), right = corner(band + 2);
    if (left < 0 || right > bins || top >= bins) {
      refuse("has a band outside of the bins");
    }
    for (std::int64_t bin = left; bin <= std::min(std::max(top, right - 1), bins - 1); ++bin) {
      const double up =
          top > left ? static_cast<double>(bin - left) / static_cast<double>(top - left) : 1;
      const double down =
          right > top ? static_cast<double>(right - bin) / static_cast<double>(right - top) : 1;
      matrix.set_real(bin * bands + band, std::min(up, down));
    }
  }
  return {constant_from(matrix)};
}

OperatorRow written_out(std::string_view op, void (*infer)(Inference&),
                        std::vector<Node> (*expand)(Graph&, Node)) {
  OperatorRow made = computed_row(op, Pattern::opaque, infer, nullptr);
  made.expand = expand;
  return made;
}
OperatorRow constant_row(std::string_view op,
                         std::vector<Constant> (*evaluate)(const Graph&, const Node&)) {
  OperatorRow made;
  made.facts = {op, Pattern::opaque, false, true};
  made.evaluate = evaluate;
  return made;
}

}  // namespace

std::vector<OperatorRow> signal_rows() {
  return {written_out("DFT", infer_dft, expand_dft),
          written_out("STFT", infer_stft, expand_stft),
          constant_row("HannWindow", evaluate_window),
          constant_row("HammingWindow", evaluate_window),
          constant_row("BlackmanWindow", evaluate_window),
          constant_row("MelWeightMatrix", evaluate_mel)};
}

}  // namespace tensorsmith::graph
