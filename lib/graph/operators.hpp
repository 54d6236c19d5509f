// SPDX-License-Identifier: Apache-2.0
// What a row of the lowering table is made of.
//
// Private to lib/graph. Own design. Inference and emission throw Error with half a sentence, which
// the callers put behind the name of the node.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <vector>

#include "tensorsmith/graph/lowering.hpp"
#include "tensorsmith/ops/op.hpp"
#include "tensorsmith/support/error.hpp"
#include "tensorsmith/te/program.hpp"

namespace tensorsmith::graph {

using List = std::vector<std::int64_t>;
using Indices = std::vector<te::Expr>;

[[noreturn]] inline void refuse(const std::string& why) { throw Error(why); }

/// What is known of a node's inputs; takes what its results are.
class Inference {
 public:
  struct Facts {
    DType dtype = DType::f32;
    Shape shape;
  };

  Inference(const Graph& graph, const Node& node) : graph_(graph), node_(node) {}

  const Node& node() const { return node_; }
  const Graph& graph() const { return graph_; }
  bool has(std::size_t i) const { return node_.has_input(i); }
  std::size_t num_inputs() const { return node_.inputs.size(); }
  const Value& value(std::size_t i) const;
  const Shape& shape(std::size_t i) const { return value(i).shape; }
  DType dtype(std::size_t i) const { return value(i).dtype; }
  std::size_t rank(std::size_t i) const { return shape(i).size(); }
  bool is_constant(std::size_t i) const { return has(i) && value(i).is_constant; }
  /// `what` for the message.
  const Constant& constant(std::size_t i, const char* what) const;

  void set(Facts facts) { results_.push_back(std::move(facts)); }
  void set(DType dtype, Shape shape) { results_.push_back({dtype, std::move(shape)}); }
  const std::vector<Facts>& results() const { return results_; }

 private:
  const Graph& graph_;
  const Node& node_;
  std::vector<Facts> results_;
};

/// Writes one node after the other into one program.
class Emitter {
 public:
  Emitter(const Graph& graph, const LoweringOptions& options) : graph_(graph), options_(options) {}

  /// Puts the node's results into the program; true if all went well.
  void emit(std::size_t node);

  // For rows: the node that is being emitted.
  const Node& node() const { return *node_; }
  const Graph& graph() const { return graph_; }
  te::Program& program() { return program_; }
  bool has(std::size_t i) const { return node_->has_input(i); }
  const Value& value(std::size_t i) const { return graph_.value(node_->inputs[i]); }
  const Value& result(std::size_t k = 0) const { return graph_.value(node_->outputs[k]); }
  const Shape& shape(std::size_t i) const { return value(i).shape; }
  bool is_constant(std::size_t i) const { return has(i) && value(i).is_constant; }
  DType type_of(const Value& value) const {
    return options_.is_wide && is_float(value.dtype) ? DType::f64 : value.dtype;
  }
  DType type(std::size_t i) const { return type_of(value(i)); }
  DType result_type(std::size_t k = 0) const { return type_of(result(k)); }

  /// An element of input i; scalars of known value become literals of the formula.
  te::Expr read(std::size_t i, const Indices& at);
  /// An element of input i that is spread over a result of the shape behind `at`.
  te::Expr read_spread(std::size_t i, const Indices& at);
  te::Tensor tensor(std::size_t i);
  /// As an argument that does not change between calls, if it is a constant: its name, for
  /// OperationAttrs::layout_free_placeholders; else empty.
  std::string constant_name(std::size_t i);

  using Body = std::function<te::Expr(const Indices&)>;
  /// A stage of the node; `what` tells stages of one node apart.
  te::Tensor stage(const std::string& what, const Shape& shape, const Body& body,
                   OperationAttrs attrs = {}, std::vector<std::string> axes = {});
  te::ReduceAxis axis(const std::string& name, std::int64_t extent) {
    return program_.reduce_axis(name, extent);
  }
  /// Output k of the node is that tensor; nothing where nobody reads the output.
  void define(const te::Tensor& tensor, std::size_t k = 0);
  /// A stage that is output k, of its type.
  void define(const Body& body, std::size_t k = 0, OperationAttrs attrs = {},
              std::vector<std::string> axes = {});

  GroupProgram finish(const std::vector<ValueId>& outputs);

 private:
  te::Tensor tensor_of(ValueId id);
  std::string fresh(const std::string& name);

  const Graph& graph_;
  LoweringOptions options_;
  te::Program program_;
  const Node* node_ = nullptr;
  std::map<std::uint32_t, te::Tensor> tensors_;  // by ValueId
  std::vector<ValueId> inputs_;                  // in order of first use
  std::map<std::string, int> names_;
};

struct OperatorRow {
  OperatorFacts facts;
  void (*infer)(Inference&) = nullptr;
  void (*emit)(Emitter&) = nullptr;  ///< null: is_folded
  /// Of constants, where no formula says it; null: by the formula.
  std::vector<Constant> (*evaluate)(const Graph&, const Node&) = nullptr;
  bool is_of_shape = false;  ///< evaluate() asks for the shape of its input only
  /// What stands in the node's place once its inputs are known; null, or no nodes: the node itself.
  std::vector<Node> (*expand)(Graph&, Node) = nullptr;
};
const OperatorRow* find_row(std::string_view op);
/// Of an operator that kernels compute.
inline OperatorRow computed_row(std::string_view op, Pattern pattern, void (*infer)(Inference&),
                                void (*emit)(Emitter&)) {
  OperatorRow made;
  made.facts = {op, pattern, false, false};
  made.infer = infer;
  made.emit = emit;
  return made;
}

/// Rows by family.
std::vector<OperatorRow> elementwise_rows();
std::vector<OperatorRow> product_rows();
std::vector<OperatorRow> convolution_rows();
std::vector<OperatorRow> pool_rows();
std::vector<OperatorRow> reduction_rows();
std::vector<OperatorRow> norm_rows();
std::vector<OperatorRow> shape_rows();
std::vector<OperatorRow> index_rows();
std::vector<OperatorRow> resize_rows();
std::vector<OperatorRow> function_rows();
std::vector<OperatorRow> scatter_rows();
std::vector<OperatorRow> order_rows();
std::vector<OperatorRow> sample_rows();
std::vector<OperatorRow> einsum_rows();
std::vector<OperatorRow> quantize_rows();
std::vector<OperatorRow> recurrent_rows();
std::vector<OperatorRow> signal_rows();

// What several families need.
Shape spread_shapes(const Shape& a, const Shape& b);  ///< throws where they do not fit
/// In [0, rank), counted from the end if negative; throws for others.
std::size_t normalized_axis(std::int64_t axis, std::size_t rank);
std::vector<std::size_t> normalized_axes(const std::vector<std::int64_t>& axes, std::size_t rank);
/// The list in input i, if there is one, or else in the attribute.
std::vector<std::int64_t> list_of(const Graph& graph, const Node& node, std::size_t i,
                                  std::string_view attribute);
/// Position of `at` in row-major order, and the way back.
te::Expr flat_position(const Indices& at, const Shape& shape);
Indices indices_of(const te::Expr& position, const Shape& shape);
/// A number of a program, for indices.
inline te::Expr whole(Emitter& e, std::int64_t value) {
  return e.program().constant(DType::i32, value);
}
/// A number of any type; whole numbers are cut off towards zero.
inline te::Expr number(Emitter& e, DType type, double value) {
  return is_float(type) ? e.program().constant(type, value)
                        : e.program().constant(type, static_cast<std::int64_t>(value));
}
/// An index that counts from the end if it is negative.
te::Expr from_the_end(Emitter& e, const te::Expr& i, std::int64_t extent);
/// Results of one node, all inputs constant. Throws Error.
std::vector<Constant> evaluate_node(const Graph& graph, std::size_t node);
HostArray host_array(const Constant& constant, bool is_wide);
Constant constant_from(const HostArray& array);

}  // namespace tensorsmith::graph
