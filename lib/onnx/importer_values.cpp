// SPDX-License-Identifier: Apache-2.0
#include <cstddef>
#include <unordered_set>
#include <utility>

#include "onnx/importer.hpp"
#include "onnx/operator_table.hpp"
#include "tensorsmith/ir/host_array.hpp"
#include "tensorsmith/support/quote.hpp"

namespace tensorsmith::onnx {
namespace {

constexpr std::int64_t newest_ir = 14;

std::string model_problem(const ModelMessage& model) {
  if (!model.has_graph || model.opsets.empty()) {
    return model.has_graph ? "it imports no operator set" : "it has no graph";
  }
  if (model.ir_version < 3 || model.ir_version > newest_ir) {
    return "its format is IR version " + std::to_string(model.ir_version) + ", not 3 to " +
           std::to_string(newest_ir);
  }
  for (const OpsetMessage& opset : model.opsets) {
    if (is_own_domain(opset.domain) &&
        (opset.version < oldest_opset || opset.version > newest_opset)) {
      return "its operator set is " + std::to_string(opset.version) + ", not " +
             std::to_string(oldest_opset) + " to " + std::to_string(newest_opset);
    }
  }
  return {};
}

/// "a", "b" and "c".
std::string listed(const std::vector<std::string>& names) {
  std::string text;
  for (std::size_t i = 0; i < names.size(); ++i) {
    text += i == 0 ? "" : i + 1 == names.size() ? " and " : ", ";
    text += in_quotes(names[i]);
  }
  return text;
}

}  // namespace

std::string Importer::add_initializers(const GraphMessage& graph, Scope& scope) {
  if (graph.has_sparse) {
    return "sparse initializers are not read";
  }
  for (const TensorMessage& tensor : graph.initializers) {
    const std::string name = "initializer " + in_quotes(tensor.name);
    auto constant = tensors_.read(tensor);
    if (!constant) {
      return name + ": " + constant.error();
    }
    const ValueId value = graph_.add_constant(std::string(tensor.name), *std::move(constant));
    const std::string problem = define(tensor.name, value, scope);
    if (!problem.empty()) {
      return name + ": " + problem;
    }
  }
  return {};
}

std::string Importer::add_bound_input(const OnnxInput& bound, DType type, const graph::Shape& shape,
                                      Scope& scope, std::string_view name) {
  constexpr std::int64_t most_elements = std::int64_t{1} << 24;
  const std::int64_t count = graph::num_elements(shape);
  const auto given = static_cast<std::int64_t>(bound.values.size());
  if (count > most_elements || (given != 1 && given != count)) {
    return "the input " + in_quotes(name) + " of shape " + graph::shape_text(shape) + " has " +
           std::to_string(count) + " elements, " + std::to_string(given) + " values are given";
  }
  const auto size = static_cast<std::size_t>(bytes_of(type));
  std::vector<std::byte> bytes(static_cast<std::size_t>(count) * size);
  for (std::size_t i = 0; i < static_cast<std::size_t>(count); ++i) {
    const double value = bound.values[given == 1 ? 0 : i];
    const IntegerLimits limits = limits_of(type);
    // 2^63 itself is outside i64.
    if (!is_float(type) && !(value >= static_cast<double>(limits.low) &&
                             value <= static_cast<double>(limits.high) && value < 0x1p63)) {
      return "the value of input " + in_quotes(name) + " is outside its type " +
             std::string(name_of(type));
    }
    store_scalar(bytes.data() + i * size, type,
                 cast_scalar(scalar_of_real(value), DType::f64, type));
  }
  return define(
      name,
      graph_.add_constant(std::string(name), graph::make_constant(type, shape, std::move(bytes))),
      scope);
}

std::string Importer::add_input(const ValueMessage& input, Scope& scope) {
  const std::string name = "input " + in_quotes(input.name);
  if (!input.is_tensor || !input.has_shape) {
    return name + (input.is_tensor ? " has no shape" : " is no tensor");
  }
  const auto type = element_type(input.type);
  if (!type) {
    return name + ": " + type.error();
  }
  graph::Shape shape;
  for (std::size_t axis = 0; axis < input.dims.size(); ++axis) {
    const DimMessage& dim = input.dims[axis];
    const std::string place = std::string(input.name) + ":" + std::to_string(axis);
    std::int64_t size = dim.name.empty() ? dim.value : -1;
    for (std::size_t i = 0; i < options_.dims.size() && size < 0; ++i) {
      if (options_.dims[i].name == (dim.name.empty() ? place : dim.name) ||
          options_.dims[i].name == place) {
        is_dim_used_[i] = true;
        size = options_.dims[i].size;
      }
    }
    if (size < 0) {
      const std::string missing = dim.name.empty() ? place : std::string(dim.name);
      bool is_new = unbound_.size() < 100;  // of which a message names all
      for (const std::string& known : unbound_) {
        is_new = is_new && known != missing;
      }
      if (is_new) {
        unbound_.push_back(missing);
      }
    }
    shape.push_back(size < 0 ? 1 : size);
  }
  const auto count = checked_size(shape, *type);
  if (!count) {
    return name + ": " + count.error();
  }
  for (std::size_t i = 0; i < options_.inputs.size(); ++i) {
    if (options_.inputs[i].name == input.name) {
      is_input_used_[i] = true;
      return add_bound_input(options_.inputs[i], *type, shape, scope, input.name);
    }
  }
  const std::string problem =
      define(input.name, graph_.add_input(std::string(input.name), *type, shape), scope);
  return problem.empty() ? problem : name + ": " + problem;
}

std::string Importer::add_inputs(Scope& scope) {
  std::unordered_set<std::string_view> initialized;
  for (const TensorMessage& tensor : model_.graph.initializers) {
    initialized.insert(tensor.name);
  }
  for (const ValueMessage& input : model_.graph.inputs) {
    // Of IR version 3: every initializer is an input too, with that as its default.
    if (initialized.contains(input.name)) {
      continue;
    }
    std::string problem = add_input(input, scope);
    if (!problem.empty()) {
      return problem;
    }
  }
  if (!unbound_.empty()) {
    const bool is_one = unbound_.size() == 1;
    return std::string(is_one ? "the extent " : "the extents ") + listed(unbound_) +
           " of its inputs " + (is_one ? "has" : "have") + " no size; bind " +
           (is_one ? "it" : "them") + " with --dim NAME=SIZE";
  }
  for (std::size_t i = 0; i < options_.dims.size(); ++i) {
    if (!is_dim_used_[i]) {
      return "no input has an open extent " + in_quotes(options_.dims[i].name);
    }
  }
  for (std::size_t i = 0; i < options_.inputs.size(); ++i) {
    if (!is_input_used_[i]) {
      return "it has no input " + in_quotes(options_.inputs[i].name) + " that could be bound";
    }
  }
  return {};
}

// A value has one name outside: one that is an input, a constant, or an output already gets an
// Identity behind it.
std::string Importer::add_outputs(const Scope& scope) {
  if (model_.graph.outputs.empty()) {
    return "it has no outputs";
  }
  std::vector<bool> is_named(graph_.values.size());
  for (const ValueId input : graph_.inputs) {
    is_named[input.value] = true;
  }
  for (const ValueMessage& output : model_.graph.outputs) {
    const ValueId* found = scope.find(output.name);
    if (found == nullptr) {
      return "nothing computes its output " + in_quotes(output.name);
    }
    ValueId value = *found;
    if (is_named[value.value] || graph_.value(value).is_constant) {
      graph::Node node;
      node.op = "Identity";
      node.inputs = {value};
      graph::Value copy;
      copy.dtype = graph_.value(value).dtype;
      value = graph_.add_value(std::move(copy));
      is_named.resize(graph_.values.size());
      node.outputs = {value};
      graph_.nodes.push_back(std::move(node));
    }
    is_named[value.value] = true;
    graph_.value(value).name = std::string(output.name);
    graph_.outputs.push_back(value);
  }
  return {};
}

Result<graph::Graph, std::string> Importer::run() {
  std::string problem = model_problem(model_);
  if (!problem.empty()) {
    return fail(problem);
  }
  graph_.name = std::string(model_.graph.name);
  is_dim_used_.resize(options_.dims.size());
  is_input_used_.resize(options_.inputs.size());
  for (const OnnxDim& dim : options_.dims) {
    if (dim.size < 1) {
      return fail("the size of " + in_quotes(dim.name) + " is " + std::to_string(dim.size) +
                  ", not positive");
    }
  }
  Scope scope;
  scope.opsets = &model_.opsets;
  problem = add_inputs(scope);
  problem = problem.empty() ? add_initializers(model_.graph, scope) : problem;
  problem = problem.empty() ? add_nodes(model_.graph.nodes, scope) : problem;
  problem = problem.empty() ? add_outputs(scope) : problem;
  if (!problem.empty()) {
    return fail(problem);
  }
  graph::remove_unused(graph_);
  const auto checked = graph::check(graph_);
  if (!checked) {
    return fail(checked.error());
  }
  return std::move(graph_);
}

}  // namespace tensorsmith::onnx
