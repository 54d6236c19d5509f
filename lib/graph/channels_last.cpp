// SPDX-License-Identifier: Apache-2.0
#include "tensorsmith/graph/channels_last.hpp"

#include <algorithm>
#include <cstring>
#include <map>

#include "graph/operators.hpp"
#include "tensorsmith/graph/resolve.hpp"

namespace tensorsmith::graph {

namespace {

/// Axis d of the result is axis order[d], as for Transpose; of four axes.
Constant permuted(const Constant& from, const List& order) {
  const auto width = static_cast<std::size_t>(bytes_of(from.dtype));
  Shape shape;
  for (const std::int64_t d : order) {
    shape.push_back(from.shape[static_cast<std::size_t>(d)]);
  }
  std::int64_t strides[4] = {0, 0, 0, 1};
  for (std::size_t d = 3; d-- > 0;) {
    strides[d] = strides[d + 1] * from.shape[d + 1];
  }
  std::vector<std::byte> bytes(from.bytes.size());
  std::size_t to = 0;
  const auto step = [&](std::size_t d) { return strides[order[d]]; };
  for (std::int64_t i = 0; i < shape[0]; ++i) {
    for (std::int64_t j = 0; j < shape[1]; ++j) {
      for (std::int64_t k = 0; k < shape[2]; ++k) {
        for (std::int64_t l = 0; l < shape[3]; ++l, to += width) {
          const std::int64_t at = i * step(0) + j * step(1) + k * step(2) + l * step(3);
          std::memcpy(&bytes[to], from.bytes.data() + static_cast<std::size_t>(at) * width, width);
        }
      }
    }
  }
  return make_constant(from.dtype, std::move(shape), std::move(bytes));
}

class Converter {
 public:
  explicit Converter(Graph& graph) : graph_(graph) {}

  std::int64_t run() {
    std::vector<Node> nodes = std::move(graph_.nodes);
    graph_.nodes.clear();
    for (const Node& node : nodes) {
      if (!convert(node)) {
        graph_.nodes.push_back(node);
      }
    }
    return count_;
  }

 private:
  std::size_t rank(ValueId id) const { return graph_.value(id).shape.size(); }

  bool convert(const Node& node) {
    const bool is_plain = node.text("layout", "NCHW") == "NCHW" && node.inputs.size() > 0 &&
                          node.has_input(0) && rank(node.inputs[0]) == 4 && node.has_output(0) &&
                          node.outputs.size() == 1;
    if (!is_plain) {
      return false;
    }
    const bool is_conv = node.op == "Conv";
    const bool is_transposed = node.op == "ConvTranspose" && node.integer("group", 1) == 1;
    const bool is_pool = node.op == "MaxPool" || node.op == "AveragePool" ||
                         node.op == "GlobalAveragePool" || node.op == "GlobalMaxPool";
    if ((is_conv || is_transposed) && graph_.is_constant(node.inputs[1])) {
      Node made = node;
      made.inputs[0] = last(node.inputs[0]);
      const Constant weights = graph_.value(node.inputs[1]).constant;
      made.inputs[1] =
          graph_.add_constant("", permuted(weights, is_conv ? List{2, 3, 1, 0} : List{2, 3, 0, 1}));
      return window(std::move(made));
    }
    if (is_pool) {
      Node made = node;
      made.inputs[0] = last(node.inputs[0]);
      return window(std::move(made));
    }
    return follow(node);
  }

  bool window(Node made) {
    made.set("layout", std::string("NHWC"));
    ++count_;
    finish(std::move(made));
    return true;
  }

  /// An elementwise operator of converted values alone, and of constants that can be seen so.
  bool follow(const Node& node) {
    const OperatorFacts* facts = find_operator(node.op);
    if (facts == nullptr || facts->is_view ||
        (facts->pattern != Pattern::elementwise && facts->pattern != Pattern::broadcast) ||
        node.op == "BatchNormalization") {
      return false;
    }
    Node made = node;
    bool has_converted = false;
    for (ValueId& id : made.inputs) {
      if (!id.valid() || num_elements(graph_.value(id).shape) == 1) {
        continue;
      }
      if (const auto found = last_.find(id.value); found != last_.end()) {
        id = found->second;
        has_converted = true;
      } else if (graph_.is_constant(id) && rank(id) == 4) {
        const Constant constant = graph_.value(id).constant;
        id = graph_.add_constant("", permuted(constant, {0, 2, 3, 1}));
      } else {
        return false;
      }
    }
    if (has_converted) {
      finish(std::move(made));
    }
    return has_converted;
  }

  /// The result is computed with its channels last, and stands in its old place as a transpose.
  void finish(Node made) {
    const ValueId old = made.outputs[0];
    Value value;
    value.dtype = graph_.value(old).dtype;
    const Shape shape = graph_.value(old).shape;
    value.shape = {shape[0], shape[2], shape[3], shape[1]};
    value.is_known = true;
    made.outputs[0] = graph_.add_value(std::move(value));
    last_[old.value] = made.outputs[0];
    const ValueId converted = made.outputs[0];
    graph_.nodes.push_back(std::move(made));
    move_axes(converted, old, {0, 3, 1, 2});
  }

  /// Where only axes of one element change places, the bytes stay as they are.
  void move_axes(ValueId from, ValueId to, List order) {
    const Shape& shape = graph_.value(from).shape;
    Node node;
    node.inputs = {from};
    node.outputs = {to};
    // The axes of more than one element, in the order before and after.
    List before, after;
    for (std::int64_t d = 0; d < 4; ++d) {
      if (shape[static_cast<std::size_t>(d)] != 1) {
        before.push_back(d);
      }
      const std::int64_t moved = order[static_cast<std::size_t>(d)];
      if (shape[static_cast<std::size_t>(moved)] != 1) {
        after.push_back(moved);
      }
    }
    const bool is_row = before == after;
    if (is_row) {
      node.op = "Reshape";
      node.inputs.push_back(graph_.add_constant("", integer_constant(graph_.value(to).shape)));
      node.set("allowzero", std::int64_t{1});
    } else {
      node.op = "Transpose";
      node.set("perm", std::move(order));
    }
    graph_.nodes.push_back(std::move(node));
  }

  ValueId last(ValueId id) {
    const auto found = last_.find(id.value);
    if (found != last_.end()) {
      return found->second;
    }
    const Shape shape = graph_.value(id).shape;
    Value value;
    value.dtype = graph_.value(id).dtype;
    value.shape = {shape[0], shape[2], shape[3], shape[1]};
    value.is_known = true;
    const ValueId made = graph_.add_value(std::move(value));
    move_axes(id, made, {0, 2, 3, 1});
    last_[id.value] = made;
    return made;
  }

  Graph& graph_;
  std::map<std::uint32_t, ValueId> last_;  // by ValueId: the same value, channels last
  std::int64_t count_ = 0;
};

}  // namespace

Result<std::int64_t, std::string> channels_last(Graph& graph) {
  const std::int64_t count = Converter(graph).run();
  if (auto resolved = resolve(graph); !resolved) {
    return fail(resolved.error());
  }
  return count;
}

}  // namespace tensorsmith::graph
