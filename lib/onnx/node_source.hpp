// SPDX-License-Identifier: Apache-2.0
// NodeSource: one node of a file while its reader makes nodes of the graph of it.
//
// Private to lib/. Own design. Inputs and attributes come from the file, results go to the graph.
// What is wrong first is kept as one clause and ends the reading; a reader need not ask after each
// step.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "onnx/model.hpp"
#include "onnx/operator_table.hpp"
#include "onnx/tensor.hpp"
#include "tensorsmith/graph/graph.hpp"

namespace tensorsmith::onnx {

using graph::ValueId;

class NodeSource {
 public:
  NodeSource(graph::Graph& graph, TensorReader& tensors, const NodeMessage& message,
             std::int64_t version, std::string name, std::vector<ValueId> inputs)
      : graph_(graph), tensors_(tensors), message_(message), version_(version),
        name_(std::move(name)), inputs_(std::move(inputs)), results_(message.outputs.size()) {}

  const std::string& problem() const { return problem_; }
  void refuse(std::string clause) { problem_ = problem_.empty() ? std::move(clause) : problem_; }

  std::string_view op() const { return message_.op; }
  std::int64_t version() const { return version_; }
  const NodeMessage& message() const { return message_; }
  const graph::Graph& net() const { return graph_; }

  const std::vector<ValueId>& inputs() const { return inputs_; }
  ValueId input(std::size_t i) const { return i < inputs_.size() ? inputs_[i] : ValueId{}; }
  bool has_input(std::size_t i) const { return input(i).valid(); }
  /// Whether the file asks for result `i`.
  bool has_result(std::size_t i) const {
    return i < message_.outputs.size() && !message_.outputs[i].empty();
  }
  /// The value of a result, not valid(): none.
  ValueId result(std::size_t i) const { return results_[i]; }

  const AttributeMessage* find(std::string_view attribute) const;
  bool has(std::string_view attribute) const { return find(attribute) != nullptr; }
  std::int64_t integer(std::string_view attribute, std::int64_t otherwise) const;
  double real(std::string_view attribute, double otherwise) const;
  std::string text(std::string_view attribute, std::string_view otherwise) const;
  std::vector<std::int64_t> integers(std::string_view attribute) const;
  graph::Constant tensor(std::string_view attribute);
  /// All attributes as the graph has them, but those named.
  std::vector<graph::Attribute> attributes(const std::vector<std::string_view>& without = {});

  ValueId constant(graph::Constant value);
  ValueId integer_list(const std::vector<std::int64_t>& elements);
  /// A scalar of the type of `like`.
  ValueId scalar(double value, ValueId like);
  DType type_of(ValueId value) const { return graph_.value(value).dtype; }

  /// A node between others, with one result.
  ValueId emit(std::string_view op, std::vector<ValueId> inputs,
               std::vector<graph::Attribute> attributes = {});
  /// The node whose results are those of the file's node, or its first `most`.
  void finish(std::string_view op, std::vector<ValueId> inputs,
              std::vector<graph::Attribute> attributes = {}, std::size_t most = SIZE_MAX);
  /// Result `i` is a value that is there already.
  void finish_as(std::size_t i, ValueId value) { results_[i] = value; }

 private:
  ValueId add_result(const graph::Node& node, std::string name);

  graph::Graph& graph_;
  TensorReader& tensors_;
  const NodeMessage& message_;
  std::int64_t version_;
  std::string name_;
  std::vector<ValueId> inputs_;
  std::vector<ValueId> results_;
  std::string problem_;
};

}  // namespace tensorsmith::onnx
