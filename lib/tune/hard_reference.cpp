// SPDX-License-Identifier: Apache-2.0
// References of hard inputs, with bounds of the errors.
#include <algorithm>
#include <cmath>
#include <cstring>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "tensorsmith/ir/rewrite.hpp"
#include "tensorsmith/measure/hard_fill.hpp"
#include "tensorsmith/te/tensor_size.hpp"
#include "tensorsmith/tune/measure_task.hpp"
#include "tune/error_twin.hpp"
#include "tune/sample_rows.hpp"
#include "tune/value_ranges.hpp"

namespace tensorsmith {
namespace {

/// A reference of some rows may be computed whole if it takes no more than this many times as long.
constexpr double most_over = 20;

/// Whether floats become integers that may be too large for the type, or NaN: what becomes of those
/// is not defined.
bool converts_any_float(const ComputeDag& dag) {
  ValueRanges range_of(dag);
  const ExprPool& pool = dag.pool();
  bool found = false;
  for (const Operation& operation : dag.operations()) {
    for (const ExprId body : operation.bodies) {
      visit_nodes(pool, body, [&](ExprId id) {
        const auto* cast = pool.as<Cast>(id);
        if (cast == nullptr || !is_integer(pool.dtype(id)) || !is_float(pool.dtype(cast->a))) {
          return;
        }
        const ValueRange range = range_of(cast->a);
        const IntegerLimits limits = limits_of(pool.dtype(id));
        found = found || range.may_be_nan || range.min <= static_cast<double>(limits.low) - 1 ||
                range.max >= static_cast<double>(limits.high) + 1;
      });
    }
  }
  return found;
}

bool mixes_rows(const ComputeDag& dag) {
  return std::any_of(dag.operations().begin(), dag.operations().end(),
                     [](const Operation& operation) { return operation.attrs.rounding > 1; });
}

/// Draws whose result says something of this task; else `why_not` says why there are none.
std::vector<HardDraw> draws_of(const MeasureTask& task, const ComputeDag& definition,
                               std::string& why_not) {
  bool has_floats = false, has_integers = false;
  for (const KernelArgument& argument : task.arguments) {
    const bool is_hard = !argument.is_output && argument.fill.row_elements > 0;
    has_floats = has_floats || (is_hard && is_float(argument.dtype));
    has_integers = has_integers || (is_hard && is_integer(argument.dtype));
  }
  std::vector<HardDraw> draws;
  if (converts_any_float(definition)) {
    why_not = "floats of any size become integers, which is not defined for all of them";
  } else if (!has_floats && !has_integers) {
    why_not = "no operand may have any value";
  } else {
    draws.push_back(HardDraw::finite);
    if (has_floats) {
      draws.push_back(HardDraw::special);
    }
  }
  return draws;
}

/// Zeros for the arguments of `dag`, inputs filled as `draw` says. Further arguments are results.
ArgumentBuffers drawn_arguments(const MeasureTask& task, const ComputeDag& dag, HardDraw draw,
                                const std::vector<RowSample>& rows) {
  ArgumentBuffers arguments;
  for (std::size_t i = 0; i < dag.arguments().size(); ++i) {
    const TensorInfo& tensor = dag.tensor(dag.arguments()[i]);
    arguments.emplace_back(static_cast<std::size_t>(num_elements(tensor) * bytes_of(tensor.dtype)));
    if (i < task.arguments.size() && !task.arguments[i].is_output) {
      fill_hard_input(task, i, draw, rows.empty() ? RowSample() : rows[i],
                      {arguments[i].data(), arguments[i].size()});
    }
  }
  return arguments;
}

/// Bounds of a program whose filters mix what the definition keeps apart: its own errors count, and
/// where what it computes is no finite number it says nothing.
void widen_bounds(std::vector<std::byte>& bounds, std::span<const std::byte> values_of_program,
                  std::span<const std::byte> bounds_of_program) {
  for (std::size_t at = 0; at < bounds.size(); at += sizeof(double)) {
    double bound = 0, value = 0, other = 0;
    std::memcpy(&bound, bounds.data() + at, sizeof(double));
    std::memcpy(&value, values_of_program.data() + at, sizeof(double));
    std::memcpy(&other, bounds_of_program.data() + at, sizeof(double));
    bound = std::isfinite(value) ? bound + other : 2 * unknown_error;
    std::memcpy(bounds.data() + at, &bound, sizeof(double));
  }
}

/// Adds the references of one draw; what went wrong.
std::string add_draw(MeasureTask& task, HardDraw draw, const BoundedTwin& twin,
                     const std::optional<BoundedTwin>& program_twin,
                     const std::vector<RowSample>& rows, const PlainRunner& run_plain) {
  ArgumentBuffers arguments = drawn_arguments(task, *twin.dag, draw, rows);
  if (const auto ran = run_reference(twin.dag, arguments, run_plain); !ran) {
    return ran.error().message;
  }
  ArgumentBuffers of_program;
  if (program_twin) {
    of_program = drawn_arguments(task, *program_twin->dag, draw, rows);
    if (const auto ran = run_reference(program_twin->dag, of_program, run_plain); !ran) {
      return ran.error().message;
    }
  }
  for (std::size_t i = 0; i < task.arguments.size(); ++i) {
    KernelArgument& result = task.arguments[i];
    if (!result.is_output) {
      continue;
    }
    HardReference hard;
    hard.draw = draw;
    hard.rows = rows.empty() ? RowSample() : rows[i];
    hard.values.assign(arguments[i].begin(), arguments[i].end());
    if (const auto bounds = twin.bounds_of[i]) {
      hard.bounds.assign(arguments[*bounds].begin(), arguments[*bounds].end());
      if (program_twin && is_float(result.dtype)) {
        const ReferenceBuffer& others = of_program[*program_twin->bounds_of[i]];
        widen_bounds(hard.bounds, {of_program[i].data(), of_program[i].size()},
                     {others.data(), others.size()});
      }
    }
    result.hard.push_back(std::move(hard));
  }
  return "";
}

}  // namespace

std::string add_hard_references(MeasureTask& task, const Shared<const ComputeDag>& definition,
                                const Shared<const ComputeDag>& program,
                                const PlainRunner& run_plain, double most_points) {
  for (KernelArgument& argument : task.arguments) {
    argument.hard.clear();
  }
  std::string why_not;
  const std::vector<HardDraw> draws = draws_of(task, *definition, why_not);
  if (draws.empty()) {
    return why_not;
  }
  // A program that mixes is its own definition, or has errors beside those of the definition.
  const bool mixes = mixes_rows(*program) && program != definition;
  const std::optional<SampledRows> rows =
      mixes ? std::nullopt : sample_rows(*definition, most_points);
  const Shared<const ComputeDag> sampled = rows ? rows->dag : definition;
  if (count_points(*sampled) > most_over * most_points ||
      (mixes && count_points(*program) > most_over * most_points)) {
    return "the whole result takes too long to compute, and no part of it stands for itself";
  }
  const std::optional<BoundedTwin> twin = error_twin(*sampled);
  const auto program_twin = mixes && twin ? error_twin(*program) : std::nullopt;
  if (!twin || (mixes && !program_twin)) {
    return "the formulas are too long for bounds of their errors";
  }
  for (const HardDraw draw : draws) {
    const std::string problem =
        add_draw(task, draw, *twin, program_twin, rows ? rows->arguments : std::vector<RowSample>(),
                 run_plain);
    if (!problem.empty()) {
      for (KernelArgument& argument : task.arguments) {
        argument.hard.clear();
      }
      return problem;
    }
  }
  return "";
}

}  // namespace tensorsmith
