// SPDX-License-Identifier: Apache-2.0
#include "tune/task_inputs.hpp"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <string>
#include <utility>

#include "tensorsmith/ir/host_array.hpp"
#include "tensorsmith/support/error.hpp"
#include "tensorsmith/support/quote.hpp"
#include "tensorsmith/te/index_values.hpp"

namespace tensorsmith {
namespace {

std::string who(const std::string& name) { return "tune: input " + in_quotes(name) + ": "; }

std::size_t place_of(const MeasureTask& task, const std::string& name) {
  std::string known;
  for (std::size_t i = 0; i < task.arguments.size(); ++i) {
    if (task.arguments[i].is_output) {
      continue;
    }
    if (task.arguments[i].name == name) {
      return i;
    }
    known += (known.empty() ? "" : ", ") + task.arguments[i].name;
  }
  throw Error(who(name) + "the task has no input of that name; it has " +
              (known.empty() ? "none" : known));
}

/// "it is an index into dimension 0 of "table", which has 8 elements, so 0 .. 7 are legal"
std::string meaning(const ComputeDag& dag, const te::IndexUse& use) {
  const std::string legal =
      std::to_string(use.legal.min) + " .. " + std::to_string(use.legal.max) + " are legal";
  if (!use.table.valid()) {
    return "integers are divided by it, so " + legal;
  }
  const TensorInfo& table = dag.tensor(use.table);
  return "it is an index into dimension " + std::to_string(use.dimension) + " of " +
         in_quotes(table.name) + ", which has " +
         std::to_string(table.shape[static_cast<std::size_t>(use.dimension)]) + " elements, so " +
         legal;
}

void check_range(const TaskInput& input, DType dtype) {
  if (!std::isfinite(input.low) || !std::isfinite(input.high) || input.low > input.high) {
    throw Error(who(input.name) + "a range is two finite numbers, the lower one first");
  }
  if (is_float(dtype)) {
    return;
  }
  const IntegerLimits limits = limits_of(dtype);
  const bool fits = input.low >= static_cast<double>(limits.low) &&
                    input.high <= static_cast<double>(limits.high) &&
                    input.high - input.low < 4294967295.0 && input.low == std::floor(input.low) &&
                    input.high == std::floor(input.high);
  if (!fits) {
    throw Error(who(input.name) + "its range is not one of whole numbers of type " +
                std::string(name_of(dtype)) + ", at most 2^32 of them");
  }
}

void check_legal(const ComputeDag& dag, const te::IndexUse& use, const TaskInput& input,
                 const KernelArgument& argument) {
  if (!use.legal.is_bounded() || use.is_chosen || is_float(argument.dtype)) {
    return;
  }
  const auto check = [&](std::int64_t value, const std::string& what) {
    if (value < use.legal.min || value > use.legal.max) {
      throw Error(who(input.name) + what + " is " + std::to_string(value) + ", but " +
                  meaning(dag, use));
    }
  };
  const InputFill& fill = argument.fill;
  if (fill.bytes.empty()) {
    check(static_cast<std::int64_t>(fill.low), "the least value of its range");
    check(static_cast<std::int64_t>(fill.high), "the greatest value of its range");
    return;
  }
  const auto width = static_cast<std::size_t>(bytes_of(argument.dtype));
  for (std::size_t i = 0; i * width < fill.bytes.size(); ++i) {
    const std::int64_t value = load_scalar(fill.bytes.data() + i * width, argument.dtype).integer;
    if (value < use.legal.min || value > use.legal.max) {  // no text for those that are legal
      check(value, "element " + std::to_string(i));
    }
  }
}

}  // namespace

void give_inputs(MeasureTask& task, const ComputeDag& dag, const std::vector<TaskInput>& inputs) {
  if (inputs.empty()) {
    return;
  }
  const std::vector<te::IndexUse> uses = te::index_values(dag);
  std::vector<bool> is_given(task.arguments.size(), false);
  for (const TaskInput& input : inputs) {
    const std::size_t place = place_of(task, input.name);
    if (is_given[place]) {
      throw Error(who(input.name) + "it is named twice");
    }
    is_given[place] = true;
    KernelArgument& argument = task.arguments[place];
    InputFill fill;  // no rows of its own: hard inputs keep what the caller gave
    fill.low = input.low;
    fill.high = input.high;
    fill.bytes = input.bytes;
    const auto size = static_cast<std::size_t>(argument.num_bytes());
    if (input.generate) {
      fill.bytes.resize(size);
      input.generate({fill.bytes.data(), fill.bytes.size()});
    } else if (fill.bytes.empty()) {
      check_range(input, argument.dtype);
    }
    if (!fill.bytes.empty() && fill.bytes.size() != size) {
      const int width = bytes_of(argument.dtype);
      throw Error(who(input.name) + "expected " + std::to_string(argument.num_elements) +
                  " elements of " + std::string(name_of(argument.dtype)) + " (" +
                  std::to_string(size) + " bytes, " + std::to_string(width) + " each), got " +
                  std::to_string(fill.bytes.size()) + " bytes");
    }
    argument.fill = std::move(fill);
    check_legal(dag, uses[dag.arguments()[place].value], input, argument);
  }
}

}  // namespace tensorsmith
