// SPDX-License-Identifier: Apache-2.0
// Builds expressions: what is equal is one, what depends on constants alone is a constant.
//
// Private to lib/graph. Own design.
#pragma once

#include <map>
#include <string>
#include <utility>
#include <vector>

#include "tensorsmith/graph/relay.hpp"
#include "tensorsmith/support/error.hpp"

namespace tensorsmith::graph {

class RelayBuilder {
 public:
  std::size_t add(RelayNode node);
  std::size_t call(std::string op, std::vector<std::size_t> inputs, RelayType type,
                   std::vector<Attribute> attributes = {});
  std::size_t constant(RelayType type);
  /// Element by element with broadcasting.
  std::size_t binary(const std::string& op, std::size_t a, std::size_t b);
  std::size_t unary(const std::string& op, std::size_t a);
  std::size_t reshape(std::size_t a, Shape shape);
  /// New axes of extent 1 at a place.
  std::size_t expand_dims(std::size_t a, std::int64_t axis, std::int64_t count);

  const RelayNode& operator[](std::size_t i) const { return nodes_[i]; }
  const Shape& shape(std::size_t i) const { return nodes_[i].type.shape; }
  bool is_constant(std::size_t i) const { return nodes_[i].kind == RelayKind::constant; }
  bool is_call(std::size_t i, std::string_view op) const {
    return nodes_[i].kind == RelayKind::call && nodes_[i].name == op;
  }
  std::size_t size() const { return nodes_.size(); }
  /// What `result` needs, in post order.
  RelayGraph finish(std::size_t result) const;

 private:
  std::vector<RelayNode> nodes_;
  std::map<std::string, std::size_t> known_;
};

/// How many times a node is read; the result counts as once.
std::vector<std::size_t> relay_uses(const RelayGraph& graph);

/// Scalars without a value get the usual one of their formula, and are marked `is_assumed`.
RelayGraph with_usual_constants(const RelayGraph& graph);
RelayGraph simplify_inference(const RelayGraph& graph);
RelayGraph fold_scales_backward(const RelayGraph& graph);
RelayGraph fold_scales_forward(const RelayGraph& graph);
RelayGraph simplify_expressions(const RelayGraph& graph);
RelayGraph alter_layouts(const RelayGraph& graph, RelayTarget target);

/// The axis of the channels of a convolution's operand in a layout such as "NHWC"; -1: none.
std::int64_t axis_in(const std::string& layout, char axis);
bool is_depthwise(const RelayNode& conv, const Shape& data);
inline bool is_convolution(const std::string& op) { return op == "nn.conv2d" || op == "nn.conv3d"; }

/// The reference's definition of a group, with its names.
struct RelayDefinition {
  Shared<const ComputeDag> dag;  ///< null: there is none here
  bool is_assumed = false;       ///< constants have the usual values of their formulas
  bool is_exact = true;          ///< false: constants of unknown value are in its text
  bool is_countable = true;      ///< the reference's counter finds its FLOPs
};
RelayDefinition relay_definition(const RelayGraph& graph, const RelayGroup& group,
                                 RelayTarget target);

}  // namespace tensorsmith::graph
