#include "tune/measure_task.hpp"

#include <algorithm>
#include <cstdio>
#include <fstream>
#include <optional>
#include <span>
#include <utility>

#include <unistd.h>

#include "measure/verify.hpp"
#include "tensorsmith/ir/host_array.hpp"
#include "tensorsmith/ir/rewrite.hpp"
#include "tensorsmith/measure/fill.hpp"
#include "tensorsmith/te/eval_dag.hpp"
#include "tensorsmith/te/flop.hpp"
#include "tensorsmith/te/index_values.hpp"
#include "tensorsmith/te/root_arguments.hpp"
#include "tensorsmith/te/tensor_size.hpp"
#include "tune/f64_twin.hpp"
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

/// Longest reduction of any operation (a sum that may cancel is one of two terms), how many
/// function calls the bodies hold, and what the operations say of themselves.
struct Rounding {
  double growth = 1;
  std::int64_t reduction_length = 1;
  std::int64_t num_calls = 0;
  bool makes_integers = false;  ///< of floats
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
        const Cast* cast = dag.pool().as<Cast>(id);
        rounding.makes_integers =
            rounding.makes_integers || (cast != nullptr && is_integer(dag.pool().dtype(id)) &&
                                        is_float(dag.pool().dtype(cast->a)));
      });
    }
  }
  return rounding;
}

/// f16 and bf16 arguments are summed in f32.
DType accumulator_of(DType dtype) {
  return dtype == DType::f16 || dtype == DType::bf16 ? DType::f32 : dtype;
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
    return fail(
        MeasureFault{MeasureStatus::unknown_error, "the workload cannot be evaluated: " +
                                                       std::string(name_of(outputs.error().kind))});
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

/// `legal`: the values that say where something is read, if they do; `has_root`: a root or a
/// logarithm is taken of them.
InputFill fill_of(DType dtype, const Interval& legal, bool has_root) {
  InputFill fill = default_fill(dtype);
  fill.low = has_root ? 0 : fill.low;
  if (legal.is_bounded() && is_integer(dtype)) {
    const IntegerLimits limits = limits_of(dtype);
    fill.low = static_cast<double>(std::max(legal.min, limits.low));
    fill.high = static_cast<double>(std::min(legal.max, limits.high));
  }
  return fill;
}

/// Of the machine or of the control group, whichever is less.
double machine_bytes() {
  double bytes =
      static_cast<double>(::sysconf(_SC_PHYS_PAGES)) * static_cast<double>(::sysconf(_SC_PAGESIZE));
  for (const char* file :
       {"/sys/fs/cgroup/memory.max", "/sys/fs/cgroup/memory/memory.limit_in_bytes"}) {
    double limit = 0;
    if (std::ifstream(file) >> limit && limit > 0) {  // "max" is no number
      bytes = std::min(bytes, limit);
    }
  }
  return bytes;
}

}  // namespace

MeasureTask make_measure_task(const ComputeDag& dag, std::int32_t num_threads,
                              std::uint64_t input_seed) {
  MeasureTask task;
  task.input_seed = input_seed;
  task.num_threads = num_threads;
  const Rounding rounding = rounding_of(dag);
  const std::vector<Interval> legal = te::index_values(dag);
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
          tolerance_for(tensor.dtype, accumulator_of(tensor.dtype), rounding.reduction_length,
                        4 + 4 * static_cast<double>(rounding.num_calls));
      argument.tolerance.relative *= rounding.growth;
      argument.tolerance.of_rms *= rounding.growth;
      if (rounding.makes_integers && is_integer(tensor.dtype)) {
        argument.tolerance = tolerance_for_rounded();
      }
    } else {
      argument.fill = fill_of(tensor.dtype, legal[id.value], has_root[id.value]);
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
  constexpr double gib = 1024.0 * 1024 * 1024;
  const double wanted = bytes_to_measure(dag);
  const double present = machine_bytes();
  if (wanted <= present) {
    return {};
  }
  char text[200];
  std::snprintf(text, sizeof(text),
                "the workload needs about %.3g GiB of memory to be verified and measured, and "
                "this machine has %.3g GiB; choose smaller sizes",
                wanted / gib, present / gib);
  return text;
}

Result<double, MeasureFault> add_reference(MeasureTask& task, const Shared<const ComputeDag>& dag,
                                           const PlainRunner& run_plain, double most_points) {
  const bool is_float_only =
      std::all_of(task.arguments.begin(), task.arguments.end(), [](const KernelArgument& argument) {
        return !argument.is_output || is_float(argument.dtype);
      });
  const std::optional<SampledRows> rows =
      is_float_only ? sample_rows(*dag, most_points) : std::nullopt;
  const Shared<const ComputeDag> wide = f64_twin(rows ? rows->dag : dag);
  ArgumentBuffers arguments;
  for (std::size_t i = 0; i < wide->arguments().size(); ++i) {
    const TensorInfo& tensor = wide->tensor(wide->arguments()[i]);
    arguments.emplace_back(static_cast<std::size_t>(num_elements(tensor) * bytes_of(tensor.dtype)));
    if (!task.arguments[i].is_output) {
      fill_input_rows(task, i, rows ? rows->arguments[i] : RowSample(),
                      {arguments[i].data(), arguments[i].size()});
    }
  }
  const double work = te::count_flop(*wide);
  const bool is_interpreted = !run_plain || (work >= 0 && work < most_interpreted_flop);
  const Result<Done, MeasureFault> ran =
      is_interpreted ? interpret(*wide, arguments) : run_plain(wide, arguments);
  if (!ran) {
    return fail(ran.error());
  }
  double share = 1;
  for (std::size_t i = 0; i < task.arguments.size(); ++i) {
    if (task.arguments[i].is_output) {
      task.arguments[i].reference_dtype = wide->tensor(wide->arguments()[i]).dtype;
      const std::span<const std::byte> computed(arguments[i].data(), arguments[i].size());
      task.arguments[i].reference.assign(computed.begin(), computed.end());
      const RowSample some = rows ? rows->arguments[i] : RowSample();
      task.arguments[i].reference_rows = some;
      share = rows ? static_cast<double>(some.count) / static_cast<double>(some.extent) : 1;
    }
  }
  return share;
}

}  // namespace tensorsmith
