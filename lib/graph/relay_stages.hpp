// SPDX-License-Identifier: Apache-2.0
// Stages with the reference's names, of which several may be the same.
//
// Private to lib/graph. Own design: te::Program takes a name once, so stages are numbered there and
// renamed when they are done.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "graph/relay_builder.hpp"
#include "tensorsmith/te/program.hpp"

namespace tensorsmith::graph {

using RelayIndices = std::vector<te::Expr>;
using RelayBody = std::function<te::Expr(const RelayIndices&)>;

class RelayStages {
 public:
  te::Program& program() { return program_; }
  te::Tensor placeholder(const std::string& name, const RelayType& type);
  te::Tensor stage(const std::string& name, const std::string& tag, const Shape& shape,
                   std::vector<std::string> axes, const RelayBody& body, OperationAttrs attrs = {});
  /// Axes PREFIX0, PREFIX1, ...
  te::Tensor stage(const std::string& name, const std::string& tag, const Shape& shape,
                   const std::string& prefix, const RelayBody& body, OperationAttrs attrs = {});
  te::ReduceAxis axis(const std::string& name, std::int64_t extent) {
    return program_.reduce_axis(name, extent);
  }
  /// The name that the reference has for a tensor.
  const std::string& name_of(const te::Tensor& tensor) const { return names_[number_of(tensor)]; }

  /// Zeros (or `outside`) around; an axis without any is read as it is.
  te::Tensor pad(const std::string& name, const std::string& tag, const te::Tensor& x,
                 const Shape& before, const Shape& after, const std::string& prefix,
                 const te::Expr& outside);

  Shared<const ComputeDag> finish(const std::vector<te::Tensor>& arguments) const;

 private:
  static std::size_t number_of(const te::Tensor& tensor);

  te::Program program_;
  std::vector<std::string> names_;
};

/// One call of an operator that convolutions, products, pools and reductions are; nullopt: another.
struct RelayCall {
  const RelayGraph& graph;
  const RelayNode& node;
  RelayTarget target;
  std::vector<te::Tensor> inputs;

  const Shape& shape(std::size_t i) const { return graph.nodes[node.inputs[i]].type.shape; }
  const Shape& result() const { return node.type.shape; }
  std::string input_name(const RelayStages& stages, std::size_t i) const {
    return stages.name_of(inputs[i]);
  }
};
std::optional<te::Tensor> relay_convolution(RelayStages& stages, const RelayCall& call);
std::optional<te::Tensor> relay_operator(RelayStages& stages, const RelayCall& call);

}  // namespace tensorsmith::graph
