// SPDX-License-Identifier: Apache-2.0
// The reference of a task: what its results are compared with, and the inputs that tell most.
#include <algorithm>
#include <cmath>
#include <cstring>
#include <optional>
#include <utility>
#include <vector>

#include "support/real_at.hpp"
#include "tensorsmith/ir/host_array.hpp"
#include "tensorsmith/measure/fill.hpp"
#include "tensorsmith/support/math.hpp"
#include "tensorsmith/support/quote.hpp"
#include "tensorsmith/te/eval_dag.hpp"
#include "tensorsmith/te/flop.hpp"
#include "tensorsmith/te/tensor_size.hpp"
#include "tensorsmith/tune/measure_task.hpp"
#include "tune/error_facts.hpp"
#include "tune/error_twin.hpp"
#include "tune/f64_twin.hpp"
#include "tune/sample_rows.hpp"

namespace tensorsmith {
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
    const TensorInfo& tensor = dag.tensor(dag.arguments()[i]);
    if (is_input(dag, tensor)) {
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
    if (!is_input(dag, dag.tensor(dag.arguments()[i]))) {
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

struct Range {
  double low = InputFill().low, high = InputFill().high;
};
const Range usual_range;
/// What floats are drawn from where the usual ones leave the result to rounding: without signs, so
/// that no sum comes to nothing; smaller, so that functions of sums are not flat.
constexpr Range calm_ranges[] = {{0.5, 1}, {-0.125, 0.125}, {0.0625, 0.125}};
/// Of the elements of an output: more without a bound ask for other values.
constexpr double few_unknown = 1.0 / 64;
/// Times the largest error that the program as it is written makes in the elements without a bound:
/// another order of its sums may be as unlucky as that.
constexpr double own_errors = 16;

/// The floats that no caller has values for, and no function a range.
std::vector<std::size_t> freely_drawn(const MeasureTask& task) {
  std::vector<std::size_t> drawn;
  for (std::size_t i = 0; i < task.arguments.size(); ++i) {
    const KernelArgument& argument = task.arguments[i];
    const InputFill& fill = argument.fill;
    if (!argument.is_output && is_float(argument.dtype) && fill.bytes.empty() &&
        fill.low == usual_range.low && fill.high == usual_range.high) {
      drawn.push_back(i);
    }
  }
  return drawn;
}

void draw_from(const Range& range, const std::vector<std::size_t>& drawn, MeasureTask& task) {
  for (const std::size_t i : drawn) {
    task.arguments[i].fill.low = range.low;
    task.arguments[i].fill.high = range.high;
  }
}

Result<ArgumentBuffers, MeasureFault> referenced(const MeasureTask& task,
                                                 const Shared<const ComputeDag>& wide,
                                                 const std::optional<SampledRows>& rows,
                                                 const PlainRunner& run_plain) {
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
  if (Result<Done, MeasureFault> ran = run_reference(wide, arguments, run_plain); !ran) {
    return fail(ran.error());
  }
  return arguments;
}

double f64_at(const ReferenceBuffer& buffer, std::int64_t i) {
  return real_at(DType::f64, {buffer.data(), buffer.size()}, i);
}

std::int64_t count_f64(const ReferenceBuffer& buffer) {
  return static_cast<std::int64_t>(buffer.size() / sizeof(double));
}

std::int64_t num_unknown(const ReferenceBuffer& bounds) {
  std::int64_t unknown = 0;
  for (std::int64_t i = 0; i < count_f64(bounds); ++i) {
    unknown += f64_at(bounds, i) < unknown_error ? 0 : 1;
  }
  return unknown;
}

/// Of the output of which least is known.
double unknown_share(const MeasureTask& task, const BoundedTwin& bounded,
                     const ArgumentBuffers& arguments) {
  double share = 0;
  for (std::size_t i = 0; i < task.arguments.size(); ++i) {
    if (task.arguments[i].is_output && is_float(task.arguments[i].dtype) && bounded.bounds_of[i]) {
      const ReferenceBuffer& bounds = arguments[*bounded.bounds_of[i]];
      const auto count = static_cast<double>(count_f64(bounds));
      share = std::max(share, static_cast<double>(num_unknown(bounds)) / std::max(1.0, count));
    }
  }
  return share;
}

/// `bounds` of an output whose values are `wanted`, f64, where the program in its own types gives
/// `got`.
void bound_unknown(ReferenceBuffer& bounds, const ReferenceBuffer& wanted, DType dtype,
                   const ReferenceBuffer& got) {
  const std::int64_t count = count_f64(bounds);
  const auto error_of = [&](std::int64_t i) {  // of what has no bound
    return f64_at(bounds, i) < unknown_error
               ? math::infinity
               : std::fabs(real_at(dtype, {got.data(), got.size()}, i) - f64_at(wanted, i));
  };
  double largest = 0;
  for (std::int64_t i = 0; i < count; ++i) {
    const double error = error_of(i);
    largest = std::isfinite(error) ? std::max(largest, error) : largest;
  }
  const double bound = own_errors * largest;
  for (std::int64_t i = 0; i < count; ++i) {
    if (std::isfinite(error_of(i))) {
      std::memcpy(bounds.data() + static_cast<std::size_t>(i) * sizeof(double), &bound,
                  sizeof(double));
    }
  }
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
  Result<ArgumentBuffers, MeasureFault> arguments = referenced(task, wide, rows, run_plain);
  if (!arguments) {
    return fail(arguments.error());
  }
  double unknown = bounded ? unknown_share(task, *bounded, *arguments) : 0;
  if (unknown > few_unknown) {
    const std::vector<std::size_t> drawn = freely_drawn(task);
    Range best = usual_range;
    for (const Range& range : calm_ranges) {
      if (unknown <= few_unknown || drawn.empty()) {
        break;
      }
      draw_from(range, drawn, task);
      Result<ArgumentBuffers, MeasureFault> others = referenced(task, wide, rows, run_plain);
      const double less = others ? unknown_share(task, *bounded, *others) : 1;
      if (less < unknown) {
        unknown = less;
        best = range;
        arguments = std::move(others);
      }
    }
    draw_from(best, drawn, task);
  }
  if (unknown > 0) {
    const auto own = referenced(task, rows ? rows->dag : dag, rows, run_plain);
    for (std::size_t i = 0; own && i < task.arguments.size(); ++i) {
      if (task.arguments[i].is_output && is_float(task.arguments[i].dtype)) {
        bound_unknown((*arguments)[*bounded->bounds_of[i]], (*arguments)[i],
                      task.arguments[i].dtype, (*own)[i]);
      }
    }
  }
  double share = 1;
  for (std::size_t i = 0; i < task.arguments.size(); ++i) {
    if (task.arguments[i].is_output) {
      task.arguments[i].reference_dtype = wide->tensor(wide->arguments()[i]).dtype;
      std::vector<std::byte>& reference = task.arguments[i].reference;
      reference.assign((*arguments)[i].begin(), (*arguments)[i].end());
      task.arguments[i].has_bounds = bounded && is_float(task.arguments[i].dtype);
      if (task.arguments[i].has_bounds) {
        const ReferenceBuffer& bounds = (*arguments)[*bounded->bounds_of[i]];
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
