// SPDX-License-Identifier: Apache-2.0
#include "tensorsmith/tune/measure_task.hpp"

#include <algorithm>
#include <map>
#include <optional>
#include <span>
#include <utility>

#include "tensorsmith/ir/rewrite.hpp"
#include "tensorsmith/measure/verify.hpp"
#include "tensorsmith/te/index_values.hpp"
#include "tensorsmith/te/root_arguments.hpp"
#include "tensorsmith/te/tensor_size.hpp"
#include "tune/error_facts.hpp"
#include "tune/f64_twin.hpp"
#include "tune/memory.hpp"

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

}  // namespace tensorsmith
