// SPDX-License-Identifier: Apache-2.0
#include <cmath>
#include <utility>

#include "graph/relay_builder.hpp"

namespace tensorsmith::graph {

namespace {

/// Scalars of unknown value where the formula around them has only one usual one: the exact GELU,
/// x * 0.5 * (1 + erf(x / sqrt(2))), and scores over rows of width w, which are multiplied by
/// 1 / sqrt(w) before a softmax.
class UsualConstants {
 public:
  explicit UsualConstants(RelayGraph graph)
      : graph_(std::move(graph)), readers_(graph_.nodes.size()) {
    for (std::size_t i = 0; i < graph_.nodes.size(); ++i) {
      for (const std::size_t input : graph_.nodes[i].inputs) {
        readers_[input].push_back(i);
      }
    }
  }
  RelayGraph run() {
    for (std::size_t i = 0; i < graph_.nodes.size(); ++i) {
      if (is_call(i, "erf")) {
        gelu(i);
      } else if (is_call(i, "nn.batch_matmul")) {
        scores(i);
      }
    }
    return std::move(graph_);
  }

 private:
  bool is_call(std::size_t i, std::string_view op) const {
    return graph_.nodes[i].kind == RelayKind::call && graph_.nodes[i].name == op;
  }
  bool is_open_scalar(std::size_t i) const {
    const RelayNode& n = graph_.nodes[i];
    return n.kind == RelayKind::constant && n.type.shape.empty() && n.find("value") == nullptr;
  }
  void set(std::size_t i, double value) {
    graph_.nodes[i].attributes.push_back({"value", value});
    graph_.nodes[i].attributes.push_back({"is_assumed", std::int64_t{1}});
  }
  /// The scalar that a call of two has, and the other operand; SIZE_MAX: none.
  std::pair<std::size_t, std::size_t> scalar_of(std::size_t i) const {
    const std::vector<std::size_t>& in = graph_.nodes[i].inputs;
    if (in.size() == 2 && (is_open_scalar(in[0]) || is_open_scalar(in[1]))) {
      return is_open_scalar(in[0]) ? std::pair{in[0], in[1]} : std::pair{in[1], in[0]};
    }
    return {SIZE_MAX, SIZE_MAX};
  }
  void gelu(std::size_t erf) {
    const std::size_t inner = graph_.nodes[erf].inputs[0];
    if (readers_[erf].size() != 1 || !is_call(readers_[erf][0], "add")) {
      return;
    }
    const std::size_t sum = readers_[erf][0];
    const auto [root, x] = is_call(inner, "multiply") || is_call(inner, "divide")
                               ? scalar_of(inner)
                               : std::pair{SIZE_MAX, SIZE_MAX};
    const auto [one, same] = scalar_of(sum);
    if (root == SIZE_MAX || one == SIZE_MAX || same != erf) {
      return;
    }
    // The half is a factor of x, of the sum, or of their product.
    std::size_t half = SIZE_MAX;
    for (const std::size_t from : {x, sum}) {
      for (const std::size_t reader : readers_[from]) {
        if (reader != inner && is_call(reader, "multiply")) {
          const auto [scalar, other] = scalar_of(reader);
          half = scalar != SIZE_MAX && other == from ? scalar : half;
          for (const std::size_t next : readers_[reader]) {
            const auto [later, product] = scalar_of(next);
            half = half == SIZE_MAX && is_call(next, "multiply") && later != SIZE_MAX &&
                           product == reader
                       ? later
                       : half;
          }
        }
      }
    }
    if (half == SIZE_MAX) {
      return;
    }
    set(root, is_call(inner, "multiply") ? 0.7071067811865476 : 1.4142135623730951);
    set(one, 1);
    set(half, 0.5);
  }
  void scores(std::size_t product) {
    if (readers_[product].size() != 1) {
      return;
    }
    const std::size_t scaled = readers_[product][0];
    const auto [scalar, other] = scalar_of(scaled);
    const bool is_factor = is_call(scaled, "multiply");
    if (scalar == SIZE_MAX || other != product || !(is_factor || is_call(scaled, "divide"))) {
      return;
    }
    std::size_t next = scaled;
    while (readers_[next].size() == 1 && is_call(readers_[next][0], "add")) {
      next = readers_[next][0];
    }
    if (readers_[next].size() != 1 || !is_call(readers_[next][0], "nn.softmax")) {
      return;
    }
    const RelayNode& n = graph_.nodes[product];
    const Shape& a = graph_.nodes[n.inputs[0]].type.shape;
    const auto width = static_cast<double>(a[n.integer("transpose_a", 0) != 0 ? 1 : 2]);
    set(scalar, is_factor ? 1 / std::sqrt(width) : std::sqrt(width));
  }

  RelayGraph graph_;
  std::vector<std::vector<std::size_t>> readers_;
};

}  // namespace

RelayGraph with_usual_constants(const RelayGraph& graph) { return UsualConstants(graph).run(); }

}  // namespace tensorsmith::graph
