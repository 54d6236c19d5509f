// References of hard inputs, with bounds of the errors.
#include <algorithm>
#include <optional>
#include <utility>

#include "tensorsmith/ir/rewrite.hpp"
#include "tensorsmith/measure/hard_fill.hpp"
#include "tensorsmith/te/tensor_size.hpp"
#include "tensorsmith/tune/measure_task.hpp"
#include "tune/error_twin.hpp"
#include "tune/f64_twin.hpp"
#include "tune/sample_rows.hpp"

namespace tensorsmith {
namespace {

bool computes_floats(const ComputeDag& dag) {
  const ExprPool& pool = dag.pool();
  bool found = false;
  for (const Operation& operation : dag.operations()) {
    for (const ExprId body : operation.bodies) {
      visit_expr(pool, body, [&](ExprId id) {
        const auto* binary = pool.as<Binary>(id);
        const auto* call = pool.as<Call>(id);
        found = found || (is_float(pool.dtype(id)) &&
                          ((binary != nullptr && binary->op <= BinaryOp::floormod) ||
                           (call != nullptr && call->op != CallOp::if_then_else)));
      });
    }
  }
  return found;
}

/// Whether a float of that expression lies between two constants.
bool is_clamped(const ExprPool& pool, ExprId id) {
  bool has_low = false, has_high = false;
  while (!(has_low && has_high)) {
    const auto* call = pool.as<Call>(id);
    const auto* binary = pool.as<Binary>(id);
    if (call != nullptr && call->args.size() == 1) {
      id = call->args[0];
    } else if (binary != nullptr && (binary->op == BinaryOp::min || binary->op == BinaryOp::max)) {
      const bool is_right = pool.as<FloatImm>(binary->b) != nullptr;
      if (!is_right && pool.as<FloatImm>(binary->a) == nullptr) {
        return false;
      }
      (binary->op == BinaryOp::min ? has_high : has_low) = true;
      id = is_right ? binary->a : binary->b;
    } else {
      return false;
    }
  }
  return true;
}

/// Whether floats of any size become integers: what a number that the type cannot hold becomes is
/// not defined.
bool converts_any_float(const ComputeDag& dag) {
  const ExprPool& pool = dag.pool();
  bool found = false;
  for (const Operation& operation : dag.operations()) {
    for (const ExprId body : operation.bodies) {
      visit_expr(pool, body, [&](ExprId id) {
        const auto* cast = pool.as<Cast>(id);
        found = found || (cast != nullptr && is_integer(pool.dtype(id)) &&
                          is_float(pool.dtype(cast->a)) && !is_clamped(pool, cast->a));
      });
    }
  }
  return found;
}

bool mixes_rows(const ComputeDag& dag) {
  return std::any_of(dag.operations().begin(), dag.operations().end(),
                     [](const Operation& operation) { return operation.attrs.rounding > 1; });
}

/// Draws whose result says something of this task.
std::vector<HardDraw> draws_of(const MeasureTask& task, const ComputeDag& definition) {
  bool has_floats = false, has_integers = false, makes_integers = false;
  for (const KernelArgument& argument : task.arguments) {
    const bool is_hard = !argument.is_output && argument.fill.row_elements > 0;
    has_floats = has_floats || (is_hard && is_float(argument.dtype));
    has_integers = has_integers || (is_hard && is_integer(argument.dtype));
    makes_integers = makes_integers || (argument.is_output && !is_float(argument.dtype));
  }
  if ((makes_integers && has_floats && computes_floats(definition)) ||
      converts_any_float(definition)) {
    return {};
  }
  std::vector<HardDraw> draws;
  if (has_floats || has_integers) {
    draws.push_back(HardDraw::finite);
  }
  if (has_floats) {
    draws.push_back(HardDraw::special);
  }
  return draws;
}

}  // namespace

void add_hard_references(MeasureTask& task, const Shared<const ComputeDag>& definition,
                         const ComputeDag& program, const PlainRunner& run_plain,
                         double most_points) {
  std::size_t num_outputs = 0, output = 0;
  for (std::size_t i = 0; i < task.arguments.size(); ++i) {
    num_outputs += task.arguments[i].is_output ? 1 : 0;
    output = task.arguments[i].is_output ? i : output;
    task.arguments[i].hard.clear();
  }
  const std::vector<HardDraw> draws = draws_of(task, *definition);
  if (num_outputs != 1 || draws.empty() || mixes_rows(program) || mixes_rows(*definition)) {
    return;
  }
  KernelArgument& result = task.arguments[output];
  const std::optional<SampledRows> rows = sample_rows(*definition, most_points);
  const Shared<const ComputeDag> sampled = rows ? rows->dag : definition;
  const std::optional<Shared<const ComputeDag>> twin =
      is_float(result.dtype) ? error_twin(*sampled) : f64_twin(sampled);
  if (!twin) {
    return;
  }
  const ComputeDag& dag = **twin;
  for (const HardDraw draw : draws) {
    ArgumentBuffers arguments;
    for (std::size_t i = 0; i < dag.arguments().size(); ++i) {
      const TensorInfo& tensor = dag.tensor(dag.arguments()[i]);
      arguments.emplace_back(
          static_cast<std::size_t>(num_elements(tensor) * bytes_of(tensor.dtype)));
      if (i < task.arguments.size() && !task.arguments[i].is_output) {
        fill_hard_input(task, i, draw, rows ? rows->arguments[i] : RowSample(),
                        {arguments[i].data(), arguments[i].size()});
      }
    }
    if (!run_reference(*twin, arguments, run_plain)) {
      result.hard.clear();
      return;
    }
    HardReference hard;
    hard.draw = draw;
    hard.rows = rows ? rows->arguments[output] : RowSample();
    hard.values.assign(arguments[output].begin(), arguments[output].end());
    if (is_float(result.dtype)) {
      hard.bounds.assign(arguments.back().begin(), arguments.back().end());
    }
    result.hard.push_back(std::move(hard));
  }
}

}  // namespace tensorsmith
