// SPDX-License-Identifier: Apache-2.0
// The reference's definitions of groups: products, pools, reductions, and element by element.
#include <algorithm>
#include <map>

#include "graph/relay_stages.hpp"
#include "tensorsmith/te/compute_dag_build.hpp"

namespace tensorsmith::graph {

std::size_t RelayStages::number_of(const te::Tensor& tensor) {
  return static_cast<std::size_t>(std::stoul(tensor.name().substr(1)));
}

te::Tensor RelayStages::placeholder(const std::string& name, const RelayType& type) {
  names_.push_back(name);
  return program_.placeholder("s" + std::to_string(names_.size() - 1), type.shape, type.dtype);
}
te::Tensor RelayStages::stage(const std::string& name, const std::string& tag, const Shape& shape,
                              std::vector<std::string> axes, const RelayBody& body,
                              OperationAttrs attrs) {
  names_.push_back(name);
  te::ComputeOptions options;
  options.axes = std::move(axes);
  options.tag = tag;
  options.attrs = std::move(attrs);
  return program_.compute(
      "s" + std::to_string(names_.size() - 1), shape,
      [&](const RelayIndices& at) { return body(at); }, std::move(options));
}
te::Tensor RelayStages::stage(const std::string& name, const std::string& tag, const Shape& shape,
                              const std::string& prefix, const RelayBody& body,
                              OperationAttrs attrs) {
  std::vector<std::string> axes;
  for (std::size_t d = 0; d < shape.size(); ++d) {
    axes.push_back(prefix + std::to_string(d));
  }
  return stage(name, tag, shape, std::move(axes), body, std::move(attrs));
}

te::Tensor RelayStages::pad(const std::string& name, const std::string& tag, const te::Tensor& x,
                            const Shape& before, const Shape& after, const std::string& prefix,
                            const te::Expr& outside) {
  Shape shape = x.shape();
  for (std::size_t d = 0; d < shape.size(); ++d) {
    shape[d] += before[d] + after[d];
  }
  return stage(name, tag, shape, prefix, [&](const RelayIndices& at) -> te::Expr {
    RelayIndices index = at;
    std::vector<te::Expr> inside;
    for (std::size_t d = 0; d < shape.size(); ++d) {
      if (before[d] != 0 || after[d] != 0) {
        index[d] = at[d] - before[d];
        inside.push_back(at[d] >= before[d]);
        inside.push_back(at[d] < x.extent(d) + before[d]);
      }
    }
    if (inside.empty()) {
      return x.at(index);
    }
    te::Expr condition = inside[0];
    for (std::size_t i = 1; i < inside.size(); ++i) {
      condition = condition && inside[i];
    }
    return te::if_then_else(condition, x.at(index), outside);
  });
}

Shared<const ComputeDag> RelayStages::finish(const std::vector<te::Tensor>& arguments) const {
  const Shared<const ComputeDag> numbered = program_.dag(arguments);
  const auto name = [&](const std::string& number) {
    return names_[static_cast<std::size_t>(std::stoul(number.substr(1)))];
  };
  std::vector<Operation> operations = numbered->operations();
  for (Operation& op : operations) {
    op.name = name(op.name);
  }
  std::vector<TensorInfo> tensors = numbered->tensors();
  for (TensorInfo& tensor : tensors) {
    tensor.name = name(tensor.name);
  }
  return make_shared_of<const ComputeDag>(numbered->pool_ptr(), std::move(tensors),
                                          std::move(operations), numbered->arguments());
}

namespace {

using te::Expr;
using Names = std::vector<std::string>;

te::Tensor dense(RelayStages& s, const RelayCall& c) {
  const auto k = s.axis("k", c.shape(0)[1]);
  OperationAttrs attrs;
  attrs.layout_free_placeholders = {c.input_name(s, 1)};
  return s.stage(
      "T_matmul_NT", "dense", c.result(), "i",
      [&](const RelayIndices& at) {
        return te::sum(c.inputs[0](at[0], k) * c.inputs[1](at[1], k), {k});
      },
      attrs);
}

te::Tensor batch_matmul(RelayStages& s, const RelayCall& c) {
  const bool ta = c.node.integer("transpose_a", 0) != 0;
  const bool tb = c.node.integer("transpose_b", 1) != 0;
  const Shape &a = c.shape(0), &b = c.shape(1);
  const auto k = s.axis("k", a[ta ? 1 : 2]);
  OperationAttrs attrs;
  attrs.layout_free_placeholders = {c.input_name(s, 1)};
  const std::string name = std::string("T_batch_matmul_") + (ta ? "T" : "N") + (tb ? "T" : "N");
  return s.stage(
      name, "batch_matmul", c.result(), Names{"b", "i", "j"},
      [&](const RelayIndices& at) {
        const Expr of_a = a[0] == 1 && c.result()[0] != 1 ? Expr(0) : at[0];
        const Expr of_b = b[0] == 1 && c.result()[0] != 1 ? Expr(0) : at[0];
        return te::sum((ta ? c.inputs[0](of_a, k, at[1]) : c.inputs[0](of_a, at[1], k)) *
                           (tb ? c.inputs[1](of_b, at[2], k) : c.inputs[1](of_b, k, at[2])),
                       {k});
      },
      attrs);
}

te::Tensor softmax(RelayStages& s, const RelayCall& c) {
  const Shape& shape = c.result();
  const te::Tensor& x = c.inputs[0];
  std::int64_t axis = c.node.integer("axis", -1);
  axis += axis < 0 ? static_cast<std::int64_t>(shape.size()) : 0;
  Shape rows = shape;
  rows.erase(rows.begin() + axis);
  const auto with = [&](RelayIndices at, const Expr& k) {
    at.insert(at.begin() + axis, k);
    return at;
  };
  const auto without = [&](RelayIndices at) {
    at.erase(at.begin() + axis);
    return at;
  };
  const std::int64_t count = shape[static_cast<std::size_t>(axis)];
  const auto k1 = s.axis("k", count), k2 = s.axis("k", count);
  const te::Tensor most =
      s.stage("T_softmax_maxelem", "softmax_output", rows, "i",
              [&](const RelayIndices& at) { return te::max(x.at(with(at, k1)), {k1}); });
  const te::Tensor power =
      s.stage("T_softmax_exp", "softmax_output", shape, "i",
              [&](const RelayIndices& at) { return te::exp(x.at(at) - most.at(without(at))); });
  const te::Tensor sum =
      s.stage("T_softmax_expsum", "softmax_output", rows, "i",
              [&](const RelayIndices& at) { return te::sum(power.at(with(at, k2)), {k2}); });
  return s.stage("T_softmax_norm", "softmax_output", shape, "i",
                 [&](const RelayIndices& at) { return power.at(at) / sum.at(without(at)); });
}

/// Where the rows and columns stand in "NCHW", "NHWC" or "NCHW16c".
std::pair<std::size_t, std::size_t> plane_axes(const RelayNode& n) {
  const std::string layout = n.text("layout");
  return layout == "NHWC" ? std::pair<std::size_t, std::size_t>{1, 2}
                          : std::pair<std::size_t, std::size_t>{2, 3};
}

te::Tensor max_pool(RelayStages& s, const RelayCall& c) {
  const auto [h, w] = plane_axes(c.node);
  const auto pair = [&](const char* name) {
    std::vector<std::int64_t> list = c.node.integers(name);
    list.resize(2, list.empty() ? 1 : list[0]);
    return list;
  };
  const auto size = pair("pool_size"), strides = pair("strides"), dilation = pair("dilation");
  Shape pads = c.node.integers("padding");
  if (pads.size() == 2) {
    pads = {pads[0], pads[1], pads[0], pads[1]};
  }
  pads.resize(4, pads.size() == 1 ? pads[0] : 0);
  te::Tensor x = c.inputs[0];
  if (std::any_of(pads.begin(), pads.end(), [](std::int64_t p) { return p != 0; }) ||
      c.node.integer("ceil_mode", 0) != 0) {
    Shape before(x.rank(), 0), after(x.rank(), 0);
    before[h] = pads[0];
    before[w] = pads[1];
    after[h] = pads[2];
    after[w] = pads[3];
    if (c.node.integer("ceil_mode", 0) != 0) {
      after[h] += strides[0] - 1;
      after[w] += strides[1] - 1;
    }
    x = s.pad("pad_temp", "elemwise", x, before, after, "ax", te::detail::extreme(x.dtype(), -1));
  }
  const auto rv0 = s.axis("rv0", size[0]), rv1 = s.axis("rv1", size[1]);
  const std::size_t row = h, column = w;
  return s.stage("pool_max", "pool_max", c.result(), "ax", [&](const RelayIndices& at) {
    RelayIndices index = at;
    index[row] = at[row] * strides[0] + rv0 * dilation[0];
    index[column] = at[column] * strides[1] + rv1 * dilation[1];
    return te::max(x.at(index), {rv0, rv1});
  });
}

/// Over the whole plane; the numbers of elements are formulas of the place, as in the reference.
te::Tensor global_average(RelayStages& s, const RelayCall& c) {
  const auto [h, w] = plane_axes(c.node);
  const te::Tensor& x = c.inputs[0];
  const std::int64_t rows = x.extent(h), columns = x.extent(w);
  const auto rv0 = s.axis("rv0", rows), rv1 = s.axis("rv1", columns);
  const std::size_t row = h, column = w;
  const te::Tensor sum = s.stage("adaptive_pool_sum", "adaptive_pool_sum", c.result(), "ax",
                                 [&](const RelayIndices& at) {
                                   RelayIndices index = at;
                                   index[row] = at[row] * rows + rv0;
                                   index[column] = at[column] * columns + rv1;
                                   return te::sum(x.at(index), {rv0, rv1});
                                 });
  return s.stage("adaptive_pool_avg", "elemwise", c.result(), "ax", [&](const RelayIndices& at) {
    const auto count = [&](const Expr& i, std::int64_t extent) {
      te::detail::ProgramData* program = i.program();
      const Expr always(program, program->pool.int_imm(1, DType::boolean));
      const Expr end = (i + 1) * extent;
      return te::cast(x.dtype(), te::select(always, end, end + 1) - i * extent);
    };
    return sum.at(at) / (count(at[row], rows) * count(at[column], columns));
  });
}

/// The stage FROM_red, and what is left of the axes in the result.
te::Tensor reduced(RelayStages& s, const te::Tensor& x, const RelayNode& n, const Shape& result,
                   const std::string& kind) {
  std::vector<bool> goes(x.rank(), false);
  const std::vector<std::int64_t> axes = n.integers("axis");
  for (std::int64_t axis : axes) {
    goes[static_cast<std::size_t>(axis < 0 ? axis + static_cast<std::int64_t>(x.rank()) : axis)] =
        true;
  }
  if (axes.empty()) {
    goes.assign(x.rank(), true);
  }
  if (n.integer("exclude", 0) != 0) {
    goes.flip();
  }
  const bool keeps = result.size() == x.rank();
  te::ReduceAxes over;
  for (std::size_t d = 0; d < goes.size(); ++d) {
    if (goes[d]) {
      over.push_back(s.axis("k" + std::to_string(d), x.extent(d)));
    }
  }
  return s.stage(s.name_of(x) + "_red", "comm_reduce", result, "ax", [&](const RelayIndices& at) {
    RelayIndices index;
    std::size_t next = 0, k = 0;
    for (std::size_t d = 0; d < goes.size(); ++d) {
      index.push_back(goes[d] ? static_cast<const Expr&>(over[k++]) : at[next]);
      next += keeps || !goes[d] ? 1 : 0;
    }
    const Expr value = x.at(index);
    return kind == "max"    ? te::max(value, over)
           : kind == "min"  ? te::min(value, over)
           : kind == "prod" ? te::prod(value, over)
                            : te::sum(value, over);
  });
}
te::Tensor divided(RelayStages& s, const te::Tensor& x, double by) {
  return s.stage("T_divide", "elemwise", x.shape(), "ax",
                 [&](const RelayIndices& at) { return x.at(at) / by; });
}

te::Tensor binary(RelayStages& s, const std::string& op, const te::Tensor& a, const te::Tensor& b,
                  const Shape& shape) {
  const auto read = [&](const te::Tensor& x, const RelayIndices& at) {
    RelayIndices index;
    for (std::size_t d = 0; d < x.rank(); ++d) {
      const std::size_t place = shape.size() - x.rank() + d;
      index.push_back(x.extent(d) == 1 && shape[place] != 1 ? Expr(0) : at[place]);
    }
    return x.at(index);
  };
  return s.stage("T_" + op, "broadcast", shape, "ax", [&](const RelayIndices& at) -> Expr {
    const Expr x = read(a, at), y = read(b, at);
    return op == "add"        ? x + y
           : op == "subtract" ? x - y
           : op == "multiply" ? x * y
           : op == "divide"   ? x / y
           : op == "maximum"  ? te::max(x, y)
           : op == "minimum"  ? te::min(x, y)
                              : te::pow(x, y);
  });
}

std::optional<te::Tensor> unary(RelayStages& s, const RelayCall& c, const std::string& op) {
  using Function = Expr (*)(const RelayNode&, Expr);
  static const std::map<std::string, Function> functions = {
      {"relu", [](const RelayNode&, Expr x) { return te::max(x, 0); }},
      {"tanh", [](const RelayNode&, Expr x) { return te::tanh(x); }},
      {"sigmoid", [](const RelayNode&, Expr x) { return te::sigmoid(x); }},
      {"exp", [](const RelayNode&, Expr x) { return te::exp(x); }},
      {"log", [](const RelayNode&, Expr x) { return te::log(x); }},
      {"sqrt", [](const RelayNode&, Expr x) { return te::sqrt(x); }},
      {"rsqrt", [](const RelayNode&, Expr x) { return te::rsqrt(x); }},
      {"erf", [](const RelayNode&, Expr x) { return te::erf(x); }},
      {"leaky_relu",
       [](const RelayNode& n, Expr x) { return te::select(x > 0, x, x * n.real("alpha", 0.01)); }},
      {"clip", [](const RelayNode& n, Expr x) {
         return te::max(te::min(x, n.real("a_max", 0)), n.real("a_min", 0));
       }}};
  const auto found = functions.find(op);
  if (found == functions.end()) {
    return std::nullopt;
  }
  return s.stage(op == "clip" ? "compute" : "T_" + op, "elemwise", c.result(),
                 op == "clip" ? "i" : "ax",
                 [&](const RelayIndices& at) { return found->second(c.node, c.inputs[0].at(at)); });
}

te::Tensor expanded(RelayStages& s, const RelayCall& c) {
  const auto axis = static_cast<std::size_t>(c.node.integer("axis", 0));
  const auto count = static_cast<std::size_t>(c.node.integer("num_newaxis", 1));
  return s.stage("T_expand_dims", "broadcast", c.result(), "ax", [&](const RelayIndices& at) {
    RelayIndices index;
    for (std::size_t d = 0; d < at.size(); ++d) {
      if (d < axis || d >= axis + count) {
        index.push_back(at[d]);
      }
    }
    return c.inputs[0].at(index);
  });
}

}  // namespace

std::optional<te::Tensor> relay_operator(RelayStages& s, const RelayCall& c) {
  const std::string& full = c.node.name;
  const std::string op = full.starts_with("nn.") ? full.substr(3) : full;
  if (op.find("conv2d") != std::string::npos) {
    return relay_convolution(s, c);
  }
  if (op == "dense") {
    return dense(s, c);
  }
  if (op == "batch_matmul") {
    return batch_matmul(s, c);
  }
  if (op == "softmax") {
    return softmax(s, c);
  }
  if (op == "max_pool2d") {
    return max_pool(s, c);
  }
  if (op == "global_avg_pool2d") {
    return global_average(s, c);
  }
  if (op == "mean" || op == "sum" || op == "max" || op == "min" || op == "prod") {
    const te::Tensor sum = reduced(s, c.inputs[0], c.node, c.result(), op);
    return op == "mean"
               ? divided(s, sum,
                         static_cast<double>(num_elements(c.shape(0)) / num_elements(c.result())))
               : sum;
  }
  if (op == "variance") {
    const te::Tensor centred = binary(s, "subtract", c.inputs[0], c.inputs[1], c.shape(0));
    const te::Tensor squares = binary(s, "multiply", centred, centred, c.shape(0));
    return divided(s, reduced(s, squares, c.node, c.result(), "sum"),
                   static_cast<double>(num_elements(c.shape(0)) / num_elements(c.result())));
  }
  if (op == "expand_dims") {
    return expanded(s, c);
  }
  static const char* const binaries[] = {"add",     "subtract", "multiply", "divide",
                                         "maximum", "minimum",  "power"};
  if (std::find(std::begin(binaries), std::end(binaries), op) != std::end(binaries)) {
    return binary(s, op, c.inputs[0], c.inputs[1], c.result());
  }
  return unary(s, c, op);
}

RelayDefinition relay_definition(const RelayGraph& graph, const RelayGroup& group,
                                 RelayTarget target) {
  RelayStages stages;
  std::map<std::size_t, te::Tensor> tensors;
  std::vector<te::Tensor> arguments;
  RelayDefinition made;
  for (const std::size_t i : group.arguments) {
    if (graph.nodes[i].type.is_tuple) {
      return {};
    }
    arguments.push_back(
        stages.placeholder("p" + std::to_string(arguments.size()), graph.nodes[i].type));
    tensors.emplace(i, arguments.back());
  }
  for (const std::size_t i : group.nodes) {
    const RelayNode& node = graph.nodes[i];
    if (node.kind == RelayKind::constant) {
      const bool is_known = node.find("value") != nullptr;
      made.is_exact = made.is_exact && is_known;
      made.is_assumed = made.is_assumed || node.find("is_assumed") != nullptr;
      tensors.emplace(
          i, stages.stage("compile_engine_const", "broadcast", {}, "i", [&](const RelayIndices&) {
            return stages.program().constant(node.type.dtype, node.real("value", 1));
          }));
      continue;
    }
    if (node.kind != RelayKind::call) {
      return {};
    }
    RelayCall call{graph, node, target, {}};
    for (const std::size_t input : node.inputs) {
      call.inputs.push_back(tensors.at(input));
    }
    const std::optional<te::Tensor> result = relay_operator(stages, call);
    if (!result) {
      return {};
    }
    tensors.emplace(i, *result);
    made.is_countable = made.is_countable && node.name != "nn.global_avg_pool2d";
  }
  arguments.push_back(tensors.at(group.nodes.back()));
  made.dag = stages.finish(arguments);
  return made;
}

}  // namespace tensorsmith::graph
