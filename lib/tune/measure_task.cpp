// SPDX-License-Identifier: Apache-2.0
#include "tensorsmith/tune/measure_task.hpp"

#include <algorithm>
#include <map>
#include <optional>
#include <span>
#include <utility>

#include "tensorsmith/ir/host_array.hpp"
#include "tensorsmith/ir/rewrite.hpp"
#include "tensorsmith/measure/fill.hpp"
#include "tensorsmith/measure/verify.hpp"
#include "tensorsmith/support/algorithm.hpp"
#include "tensorsmith/support/quote.hpp"
#include "tensorsmith/te/eval_dag.hpp"
#include "tensorsmith/te/flop.hpp"
#include "tensorsmith/te/index_values.hpp"
#include "tensorsmith/te/root_arguments.hpp"
#include "tensorsmith/te/tensor_size.hpp"
#include "tune/error_facts.hpp"
#include "tune/error_twin.hpp"
#include "tune/f64_twin.hpp"
#include "tune/memory.hpp"
#include "tune/sample_rows.hpp"

namespace tensorsmith {
namespace {

bool is_output(const ComputeDag& dag, TensorId id) { return !is_input(dag, dag.tensor(id)); }

/// A float sum or difference of something that was computed: where terms cancel, what remains has
/// their rounding errors.
bool may_cancel(const ComputeDag& dag, ExprId id) {
  const ExprPool& pool = dag.pool();
  const auto* sum = pool.as<Binary>(id);
  if (sum == nullptr || (sum->op != BinaryOp::add && sum->op != BinaryOp::sub) ||
      !is_float(pool.dtype(id))) {
    return false;
  }
  const auto is_rounded = [&](ExprId term) {
    const auto* read = pool.as<TensorRead>(term);
    return read == nullptr ? pool.as<FloatImm>(term) == nullptr
                           : !is_input(dag, dag.tensor(read->tensor));
  };
  return is_rounded(sum->a) || is_rounded(sum->b);
}

/// Whether it is a sum, difference, product or quotient.
bool is_rounded(const ExprPool& pool, ExprId id) {
  const auto* binary = pool.as<Binary>(id);
  return pool.as<Reduce>(id) != nullptr || (binary != nullptr && binary->op <= BinaryOp::div);
}

/// Whether errors of computed values may become larger than what they are part of: quotients by and
/// functions of them.
bool may_amplify(const ComputeDag& dag) {
  const ExprPool& pool = dag.pool();
  const auto is_computed = [&](ExprId id) {
    return any_node(pool, id, [&](ExprId node) {
      const auto* read = pool.as<TensorRead>(node);
      return is_rounded(pool, node) ||
             (read != nullptr && !is_input(dag, dag.tensor(read->tensor)));
    });
  };
  const auto amplifies = [&](ExprId id) {
    const auto* binary = pool.as<Binary>(id);
    const auto* call = pool.as<Call>(id);
    const bool is_function =
        call != nullptr && call->op != CallOp::if_then_else && call->op != CallOp::abs;
    return is_float(pool.dtype(id)) &&
           ((is_function && any_item(call->args, is_computed)) ||
            (binary != nullptr && binary->op == BinaryOp::div && is_computed(binary->b)));
  };
  for (const Operation& operation : dag.operations()) {
    if (any_item(operation.bodies, [&](ExprId body) { return any_node(pool, body, amplifies); })) {
      return true;
    }
  }
  return false;
}

/// Longest reduction of any operation (a sum that may cancel is one of two terms), how many
/// function calls the bodies hold, and what the operations say of themselves.
struct Rounding {
  double growth = 1;
  std::int64_t reduction_length = 1;
  std::int64_t num_calls = 0;
  bool makes_integers = false;   ///< of floats
  DType narrowest = DType::f64;  ///< of the floats that are computed with
};
Rounding rounding_of(const ComputeDag& dag) {
  Rounding rounding;
  for (const Operation& operation : dag.operations()) {
    std::int64_t length = 1;
    for (const Axis& axis : operation.reduce_axes) {
      length *= axis.extent;
    }
    rounding.reduction_length = std::max(rounding.reduction_length, length);
    rounding.growth = std::max(rounding.growth, operation.attrs.rounding);
    for (const ExprId body : operation.bodies) {
      visit_expr(dag.pool(), body, [&](ExprId id) {
        const Call* call = dag.pool().as<Call>(id);
        const bool is_function = call != nullptr && call->op != CallOp::if_then_else;
        rounding.num_calls += is_function ? 1 : 0;
        if (may_cancel(dag, id)) {
          rounding.reduction_length = std::max<std::int64_t>(rounding.reduction_length, 2);
        }
        const DType type = dag.pool().dtype(id);
        if ((is_function || is_rounded(dag.pool(), id)) && is_float(type) &&
            epsilon_of(type) > epsilon_of(rounding.narrowest)) {
          rounding.narrowest = type;
        }
        const Cast* cast = dag.pool().as<Cast>(id);
        rounding.makes_integers =
            rounding.makes_integers || (cast != nullptr && is_integer(dag.pool().dtype(id)) &&
                                        is_float(dag.pool().dtype(cast->a)));
      });
    }
  }
  return rounding;
}

/// Which dimensions all who read a tensor, directly or not, have as an axis of theirs up to the
/// result.
class KeptDimensions {
 public:
  explicit KeptDimensions(const ComputeDag& dag) : dag_(dag) {}

  bool operator()(TensorId id, std::size_t dimension) {
    const std::pair<std::uint32_t, std::size_t> key{id.value, dimension};
    if (const auto found = known_.find(key); found != known_.end()) {
      return found->second;
    }
    bool kept = true;
    for (const Operation& operation : dag_.operations()) {
      const std::optional<std::size_t> axis = axis_of(operation, id, dimension);
      kept = kept && axis != operation.axes.size();
      for (std::size_t k = 0; kept && axis && k < operation.outputs.size(); ++k) {
        kept = (*this)(operation.outputs[k], *axis);
      }
    }
    known_.emplace(key, kept);
    return kept;
  }

 private:
  /// The axis that is this index wherever the operation reads the tensor; the number of axes: it is
  /// none of them, or not always the same. Nothing: it does not read it.
  std::optional<std::size_t> axis_of(const Operation& operation, TensorId id,
                                     std::size_t dimension) const {
    const ExprPool& pool = dag_.pool();
    std::optional<std::size_t> axis;
    for (const ExprId body : operation.bodies) {
      visit_expr(pool, body, [&](ExprId expr) {
        const auto* read = pool.as<TensorRead>(expr);
        if (read == nullptr || read->tensor != id) {
          return;
        }
        const auto* var = pool.as<VarRef>(read->indices[dimension]);
        const auto found =
            std::find_if(operation.axes.begin(), operation.axes.end(),
                         [&](const Axis& a) { return var != nullptr && a.var == var->var; });
        const auto place = static_cast<std::size_t>(found - operation.axes.begin());
        axis = axis && *axis != place ? operation.axes.size() : place;
      });
    }
    return axis;
  }

  const ComputeDag& dag_;
  std::map<std::pair<std::uint32_t, std::size_t>, bool> known_;
};

/// Rows that the result keeps apart, along the longest dimension of that kind; else those of the
/// last dimension.
void choose_rows(const ComputeDag& dag, TensorId id, KernelArgument& argument) {
  const auto& shape = dag.tensor(id).shape;
  argument.fill.row_elements = shape.back();
  argument.fill.num_rows = argument.num_elements / shape.back();
  KeptDimensions is_kept(dag);
  std::int64_t longest = 1, inner = 1;
  for (std::size_t d = shape.size(); d-- > 0;) {
    if (shape[d] > 1 && shape[d] >= longest && is_kept(id, d)) {
      longest = shape[d];
      argument.fill.row_elements = inner;
      argument.fill.num_rows = longest;
    }
    inner *= shape[d];
  }
}

/// `legal`: the values that say where something is read, if they do; `has_root`: a root or a
/// logarithm is taken of them.
InputFill fill_of(DType dtype, const Interval& legal, bool has_root) {
  InputFill fill = default_fill(dtype);
  fill.low = has_root ? 0 : fill.low;
  if (legal.is_bounded() && is_integer(dtype)) {
    const IntegerLimits limits = limits_of(dtype);
    const std::int64_t low = std::max(legal.min, limits.low),
                       high = std::min(legal.max, limits.high);
    if (low <= high) {  // else no value of the type is legal
      fill.low = static_cast<double>(low);
      fill.high = static_cast<double>(high);
    }
  }
  return fill;
}

}  // namespace

MeasureTask make_measure_task(const ComputeDag& dag, std::int32_t num_threads,
                              std::uint64_t input_seed, const ComputeDag* definition) {
  MeasureTask task;
  task.input_seed = input_seed;
  task.num_threads = num_threads;
  Rounding rounding = rounding_of(dag);
  if (definition != nullptr) {
    const double growth = rounding.growth;
    rounding = rounding_of(*definition);
    rounding.growth = std::max(rounding.growth, growth);
  }
  const std::vector<te::IndexUse> uses = te::index_values(dag);
  const std::vector<bool> has_root = te::root_arguments(dag);
  for (const TensorId id : dag.arguments()) {
    const TensorInfo& tensor = dag.tensor(id);
    KernelArgument argument;
    argument.name = tensor.name;
    argument.dtype = tensor.dtype;
    argument.num_elements = num_elements(tensor);
    argument.is_output = is_output(dag, id);
    if (argument.is_output) {
      argument.reference_dtype = is_float(tensor.dtype) ? DType::f64 : tensor.dtype;
      argument.tolerance =
          tolerance_for(tensor.dtype, rounding.narrowest, rounding.reduction_length,
                        4 + 4 * static_cast<double>(rounding.num_calls));
      argument.tolerance.relative *= rounding.growth;
      argument.tolerance.of_rms *= rounding.growth;
      if (rounding.makes_integers && is_integer(tensor.dtype)) {
        argument.tolerance = tolerance_for_rounded();
      }
    } else {
      argument.fill = fill_of(tensor.dtype, uses[id.value].legal, has_root[id.value]);
      const bool is_first = task.arguments.empty();
      if ((is_first || tensor.shape.size() > 1) && !uses[id.value].is_index &&
          !tensor.shape.empty()) {
        argument.fill.is_main = is_first;
        choose_rows(dag, id, argument);
      }
    }
    task.arguments.push_back(std::move(argument));
  }
  return task;
}

std::vector<KernelParameter> kernel_parameters(const ComputeDag& dag) {
  std::vector<KernelParameter> parameters;
  for (const TensorId id : dag.arguments()) {
    const TensorInfo& tensor = dag.tensor(id);
    parameters.push_back({tensor.name, tensor.dtype, num_elements(tensor), is_output(dag, id)});
  }
  return parameters;
}

double bytes_to_measure(const ComputeDag& dag) {
  double bytes = 0;
  for (const TensorInfo& tensor : dag.tensors()) {
    if (!is_defined(dag, tensor)) {
      continue;
    }
    const int element = is_input(dag, tensor) ? bytes_of(tensor.dtype) : 8;
    bytes += element * static_cast<double>(num_elements(tensor));
  }
  for (const TensorId id : dag.arguments()) {  // the reference as it travels; the worker's own
    const TensorInfo& tensor = dag.tensor(id);
    const int reference = is_output(dag, id) ? 16 : 0;
    bytes += (reference + bytes_of(tensor.dtype)) * static_cast<double>(num_elements(tensor));
  }
  return bytes;
}

std::string memory_problem(const ComputeDag& dag) {
  return memory_problem(bytes_to_measure(dag), memory_limits());
}

namespace {

/// "out of bounds: index 12 of the read of table in dimension 0, which has 8 elements"
std::string explain(const EvalError& error, const ComputeDag& dag) {
  std::string text(name_of(error.kind));
  if (error.buffer.valid() && error.buffer.value < dag.tensors().size()) {
    const TensorInfo& tensor = dag.tensor(TensorId{error.buffer.value});
    const std::string name = in_quotes(dag.operation(tensor.operation).name);
    text += error.dimension < 0
                ? ": tensor " + name
                : ": index " + std::to_string(error.index) + " of a read of tensor " + name +
                      " in dimension " + std::to_string(error.dimension) + ", which has " +
                      std::to_string(error.limit) + " elements";
  }
  return text;
}

Result<Done, MeasureFault> interpret(const ComputeDag& dag, ArgumentBuffers& arguments) {
  std::vector<HostArray> inputs;
  for (std::size_t i = 0; i < arguments.size(); ++i) {
    if (!is_output(dag, dag.arguments()[i])) {
      const TensorInfo& tensor = dag.tensor(dag.arguments()[i]);
      HostArray input(tensor.dtype, {tensor.shape.begin(), tensor.shape.end()});
      std::copy(arguments[i].begin(), arguments[i].end(), input.data.begin());
      inputs.push_back(std::move(input));
    }
  }
  const Result<std::vector<HostArray>, EvalError> outputs = eval_dag(dag, inputs);
  if (!outputs) {
    return fail(MeasureFault{MeasureStatus::unknown_error,
                             "the workload cannot be evaluated: " + explain(outputs.error(), dag)});
  }
  std::size_t next = 0;
  for (std::size_t i = 0; i < arguments.size(); ++i) {
    if (is_output(dag, dag.arguments()[i])) {
      const HostArray& output = (*outputs)[next++];
      std::copy(output.data.begin(), output.data.end(), arguments[i].begin());
    }
  }
  return Done{};
}

}  // namespace

Result<Done, MeasureFault> run_reference(const Shared<const ComputeDag>& dag,
                                         ArgumentBuffers& arguments, const PlainRunner& run_plain) {
  const double work = te::count_flop(*dag);
  const bool is_interpreted = !run_plain || (work >= 0 && work < most_interpreted_flop);
  return is_interpreted ? interpret(*dag, arguments) : run_plain(dag, arguments);
}

namespace {

ReferenceBuffer drawn_input(const MeasureTask& task, std::size_t index, const RowSample& rows,
                            std::size_t num_bytes) {
  const KernelArgument& argument = task.arguments[index];
  if (rows.is_whole() && argument.fill.bytes.empty()) {
    const auto width = static_cast<std::size_t>(bytes_of(argument.dtype));
    return ReferenceBuffer::repeated(
        num_bytes, detail::fill_period * width,
        [&](std::span<std::byte> out) { detail::fill_start(task, index, out); });
  }
  ReferenceBuffer buffer(num_bytes);
  fill_input_rows(task, index, rows, {buffer.data(), buffer.size()});
  return buffer;
}

}  // namespace

Result<double, MeasureFault> add_reference(MeasureTask& task, const Shared<const ComputeDag>& dag,
                                           const PlainRunner& run_plain, double most_points) {
  // Bounds of errors take as long again as what they are of, three times over.
  constexpr double points_with_bounds = 4;
  const bool has_bounds = may_amplify(*dag) || sums_cancel_alike(*dag);
  std::optional<SampledRows> rows =
      sample_rows(*dag, has_bounds ? most_points / points_with_bounds : most_points);
  std::optional<BoundedTwin> bounded;
  if (has_bounds &&
      (rows || most_points <= 0 || points_with_bounds * count_points(*dag) <= most_points)) {
    bounded = error_twin(rows ? *rows->dag : *dag);
  }
  const Shared<const ComputeDag> wide = bounded ? bounded->dag : f64_twin(rows ? rows->dag : dag);
  ArgumentBuffers arguments;
  for (std::size_t i = 0; i < wide->arguments().size(); ++i) {
    const TensorInfo& tensor = wide->tensor(wide->arguments()[i]);
    const auto num_bytes = static_cast<std::size_t>(num_elements(tensor) * bytes_of(tensor.dtype));
    if (i >= task.arguments.size() || task.arguments[i].is_output) {
      arguments.emplace_back(num_bytes);
    } else {
      arguments.push_back(drawn_input(task, i, rows ? rows->arguments[i] : RowSample(), num_bytes));
    }
  }
  if (const Result<Done, MeasureFault> ran = run_reference(wide, arguments, run_plain); !ran) {
    return fail(ran.error());
  }
  double share = 1;
  for (std::size_t i = 0; i < task.arguments.size(); ++i) {
    if (task.arguments[i].is_output) {
      task.arguments[i].reference_dtype = wide->tensor(wide->arguments()[i]).dtype;
      std::vector<std::byte>& reference = task.arguments[i].reference;
      reference.assign(arguments[i].begin(), arguments[i].end());
      task.arguments[i].has_bounds = bounded && is_float(task.arguments[i].dtype);
      if (task.arguments[i].has_bounds) {
        const ReferenceBuffer& bounds = arguments[*bounded->bounds_of[i]];
        reference.insert(reference.end(), bounds.begin(), bounds.end());
      }
      const RowSample some = rows ? rows->arguments[i] : RowSample();
      task.arguments[i].reference_rows = some;
      share = rows ? static_cast<double>(some.count) / static_cast<double>(some.extent) : 1;
    }
  }
  return share;
}

}  // namespace tensorsmith
