// SPDX-License-Identifier: Apache-2.0
// Importer: a model message becomes a graph.
//
// Private to lib/. Own design. Nodes are read in topological order, each by the reader of its
// version; functions of the model, branches of If whose condition is constant and rounds of Loop
// and Scan are read in place.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "onnx/model.hpp"
#include "onnx/node_source.hpp"
#include "onnx/tensor.hpp"
#include "tensorsmith/graph/graph.hpp"
#include "tensorsmith/onnx.hpp"
#include "tensorsmith/support/result.hpp"

namespace tensorsmith::onnx {

class Importer {
 public:
  Importer(const ModelMessage& model, const OnnxOptions& options, TensorReader tensors)
      : model_(model), options_(options), tensors_(std::move(tensors)) {
    for (const FunctionMessage& function : model.functions) {
      functions_.emplace(function_key(function.domain, function.name, function.overload),
                         &function);
    }
  }

  /// Error: one sentence without the file's name.
  Result<graph::Graph, std::string> run();

 private:
  /// Names of values that nodes of one graph see: its own, then those around it.
  struct Scope {
    const Scope* outer = nullptr;
    const std::vector<OpsetMessage>* opsets = nullptr;
    std::string prefix;  ///< of names of nodes
    std::string where;   ///< " in ...", for messages
    int depth = 0;
    std::unordered_map<std::string_view, ValueId> values;
    /// Of the call, inside a function.
    const std::vector<AttributeMessage>* call_attributes = nullptr;
    const std::vector<AttributeMessage>* default_attributes = nullptr;

    /// Null: nobody computes it; a value that is not valid() is an absent input of a function.
    const ValueId* find(std::string_view name) const;
    std::int64_t opset(std::string_view domain) const;  ///< 0: not imported
  };

  // Each gives one sentence about what is wrong, or an empty text.
  std::string add_initializers(const GraphMessage& graph, Scope& scope);
  std::string add_inputs(Scope& scope);
  std::string add_input(const ValueMessage& input, Scope& scope);
  std::string add_bound_input(const OnnxInput& bound, DType type, const graph::Shape& shape,
                              Scope& scope, std::string_view name);
  std::string add_nodes(const std::vector<NodeMessage>& nodes, Scope& scope);
  std::string add_node(const NodeMessage& node, const std::string& name, Scope& scope);
  std::string add_operator(const NodeMessage& node, const std::string& name, Scope& scope);
  std::string add_call(const FunctionMessage& function, const NodeMessage& node,
                       const std::string& name, Scope& scope);
  std::string add_branch(const NodeMessage& node, ValueId decides, const std::string& name,
                         Scope& scope);
  std::string add_loop(const NodeMessage& node, const std::vector<ValueId>& inputs,
                       const std::string& name, Scope& scope);
  std::string add_scan(const NodeMessage& node, std::int64_t version,
                       const std::vector<ValueId>& inputs, const std::string& name, Scope& scope);
  /// The nodes of a body once more, with these values as its inputs.
  std::string add_round(const GraphMessage& body, const std::vector<ValueId>& inputs,
                        std::size_t round, const std::string& name, const Scope& around,
                        std::vector<ValueId>& outputs);
  std::string add_outputs(const Scope& scope);
  /// A value of a body gets its name outside.
  static std::string export_value(std::string_view inner_name, std::string_view outer_name,
                                  const std::string& name, const Scope& inner, Scope& outer);
  static std::string define(std::string_view name, ValueId value, Scope& scope);
  static std::string read_inputs(const NodeMessage& node, const std::string& name,
                                 const Scope& scope, std::vector<ValueId>& inputs);

  /// The body of a loop; `around` gets its constants, and is what every round sees.
  Result<GraphMessage, std::string> body_of(const NodeMessage& node, const std::string& name,
                                            const Scope& scope, Scope& around);
  ValueId emit(std::string_view op, const std::string& name, std::vector<ValueId> inputs,
               std::vector<graph::Attribute> attributes);
  /// Values of the same shape side by side along a new axis.
  ValueId stacked(const std::vector<ValueId>& parts, std::int64_t axis, const std::string& name);
  /// Shapes and types of all values so far become known, and those that depend on constants alone
  /// constants.
  std::string settle();

  /// The value if it depends on constants alone.
  std::optional<graph::Constant> constant_of(ValueId value);
  static std::string function_key(std::string_view domain, std::string_view name,
                                  std::string_view overload);

  const ModelMessage& model_;
  const OnnxOptions& options_;
  TensorReader tensors_;
  std::unordered_map<std::string, const FunctionMessage*> functions_;
  graph::Graph graph_;
  std::vector<std::string> unbound_;  ///< names of extents without a size
  std::vector<bool> is_dim_used_;     ///< by OnnxOptions::dims
  std::vector<bool> is_input_used_;   ///< by OnnxOptions::inputs
  std::size_t num_read_ = 0;          ///< nodes, with those of functions
  std::size_t num_settled_ = 0;       ///< nodes of the graph whose values are known
};

}  // namespace tensorsmith::onnx
