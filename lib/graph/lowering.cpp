// SPDX-License-Identifier: Apache-2.0
#include "tensorsmith/graph/lowering.hpp"

#include <algorithm>

#include "graph/operators.hpp"
#include "tensorsmith/support/quote.hpp"
#include "tensorsmith/te/eval_dag.hpp"

namespace tensorsmith::graph {

namespace {

const std::map<std::string_view, OperatorRow>& table() {
  static const std::map<std::string_view, OperatorRow> rows = [] {
    std::map<std::string_view, OperatorRow> all;
    for (const auto& family :
         {elementwise_rows(), product_rows(), convolution_rows(), pool_rows(), reduction_rows(),
          norm_rows(), shape_rows(), index_rows(), resize_rows(), function_rows(), scatter_rows(),
          order_rows(), sample_rows(), einsum_rows(), quantize_rows(), recurrent_rows(),
          signal_rows()}) {
      for (const OperatorRow& row : family) {
        TENSORSMITH_ASSERT(all.emplace(row.facts.op, row).second, "an operator has two rows");
      }
    }
    return all;
  }();
  return rows;
}

}  // namespace

const OperatorRow* find_row(std::string_view op) {
  const auto found = table().find(op);
  return found == table().end() ? nullptr : &found->second;
}
const OperatorFacts* find_operator(std::string_view op) {
  const OperatorRow* row = find_row(op);
  return row == nullptr ? nullptr : &row->facts;
}
std::vector<OperatorFacts> known_operators() {
  std::vector<OperatorFacts> all;
  for (const auto& [op, row] : table()) {
    all.push_back(row.facts);
  }
  return all;
}

const Value& Inference::value(std::size_t i) const {
  if (!has(i)) {
    refuse("has no input " + std::to_string(i));
  }
  return graph_.value(node_.inputs[i]);
}
const Constant& Inference::constant(std::size_t i, const char* what) const {
  const Value& v = value(i);
  if (!v.is_constant) {
    refuse("needs a constant " + std::string(what) + ", and " + in_quotes(v.name) +
           " depends on what a call gives");
  }
  return v.constant;
}

void Emitter::emit(std::size_t node) {
  node_ = &graph_.nodes[node];
  const OperatorRow* row = find_row(node_->op);
  if (row == nullptr || row->emit == nullptr) {
    refuse(row == nullptr ? "is of an operator that is not known"
                          : "is of an operator that is only computed of constants");
  }
  row->emit(*this);
}

std::string Emitter::fresh(const std::string& name) {
  const int count = names_[name]++;
  return count == 0 ? name : name + "_" + std::to_string(count);
}

te::Tensor Emitter::tensor_of(ValueId id) {
  const auto found = tensors_.find(id.value);
  if (found != tensors_.end()) {
    return found->second;
  }
  const Value& value = graph_.value(id);
  const std::string name = fresh(value.is_constant ? "w" : "x");
  const te::Tensor made = program_.placeholder(name, value.shape, type_of(value));
  inputs_.push_back(id);
  tensors_.emplace(id.value, made);
  return made;
}

te::Tensor Emitter::tensor(std::size_t i) {
  if (!has(i)) {
    refuse("has no input " + std::to_string(i));
  }
  return tensor_of(node_->inputs[i]);
}

std::string Emitter::constant_name(std::size_t i) {
  return options_.packs_constants && is_constant(i) ? tensor(i).name() : std::string();
}

te::Expr Emitter::read(std::size_t i, const Indices& at) {
  const Value& v = value(i);
  if (v.is_constant && num_elements(v.shape) == 1 && !options_.reads_scalars) {
    const DType type = type_of(v);
    if (type == DType::boolean) {
      const te::Expr zero = program_.constant(DType::i32, 0);
      return zero == (v.constant.integer(0) != 0 ? 0 : 1);
    }
    return is_float(type) ? program_.constant(type, v.constant.real(0))
                          : program_.constant(type, v.constant.integer(0));
  }
  return tensor(i).at(at);
}

te::Expr Emitter::read_spread(std::size_t i, const Indices& at) {
  const Shape& shape = value(i).shape;
  Indices index;
  for (std::size_t d = 0; d < shape.size(); ++d) {
    const std::size_t behind = shape.size() - d;
    index.push_back(shape[d] == 1 || behind > at.size() ? te::Expr(0) : at[at.size() - behind]);
  }
  return read(i, index);
}

te::Tensor Emitter::stage(const std::string& what, const Shape& shape, const Body& body,
                          OperationAttrs attrs, std::vector<std::string> axes) {
  te::ComputeOptions options;
  options.attrs = std::move(attrs);
  options.axes = std::move(axes);
  if (options.axes.empty()) {
    for (std::size_t d = 0; d < shape.size(); ++d) {
      options.axes.push_back("i" + std::to_string(d));
    }
  }
  std::string name = node_->op;
  std::replace_if(
      name.begin(), name.end(), [](char c) { return c == '.'; }, '_');
  return program_.compute(
      fresh(name + (what.empty() ? "" : "_") + what), shape,
      [&](const Indices& at) { return body(at); }, std::move(options));
}

void Emitter::define(const te::Tensor& tensor, std::size_t k) {
  if (!node_->has_output(k)) {
    return;
  }
  const Value& value = result(k);
  TENSORSMITH_ASSERT(tensor.shape() == value.shape && tensor.dtype() == type_of(value),
                     "a row's formula does not have the shape or type that it infers");
  tensors_.emplace(node_->outputs[k].value, tensor);
}
void Emitter::define(const Body& body, std::size_t k, OperationAttrs attrs,
                     std::vector<std::string> axes) {
  if (!node_->has_output(k)) {
    return;
  }
  define(stage("", result(k).shape, body, std::move(attrs), std::move(axes)), k);
}

GroupProgram Emitter::finish(const std::vector<ValueId>& outputs) {
  GroupProgram made;
  std::vector<te::Tensor> arguments;
  for (const ValueId id : inputs_) {
    arguments.push_back(tensors_.at(id.value));
  }
  for (const ValueId id : outputs) {
    arguments.push_back(tensors_.at(id.value));
  }
  made.dag = program_.dag(arguments);
  made.inputs = inputs_;
  made.outputs = outputs;
  return made;
}

Result<GroupProgram, std::string> lower_nodes(const Graph& graph,
                                              std::span<const std::size_t> nodes,
                                              const std::vector<ValueId>& outputs,
                                              const LoweringOptions& options) {
  Emitter emitter(graph, options);
  std::size_t current = 0;
  try {
    for (const std::size_t node : nodes) {
      current = node;
      emitter.emit(node);
    }
    return emitter.finish(outputs);
  } catch (const Error& error) {
    return fail(describe_node(graph, current) + " " + error.what());
  }
}

Shape spread_shapes(const Shape& a, const Shape& b) {
  Shape shape(std::max(a.size(), b.size()), 1);
  for (std::size_t d = 0; d < shape.size(); ++d) {
    const auto of = [&](const Shape& s) {
      const std::size_t missing = shape.size() - s.size();
      return d < missing ? 1 : s[d - missing];
    };
    const std::int64_t x = of(a), y = of(b);
    if (x != y && x != 1 && y != 1) {
      refuse("has inputs " + shape_text(a) + " and " + shape_text(b) +
             ", which cannot be spread over each other");
    }
    shape[d] = x == 1 ? y : x;
  }
  return shape;
}

std::size_t normalized_axis(std::int64_t axis, std::size_t rank) {
  const auto count = static_cast<std::int64_t>(rank);
  if (axis < -count || axis >= count) {
    refuse("has an axis " + std::to_string(axis) + " of " + std::to_string(rank));
  }
  return static_cast<std::size_t>(axis < 0 ? axis + count : axis);
}
std::vector<std::size_t> normalized_axes(const std::vector<std::int64_t>& axes, std::size_t rank) {
  std::vector<std::size_t> list;
  for (const std::int64_t axis : axes) {
    list.push_back(normalized_axis(axis, rank));
  }
  std::sort(list.begin(), list.end());
  if (std::adjacent_find(list.begin(), list.end()) != list.end()) {
    refuse("has an axis twice, " + shape_text(axes));
  }
  return list;
}

std::vector<std::int64_t> list_of(const Graph& graph, const Node& node, std::size_t i,
                                  std::string_view attribute) {
  if (!node.has_input(i)) {
    return node.integers(attribute);
  }
  return Inference(graph, node).constant(i, std::string(attribute).c_str()).integers();
}

te::Expr flat_position(const Indices& at, const Shape& shape) {
  te::Expr position = 0;
  bool is_first = true;
  for (std::size_t d = 0; d < shape.size(); ++d) {
    position = is_first ? at[d] : position * shape[d] + at[d];
    is_first = false;
  }
  return position;
}
Indices indices_of(const te::Expr& position, const Shape& shape) {
  Indices at(shape.size(), te::Expr(0));
  std::int64_t stride = 1;
  for (std::size_t d = shape.size(); d-- > 0;) {
    te::Expr i = stride == 1 ? position : te::floordiv(position, stride);
    at[d] = d == 0 ? i : te::floormod(i, shape[d]);
    stride *= shape[d];
  }
  return at;
}

}  // namespace tensorsmith::graph
